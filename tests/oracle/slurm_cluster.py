"""Slurm on a virtual cluster: a controller on its first host, a slurmd on each, two leaf switches.

All of it runs inside the cluster's hosts and ends with them.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.oracle.virtual import need_in_hosts, skip_without_namespaces

import weft
from weft.cluster.folder import cluster_folder
from weft.cluster.local.layout import Layout, virtual_hosts
from weft.cluster.local.start import SSH_CONFIG, leftovers, start, stop
from weft.cluster.remote import Ssh, SshResult

TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "scancel")
LIMIT_S = 60.0
CONF = """\
ClusterName=weft
SlurmctldHost={head}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=5
StateSaveLocation={folder}/state
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
TopologyPlugin=topology/tree
PartitionName=main Nodes=ALL Default=YES
"""
CGROUP = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"
MPI = "PMIxDirectConn=false\n"
"""Over direct connections Slurm 22.05.8 lets some ranks of Open MPI 4.1.4 out of MPI_Init before
others are ready for what they send: one in 35 launches of three ranks ended there with a
segmentation fault, of 250 without them none. SOURCE: mpi.conf(5)."""


@dataclass(frozen=True, slots=True)
class SlurmCluster:
    """A running one. `folder` is seen by all hosts and by this process, as few others are. `prolog`
    is what the controller runs before each job."""

    folder: Path
    layout: Layout
    prolog: str | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """node1, node2 ..."""
        return tuple(host.name for host in self.layout.hosts)

    def on(self, host: str, *command: str, timeout_s: float = 30.0) -> SshResult:
        """What a command says on a host, as somebody who is logged in there."""
        paths = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        settings = {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{paths}:/usr/sbin:/sbin",
            "PYTHONPATH": str(Path(weft.__file__).parents[1]),
        }
        words = [f"{name}={value}" for name, value in settings.items()]
        ssh = Ssh(Path(self.layout.folder) / SSH_CONFIG)
        whole = ("env", "--chdir", str(self.folder), *words, *command)
        return ssh.run(host, whole, timeout_s=timeout_s)

    def say(self, *command: str, timeout_s: float = 30.0) -> str:
        """The output of a command on the first host, which must go well."""
        said = self.on(self.hosts[0], *command, timeout_s=timeout_s)
        assert said.ok, (command, said)
        return said.out

    def weft(self, *words: str, timeout_s: float = 60.0) -> SshResult:
        """A verb of weft, on the first host."""
        return self.on(self.hosts[0], *self.weft_argv(*words), timeout_s=timeout_s)

    @staticmethod
    def weft_argv(*words: str) -> tuple[str, ...]:
        """The command of a verb."""
        return (sys.executable, "-c", "import sys; from weft.cli import main; main()", *words)

    def wait(self, what: str, there: Callable[[], object], limit_s: float = LIMIT_S) -> None:
        """Until `there` says so. Fails with the daemons' logs."""
        until = time.monotonic() + limit_s
        while not there():
            if time.monotonic() > until:
                logs = [path.read_text()[-1500:] for path in sorted(self.folder.glob("*.log"))]
                raise AssertionError(f"no {what} in {limit_s:g} s\n" + "\n".join(logs))
            time.sleep(0.2)

    def queue(self) -> list[str]:
        """What squeue shows."""
        return self.say("squeue", "--noheader", "--array", "--format=%i %t %N").splitlines()

    def start(self) -> None:
        """Its daemons, until all nodes are idle."""
        self._write()
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid",
                 "log-file": "munge.log", "seed-file": "munge.seed"}  # fmt: skip
        words = [f"--{option}={self.folder / name}" for option, name in files.items()]
        self.say("munged", "--force", "--num-threads=2", *words)
        self.wait("munge", (self.folder / "munge.socket").exists)
        self.say("slurmctld")
        for host in self.hosts:
            assert self.on(host, "slurmd", "-N", host).ok
        idle = ("sinfo", "--noheader", "--states=idle", "--Node", "--format=%N")
        hosts = list(self.hosts)
        self.wait("idle nodes", lambda: self.on(hosts[0], *idle).out.split() == hosts)

    def _write(self) -> None:
        hosts = self.layout.hosts
        conf = CONF.format(head=hosts[0].name, address=hosts[0].address, folder=self.folder)
        conf += "".join(f"NodeName={h.name} NodeAddr={h.address} CPUs=2\n" for h in hosts)
        if self.prolog is not None:
            conf += f"PrologSlurmctld={self.folder}/prolog\n"
            (self.folder / "prolog").write_text(self.prolog.format(folder=self.folder))
            (self.folder / "prolog").chmod(0o755)
        half = len(hosts) // 2
        names = [",".join(h.name for h in part) for part in (hosts[:half], hosts[half:])]
        tree = [f"SwitchName=leaf{i} Nodes={part}" for i, part in enumerate(names)]
        (self.folder / "slurm.conf").write_text(conf)
        (self.folder / "cgroup.conf").write_text(CGROUP)
        (self.folder / "mpi.conf").write_text(MPI)
        (self.folder / "topology.conf").write_text(
            "\n".join([*tree, "SwitchName=spine Switches=leaf[0-1]", ""])
        )
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)


@contextmanager
def slurm_cluster(n: int = 4, prolog: str | None = None) -> Iterator[SlurmCluster]:
    """Slurm over `n` virtual hosts as long as it is needed; a skip where this machine bears none.

    The hosts have private folders in place of /tmp, but share /var/tmp and one home.
    """
    skip_without_namespaces()
    need_in_hosts(*TOOLS, package="slurmctld slurmd slurm-client munge")
    if os.geteuid() != 0:
        pytest.skip("munged and slurmd of one's own need root")
    with tempfile.TemporaryDirectory(prefix="weft-slurm-", dir="/var/tmp") as shared:
        folder = Path(shared)
        folder.chmod(0o755)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(folder / "home-state"))
            home = cluster_folder(f"slurm-{os.getpid()}")
            try:
                yield from _started(home, n, folder, prolog)
            finally:
                stop(home)
                assert not leftovers()


def _started(home: Path, n: int, folder: Path, prolog: str | None) -> Iterator[SlurmCluster]:
    cluster = SlurmCluster(folder, start(home, virtual_hosts(n), shared_home=True), prolog)
    cluster.start()
    yield cluster
