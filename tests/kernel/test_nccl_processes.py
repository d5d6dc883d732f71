"""`weft check --with nccl` over real MPI processes of a stand-in for all_reduce_perf."""

import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.nccl_stand_in import build
from tests.needs import need_mpi

from weft.cli import run
from weft.launch.mpi import find_mpi

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
Capture = pytest.CaptureFixture[str]

FAULTS = {
    "h3 net 0.5": r"BAD  1 node   h3   50 % of others \(170 of 340 GB/s of bus bandwidth\)",
    "h4 nvlink 0.7": r"BAD  Node h4 is slow inside: 70 % of others \(329 of 470 GB/s",
    "h2 wrong 7": r"BAD  Node h2 gives wrong results with others: up to \d+ wrong elements",
    "h5 crash": r"BAD  Node h5 fails with others: was killed by signal 11 \(SIGSEGV\)",
    "h1 hang": r"BAD  Node h1 fails with others: did not end in 10 s",
}


@pytest.fixture
def stand_in(
    two_hosts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """The program for the embedded MPI, and the file of its faults; any host name works."""
    assert two_hosts
    faults = tmp_path / "faults"
    faults.write_text("")
    monkeypatch.setenv("NCCL_STAND_IN", str(faults))
    return build(find_mpi().mpicc, tmp_path), faults


def check(program: Path, where: Path, *more: str) -> int:
    options = ("--hosts", "h[1-6]", "--tasks-per-node", "2", "--launch-limit", "10s")
    given = more if "--mpi" in more else ("--mpi", "embedded", *more)
    return run(
        ["check", "--with", "nccl", "--tests", str(program), *options, "--dir", str(where), *given]
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named(
    stand_in: tuple[Path, Path], tmp_path: Path, capsys: Capture, fault: str
) -> None:
    program, faults = stand_in
    faults.write_text(fault)
    assert check(program, tmp_path / "run") == 1
    out = capsys.readouterr().out
    assert re.match(FAULTS[fault], out), out
    assert len(re.findall("^BAD", out, re.MULTILINE)) == 1
    # The kept run comes to the same verdict.
    assert run(["check", "--from", str(tmp_path / "run")]) == 1
    assert capsys.readouterr().out.startswith(out.splitlines()[0])


def processes_of(program: Path) -> list[str]:
    """Command lines of the processes that run a program, and of their launchers."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if str(program) in line]


def test_no_process_is_left_after_launches_that_hang(
    stand_in: tuple[Path, Path], tmp_path: Path, capsys: Capture
) -> None:
    program, faults = stand_in
    faults.write_text("h1 hang")
    sleep = [sys.executable, "-c", "import time; time.sleep(60)", str(program)]
    waiting = subprocess.Popen(sleep)
    try:
        assert processes_of(program)
    finally:
        waiting.kill()
        waiting.wait()
    assert check(program, tmp_path / "run", "--no-report") == 1
    assert "Node h1 fails with others: did not end in 10 s" in capsys.readouterr().out
    assert processes_of(program) == []


def test_sound_nodes_are_good(stand_in: tuple[Path, Path], tmp_path: Path, capsys: Capture) -> None:
    assert check(stand_in[0], tmp_path / "run") == 0
    assert capsys.readouterr().out.startswith("OK   6 of 6 nodes   pairs 15 of 15 measured")


def test_a_node_without_output_is_named(
    stand_in: tuple[Path, Path], tmp_path: Path, capsys: Capture
) -> None:
    program, faults = stand_in
    faults.write_text("h6 silent")
    assert check(program, tmp_path / "run", "--no-report") == 1
    out = capsys.readouterr().out
    assert out.startswith("BAD  Node h6 fails with others: ended with exit code 0 and printed")


def test_open_mpi_finds_the_same_node(
    two_hosts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert two_hosts
    need_mpi("mpicc.openmpi")
    faults = tmp_path / "faults"
    faults.write_text("h3 net 0.5")
    monkeypatch.setenv("NCCL_STAND_IN", str(faults))
    program = build(Path(str(shutil.which("mpicc.openmpi"))), tmp_path)
    assert check(program, tmp_path / "run", "--mpi", "mpicc.openmpi", "--no-report") == 1
    assert capsys.readouterr().out.startswith("BAD  1 node   h3   50 % of others")
