"""Outputs that are full or closed, and faults of weft's own: one line and the right code."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import weft.cli.welcome
from weft.cli import run

FILE = str(Path(__file__).parent.parent / "fixtures" / "field" / "c01-flux-hpcx-hdr.txt")
WEFT = [str(Path(sys.executable).with_name("weft"))]
VERBS = [["judge", FILE], ["platform", "list"], ["expect", "generic-edr", "latency"], []]


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
    assert end.returncode == (3 if closed == 1 else 0)
    assert "Traceback" not in end.stdout + end.stderr


def test_a_fault_of_our_own_is_70_and_names_the_file_with_its_details(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken() -> None:
        raise ValueError("first line\nsecond line")

    monkeypatch.setattr(weft.cli.welcome, "welcome", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert run([]) == 70
    first, second = capsys.readouterr().err.splitlines()
    assert first == "weft: a fault of weft's own: ValueError: first line"
    details = Path(second.rpartition(" ")[2])
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
