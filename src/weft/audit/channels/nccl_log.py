"""The channels of a job as the log of its ranks tells them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from weft.audit.channels.job import RING, NcclHop, NcclJob
from weft.audit.channels.nccl_lines import (
    EXPECTED,
    Connection,
    Membership,
    NcclLines,
    Utterance,
    read_lines,
)
from weft.core.errors import InputError
from weft.core.words import counted, first_few

Edge = tuple[int, int, int]
"""Channel, the rank that sends, the rank that receives."""
_MOST_NAMED = 4
_WHOLE = "the whole log of every rank (NCCL_DEBUG=INFO, NCCL_DEBUG_FILE=nccl.%h.%p.log)"


@dataclass
class _Communicator:
    """What its ranks' lines tell together; `sends` and `receives` are the ends of hops."""

    id: str
    n_ranks: int
    host_of: dict[int, str] = field(default_factory=dict)
    utterances: list[Utterance] = field(default_factory=list)
    sends: dict[Edge, Connection] = field(default_factory=dict)
    receives: dict[Edge, Connection] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """'commId 0x1f, 16 ranks'."""
        ranks = counted(self.n_ranks, "rank") if self.n_ranks else "ranks without a start"
        return f"commId {self.id}, {ranks}" if self.id else ranks

    @property
    def known(self) -> list[Edge]:
        """Edges of which an end is told."""
        return sorted({*self.sends, *self.receives})

    @property
    def hosts(self) -> list[str]:
        """In the order of their ranks."""
        return list(dict.fromkeys(self.host_of[rank] for rank in sorted(self.host_of)))

    @property
    def told_channels(self) -> int:
        """The number of channels that a line counts or whose trees it lists; 0 without such."""
        counts = (one.n_channels for one in self.utterances)
        of_trees = (1 + max(one.tree, default=-1) for one in self.utterances)
        return max((*counts, *of_trees), default=0)

    @property
    def n_channels(self) -> int:
        """As a line tells, else by the greatest number of one."""
        return self.told_channels or 1 + max(channel for channel, *_ in self.known)

    @property
    def trees(self) -> set[Edge]:
        """Edges of trees, in both directions."""
        return {
            (channel, *ends)
            for utterance in self.utterances
            for channel, tree in utterance.tree.items()
            for child, parent in tree
            for ends in ((child, parent), (parent, child))
        }

    def crosses(self, edge: Edge) -> tuple[str | None, str | None]:
        """The hosts at its ends, as far as they are known."""
        return self.host_of.get(edge[1]), self.host_of.get(edge[2])

    def join(self) -> None:
        """Gather the ends of hops of all utterances, and hosts of ranks that no start names."""
        for utterance in self.utterances:
            for one in utterance.connected:
                ends = self.sends if one.is_send else self.receives
                ends[one.channel, one.src, one.dst] = one
                self.host_of.setdefault(one.own_rank, utterance.speaker.host)


def job_of_log(files: Sequence[Path], pattern: str = RING, communicator: str = "") -> NcclJob:
    """The hops of rings or trees of the largest communicator, or of that with the id.

    Raises InputError where no line tells of a channel over a network.
    """
    lines = read_lines(files)
    where = ", ".join(map(str, files))
    if not lines.utterances:
        what = "no channel is in this log" if lines.n_lines else "no line of NCCL is in this file"
        raise InputError(
            what,
            where=where,
            expected=EXPECTED,
            hint="NCCL prints channels as a communicator starts: give the log from its beginning",
        )
    found = _communicators(lines)
    chosen = _chosen(found, communicator, where)
    chosen.join()
    _require_adapters(chosen, where)
    edges = _ring_edges(chosen) if pattern == RING else _tree_edges(chosen, where)
    gaps = _open_rings(chosen, edges) if pattern == RING else _open_trees(chosen, edges)
    job = _job(lines, chosen, pattern, edges, gaps)
    n_others = len(found) - 1
    left_out = f"{counted(n_others, 'other communicator')} of this log left out"
    return replace(job, notes=(left_out,)) if n_others else job


def _require_adapters(chosen: _Communicator, where: str) -> None:
    if not chosen.known:
        raise InputError(
            f"no channel of {chosen.name} crosses a network",
            where=where,
            expected="lines such as 'Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA'",
            hint=f"a job on one host has none; else give {_WHOLE}",
        )
    ends = [*chosen.sends.values(), *chosen.receives.values()]
    if any(one.net == "Socket" for one in ends):
        raise InputError(
            "the channels go over TCP (NET/Socket), not over adapters of this fabric",
            where=where,
            expected="channels via NET/IB",
            hint="'weft doctor log FILE' tells why NCCL took sockets",
        )


def _communicators(lines: NcclLines) -> list[_Communicator]:
    """By id and number of ranks, the largest first. Lines that name none belong to the only one of
    their process, or else to the one in which the process has the rank that they give."""
    found: dict[tuple[str, int], _Communicator] = {}

    def of(member: Membership) -> _Communicator:
        return found.setdefault(
            (member.id, member.n_ranks), _Communicator(member.id, member.n_ranks)
        )

    for process, members in sorted(lines.members.items()):
        for member in sorted(members, key=lambda one: (one.id, one.n_ranks, one.rank)):
            _place(of(member), member.rank, process[0])
    for utterance in lines.utterances:
        named = utterance.membership or _only_membership(lines, utterance)
        if named is not None:
            of(named).utterances.append(utterance)
    if not found:
        found["", 0] = _without_start(lines.utterances)
    return sorted(found.values(), key=lambda one: -one.n_ranks)


def _place(communicator: _Communicator, rank: int, host: str) -> None:
    """Raises InputError where the rank is on another host already."""
    before = communicator.host_of.setdefault(rank, host)
    if before != host:
        raise InputError(
            f"rank {rank} of {communicator.name} is on {before} and on {host}",
            expected="one job; before NCCL 2.14 no line tells communicators of as many ranks apart",
            hint="give the log of one job or communicator",
        )


def _only_membership(lines: NcclLines, utterance: Utterance) -> Membership | None:
    members = lines.members.get(utterance.speaker.process, set())
    ranks = {connection.own_rank for connection in utterance.connected}
    fitting = [one for one in members if not ranks or ranks == {one.rank}]
    return fitting[0] if len(fitting) == 1 else None


def _without_start(utterances: Sequence[Utterance]) -> _Communicator:
    """An excerpt without the lines that name ranks: connections name their own."""
    communicator = _Communicator("", 0, utterances=list(utterances))
    for utterance in utterances:
        for connection in utterance.connected:
            communicator.host_of.setdefault(connection.own_rank, utterance.speaker.host)
    return communicator


def _chosen(found: Sequence[_Communicator], id_: str, where: str) -> _Communicator:
    if not id_:
        return next((one for one in found if one.utterances), found[0])
    for one in found:
        if one.id == id_.lower():
            return one
    ids = [one.id for one in found if one.id]
    raise InputError(
        f"no communicator has the id {id_}",
        where=where,
        expected=first_few(ids[:_MOST_NAMED], len(ids)) or "a log whose lines tell commId",
    )


def _tree_edges(chosen: _Communicator, where: str) -> list[Edge]:
    """Edges of trees between hosts."""
    if not (trees := chosen.trees):
        raise InputError(
            "no line of this log tells its trees",
            where=where,
            expected="lines such as 'Trees [0] 1/8/-1->0->-1 [1] 1/-1/-1->0->8' of every rank",
        )
    ends = [(edge, *chosen.crosses(edge)) for edge in sorted(trees)]
    return [edge for edge, src, dst in ends if src != dst]


def _ring_edges(chosen: _Communicator) -> list[Edge]:
    """Those of rings among all connections: by the order of ranks where the log tells it, else by
    what they were connected for, else what is in no tree; what a tree shares completes a ring."""
    stated: set[Edge] = set()
    for utterance in chosen.utterances:
        for channel, (before, rank, after) in utterance.neighbours.items():
            stated |= {(channel, before, rank), (channel, rank, after)}
        for channel, order in utterance.orders.items():
            if len(set(order)) == len(order) == chosen.n_ranks:
                following = zip(order, [*order[1:], order[0]], strict=True)
                stated |= {(channel, *pair) for pair in following}
    whole = {channel for channel, *_ in stated}
    labels = _labels(chosen)
    trees = chosen.trees
    sure: list[Edge] = []
    maybe: list[Edge] = []
    for edge in chosen.known:
        channel = edge[0]
        if channel in whole:
            if edge in stated:
                sure.append(edge)
        elif "ring" in labels[edge] or (trees and edge not in trees and labels[edge] <= {""}):
            sure.append(edge)
        elif labels[edge] <= {"", "tree"}:
            maybe.append(edge)
    return sorted([*sure, *_completing(chosen, sure, maybe)])


def _labels(chosen: _Communicator) -> Mapping[Edge, set[str]]:
    labels: dict[Edge, set[str]] = defaultdict(set)
    for utterance in chosen.utterances:
        for one, label in utterance.connected.items():
            labels[one.channel, one.src, one.dst].add(label)
    return labels


def _completing(
    chosen: _Communicator, sure: Sequence[Edge], maybe: Sequence[Edge]
) -> Iterator[Edge]:
    """Edges between a host that lacks one that leaves and a host that lacks one that arrives,
    where there is no choice."""
    leaves = {(edge[0], chosen.crosses(edge)[0]) for edge in sure}
    enters = {(edge[0], chosen.crosses(edge)[1]) for edge in sure}
    free = []
    for edge in maybe:
        out, into = ((edge[0], host) for host in chosen.crosses(edge))
        if out not in leaves and into not in enters:
            free.append((edge, out, into))
    n_out = Counter(out for _, out, _ in free)
    n_in = Counter(into for _, _, into in free)
    return (edge for edge, out, into in free if n_out[out] == n_in[into] == 1)


def _open_rings(chosen: _Communicator, edges: Sequence[Edge]) -> list[str]:
    """Hosts at which a ring of a channel does not go on."""
    ends = [(edge[0], *chosen.crosses(edge)) for edge in edges]
    leaving = Counter((channel, src) for channel, src, dst in ends if src != dst)
    entering = Counter((channel, dst) for channel, src, dst in ends if src != dst)
    found = []
    channels = range(chosen.n_channels)
    for host in chosen.hosts:
        at = [(channel, host) for channel in channels]
        open_ = [key[0] for key in at if (leaving[key], entering[key]) != (1, 1)]
        if open_:
            found.append(
                f"{host}: no line tells how the ring of {counted(len(open_), 'channel')} goes on "
                f"(the first is {open_[0]})"
            )
    return found


def _open_trees(chosen: _Communicator, edges: Sequence[Edge]) -> list[str]:
    """Channels without a whole tree, which joins n hosts by n - 1 edges, both ways each."""
    n_hops = Counter(channel for channel, *_ in edges)
    whole = 2 * (len(chosen.hosts) - 1)
    open_ = [channel for channel in range(chosen.n_channels) if n_hops[channel] != whole]
    if not open_:
        return []
    return [
        f"no line tells the whole tree of {counted(len(open_), 'channel')} "
        f"(the first is {open_[0]})"
    ]


def _job(
    lines: NcclLines, chosen: _Communicator, pattern: str, edges: Sequence[Edge], gaps: list[str]
) -> NcclJob:
    sends, receives, host_of = chosen.sends, chosen.receives, chosen.host_of
    place = {host: at for at, host in enumerate(chosen.hosts)}
    hops, unpaired = [], []
    for edge in edges:
        src, dst = chosen.crosses(edge)
        if src is not None and dst is not None and edge in sends and edge in receives:
            out, into = (place[src], sends[edge].device), (place[dst], receives[edge].device)
            # What goes from an adapter to itself crosses no cable.
            hops += [NcclHop(edge[0], *out, *into)] if out != into else []
        elif not (edge in sends and edge in receives):
            unpaired.append(edge)
    n_ranks = chosen.n_ranks or 1 + max(max(edge[1:]) for edge in chosen.known)
    n_missing = n_ranks - sum(rank < n_ranks for rank in host_of)
    missing = list(islice((rank for rank in range(n_ranks) if rank not in host_of), _MOST_NAMED))
    gaps = [*gaps, *_unpaired(unpaired, sends)]
    if not chosen.told_channels:
        gaps.append(
            f"no line tells the number of channels: there may be more than the"
            f" {chosen.n_channels} of this log ('coll channels' is missing)"
        )
    used = {net for hop in hops for net in (hop.src_net, hop.dst_net)}
    if missing:
        names = [f"rank {rank}" for rank in missing]
        gaps.append(f"no line of {first_few(names, n_missing)}")
    return NcclJob(
        source=f"log, {chosen.name}",
        pattern=pattern,
        n_ranks=n_ranks,
        n_channels=chosen.n_channels,
        hosts=tuple(place),
        devices=tuple(_devices(lines, host, used) for host in place),
        hops=tuple(hops),
        gaps=tuple(gaps),
    )


def _unpaired(edges: Sequence[Edge], sends: Mapping[Edge, Connection]) -> Iterator[str]:
    for has_send, end in ((False, "send"), (True, "receive")):
        lacking = [edge for edge in edges if (edge in sends) == has_send]
        if lacking:
            channel, src, dst = lacking[0]
            yield (
                f"{counted(len(lacking), 'hop')} without the line of its [{end}] end "
                f"(the first: channel {channel}, rank {src} -> {dst})"
            )


def _devices(lines: NcclLines, host: str, used: Collection[int]) -> Mapping[int, str]:
    """By NCCL's number. Raises InputError where processes of the host give a `used` number to
    different devices."""
    named = lines.devices.get(host, {})
    for number in used:
        if len(names := sorted(named.get(number, ()))) > 1:
            raise InputError(
                f"processes of {host} call different devices NET/{number}: {', '.join(names)}",
                expected="a number that means one device to all processes of a host: weft cannot"
                " tell which of them a hop takes where each process sees adapters of its own",
            )
    return {number: next(iter(names)) for number, names in named.items() if len(names) == 1}
