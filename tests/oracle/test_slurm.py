"""Neighbours as a real Slurm tells them: a controller and three nodes on loopback, two jobs."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.needs import need
from tests.oracle.processes import end
from tests.unit.check.accusations import facts_of, suspect

from weft.check.verdict.drain_list import drain_text
from weft.cluster.slurm.neighbours import hides_jobs, neighbour_questions
from weft.core.finding import Finding, FindingKind, Severity

TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol")
LIMIT_S = 60.0
NODES = ("n1", "n2", "n3")
TREE = """\
SwitchName=leaf1 Nodes={leaf1}
SwitchName=leaf2 Nodes={leaf2}
SwitchName=spine Switches=leaf[1-2]
"""
CONF = """\
ClusterName=weft
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
SlurmctldPort={port}
AccountingStorageType=accounting_storage/none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/ctld.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
TopologyPlugin=topology/tree
PartitionName=main Nodes=ALL Default=YES
"""
NODE = "NodeName={node} NodeAddr=127.0.0.1 NodeHostname={host} Port={port} CPUs=1\n"


def _path() -> str:
    return os.environ["PATH"] + ":/usr/sbin:/sbin"


def _where(tool: str) -> str | None:
    return shutil.which(tool, path=_path())


def _free_ports(n: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Slurm:
    """A cluster of some nodes on this machine, `more` in its configuration."""

    def __init__(self, folder: Path, nodes: Sequence[str] = NODES, more: str = "") -> None:
        self.folder = folder
        self.nodes = nodes
        self.more = more
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def start(self) -> None:
        port, *ports = _free_ports(1 + len(self.nodes))
        host = os.uname().nodename
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout
        conf = CONF.format(host=host, user=user.strip(), folder=self.folder, port=port)
        for node, port in zip(self.nodes, ports, strict=True):
            conf += NODE.format(node=node, host=host, port=port)
        (self.folder / "slurm.conf").write_text(conf + self.more)
        leaves = [",".join(some) for some in (self.nodes[:2], self.nodes[2:])]
        tree = TREE.format(leaf1=leaves[0], leaf2=leaves[1])
        (self.folder / "topology.conf").write_text(tree)
        (self.folder / "state").mkdir()
        key = self.folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "munge.log",
                 "seed-file": "seed"}  # fmt: skip
        files = [f"--{option}={self.folder / name}" for option, name in names.items()]
        self._daemon("munged", "--foreground", "--force", "--num-threads=1", *files)
        self.wait("munge", (self.folder / "socket").exists)
        self._daemon("slurmctld", "-D")
        for node in self.nodes:
            self._daemon("slurmd", "-D", "-N", node)
        idle = ["sinfo", "--noheader", "--states=idle", "--Node", "--format=%N"]
        self.wait("idle nodes", lambda: self.say(idle).split() == list(self.nodes))

    def submit(self, node: str) -> str:
        """A sleeping job on that node, once it runs; its number."""
        argv = ["sbatch", "--parsable", "-w", node, "--output=/dev/null", "--wrap", "sleep 300"]
        number = self.say(argv).strip()
        running = ["squeue", "--noheader", "--states=RUNNING", "--format=%A"]
        self.wait(f"job {number}", lambda: number in self.say(running).split())
        return number

    def say(self, argv: list[str]) -> str:
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=30,
                              check=False)  # fmt: skip
        return done.stdout

    def stop(self) -> None:
        self.say(["scancel", "--user", str(os.getuid())])
        for daemon in reversed(self.daemons):
            end(daemon, 10)

    def _daemon(self, tool: str, *arguments: str) -> None:
        self.daemons.append(
            subprocess.Popen(
                [str(_where(tool)), *arguments],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def wait(self, what, there, limit_s=LIMIT_S) -> None:
        """Until `there` says so. Fails with the daemons' logs."""
        until = time.monotonic() + limit_s
        while not there():
            if time.monotonic() > until:
                logs = [path.read_text()[-800:] for path in self.folder.glob("*.log")]
                raise AssertionError(f"no {what} in {limit_s:g} s\n" + "\n".join(logs))
            time.sleep(0.1)


@contextmanager
def running(folder: Path, nodes: Sequence[str] = NODES, more: str = "") -> Iterator[Slurm]:
    """A cluster in that folder, as long as it is needed; a skip where this machine bears none."""
    need(*TOOLS, package="slurmctld slurmd slurm-client munge", path=_path())
    if os.geteuid() != 0:
        pytest.skip("munged and slurmd of one's own need root")
    if len(str(folder / "socket")) > 100:
        pytest.skip("the temporary folder's name is too long for a socket")
    cluster = Slurm(folder, nodes, more)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with running(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def jobs(slurm):
    """A job on n1 (our node) and one on n3 (behind another switch)."""
    return slurm.submit("n1"), slurm.submit("n3")


def neighbours(slurm, monkeypatch, *nodes):
    monkeypatch.setenv("SLURM_CONF", slurm.env["SLURM_CONF"])
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with neighbour_questions(nodes) as asked:
        return asked.answer()


def told(found):
    return [(one.job.number, one.nodes, one.switches) for one in found.jobs]


def test_a_job_on_a_node_under_test_is_found_with_its_user(slurm, jobs, monkeypatch):
    found = neighbours(slurm, monkeypatch, "n1", "n2")
    assert found.not_known is None
    assert told(found) == [(jobs[0], ("n1",), ("leaf1",))]
    assert found.jobs[0].job.user == slurm.say(["id", "-un"]).strip()


def test_a_job_behind_the_same_leaf_is_found_and_one_elsewhere_is_not(slurm, jobs, monkeypatch):
    assert told(neighbours(slurm, monkeypatch, "n2")) == [(jobs[0], (), ("leaf1",))]


def test_our_own_job_is_no_neighbour(slurm, jobs, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", slurm.env["SLURM_CONF"])
    monkeypatch.setenv("SLURM_JOB_ID", jobs[1])
    with neighbour_questions(("n3",)) as asked:
        assert told(asked.answer()) == []


def test_a_slurm_that_hides_jobs_says_so_in_its_configuration(slurm):
    said = slurm.say(["scontrol", "show", "config"])
    assert "PrivateData " in said
    assert not hides_jobs(said)
    conf = slurm.folder / "slurm.conf"
    conf.write_text(conf.read_text() + "PrivateData=jobs,usage\n")
    slurm.say(["scontrol", "reconfigure"])
    slurm.wait("new configuration", lambda: hides_jobs(slurm.say(["scontrol", "show", "config"])))


def test_a_node_that_slurm_does_not_know_is_said(slurm, monkeypatch):
    assert neighbours(slurm, monkeypatch, "z9").not_known == "Slurm knows no node by the name z9"


def test_a_drain_list_drains_the_bad_node_and_slurm_keeps_the_reason(slurm):
    facts = facts_of(suspect("node", "n2", node="n2"), measured=12_500.0, expected=25_000.0)
    finding = Finding(FindingKind.SUSPECT_NODE, Severity.BAD, "Node n2 is slow.", facts=facts)
    try:
        subprocess.run(
            ["sh", "-e"],
            input=drain_text([finding]),
            text=True,
            env=slurm.env,
            check=True,
            timeout=30,
        )
        shown = slurm.say(["scontrol", "show", "node", "n2"])
        assert "+DRAIN" in shown
        assert "Reason=weft check: n2 50 % of others (100 of 200 Gb/s)" in shown
        assert "+DRAIN" not in slurm.say(["scontrol", "show", "node", "n1"])
    finally:
        slurm.say(["scontrol", "update", "NodeName=n2", "State=RESUME"])
