"""Outputs that are full or closed, and faults of weft's own: one line and the right code."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import CALLS, argv_of, commands, make_folder
from tests.process_calls import Full, call

import weft.cli.welcome
from weft.cli import run

FILE = str(Path(__file__).parent.parent / "fixtures" / "field" / "c01-flux-hpcx-hdr.txt")
WEFT = [str(Path(sys.executable).with_name("weft"))]
VERBS = [["judge", FILE], ["platform", "list"], ["expect", "generic-edr", "latency"], []]


SECONDS_LONG = {"report"}
"""Its charts take 3 s a call."""


SILENT = {"bench rdma-pairs", "cluster down", "doctor nccl-plan", "record", "study block"}
"""Without hosts, a cluster, a library, MPI program or Slurm job these end before they print."""


def ended(argv: list[str], **streams: object) -> subprocess.CompletedProcess[str]:
    run_weft: Any = subprocess.run
    ended: subprocess.CompletedProcess[str] = run_weft(
        [*WEFT, *argv], text=True, timeout=60, check=False, **streams
    )
    return ended


@pytest.mark.parametrize("argv", VERBS, ids=["judge", "platform", "expect", "weft"])
def test_a_full_output_is_one_line_and_3(argv: list[str]) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        end = ended(argv, stdout=full, stderr=subprocess.PIPE)
    assert end.returncode == 3
    assert end.stderr.splitlines()[-1].endswith("No space left on device")
    assert "Traceback" not in end.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("outputs")
    make_folder(made)
    return made


def test_every_verb_of_the_tree_has_a_call_here() -> None:
    assert {name for name, _ in commands()} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_every_verb_with_an_output_that_is_full_or_closed_at_any_byte(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Full is 3 and one line, a reader that has gone is 0 and no line, wherever it happens."""
    monkeypatch.chdir(tmp_path)
    whole = call(_fresh(name, folder))
    assert whole.code not in (70, 99), whole.err
    n_bytes = len(whole.out.encode())
    assert (n_bytes == 0) == (name in SILENT), whole.err
    places = {0, n_bytes - 1} if name in SECONDS_LONG else {0, 1, n_bytes // 2, n_bytes - 1}
    for after in sorted(places & set(range(n_bytes))):
        full = call(_fresh(name, folder), full=Full("stdout", after))
        assert full.code == 3, (after, full.err)
        last = "cannot read or write, most likely the output: No space left on device"
        assert full.err.splitlines()[-1] == f"weft: {last}"
        gone = call(_fresh(name, folder), full=Full("stdout", after, errno.EPIPE))
        assert gone.code == 0, (after, gone.err)
        assert "Traceback" not in full.err + gone.err


@pytest.mark.parametrize("name", CALLS)
def test_every_verb_with_a_standard_error_that_is_full(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = call(_fresh(name, folder))
    end = call(_fresh(name, folder), full=Full("stderr", 0))
    assert end.code in (whole.code, 3)
    assert "Traceback" not in end.out


def _fresh(name: str, folder: Path) -> list[str]:
    for path in folder.glob("NEW*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return argv_of(name, folder)


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_output_is_no_traceback(closed: int) -> None:
    end = subprocess.run(
        [*WEFT, "judge", FILE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: os.close(closed),
    )
    assert end.returncode == (3 if closed == 1 else call(["judge", FILE]).code)
    assert "Traceback" not in end.stdout + end.stderr


def test_a_fault_of_our_own_is_70_and_names_the_file_with_its_details(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken() -> None:
        raise ValueError("first line\nsecond line")

    monkeypatch.setattr(weft.cli.welcome, "welcome", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run([]) == 70
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("weft: a fault of weft's own: ValueError: first line; please report ")
    details = Path(line.rpartition(" ")[2])
    assert "in broken" in details.read_text(encoding="utf-8")


def test_a_disk_error_is_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(weft.cli.welcome, "welcome", full)
    assert run([]) == 3
    said = capsys.readouterr().err
    assert said == "weft: cannot read or write somewhere: No space left on device\n"
