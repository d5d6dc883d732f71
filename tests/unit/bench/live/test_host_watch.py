"""Who is gone, who is asked again and when, and what a failure says of it."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from weft.bench.live.backend import LiveBackend
from weft.bench.live.failure import HangError
from weft.bench.live.host_watch import HostWatch, not_started, pids_of, rank_states, with_probes
from weft.bench.live.kernel_records import KernelOutput, KernelRank
from weft.bench.live.launch_site import HeadSite, LocalSite
from weft.bench.model import Launch, Trial
from weft.cluster.head import Head
from weft.cluster.host_probe import HostProbe
from weft.cluster.remote import Ssh
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import BenchmarkError
from weft.core.host import this_host
from weft.core.process import Command
from weft.core.process_tree import ProcessState
from weft.launch.mpi import Mpi
from weft.launch.recipe import Recipe

REFUSED = SshFailure("nothing listens on its ssh port", "start sshd there")
GONE = HostProbe(unreached=REFUSED)
SHUT = HostProbe(unreached=SshFailure("it does not let this user in with a key", alive=True))
TRIAL = Trial("t000-latency", "latency", (8,), ("node1", "node2"), 1)
LAUNCH = Launch(TRIAL, 0, 0)


def site() -> HeadSite:
    head = Head(Ssh(), "node1", "/root")
    hosts = ("node1", "node2", "node3")
    return HeadSite(head, this_host(), Path("/f"), "ssh", "eth0", as_root=False, others=hosts)


def rank(number: int, host: str, pid: int) -> KernelRank:
    return KernelRank(rank=number, host=host, local_rank=0, tasks_per_node=1, pid=pid)


@dataclass
class Hosts:
    """Stands in for the hosts: who is gone; who was asked; how long asking took."""

    now: float = 0.0
    takes_s: float = 1.0
    gone: set[str] = field(default_factory=set)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def probe_hosts(
        self, ssh: Ssh, hosts: Mapping[str, Sequence[int]], interface: str | None = None
    ) -> dict[str, HostProbe]:
        self.asked.append(tuple(hosts))
        self.now += self.takes_s
        return {host: GONE if host in self.gone else HostProbe() for host in hosts}

    def clock(self) -> float:
        return self.now


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    made = Hosts()
    monkeypatch.setattr("weft.bench.live.host_watch.probe_hosts", made.probe_hosts)
    return made


def test_no_one_is_asked_before_anything_fails(hosts: Hosts) -> None:
    watch = HostWatch(reached=True, clock=hosts.clock)
    assert watch.still_lost(site(), ("node1", "node2")) == {}
    assert hosts.asked == []


def test_who_is_gone_is_asked_again_but_not_for_most_of_the_time(hosts: Hosts) -> None:
    watch = HostWatch(reached=True, clock=hosts.clock)
    hosts.gone = {"node2"}
    watch.probe(site(), {"node1": (), "node2": ()})
    for _ in range(100):
        assert set(watch.still_lost(site(), ("node1", "node2"))) == {"node2"}
    assert len(hosts.asked) == 1
    hosts.now += 9 * hosts.takes_s + 1
    assert set(watch.still_lost(site(), ("node2",))) == {"node2"}
    assert hosts.asked[1:] == [("node2",)]
    hosts.gone = set()
    hosts.now += 11 * hosts.takes_s
    assert watch.still_lost(site(), ("node2",)) == {}
    assert watch.still_lost(site(), ("node2",)) == {}
    assert len(hosts.asked) == 3


def test_where_no_one_answers_our_ssh_may_not_be_the_way(hosts: Hosts) -> None:
    """As in a scheduler's job whose nodes let nobody in: no host is blamed for that."""
    watch = HostWatch(reached=False, clock=hosts.clock)
    hosts.gone = {"n1", "n2"}
    assert watch.probe(LocalSite(), {"n1": (), "n2": ()}) == {}
    assert watch.lost == {}
    hosts.gone = {"n2"}
    watch.probe(LocalSite(), {"n1": (), "n2": ()})
    assert set(watch.lost) == {"n2"}


def test_a_host_that_answered_before_is_gone_even_if_nothing_else_answers(hosts: Hosts) -> None:
    watch = HostWatch(reached=False, clock=hosts.clock)
    before = set(threading.enumerate())
    watch.learn_hosts(LocalSite(), (this_host().name, "n2"))
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert hosts.asked == [("n2",)]
    hosts.gone = {"n2"}
    assert watch.probe(LocalSite(), {"n2": ()})["n2"].is_lost
    assert set(watch.lost) == {"n2"}


def test_one_that_no_one_next_to_answers_for_is_not_asked_before_every_launch(hosts: Hosts) -> None:
    watch = HostWatch(reached=False, clock=hosts.clock)
    hosts.gone = {"n2"}
    watch.probe(LocalSite(), {"n1": (), "n2": ()})
    hosts.now += 11 * hosts.takes_s
    for _ in range(4):
        assert set(watch.still_lost(LocalSite(), ("n2",))) == {"n2"}
    assert len(hosts.asked) == 2


def test_hosts_of_a_cluster_are_known_to_be_reached(hosts: Hosts) -> None:
    watch = HostWatch(reached=True, clock=hosts.clock)
    before = set(threading.enumerate())
    watch.learn_hosts(site(), ("node1", "node2"))
    assert set(threading.enumerate()) <= before
    assert hosts.asked == []
    hosts.gone = {"node1", "node2"}
    watch.probe(site(), {"node1": (), "node2": ()})
    assert set(watch.lost) == {"node1", "node2"}


def test_this_machine_is_not_asked(hosts: Hosts) -> None:
    HostWatch(reached=True, clock=hosts.clock).probe(LocalSite(), {this_host().name: (), "n2": ()})
    assert hosts.asked == [("n2",)]


def test_another_host_takes_the_place_of_the_first_one() -> None:
    moved = site().without({"node1"})
    assert (moved.head.host, moved.host.name, moved.required_hosts) == (
        "node2",
        "node2",
        ("node2",),
    )
    assert moved.without({"node2"}).head.host == "node1"
    assert site().without({"node2"}) == site()
    assert site().without({"node1", "node2", "node3"}).required_hosts == ("node1",)


def test_ranks_are_known_by_their_hosts_and_states() -> None:
    output = KernelOutput(ranks=[rank(0, "node1.site", 70), rank(1, "other-name", 70)])
    assert pids_of(TRIAL, output, ("node0",)) == {"node1": [70], "node2": [70], "node0": []}
    probes = {"node1": HostProbe(states={70: "R"}), "node2": HostProbe(states={70: "T"})}
    mine = (ProcessState(70, "ssh", "S"),)
    assert rank_states(TRIAL, output, mine, probes) == {0: "R", 1: "T"}
    ended = HostProbe(states={70: "gone"})
    assert rank_states(TRIAL, output, (), {"node1": ended, "node2": GONE}) == {0: "gone"}
    assert rank_states(TRIAL, output, (), {"node1": HostProbe(), "node2": GONE}) == {}


def test_a_host_that_is_gone_is_to_blame_whatever_was_said() -> None:
    failure = HangError("latency (t) hung\n  | noise", where="host node1, rank 0", expected="end")
    told = with_probes(failure, {"node1": HostProbe(), "node2": GONE})
    assert isinstance(told, HangError)
    assert told.lost == ("node2",)
    assert told.describe().splitlines() == [
        "host node2: latency (t) hung; node2 does not answer: nothing listens on its ssh port",
        "  | noise",
        "  expected: end",
        "  hint: node2: start sshd there",
    ]


def test_where_no_one_knows_a_remedy_the_failures_own_hint_stays() -> None:
    failure = BenchmarkError("crashed", where="node1", hint="see raw/*.err")
    strange = HostProbe(unreached=SshFailure("ssh ended with code 255"))
    assert with_probes(failure, {"node2": strange}).hint == "see raw/*.err"
    probes = {"node1": HostProbe(full=("/tmp",)), "node2": strange}
    assert with_probes(failure, probes).hint == "make it right on node1"


def test_a_full_folder_is_reported_and_who_was_named_stays_named() -> None:
    probes = {"node1": HostProbe(), "node2": HostProbe(full=("/tmp", "/dev/shm"))}
    named = with_probes(BenchmarkError("crashed", where="host node1, rank 0"), probes)
    assert (named.where, named.lost) == ("host node1, rank 0", ())
    assert named.what == "crashed; on node2 /tmp, /dev/shm are full"
    assert (
        with_probes(BenchmarkError("crashed", where="node1, node2"), probes).where == "host node2"
    )


@pytest.mark.parametrize("probes", [{}, {"node1": HostProbe()}, {"node2": SHUT}])
def test_hosts_that_are_well_change_nothing(probes: dict[str, HostProbe]) -> None:
    failure = BenchmarkError("crashed", where="node1")
    assert with_probes(failure, probes) is failure


def test_what_was_not_started_says_for_whom() -> None:
    error = not_started(LAUNCH, {"node2": REFUSED})
    assert error.lost == ("node2",)
    assert error.describe().startswith("host node2: latency (t000-latency.r00) was not started; ")


class Silent(HeadSite):
    """Its launcher writes nothing and does not end."""

    def command(self, recipe: Recipe, out: Path, err: Path) -> Command:
        return Command(("sleep", "60"), {}, out.parent, out, err, ends_tree=True)

    def write_files(self, files: Mapping[Path, str]) -> None:
        """Nowhere."""


def test_a_launch_that_is_silent_for_a_host_that_is_gone_is_ended(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at twice: a busy host may miss one look."""
    monkeypatch.setattr("weft.bench.live.backend.SILENT_S", 0.2)
    probes = iter([{"node2"}, set(), {"node2"}, {"node2"}])

    def probe_hosts(*asked: object) -> dict[str, HostProbe]:
        hosts.gone = next(probes)
        return Hosts.probe_hosts(hosts, *asked)  # type: ignore[arg-type]

    monkeypatch.setattr("weft.bench.live.host_watch.probe_hosts", probe_hosts)
    mpi = Mpi("mpich", Path("mpicc"), Path("mpiexec"), "hydra", "MPICH 4.0.2", "")
    of = site()
    silent = Silent(of.head, of.host, of.files, "ssh", "eth0", as_root=False, others=of.others)
    backend = LiveBackend(mpi, ("node1", "node2"), kernel=Path("kernel"), site=silent)
    monkeypatch.setattr(LiveBackend, "_first_launch", lambda *_: None)
    backend.prepare([TRIAL], tmp_path)
    with pytest.raises(BenchmarkError) as caught:
        list(backend.measure(LAUNCH))
    assert caught.value.lost == ("node2",)
    assert "was ended: its output stopped and hosts do not answer" in caught.value.what
    assert "node2 does not answer: nothing listens on its ssh port" in caught.value.what
    assert backend.lost_hosts == {"node2": REFUSED}
    assert len(hosts.asked) == 4
