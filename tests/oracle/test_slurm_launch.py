"""Inside an allocation of a real Slurm on a virtual cluster everything is launched through srun."""

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.needs import absent, need_mpi
from tests.oracle.slurm_cluster import SlurmCluster, slurm_cluster
from tests.oracle.virtual import need_in_hosts

from weft.bench.live.kernel_records import read_kernel_output
from weft.cluster.slurm.allocation import job_nodes, srun_nodes
from weft.study.run.store import read_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
STUDY = """\
schema = "weft.study/1"
name = "one-launch"
title = "One launch"
question = "Does it end?"
repeats = 1
nodes = [2]
timeout_s = {limit_s}

[[benchmarks]]
name = "barrier"
options = {{ iterations = {iterations}, warmup = 1 }}
"""
PROLOG = """\
#!/bin/sh
/usr/bin/env >{folder}/prolog.new && /bin/mv {folder}/prolog.new {folder}/prolog.said
"""
OPEN_MPI = "mpicc.openmpi"
OF_PYPI = f"{sys.prefix}/opt"


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    need_in_hosts(OPEN_MPI, package="libopenmpi-dev")
    with slurm_cluster(4, PROLOG) as cluster:
        yield cluster


def launch(slurm: SlurmCluster, *words: str, limit_s: int = 30, iterations: int = 20) -> list[str]:
    """The words of a verb that launches once, after the hosts have met."""
    study = slurm.folder / f"{limit_s}-{iterations}.toml"
    study.write_text(STUDY.format(limit_s=limit_s, iterations=iterations))
    return ["study", "run", str(study), *words, "--format", "json"]


def in_allocation(slurm: SlurmCluster, asked: str, *words: str) -> dict[str, Any]:
    """What a verb prints in an allocation."""
    # MPICH's UCX would take hosts of one machine for one host.
    weft = ("env", "UCX_TLS=tcp,self", *slurm.weft_argv(*words))
    said = slurm.on("node1", "salloc", "--quiet", *asked.split(), *weft, timeout_s=60)
    assert said.code == 0, said
    return dict(json.loads(said.out))


def recorded(folder: Path) -> tuple[dict[str, Any], str]:
    """The facts of a run, and what one of its launches was."""
    meta = tomllib.loads((folder / "run.toml").read_text())
    recipes = [path.read_text() for path in (folder / "recipes").glob("t000*.txt")]
    return meta["backend"]["facts"], recipes[0]


@pytest.mark.parametrize(
    ("mpicc", "pmi"),
    [
        ("mpicc.mpich", "pmi2"),
        ("mpicc.openmpi", "pmix"),
        (f"{OF_PYPI}/openmpi/bin/mpicc", "pmix"),
        (f"{OF_PYPI}/intel-mpi/bin/mpicc", "pmi2"),
    ],
    ids=("debian-mpich", "debian-openmpi", "pypi-openmpi", "pypi-intel"),
)
def test_srun_starts_the_ranks_by_the_plugin_that_their_mpi_speaks(
    slurm: SlurmCluster, mpicc: str, pmi: str
) -> None:
    need_mpi(mpicc)
    folder = slurm.folder / f"run-{mpicc.replace('/', '-')}"
    where = ("--dir", str(folder), "--rails", "eth0", "--mpi", mpicc)
    in_allocation(slurm, "--nodes=2 --switches=1", *launch(slurm, *where))
    facts, recipe = recorded(folder)
    assert f"/srun --mpi={pmi} --nodes=2 --ntasks=2 " in recipe
    assert facts["pmi"] == pmi
    assert facts["launcher"].endswith("/srun")
    assert facts["slurm"]["n_leaves"] == 1
    assert set(facts["slurm"]["leaves"]) == set(facts["nodes"])


def test_a_job_and_its_aggressors_are_one_step_of_srun(slurm: SlurmCluster) -> None:
    folder = slurm.folder / "run-congestion"
    asked = ("--aggressor", "fan_in:4K@2", "--job-nodes", "2", "--iterations", "20")
    where = ("--dir", str(folder), "--rails", "eth0", "--mpi", OPEN_MPI, "--repeats", "1")
    argv = ("bench", "congestion-impact", *asked, *where, "--format", "json")
    said = in_allocation(slurm, "--nodes=4", *argv)
    assert {(row["benchmark"], row["size_bytes"]) for row in said["impact"]} == {
        ("random_ring_latency", 8), ("random_ring_bandwidth", 131072), ("allreduce", 8),
    }  # fmt: skip
    run = read_run(folder)
    loads = {sample.evidence["aggressors"] for sample in run.samples}
    assert loads == {"none", "fan_in:4K@2"}
    for sample in run.samples:
        recipe = (folder / f"recipes/{sample.trial}.r00.txt").read_text()
        n_nodes = 2 if sample.evidence["aggressors"] == "none" else 4
        assert f"/srun --mpi=pmix --nodes={n_nodes} --ntasks={n_nodes} " in recipe
        if n_nodes == 4:
            assert min(sample.evidence["aggressor_passes_per_s"]) > 0


def test_both_launchers_are_arms_of_one_study(slurm: SlurmCluster) -> None:
    folder = slurm.folder / "run-launchers"
    where = ("--dir", str(folder), "--rails", "eth0", "--mpi", OPEN_MPI)
    argv = launch(slurm, *where, "--launcher", "mpiexec,srun")
    said = in_allocation(slurm, "--nodelist=node[3-4]", *argv)
    assert (said["n_failed"], said["excluded"]) == (0, {})
    started = {
        sample.evidence["launcher"]: (folder / f"recipes/{sample.trial}.r00.txt").read_text()
        for sample in read_run(folder).samples
    }
    assert set(started) == {"mpiexec", "srun"}
    assert "/srun --mpi=pmix " in started["srun"]
    assert "/mpirun.openmpi " in started["mpiexec"] or "/mpiexec" in started["mpiexec"]


def test_the_embedded_mpich_starts_its_own_processes_by_srun(slurm: SlurmCluster) -> None:
    """There is no other way to a node of this job: no host has a key for another."""
    folder = slurm.folder / "run-embedded"
    where = ("--dir", str(folder), "--rails", "eth0")
    in_allocation(slurm, "--nodelist=node[3-4]", *launch(slurm, *where))
    facts, recipe = recorded(folder)
    assert "/mpiexec " in recipe
    assert facts["launcher"].endswith("/mpiexec")
    assert facts["nodes"] == ["node3", "node4"]
    assert set(facts["slurm"]["leaves"]) == {"node3", "node4"}


def test_nodes_of_both_leaves_are_recorded_as_such(slurm: SlurmCluster) -> None:
    folder = slurm.folder / "run-two-leaves"
    where = ("--mpi", OPEN_MPI, "--dir", str(folder))
    in_allocation(slurm, "--nodelist=node[2-3]", *launch(slurm, *where))
    facts, _ = recorded(folder)
    assert facts["slurm"]["leaves"] == {"node2": "leaf0", "node3": "leaf1"}


@pytest.mark.parametrize("mpi", [("--mpi", OPEN_MPI), ()], ids=("open-mpi", "embedded"))
def test_ranks_are_where_the_run_says_whatever_the_order_of_the_hosts(
    slurm: SlurmCluster, mpi: tuple[str, ...]
) -> None:
    """Slurm sorts the nodes that it is given."""
    folder = slurm.folder / f"run-order-{len(mpi)}"
    hosts = slurm.folder / "node4-node3"
    hosts.write_text("node4\nnode3\n")
    where = (*mpi, "--hostfile", str(hosts), "--dir", str(folder), "--rails", "eth0")
    in_allocation(slurm, "--nodelist=node[3-4]", *launch(slurm, *where))
    facts, _ = recorded(folder)
    (out,) = (folder / "raw").glob("t000*.out")
    ranks = sorted(read_kernel_output(out).ranks, key=lambda rank: rank.rank)
    assert [rank.host for rank in ranks] == facts["nodes"]


def test_a_plugin_that_srun_lacks_is_named_with_those_it_has(slurm: SlurmCluster) -> None:
    folder = slurm.folder / "without-pmix"
    folder.mkdir()
    pmix = next(Path("/usr/lib").glob("*/slurm-wlm/mpi_pmix.so"), None)
    if pmix is None:
        absent("needs Slurm's plugins (Debian: slurm-wlm-basic-plugins)")
    for path in pmix.parent.iterdir():
        if not path.name.startswith("mpi_pmix"):
            (folder / path.name).symlink_to(path)
    for name in ("slurm.conf", "cgroup.conf", "topology.conf"):
        text = (slurm.folder / name).read_text()
        more = f"PluginDir={folder}\n" if name == "slurm.conf" else ""
        (folder / name).write_text(text + more)
    weft = slurm.weft_argv(*launch(slurm, "--mpi", OPEN_MPI, "--dir", str(folder / "run")))
    conf = f"SLURM_CONF={folder / 'slurm.conf'}"
    said = slurm.on("node1", "salloc", "--quiet", "--nodes=2", "env", conf, *weft, timeout_s=60)
    assert said.code == 3, said
    assert "Open MPI wants srun's MPI plugin 'pmix'" in said.err
    assert "pmi2" in said.err
    assert "--launcher mpiexec" in said.err


def test_a_launch_that_takes_too_long_is_ended_on_every_host(slurm: SlurmCluster) -> None:
    where = ("--mpi", OPEN_MPI, "--dir", str(slurm.folder / "run-slow"))
    weft = slurm.weft_argv(*launch(slurm, *where, limit_s=4, iterations=10_000_000))
    said = slurm.on("node1", "salloc", "--quiet", "--nodes=2", *weft, timeout_s=100)
    assert said.code == 4, said
    assert "barrier (t000-barrier.r00) hung: no end after 4 s" in said.err
    kernels = ("pgrep", "-c", "weft-kernel")
    slurm.wait(
        "end of the ranks", lambda: all(slurm.on(h, *kernels).out == "0\n" for h in slurm.hosts)
    )
    slurm.wait("end of the job", lambda: slurm.queue() == [])


def test_a_kernel_that_a_node_does_not_find_is_reported_with_where_it_must_be(
    slurm: SlurmCluster,
) -> None:
    folder = slurm.folder / "run-no-kernel"
    hidden = "mount -t tmpfs none $0/var/weft"
    assert slurm.on("node2", "sh", "-c", hidden, sys.prefix).ok
    try:
        weft = slurm.weft_argv(*launch(slurm, "--mpi", OPEN_MPI, "--dir", str(folder)))
        said = slurm.on("node1", "salloc", "--quiet", "--nodes=2", *weft, timeout_s=100)
    finally:
        mended = slurm.on("node2", "umount", f"{sys.prefix}/var/weft")
    assert mended.ok, mended
    assert said.code == 4, said
    assert "every node must find the kernel" in said.err


def test_a_prolog_of_the_controller_has_a_job_and_no_steps(slurm: SlurmCluster) -> None:
    said = slurm.folder / "prolog.said"
    said.unlink(missing_ok=True)
    slurm.say("srun", "--nodes=2", "true")
    slurm.wait("word of the prolog", said.exists, 15)
    environ = dict(line.split("=", 1) for line in said.read_text().splitlines())
    assert len(job_nodes(environ)) == 2
    assert srun_nodes(environ) == ()
