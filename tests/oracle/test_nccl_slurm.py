"""`weft check --with nccl` in a job of a real Slurm on a virtual cluster.

srun starts a stand-in for all_reduce_perf, many steps at the same time.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.nccl_stand_in import build
from tests.oracle.slurm_cluster import SlurmCluster, slurm_cluster
from tests.oracle.virtual import need_in_hosts

from weft.cluster.remote import SshResult

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
OPEN_MPI = "mpicc.openmpi"
N_NODES = 6
PROGRAM, FAULTS = "all_reduce_perf", "faults"
NO_PROGRAM = "0\n"
LIMIT_S = 1500
"""On a busy machine a check takes ten times as long."""


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    need_in_hosts(OPEN_MPI, package="libopenmpi-dev")
    with slurm_cluster(N_NODES) as cluster:
        build(Path(str(shutil.which(OPEN_MPI))), cluster.folder)
        yield cluster


def check(
    slurm: SlurmCluster, run: str, faults: str, *, ranks: int = 1, limit: str = "240s"
) -> SshResult:
    """A check in a job of all nodes, on one rank each or two."""
    (slurm.folder / FAULTS).write_text(faults)
    program = ("--with", "nccl", "--tests", str(slurm.folder / PROGRAM), "--mpi", OPEN_MPI)
    how = ("--launcher", "srun", "--tasks-per-node", str(ranks), "--launch-limit", limit)
    where = ("--dir", str(slurm.folder / run), "--no-report")
    weft = slurm.weft_argv("check", *program, *how, *where)
    job = ("salloc", "--quiet", f"--nodes={N_NODES}", "--ntasks-per-node=2")
    env = ("env", f"NCCL_STAND_IN={slurm.folder / FAULTS}")
    return slurm.on("node1", *job, *env, *weft, timeout_s=LIMIT_S)


def wait_for_the_end_of_all(slurm: SlurmCluster) -> None:
    """Fails where a rank, a step or a job is left."""
    slurm.wait("end of the job", lambda: slurm.queue() == [])
    assert slurm.say("squeue", "--noheader", "--steps") == ""
    for host in slurm.hosts:
        for name in (PROGRAM, "srun"):  # letters of a name in /proc: 15 at most
            assert slurm.on(host, "pgrep", "-c", "-x", name).out == NO_PROGRAM, (host, name)


def test_sound_nodes_are_good_by_steps_of_srun(slurm: SlurmCluster) -> None:
    end = check(slurm, "sound", "", ranks=2)
    assert end.code == 0, end
    assert end.out.startswith("OK   6 of 6 nodes   pairs 15 of 15 measured"), end
    recipes = [path.read_text() for path in (slurm.folder / "sound/recipes").glob("*.txt")]
    assert len(recipes) > N_NODES
    assert all("/srun --mpi=pmix --nodes=" in text for text in recipes)
    wait_for_the_end_of_all(slurm)


def test_a_slow_node_is_named(slurm: SlurmCluster) -> None:
    end = check(slurm, "slow", "node3 net 0.5")
    assert end.code == 1, end
    assert re.match(r"BAD +1 node   node3   50 % of others \(170 of 340 GB/s", end.out), end
    assert len(re.findall("^BAD", end.out, re.MULTILINE)) == 1


def test_a_node_that_hangs_is_named_and_leaves_nothing(slurm: SlurmCluster) -> None:
    end = check(slurm, "hang", "node5 hang", limit="30s")
    assert end.code == 1, end
    assert end.out.startswith("BAD  Node node5 fails with others: did not end in 30 s"), end
    assert len(re.findall("^BAD", end.out, re.MULTILINE)) == 1
    wait_for_the_end_of_all(slurm)


def test_a_node_whose_rank_crashes_is_named(slurm: SlurmCluster) -> None:
    end = check(slurm, "crash", "node2 crash")
    assert end.code == 1, end
    assert end.out.startswith("BAD  Node node2 fails with others: was killed by signal 11"), end
    wait_for_the_end_of_all(slurm)


def test_wrong_results_are_named(slurm: SlurmCluster) -> None:
    end = check(slurm, "wrong", "node4 wrong 7")
    assert end.code == 1, end
    assert re.match("BAD +Node node4 gives wrong results with others", end.out), end
    assert len(re.findall("^BAD", end.out, re.MULTILINE)) == 1
