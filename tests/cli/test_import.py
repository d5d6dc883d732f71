"""`weft import`: files in, a run out that report and compare take."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from weft.cli import run

Capture = pytest.CaptureFixture[str]
OSU = "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, name: str, factor: float = 1.0) -> str:
    rows = "".join(f"{size:<10}{factor * size * 2:>12.2f}\n" for size in (1, 64, 4096))
    (folder / name).write_text(OSU + rows)
    return name


def test_the_table_and_the_next_command_are_printed(folder: Path, capsys: Capture) -> None:
    assert run(["import", write(folder, "a.log"), "-o", "r"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 rows of 1 file stored in r"
    assert "  ! 2 nodes x 1 rank is assumed for osu_bw" in lines
    assert "# bandwidth, MB/s, 2 nodes x 1" in lines
    assert lines[-1] == "next:  weft report r"


def test_report_and_compare_take_what_was_imported(folder: Path, capsys: Capture) -> None:
    for name, factor in (("r1", 1.0), ("r2", 0.5)):
        files = [write(folder, f"{name}-{i}.log", factor * (1 + i / 1000)) for i in range(6)]
        assert run(["import", *files, "-o", name]) == 0
    capsys.readouterr()
    assert run(["compare", "r1", "r2"]) == 1
    assert capsys.readouterr().out.startswith("BAD  bandwidth is up to 2.00x slower with r2")
    assert run(["report", "r1", "r2", "-o", "page.html"]) == 0
    page = (folder / "page.html").read_text()
    assert "Imported: these figures were read from files" in page
    assert "r1-0.log" in page


def test_the_place_of_arm_says_whose_file_it_is(folder: Path, capsys: Capture) -> None:
    files = [write(folder, f"{x}.log", 1 + i / 10) for i, x in enumerate("abcd")]
    argv = ["import", "--name", "two", "--arm", "routing=static", *files[:2]]
    assert run([*argv, "--arm=routing=adaptive", *files[2:], "-o", "r", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["arms"] == ["routing=static", "routing=adaptive"]
    assert (told["n_files"], told["n_launches"], told["n_samples"]) == (4, 4, 12)
    assert run(["compare", "r"]) == 5
    printed = capsys.readouterr().out
    assert "ratio 1.191, 2 launches; what would tell: at least 6 launches" in printed


def test_rows_come_as_csv(folder: Path, capsys: Capture) -> None:
    assert run(["import", write(folder, "a.log"), "-o", "r", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["size_bytes"], row["median"]) for row in rows] == [
        ("1", "2.0"),
        ("64", "128.0"),
        ("4096", "8192.0"),
    ]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["a.log", "--arm", "x=y", "a.log"], "a.log stands before the first --arm"),
        (["--arm", "x=y"], "no file after --arm x=y"),
        (["--arm", "nonsense", "a.log"], "'nonsense' is not an arm"),
        (["a.log", "--name", "A B"], "'A B' cannot name a run"),
        (["missing.log"], "missing.log: cannot be read: No such file or directory"),
        (["a.log", "--nodes", "1", "--tasks-per-node", "0"], "0 is not in the range x>=1"),
        ([], "Missing argument 'FILE...'"),
        (["a.log", "--platform", "nowhere"], "no platform 'nowhere' in the catalogue"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    folder: Path, capsys: Capture, argv: list[str], message: str
) -> None:
    write(folder, "a.log")
    assert run(["import", *argv]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["a.log"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pipe", "cannot be read: it is a pipe"),
        ("/dev/zero", "cannot be read: it is a device"),
        ("folder", "cannot be read: it is a directory"),
        ("loop", "cannot be read: Too many levels of symbolic links"),
        ("sparse", "cannot be read: it is larger than 256 MiB"),
    ],
)
def test_what_is_no_regular_file_or_too_large_is_refused_at_once(
    folder: Path, capsys: Capture, name: str, why: str
) -> None:
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    with open("sparse", "wb") as sparse:
        sparse.truncate(10 * 10**9)
    assert run(["import", name, "-o", "r"]) == 2
    assert why in capsys.readouterr().err
    assert not Path("r").exists()


def test_more_rows_than_a_run_keeps_are_refused(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.study.import_run.MOST_IMPORTED_ROWS", 5)
    assert run(["import", write(folder, "a.log"), write(folder, "b.log", 0.9), "-o", "r"]) == 2
    said = capsys.readouterr().err
    assert "b.log: with this file the import has more than 5 rows" in said
    assert "weft judge b.log" in said
    assert not Path("r").exists()


def test_a_file_without_a_table_says_what_was_looked_for(folder: Path, capsys: Capture) -> None:
    (folder / "x.txt").write_text("hello\nworld\n")
    assert run(["import", "x.txt"]) == 2
    assert "no table of a known tool" in capsys.readouterr().err


def test_the_default_place_is_a_fresh_directory_under_runs(folder: Path, capsys: Capture) -> None:
    assert run(["import", write(folder, "a.log"), "--name", "hb"]) == 0
    (made,) = (folder / "runs").iterdir()
    assert made.name.startswith("hb-")
    assert (made / "run.toml").exists()


def test_a_file_compares_with_a_measured_run_by_the_metric_both_have(
    folder: Path, capsys: Capture
) -> None:
    rows = "".join(f"{size:<10}{1.5:>12.2f}\n" for size in (8, 64))
    for number in range(6):
        text = f"# run {number}\n# OSU MPI Latency Test v5.9\n# Size      Latency (us)\n{rows}"
        (folder / f"{number}.log").write_text(text)
    files = [f"{number}.log" for number in range(6)]
    assert run(["import", *files, "-o", "file"]) == 0
    bench = ["bench", "latency", "--mock", "--nodes", "2", "--sizes", "8,64", "--repeats", "6"]
    assert run([*bench, "--dir", "mock"]) == 0
    capsys.readouterr()
    assert run(["compare", "file", "mock", "--format", "json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)["rows"]
    assert {row["metric"] for row in found} == {"latency_us"}
    assert [(row["size_bytes"], row["n_pairs"]) for row in found] == [(8, 6), (64, 6)]
    assert {row["median_first"] for row in found} == {1.5}


def test_study_show_tells_what_an_imported_run_holds(folder: Path, capsys: Capture) -> None:
    assert run(["import", write(folder, "a.log"), "-o", "r"]) == 0
    capsys.readouterr()
    assert run(["study", "show", "r"]) == 0
    shown = capsys.readouterr().out
    assert 'title = "Imported: osu_bw"' in shown
    assert 'sizes = "1,64,4096"' in shown


def test_a_dry_run_says_what_would_be_stored_and_writes_nothing(
    folder: Path, capsys: Capture
) -> None:
    files = [write(folder, f"{x}.log", 1 + i / 10) for i, x in enumerate("ab")]
    assert run(["import", *files, "-o", "r", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6 rows would be stored in r; nothing was written"
    assert [line.split() for line in lines[-2:]] == [
        ["bandwidth", "only", "2", "1", str(repeat), "3"] for repeat in (0, 1)
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["a.log", "b.log"]
