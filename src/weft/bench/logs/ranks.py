"""Ranks of a job, and the facts that its logs have of each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from weft.bench.logs.hosts import HostCount, host_count
from weft.bench.logs.log_facts import LogFact, LogFacts, LogWriter
from weft.core.natural import natural_key

SOCKET = "NET/Socket"
NVLINK_BETWEEN_NODES = "P2P/MNNVL"
COLLNET = "COLLNET/"
OVER_NETWORK = ("NET/", COLLNET)
GIVEN_UP = "Cannot initialize CollNet"


@dataclass(frozen=True, slots=True)
class LogRank:
    """A rank. `number` is None where the log ends before a communicator names it."""

    index: int
    number: int | None
    n_ranks: int | None
    host: str
    pid: str
    device: str

    @property
    def name(self) -> str:
        """'rank 3' or, without a number, its process."""
        return f"rank {self.number}" if self.number is not None else f"{self.host}:{self.pid}"


@dataclass(frozen=True)
class JobLog:
    """Logs of one job. Sets of ranks are sets of indices into `ranks`."""

    facts: LogFacts
    ranks: tuple[LogRank, ...]
    ranks_of: Mapping[int, frozenset[int]]
    """Number of a writer -> ranks that it may write for: its own, or all of its process."""

    def by(self, fact: LogFact) -> frozenset[int]:
        """The ranks that logged a fact."""
        found: set[int] = set()
        for writer in fact.by:
            found |= self.ranks_of[writer]
        return frozenset(found) if self.ranks_of else self.everyone

    def all_by(self, facts: Iterable[LogFact]) -> frozenset[int]:
        """The ranks that logged any of these."""
        return frozenset().union(*(self.by(fact) for fact in facts))

    def times(self, facts: Iterable[LogFact]) -> Mapping[int, int]:
        """How often ranks logged any of these; 0 for those that did not."""
        counts: Counter[int] = Counter()
        for fact in facts:
            for writer, n in fact.by.items():
                counts.update(dict.fromkeys(self.ranks_of[writer], n))
        return counts

    def values(self, kind: str, word: int = 0) -> dict[str, frozenset[int]]:
        """A word of one kind of fact -> the ranks that log it."""
        found: dict[str, set[int]] = {}
        for fact in self.facts.of(kind):
            found.setdefault(fact.words[word], set()).update(self.by(fact))
        return {value: frozenset(ranks) for value, ranks in found.items()}

    def channels(self, over: Sequence[str] = OVER_NETWORK) -> list[LogFact]:
        """Channels whose transport begins like one of these."""
        return [fact for fact in self.facts.of("channel") if fact.words[0].startswith(tuple(over))]

    def of_rank(self, rank: LogRank) -> "JobLog":
        """The log of one rank, with lines that name no writer."""
        ranked_writers = [writer for writer, ranks in self.ranks_of.items() if rank.index in ranks]
        facts = []
        for fact in self.facts.facts:
            by = {writer: fact.by[writer] for writer in ranked_writers if writer in fact.by}
            if by or not fact.by:
                facts.append(replace(fact, n=sum(by.values()) or fact.n, by=by))
        own = dict.fromkeys(ranked_writers, frozenset({0}))
        return JobLog(replace(self.facts, facts=tuple(facts)), (replace(rank, index=0),), own)

    @cached_property
    def has_numbers(self) -> bool:
        """Whether a communicator names a rank's number."""
        return any(rank.number is not None for rank in self.ranks)

    @cached_property
    def everyone(self) -> frozenset[int]:
        """All ranks."""
        return frozenset(range(len(self.ranks)))

    @cached_property
    def n_expected(self) -> int:
        """Ranks of the largest communicator, or those that log."""
        return max((rank.n_ranks or 0 for rank in self.ranks), default=0) or len(self.ranks)

    @cached_property
    def host_count(self) -> HostCount:
        """Hosts that the widest communicator spans, with the evidence."""
        return host_count(self)

    @property
    def n_nodes(self) -> int | None:
        """Hosts that the widest communicator spans; None where no line tells."""
        return self.host_count.n

    def hosts_of(self, ranks: Iterable[int]) -> set[str]:
        """Hosts that ranks name."""
        return {self.ranks[index].host for index in ranks} - {""}

    @cached_property
    def n_hosts(self) -> int:
        """Hosts that log, whatever connects them."""
        return len(self.hosts_of(self.everyone))

    @cached_property
    def networks(self) -> dict[str, frozenset[int]]:
        """Transport -> the ranks that used it: with a channel over it, or that chose it.

        A rank that chose a network has no channel over it where its neighbours are on its node; its
        messages still cross it at other ranks. On one host the choice has no effect, nor where
        NVLink connects the nodes and no channel crosses a network. Where no line tells how many
        hosts there are, a choice alone is no use.
        """
        used: dict[str, set[int]] = {}
        for fact in self.channels():
            ranks = self.by(fact)
            if fact.words[0].startswith(COLLNET):
                ranks &= self.with_collnet
            if ranks:
                used.setdefault(fact.words[0], set()).update(ranks)
        has_channels = bool(self.facts.of("channel"))
        only_nvlink = bool(self.nvlink_between_nodes) and has_channels and not used
        crosses = bool(used) or (self.n_nodes or 0) > 1
        if crosses and self.n_nodes != 1 and not only_nvlink:
            for name, ranks in self.chosen.items():
                used.setdefault(f"NET/{name}", set()).update(ranks)
        return {name: frozenset(ranks) for name, ranks in used.items()}

    @cached_property
    def chosen(self) -> dict[str, frozenset[int]]:
        """Network -> the ranks that chose it. Before 2.7 NCCL names only what it found: a process
        without a plug-in and without an InfiniBand device has sockets left.

        SOURCE: NVIDIA/nccl, init.cc of 2.4 (initNet).
        """
        named = self.values("network")
        if named or self.facts.of("plugin_loaded"):
            return named
        adapters = self.all_by(fact for fact in self.facts.of("nic") if fact.words[0] == "NET/IB")
        without = self.everyone if self.facts.of("no_device") and not adapters else frozenset()
        found = {"IB": adapters, "Socket": without}
        return {name: ranks for name, ranks in found.items() if ranks}

    @cached_property
    def gives_up_collnet(self) -> bool:
        """Whether a communicator does; one rank of a node says so, for all."""
        return any(fact.words[0].startswith(GIVEN_UP) for fact in self.facts.of("collnet_off"))

    @cached_property
    def with_collnet(self) -> frozenset[int]:
        """Ranks whose switches reduce. They name channels of CollNet before they know whether it
        can be had; where a communicator gives it up, those have it that say it is connected.

        SOURCE: NVIDIA/nccl, transport.cc and transport/coll_net.cc.
        """
        named = self.all_by(self.channels((COLLNET,)))
        if not self.gives_up_collnet:
            return named
        connected = self.facts.of("connected")
        return named & self.all_by(
            fact for fact in connected if fact.words[0].lower().startswith("collnet")
        )

    @cached_property
    def nvlink_between_nodes(self) -> frozenset[int]:
        """Ranks whose NVLink leaves the node. SOURCE: NVIDIA/nccl, transport/p2p.cc."""
        return self.all_by(self.channels((NVLINK_BETWEEN_NODES,)))

    @cached_property
    def sending(self) -> dict[str, list[LogFact]]:
        """Channels by transport; receivers of networks are not among them."""
        found: dict[str, list[LogFact]] = {}
        for fact in self.facts.of("channel"):
            if fact.words[4] != "receive":
                found.setdefault(fact.words[0], []).append(fact)
        return found

    @cached_property
    def n_channels(self) -> dict[str, int]:
        """The same, as often as they were logged."""
        return {name: sum(fact.n for fact in facts) for name, facts in self.sending.items()}

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """Versions of NCCL or RCCL: 'NCCL 2.18.3+cuda12.1'."""
        found = {
            f"{fact.words[0]} {fact.words[1]}": None
            for fact in self.facts.of("version")
            if fact.words[0] in ("NCCL", "RCCL")
        }
        return tuple(found)

    @cached_property
    def echoed(self) -> dict[str, dict[str, frozenset[int]]]:
        """Variables that were read: name -> value -> ranks."""
        found: dict[str, dict[str, set[int]]] = {}
        for fact in self.facts.of("echo"):
            name, value = fact.words
            found.setdefault(name, {}).setdefault(value, set()).update(self.by(fact))
        return {
            name: {value: frozenset(ranks) for value, ranks in values.items()}
            for name, values in found.items()
        }


def job_log(log_facts: LogFacts) -> JobLog:
    """The ranks of a log: writers with a rank, or else processes.

    Where no line says who wrote it (an excerpt, or one from which names were taken), all are one
    process without a name. Who says its process and not its host is the only one of that number.
    """
    hosts_of: dict[str, set[str]] = {}
    for writer in log_facts.writers:
        hosts_of.setdefault(writer.pid, set()).update({writer.host} - {""})
    processes: dict[tuple[str, str], list[LogWriter]] = {}
    for writer in log_facts.writers:
        hosts = hosts_of[writer.pid]
        host = next(iter(hosts)) if not writer.host and len(hosts) == 1 else writer.host
        processes.setdefault((host, writer.pid), []).append(replace(writer, host=host))
    ranked_writers: list[tuple[LogWriter, list[LogWriter]]] = []
    for writers in processes.values():
        ranked = [writer for writer in writers if writer.rank is not None]
        others = [writer for writer in writers if writer.rank is None]
        ranked_writers += [(writer, [writer, *others]) for writer in ranked or others[:1]]
    ranked_writers.sort(key=lambda entry: _order(entry[0]))
    ranks_of: dict[int, set[int]] = {writer.number: set() for writer in log_facts.writers}
    ranks = []
    for index, (first, writers) in enumerate(ranked_writers):
        ranks.append(
            LogRank(index, first.rank, first.n_ranks, first.host, first.pid, _device(first))
        )
        for writer in writers:
            ranks_of[writer.number].add(index)
    if not ranks:
        ranks.append(LogRank(0, None, None, "", "", ""))
    return JobLog(log_facts, tuple(ranks), {n: frozenset(those) for n, those in ranks_of.items()})


def _order(writer: LogWriter) -> tuple[object, ...]:
    rank = writer.rank if writer.rank is not None else float("inf")
    return (rank, natural_key(writer.host), int(writer.pid))


def _device(writer: LogWriter) -> str:
    """The GPU's number; before one is chosen, NCCL prints what happens to be there."""
    return writer.device if writer.rank is not None else ""


def transports(fact: LogFact) -> set[str]:
    """Transports of lanes: 'rc_mlx5/mlx5_0:1 tcp/eth0' are rc_mlx5 and tcp."""
    return {lane.partition("/")[0] for lane in fact.words[1].split()}
