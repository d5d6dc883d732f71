"""Benchmarks on virtual hosts that are joined by two networks: the one that is named carries them,
by the byte counters of the hosts, and where another one does, that is said."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.oracle.virtual import Virtual, need_in_hosts

from weft.bench.model import State
from weft.cluster.local.namespace_commands import ENVIRONMENT
from weft.cluster.local.start import namespace_root_of
from weft.study.run.store import StudyRun, read_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

STUDY = """
schema = "weft.study/1"
name = "interfaces"
title = "One interface named, and another one used"
question = "Is it found?"
repeats = 1
nodes = [2]
timeout_s = 60

[[benchmarks]]
name = "bandwidth"
sizes = "64K"
options = { iterations = 20 }

[[factors]]
name = "ranks"

[[factors.settings]]
name = "as-named"

[[factors.settings]]
name = "elsewhere"
env = { UCX_NET_DEVICES = "eth0" }
"""
SENT = 20 * 64 * 65536
"""Iterations, messages of a window, bytes."""


def join_again(cluster: Virtual, hosts: tuple[str, ...]) -> None:
    """A second cable from each host to a second bridge: eth1, 10.78.0.N."""
    root = namespace_root_of(cluster.folder)
    assert root is not None
    who = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")

    def in_namespace(*words: str) -> None:
        entered = ["nsenter", "-t", str(root), *who, "--net", "ip", "link", *words]
        subprocess.run(entered, check=True, env=ENVIRONMENT, timeout=20)

    in_namespace("add", "br1", "type", "bridge")
    in_namespace("set", "br1", "up")
    for number, host in enumerate(hosts, start=1):
        far_end = ("name", "eth1", "netns", str(cluster.first_process(host)))
        in_namespace("add", f"more{number}", "type", "veth", "peer", *far_end)
        in_namespace("set", f"more{number}", "master", "br1", "up")
        cluster.inside(host, "ip", "address", "add", f"10.78.0.{number}/24", "dev", "eth1")
        cluster.inside(host, "ip", "link", "set", "eth1", "up")


def moved(cluster: Virtual, host: str) -> dict[str, int]:
    """Bytes that crossed each interface of a host so far, as the kernel's own table tells."""
    rows = cluster.inside(host, "cat", "/proc/net/dev").splitlines()[2:]
    words = {row.partition(":")[0].strip(): row.partition(":")[2].split() for row in rows}
    return {name: int(own[0]) + int(own[8]) for name, own in words.items()}


def by_arm(run: StudyRun) -> dict[str, State]:
    arms = {launch.trial.id: launch.trial.arm["ranks"] for launch in run.launches}
    return {arms[sample.trial]: sample.state for sample in run.samples}


def test_bytes_are_held_against_the_named_interface(
    cluster_of_two: Virtual, tmp_path: Path
) -> None:
    cluster, study = cluster_of_two, tmp_path / "study.toml"
    study.write_text(STUDY)
    before = moved(cluster, "node2")
    where = ("--cluster", cluster.name, "--dir", str(tmp_path / "run"), "--rails", "eth1")
    code, said = cluster.weft("study", "run", str(study), *where)
    assert code == 0, said
    run = read_run(tmp_path / "run")
    assert by_arm(run) == {"as-named": State.OK, "elsewhere": State.NOT_ON_FABRIC}
    named = {sample.state: sample.evidence["named"] for sample in run.samples}
    right, wrong = named[State.OK], named[State.NOT_ON_FABRIC]
    assert right["devices"] == wrong["devices"] == ["eth1"]
    assert right["bytes"] > 2 * SENT
    assert wrong["other"] == "eth0"
    assert wrong["other_bytes"] > 2 * SENT
    assert wrong["missed"] == ["node1", "node2"]
    (note,) = {sample.note for sample in run.samples if sample.note}
    assert "the bytes went over eth0" in note
    after = moved(cluster, "node2")
    assert all(after[name] - before[name] > SENT for name in ("eth0", "eth1"))


def test_the_interface_of_the_cluster_is_named_without_words(
    cluster_of_two: Virtual, tmp_path: Path
) -> None:
    where = ("--cluster", cluster_of_two.name, "--dir", str(tmp_path / "run"))
    some = ("--repeats", "1", "--sizes", "64K", "--iterations", "20")
    assert cluster_of_two.weft("bench", "bandwidth", *where, *some)[0] == 0
    (sample,) = read_run(tmp_path / "run").samples
    assert sample.state is State.OK
    assert sample.evidence["named"]["devices"] == ["eth0"]
    assert sample.evidence["named"]["bytes"] > 2 * SENT


@pytest.fixture
def cluster_of_two(virtual: Virtual) -> Virtual:
    """Two hosts with eth0 and eth1."""
    need_in_hosts("nsenter", package="util-linux")
    code, said = virtual.up(2)
    assert code == 0, said
    join_again(virtual, ("node1", "node2"))
    return virtual
