"""`weft judge`: verdict first, causes, rows, thresholds, coverage, next command; exit codes."""

import csv
import io
import json
from pathlib import Path

import pytest

from weft.cli import run

Capture = pytest.CaptureFixture[str]
JUDGED = Path(__file__).parent.parent / "fixtures" / "judged"
GOOD = str(JUDGED / "alps_gh200_allreduce.txt")
BAD = str(JUDGED / "alps_gh200_allreduce_no_cxi.txt")


def test_a_normal_file_is_0_and_its_first_line_the_verdict(capsys: Capture) -> None:
    assert run(["judge", GOOD]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("GOOD  NORMAL: all_reduce_perf at 128 MiB: bus bandwidth 122.6 GB/s")
    assert lines[-1].startswith("next  ")
    assert any(line.startswith("platform alps-gh200: ") for line in lines)
    assert any(line.startswith("covered  49 of 50 rows judged") for line in lines)


def test_a_low_file_is_1_with_causes_a_picture_and_published_thresholds(
    capsys: Capture,
) -> None:
    assert run(["judge", BAD]) == 1
    out = capsys.readouterr().out
    assert out.startswith("BAD  LOW: all_reduce_perf at 128 MiB: bus bandwidth 5.410 GB/s")
    for part in ("LIKELY CAUSES", "1. sockets:", "to confirm:", "remedy:", "PUBLISHED THRESHOLDS"):
        assert part in out
    assert "measured, [===] expected, | limit" in out
    assert "worse than: CSCS Alps gh200" in out
    assert "missed: CSCS Alps gh200" not in out


def test_tests_of_one_row_each_are_one_table(capsys: Capture) -> None:
    run(["judge", str(JUDGED.parent / "results" / "gpcnet" / "slingshot-64-nodes-v1.3.txt")])
    out = capsys.readouterr().out
    tables = [line for line in out.splitlines() if line.startswith("TABLE")]
    assert tables[0].endswith("8 tests")
    assert "Multiple Alltoall isolated" in out
    assert out.count("TABLE") < 8


def test_the_limit_is_named_for_each_range_of_sizes(capsys: Capture) -> None:
    run(["judge", GOOD])
    out = capsys.readouterr().out
    bounds = out[out.index("limited by\n") :].splitlines()[1:]
    assert bounds[0].startswith("from      8 B  latency of")
    assert any("channels of a tree" in line for line in bounds)


def test_what_cannot_be_is_explained(capsys: Capture, tmp_path: Path) -> None:
    text = "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n4194304  191000.00\n"
    (tmp_path / "bw.txt").write_text(text)
    assert run(["judge", str(tmp_path / "bw.txt"), "--platform", "alps-gh200"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("BAD  IMPOSSIBLE: osu_bw at 4 MiB: bandwidth 191000 MB/s")
    assert "USUAL EXPLANATIONS" in out
    assert "beyond-unit-slip-8" in out


def test_long_tables_are_cut_unless_all_rows_are_asked_for(capsys: Capture) -> None:
    run(["judge", GOOD])
    short = capsys.readouterr().out
    run(["judge", GOOD, "--all-rows"])
    whole = capsys.readouterr().out
    assert "more rows like these: --all-rows" in short
    assert "more rows like these" not in whole
    assert "256 B out-of-place" in whole
    assert "256 B out-of-place" not in short


def test_json_and_csv_hold_every_row(capsys: Capture) -> None:
    assert run(["judge", BAD, "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert record["platform"] == "alps-gh200"
    assert record["causes"][0]["name"] == "sockets"
    assert run(["judge", BAD, "--format", "csv"]) == 1
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == len(record["rows"]) == 48
    assert {"file", "size_bytes", "measured", "low", "high", "limit", "state"} <= rows[0].keys()


def test_a_limit_far_above_a_small_message_is_printed(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1  3.00\n2  6.00\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(["judge", "-", "--platform", "azure-hc"]) == 5
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("1 B ")]
    # EDR: 12500 MB/s less headers, thousands of times what one byte messages reach.
    assert 11000 < float(row.split()[6]) <= 12500


def test_standard_input_is_a_dash(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    content = Path(BAD).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(["judge", "-"]) == 1
    assert "LOW" in capsys.readouterr().out


def test_several_files_are_one_answer_and_the_worst_decides(capsys: Capture) -> None:
    assert run(["judge", GOOD, BAD, "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert [one["bad"] for one in record["judgements"]] == [True, False]
    assert record["unread"] == []


def test_several_files_are_a_line_each_worst_first_then_each_under_its_name(
    capsys: Capture, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("nothing to see\n")
    assert run(["judge", GOOD, BAD, str(notes)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "FILES  2 result files: 1 BAD, 1 GOOD"
    assert [line.split()[0] for line in lines[2:5]] == ["BAD", "UNREAD", "GOOD"]
    assert f"FILE     {BAD}" in lines
    assert f"FILE     {GOOD}" in lines


def test_a_folder_means_every_result_file_below_it(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "run.txt").write_bytes(Path(GOOD).read_bytes())
    (tmp_path / "inner" / "notes.md").write_text("nothing to see\n")
    assert run(["judge", str(tmp_path), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(Path(row["file"]).name, row["verdict"]) for row in rows] == [
        ("notes.md", "unread"),
        ("run.txt", "good"),
    ]
    assert run(["judge", str(tmp_path), str(tmp_path / "absent")]) == 2


def test_latency_and_bandwidth_of_one_run_narrow_each_other(
    capsys: Capture, tmp_path: Path
) -> None:
    (tmp_path / "osu_latency.out").write_text(
        "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0  1.10\n8  1.11\n"
    )
    rates = "".join(f"{2**i}  {rate}\n" for i, rate in ((16, 12050.0), (18, 12210.0)))
    (tmp_path / "osu_bw.out").write_text(
        "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n8  6.00\n"
        + rates
        + "1048576  12220.00\n4194304  12230.00\n"
    )
    assert run(["judge", str(tmp_path / "osu_bw.out")]) == 5
    alone = capsys.readouterr().out
    assert alone.startswith("NOTE  98 % of 100 Gb/s: a link like EDR")
    assert run(["judge", str(tmp_path)]) == 5
    together = capsys.readouterr().out
    assert "osu_bw.out: 98 % of 100 Gb/s, 1.1 us at 0 B: RDMA over EDR" in together
    assert "GOOD" in together.splitlines()[3]


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (["--link", "edr"], "GOOD  NORMAL"),
        (["--link", "100 Gb/s", "--mtu", "4096"], "GOOD  NORMAL"),
        (["--platform", "generic-100gbe"], "GOOD  NORMAL"),
        (["--link", "hdr"], "BAD  LOW"),
    ],
)
def test_what_you_have_is_told_in_one_option(
    options: list[str], start: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"# OSU MPI Bandwidth Test v5.9\n# Size  Bandwidth (MB/s)\n4194304  12100.00\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    run(["judge", "-", *options])
    assert capsys.readouterr().out.startswith(start)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--link", "hrd"], "did you mean 'hdr'?"),
        (["--gpu", "h100-sxn"], "did you mean 'h100-sxm'?"),
        (["--pcie", "9x3"], "no PCIe slot '9x3'"),
        (["--link", "edr", "--platform", "generic-edr"], "both name the machine"),
        (["--link", "1e9 Gb/s"], "no link"),
    ],
)
def test_hardware_that_does_not_exist_is_2(options: list[str], hint: str, capsys: Capture) -> None:
    assert run(["judge", GOOD, *options]) == 2
    assert hint in capsys.readouterr().err


def test_options_say_what_the_file_does_not(capsys: Capture) -> None:
    name = str(JUDGED / "ndv5_1024_gpus.txt")
    assert run(["judge", name]) == 5
    out = capsys.readouterr().out
    assert out.startswith("NOTE  354 GB/s (2834 Gb/s), GPUs")
    assert run(["judge", name, "--platform", "azure-ndv5", "--nodes", "128"]) == 0
    assert "NORMAL" in capsys.readouterr().out


def test_an_unknown_platform_and_a_file_that_is_no_result_are_2(
    capsys: Capture, tmp_path: Path
) -> None:
    assert run(["judge", GOOD, "--platform", "azure-ndv55"]) == 2
    assert "did you mean 'azure-ndv5'?" in capsys.readouterr().err
    (tmp_path / "notes.txt").write_text("nothing to see\n")
    assert run(["judge", str(tmp_path / "notes.txt")]) == 2
    assert "no table of a known tool" in capsys.readouterr().err
    assert run(["judge", str(tmp_path / "absent.txt")]) == 2
    assert run(["judge"]) == 2


def test_a_page_is_written_where_asked(capsys: Capture, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(["judge", GOOD, "--report", str(page)]) == 0
    assert "122.6 GB/s" in page.read_text(encoding="utf-8")
    assert str(page) in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--rails", "8"], ["--mtu", "1024"], ["--pcie", "3x8"]])
def test_without_the_link_no_rate_is_normal_or_low(options: list[str], capsys: Capture) -> None:
    """A slower link gives lower rates, too; only what no hardware allows is said."""
    content = Path(__file__).parent.parent / "fixtures" / "results" / "osu" / "omb_7.4_run.txt"
    run(["judge", str(content), *options])
    out = capsys.readouterr().out
    assert not out.startswith(("GOOD  NORMAL", "BAD  LOW"))


def test_a_file_better_than_its_platform_gets_no_verdict(capsys: Capture) -> None:
    """Half of the true speed could be normal by the figures of a slower machine."""
    file = Path(__file__).parents[1] / "fixtures" / "field" / "c01-flux-hpcx-hdr.txt"
    assert run(["judge", str(file), "--platform", "aws-p5"]) == 5
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("NOTE  BETTER THAN EXPECTED: ")
    assert second.startswith("UNKNOWN  cannot tell: ")


def _bandwidths(name: str, mb_s: float) -> str:
    rows = "".join(f"{size:<12}{mb_s:>12.2f}\n" for size in (2**16, 2**18, 2**20, 2**22))
    return f"# {name}\n# Size      Bandwidth (MB/s)\n{rows}\n"


@pytest.mark.parametrize("rates", [(6050.0, 12100.0), (12100.0, 6050.0)])
def test_a_table_at_half_of_the_rate_of_another_is_not_good(
    rates: tuple[float, float], tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "two.txt"
    latency = "".join(f"{2**i:<12}{1.2 + 0.1 * i:>12.2f}\n" for i in range(8))
    text = "".join(_bandwidths("OSU MPI Bandwidth Test v5.6.2", rate) for rate in rates)
    file.write_text(text + f"# OSU MPI Latency Test v5.6.2\n# Size      Latency (us)\n{latency}")
    assert run(["judge", str(file)]) == 5
    assert "% of that rate" in capsys.readouterr().out


def test_rates_of_a_disk_in_markdown_are_no_network(tmp_path: Path) -> None:
    file = tmp_path / "disk.md"
    rows = "".join(f"| {2**i} MiB | 3000 | 2000 |\n" for i in range(6))
    file.write_text(f"| Size | Read MB/s | Write MB/s |\n|---|---|---|\n{rows}")
    assert run(["judge", str(file), "--link", "edr", "--nodes", "2"]) in (2, 5)
