"""Bad input of `weft judge`: cut files, mixed machines, wrong units, folders with anything in them,
full outputs. And its `next` lines, run as they are printed."""

import csv
import os
import random
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from weft.cli import run
from weft.core.errors import InputError
from weft.judge import size_limit
from weft.results.result_file import read_results

Capture = pytest.CaptureFixture[str]
FIELD = Path(__file__).parent.parent / "fixtures" / "field"
SAMPLES = sorted(path.name for path in FIELD.iterdir() if path.suffix in (".txt", ".out"))
WHOLE = str(FIELD / "c01-flux-hpcx-hdr.txt")
WEFT = str(Path(sys.executable).with_name("weft"))
N_CUTS = 10


def answer(argv: list[str], capsys: Capture) -> tuple[int, list[str]]:
    """Exit code and lines, of standard error where there is no other."""
    code = run(["judge", *argv])
    said = capsys.readouterr()
    return code, (said.out or said.err).splitlines()


def rows_of(path: Path) -> list[tuple[int, int]]:
    """(line, size) of each row; perftest's of 64 KiB or more counts twice: one is enough."""
    try:
        tables = read_results(path).tables
    except InputError:
        return []
    found = {(row.line, row.size_bytes or 0): table.tool for table in tables for row in table.rows}
    enough = [key for key, tool in found.items() if tool == "perftest" and key[1] >= 65536]
    return [*found, *enough]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_file_is_never_good_from_fewer_than_two_rows(
    name: str, tmp_path: Path, capsys: Capture
) -> None:
    whole = (FIELD / name).read_bytes()
    places = random.Random(name)
    for n_bytes in (128, *(places.randrange(1, len(whole)) for _ in range(N_CUTS))):
        cut = tmp_path / name
        cut.write_bytes(whole[:n_bytes])
        code, lines = answer([str(cut)], capsys)
        n_rows = len(rows_of(cut))
        assert code in (0, 1, 2, 5)
        assert "GOOD" not in lines[0] or n_rows >= 2, lines[0]
        assert n_bytes != 128 or "GOOD" not in lines[0], lines[0]
        if n_rows == 0 and n_bytes <= size_limit.SHORT_BYTES:
            assert code == 2
            assert f"too short to tell ({n_bytes} bytes)" in lines[0]


def test_one_row_that_leaves_the_path_open_is_too_short(tmp_path: Path, capsys: Capture) -> None:
    whole = (FIELD / "alaska-ib-gcc9-impi-verbs-Osu_bw.out").read_bytes()
    (tmp_path / "bw.out").write_bytes(whole[:128])
    code, lines = answer([str(tmp_path / "bw.out")], capsys)
    assert code == 5
    assert lines[0].startswith("NOTE  too short to tell: ")


def test_one_row_is_not_good_on_a_guessed_machine(tmp_path: Path, capsys: Capture) -> None:
    lines = (FIELD / "c10-h100-8.txt").read_text().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.lstrip()[:1].isdigit())
    (tmp_path / "cut.txt").write_text("".join(lines[: first + 1]))
    _, said = answer([str(tmp_path / "cut.txt")], capsys)
    assert said[0].startswith("NOTE  too short to tell, one row: NORMAL: "), said[0]
    assert any("all_reduce_perf" in line for line in said)


def test_two_machines_in_one_file_are_said(tmp_path: Path, capsys: Capture) -> None:
    one = (FIELD / "perftest-132-gbits.txt").read_text()
    device = next(word for word in one.split() if word.startswith("mlx5_"))
    (tmp_path / "two.txt").write_text(one + one.replace(device, "hfi1_0"))
    _, lines = answer([str(tmp_path / "two.txt")], capsys)
    assert not lines[0].startswith("GOOD"), lines[0]
    assert any("the file holds tables of devices " in line for line in lines[:3]), lines[:3]


@pytest.mark.parametrize("options", [[], ["--link", "edr"]], ids=["alone", "link"])
def test_units_that_contradict_are_the_first_line(
    options: list[str], tmp_path: Path, capsys: Capture
) -> None:
    rule = "#" + "-" * 40
    lines = [rule, "# Benchmarking PingPong ", "# #processes = 2 ", rule,
             "       #bytes #repetitions      t[usec]   Mbytes/sec"]  # fmt: skip
    for power in range(12, 23):
        time_us = 5 + 2**power / 12_000
        lines.append(f"{2**power:12d} 1000 {time_us:12.2f} {8 * 2**power / time_us:12.2f}")
    (tmp_path / "imb.txt").write_text("\n".join(lines) + "\n")
    code, said = answer([str(tmp_path / "imb.txt"), *options], capsys)
    assert said[0].startswith("NOTE  the units of the file contradict")
    assert "by a factor of 8" in said[0]
    assert code == 5, "neither good nor bad while one of two columns is wrong"
    assert not any("IMPOSSIBLE" in line for line in said)


def a_folder_of_anything(folder: Path) -> None:
    """A result file among a pipe, a device, loops of links, a huge file, an unreadable one."""
    (folder / "inner").mkdir()
    (folder / "inner" / "run.txt").write_bytes(Path(WHOLE).read_bytes())
    os.mkfifo(folder / "pipe.txt")
    (folder / "zero.txt").symlink_to("/dev/zero")
    (folder / "inner" / "up").symlink_to(folder)
    (folder / "self.txt").symlink_to(folder / "self.txt")
    with (folder / "huge.txt").open("wb") as huge:
        huge.write(b"# OSU MPI Latency Test v5.9\n")
        huge.truncate(10 << 30)
    (folder / "binary.txt").write_bytes(b"\x7fELF\0\0")
    (folder / "empty.txt").touch()
    (folder / "closed.txt").write_text("nothing\n")
    (folder / "closed.txt").chmod(0)


@pytest.mark.timeout(60)
def test_a_folder_may_hold_anything(tmp_path: Path, capsys: Capture) -> None:
    a_folder_of_anything(tmp_path)
    assert run(["judge", str(tmp_path), "--format", "csv"]) in (0, 5)
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    verdicts = {Path(row["file"]).name: (row["verdict"], row["what"]) for row in rows}
    assert verdicts.keys() == {"run.txt", "huge.txt", "binary.txt", "empty.txt", "closed.txt"}
    assert verdicts["run.txt"][0] == "good" or verdicts["run.txt"][0] == "note"
    assert verdicts["huge.txt"] == ("unread", "the file has 10.7 GB")


@pytest.mark.timeout(60)
def test_files_that_are_named_and_cannot_be_read_stop_no_other(
    tmp_path: Path, capsys: Capture
) -> None:
    a_folder_of_anything(tmp_path)
    named = [str(tmp_path / name) for name in ("pipe.txt", "zero.txt", "self.txt", "huge.txt")]
    code, lines = answer([*named, str(tmp_path / "absent"), WHOLE], capsys)
    assert code == 2
    assert lines[0].startswith("FILES  1 result file")
    assert [line.split()[0] for line in lines[2:8]].count("UNREAD") == 5
    assert any("it is a pipe" in line for line in lines)
    assert any("it is a device" in line for line in lines)
    assert any("the file has 10.7 GB" in line for line in lines)


def test_a_very_long_file_is_judged_by_its_least_and_greatest_rows(
    tmp_path: Path, capsys: Capture
) -> None:
    table = (FIELD / "qlogic-ddr-bw.txt").read_text()
    n = size_limit.MOST_ROWS // 20
    (tmp_path / "long.txt").write_text(table * n)
    code, lines = answer([str(tmp_path / "long.txt")], capsys)
    assert code == 5
    assert lines[1].startswith("  - weft read all ")
    assert " lines of rows and judged " in lines[1]
    (tmp_path / "one.txt").write_text(table)
    assert answer([str(tmp_path / "one.txt")], capsys)[1][0] == lines[0]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("n_bytes", [0, 1, 300])
def test_a_disk_that_is_full_after_some_bytes_is_one_line_and_3(
    n_bytes: int, unbuffered: str, tmp_path: Path
) -> None:
    with (tmp_path / "out").open("wb") as out:
        end = subprocess.run(
            [WEFT, "judge", WHOLE],
            stdout=out, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes)),
        )  # fmt: skip
    assert end.returncode == 3, end
    (line,) = end.stderr.splitlines()
    assert line.startswith("weft: ")


@pytest.mark.parametrize("argv", [[WHOLE], [WHOLE, WHOLE + ".absent"], ["absent"]])
def test_a_full_or_closed_standard_error_is_no_traceback(argv: list[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        end = subprocess.run(
            [WEFT, "judge", *argv],
            stdout=subprocess.PIPE, stderr=full, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert end.returncode == (5 if argv == [WHOLE] else 2)
    assert "Traceback" not in end.stdout


@pytest.mark.parametrize("name", SAMPLES)
def test_the_next_line_can_be_run_as_it_is_printed(name: str, capsys: Capture) -> None:
    _, lines = answer([str(FIELD / name)], capsys)
    _, _, command = lines[-1].partition("next ")
    words = shlex.split(command)
    assert words[0] == "weft", lines[-1]
    assert run(words[1:]) in (0, 1, 5), lines[-1]


def test_the_next_line_of_a_folder_can_be_run(capsys: Capture) -> None:
    _, lines = answer([str(FIELD)], capsys)
    words = shlex.split(lines[-1].partition("next ")[2])
    assert words[:2] == ["weft", "judge"]
    assert run(words[1:]) in (0, 1, 5), lines[-1]


def test_an_empty_name_is_not_this_folder(capsys: Capture) -> None:
    code, lines = answer([WHOLE, ""], capsys)
    assert code == 2
    assert lines[0] == "weft: the name of a file is empty"
