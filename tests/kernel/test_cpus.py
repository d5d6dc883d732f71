"""Which CPUs a rank may use, near which memory, and how many ranks share them."""

import os
import subprocess

import pytest
from tests.kernel.conftest import records_of

BARRIER = ("--benchmark", "barrier", "--iterations", "2", "--warmup", "0")


@pytest.fixture
def cpus():
    found = sorted(os.sched_getaffinity(0))
    if len(found) < 2:
        pytest.skip("telling CPUs apart needs two")
    return found[:2]


def test_ranks_bound_to_one_cpu_are_counted_there(any_kernel, cpus):
    if any_kernel.mpi == "openmpi":
        pytest.skip("Open MPI binds ranks itself")
    ranks = any_kernel.run(3, *BARRIER, cpus={cpus[0]}).of("rank")
    assert [(rank["n_cpus"], rank["n_sharing_cpus"]) for rank in ranks] == [(1, 3)] * 3
    assert {rank["n_machine_cpus"] for rank in ranks} == {os.cpu_count()}


def test_a_rank_with_more_cpus_counts_those_that_have_no_other(kernel, cpus):
    def on(which):
        list_ = ",".join(map(str, which))
        return ["-n", "1", "taskset", "-c", list_, str(kernel.binary), *BARRIER]

    argv = [*kernel.launcher, *on(cpus[:1]), ":", *on(cpus), ":", *on(cpus[1:])]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    ranks = [record for record in records_of(done.stdout) if record["record"] == "rank"]
    # The second may use both CPUs, and neither of the others may use a third.
    assert [(rank["n_cpus"], rank["n_sharing_cpus"]) for rank in ranks] == [(1, 1), (2, 3), (1, 1)]


def test_the_numa_nodes_of_the_cpus_are_reported(kernel, cpus, tmp_path):
    for number, cpu in ((0, 900), (2, cpus[0]), (10, cpus[1])):
        node = tmp_path / "devices" / "system" / "node" / f"node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{cpu}\n")
    (rank,) = kernel.run(1, *BARRIER, cpus=set(cpus), WEFT_SYSFS=str(tmp_path)).of("rank")
    assert rank["cpu_numa_nodes"] == "2,10"


def test_without_numa_nodes_nothing_is_said_of_them(kernel, tmp_path):
    (rank,) = kernel.run(1, *BARRIER, WEFT_SYSFS=str(tmp_path)).of("rank")
    assert rank["cpu_numa_nodes"] is None
