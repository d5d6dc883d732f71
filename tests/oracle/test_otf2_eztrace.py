"""A program that EZTrace of Debian writes as OTF2, and that `weft record` records, is the same."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.needs import absent, need_mpi
from tests.unit.trace.otf2_files import library_folder

from weft.cli import run
from weft.trace.program import rank_programs
from weft.trace.trace import Trace, read_trace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PROGRAM = Path(__file__).with_name("eztrace_program.c")
LIBRARIES = Path(os.environ.get("WEFT_EZTRACE", "/usr/lib/x86_64-linux-gnu"))
LAUNCH = ("mpirun.mpich", "-n", "4")


def steps(trace: Trace) -> list[list[object]]:
    """What ranks send and receive."""
    return [
        [step for step in program.steps if step[0] != "calc"] for program in rank_programs(trace)
    ]


def test_eztrace_and_weft_write_down_the_same_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_mpi("mpicc.mpich")
    if not (LIBRARIES / "libeztrace-mpich.so").exists():
        absent("needs EZTrace (Debian: eztrace)")
    (tmp_path / "library").mkdir()
    library_folder(monkeypatch, tmp_path / "library")
    program = tmp_path / "app"
    subprocess.run(["mpicc.mpich", "-o", str(program), str(PROGRAM)], check=True)
    preload = f"{LIBRARIES}/libeztrace-lib.so:{LIBRARIES}/libeztrace-mpich.so"
    traced = tmp_path / "traced"
    traced.write_text(
        f"#!/bin/sh\nexport EZTRACE_TRACE=mpich EZTRACE_TRACE_DIR={tmp_path}/eztrace\n"
        f"export EZTRACE_LIBRARY_PATH={LIBRARIES} LD_LIBRARY_PATH={LIBRARIES}\n"
        f"LD_PRELOAD={preload} exec {program}\n"
    )
    traced.chmod(0o755)
    subprocess.run([*LAUNCH, str(traced)], check=True)
    own = tmp_path / "own"
    assert run(["record", "--dir", str(own), "--", *LAUNCH, str(program)]) == 0
    (anchor,) = (tmp_path / "eztrace").rglob("*.otf2")
    recorded, imported = read_trace(own), read_trace(anchor)
    assert imported.calls == recorded.calls
    assert (imported.n_messages, imported.message_bytes) == (80, sum(range(1000, 1020)) * 4)
    assert steps(imported) == steps(recorded)
    assert imported.notes == ()
