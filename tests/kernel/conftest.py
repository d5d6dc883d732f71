"""Builds the kernel with every MPI of this machine, and runs it on a few ranks."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.needs import absent

SOURCES = Path(__file__).parents[2] / "mpi"
STRICT = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
MPIS = ("embedded", "mpich", "openmpi")
RUN_TIMEOUT_S = 60


@dataclass(frozen=True)
class Outcome:
    """What a launch left behind; `records` are those lines that are JSON objects."""

    exit_code: int
    stdout: str
    stderr: str
    records: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.records if record["record"] == kind]

    def only(self, kind: str) -> dict[str, Any]:
        (record,) = self.of(kind)
        return record


@dataclass(frozen=True)
class Kernel:
    """A built kernel and the launcher that goes with it."""

    mpi: str
    binary: Path
    launcher: tuple[str, ...]

    def start(
        self, n_ranks: int, *arguments: str, cpus: set[int] | None = None, **environment: str
    ) -> subprocess.Popen[str]:
        """A launch in its own process group, optionally on some CPUs only."""
        ours = os.sched_getaffinity(0)
        os.sched_setaffinity(0, ours if cpus is None else cpus)  # a child inherits it
        try:
            return subprocess.Popen(
                [*self.launcher, "-n", str(n_ranks), str(self.binary), *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, **environment},
                start_new_session=True,
            )
        finally:
            os.sched_setaffinity(0, ours)

    def run(
        self, n_ranks: int, *arguments: str, cpus: set[int] | None = None, **environment: str
    ) -> Outcome:
        """A launch until its end; one that hangs is killed and fails the test."""
        process = self.start(n_ranks, *arguments, cpus=cpus, **environment)
        try:
            stdout, stderr = process.communicate(timeout=RUN_TIMEOUT_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return Outcome(process.returncode, stdout, stderr, list(records_of(stdout)))


def records_of(stdout: str) -> Iterator[dict[str, Any]]:
    for line in stdout.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def compiler_and_launcher(mpi: str) -> tuple[Path | None, tuple[str, ...]]:
    if mpi == "embedded":
        folder = Path(sys.executable).parent
        return folder / "mpicc", (str(folder / "mpiexec"),)
    if mpi == "abi":
        folder = Path(sys.executable).parent
        return folder / "mpicc_abi", (str(folder / "mpiexec"),)
    if mpi == "mpich":
        found = shutil.which("mpicc.mpich")
        return found and Path(found), ("mpiexec.mpich",)
    found = shutil.which("mpicc.openmpi")
    launcher = ("mpirun.openmpi", "--oversubscribe", *_as_root())
    return found and Path(found), launcher


def _as_root() -> tuple[str, ...]:
    return ("--allow-run-as-root",) if os.geteuid() == 0 else ()


def build(mpi: str, folder: Path, *more: Path) -> Kernel:
    """Compile by one plain command, as the live backend does, but with warnings as errors; `more`
    sources go into it."""
    compiler, launcher = compiler_and_launcher(mpi)
    if compiler is None:
        absent(f"no {mpi} on this machine: its mpicc is not found (Debian: lib{mpi}-dev)")
    binary = folder / "weft-kernel"
    sources = sorted(str(path) for path in SOURCES.glob("*.c")) + [str(path) for path in more]
    command = [str(compiler), *STRICT, "-o", str(binary), *sources, "-ldl", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Kernel(mpi, binary, launcher)


def build_once(mpi: str, folder: Path) -> Kernel:
    """`build`, by the first of several processes; the others wait for it."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        binary = folder / "weft-kernel"
        if binary.exists():
            return Kernel(mpi, binary, compiler_and_launcher(mpi)[1])
        return build(mpi, folder)


@pytest.fixture(scope="session")
def builds(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[[str], Kernel]:
    """The kernel by MPI, compiled once for each, whatever the number of test processes; an MPI
    that is absent is looked for again."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    return cache(lambda mpi: build_once(mpi, shared / f"kernel-{mpi}"))


@pytest.fixture(scope="session")
def kernel(builds: Callable[[str], Kernel]) -> Kernel:
    """The kernel on the embedded MPI."""
    return builds("embedded")


@pytest.fixture(params=MPIS)
def any_kernel(request: pytest.FixtureRequest, builds: Callable[[str], Kernel]) -> Kernel:
    """The kernel on each MPI of this machine."""
    return builds(request.param)
