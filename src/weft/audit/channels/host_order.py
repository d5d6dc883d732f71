"""Orders of a job's hosts, and the one whose fullest cable carries least."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.audit.channels.adapters import NetKey
from weft.audit.channels.channel_map import CablePaths, ChannelMap, channel_map
from weft.audit.channels.job import NcclJob
from weft.audit.channels.leaf_bound import LeafBound, leaf_bound
from weft.core.natural import natural_key
from weft.topology.subnet.labels import labels_of
from weft.topology.subnet.subnet import Endport, PortKey, Subnet

AS_GIVEN = "as given"
LEAF_BY_LEAF = "leaf by leaf"
SEARCHED = "searched"
FEWEST = 3
"""Of two hosts there is one ring only."""
_SLACK = 1 + 1e-9

Cost = tuple[float, int, float]
"""Of an order: the load of the fullest cable in hops per Gb/s, how many are as full, the sum of
squares."""


@dataclass(frozen=True, slots=True)
class HostOrder:
    """The job with its hosts in another order: `places` are theirs in the order as given."""

    name: str
    places: tuple[int, ...]
    outcome: ChannelMap

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names in this order."""
        return self.outcome.job.hosts


@dataclass(frozen=True, slots=True)
class OrderSearch:
    """The orders that were tried: as given, by leaf, and the best of a search of `n_tried` steps.

    `bound`: what no order avoids. `refused`: why no other order than that as given can be judged.
    """

    orders: tuple[HostOrder, ...]
    n_tried: int
    bound: LeafBound | None = None
    refused: str = ""

    @property
    def best(self) -> HostOrder:
        """The one with the greatest bandwidth, then with the fewest collisions."""
        return max(self.orders, key=_merit)

    @property
    def bound_busbw_gb_s(self) -> float | None:
        """No order has more bus bandwidth; None where that is not known."""
        if self.bound is None:
            return None
        given = self.orders[0].outcome
        free = given.free_busbw_gb_s
        return min(free, given.busbw_of(1 / self.bound.load)) if self.bound.load else free


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """So many exchanges of two hosts, drawn with a seed."""

    tries: int
    seed: int


def search_orders(
    job: NcclJob, adapters: Mapping[NetKey, Endport], paths: CablePaths, limits: SearchLimits
) -> OrderSearch:
    """Judge orders of the hosts; where nothing collides, that as given alone.

    A host at another place takes the adapters of its own that have the same numbers: where a host
    lacks one, no other order is tried.
    """
    n_hosts = len(job.hosts)
    given = HostOrder(AS_GIVEN, tuple(range(n_hosts)), channel_map(job, adapters, paths))
    if not given.outcome.collisions:
        return OrderSearch((given,), 1)
    numbers = {number for _, number in adapters}
    if any((at, number) not in adapters for at in range(n_hosts) for number in numbers):
        refused = "the hosts do not all use devices of the same numbers"
        return OrderSearch((given,), 1, refused=refused)
    loads, bound = _Loads(job, adapters, paths), leaf_bound(job, adapters, paths)
    if bound is not None:
        loads.least = max(loads.least, bound.load)
    sorted_ = _by_leaf(paths.subnet, job, adapters)
    best = min((given.places, sorted_), key=loads.cost_of)
    found = [given, _ordered(LEAF_BY_LEAF, sorted_, job, adapters, paths)]
    best, n_more = _climb(loads, best, limits)
    searched = _ordered(SEARCHED, best, job, adapters, paths)
    if max(map(_merit, found)) < _merit(searched):
        found.append(searched)
    return OrderSearch(tuple(found), 2 + n_more, bound)


def _merit(order: HostOrder) -> tuple[float, int]:
    return round(order.outcome.busbw_gb_s, 6), -len(order.outcome.collisions)


def _ordered(
    name: str,
    places: tuple[int, ...],
    job: NcclJob,
    adapters: Mapping[NetKey, Endport],
    paths: CablePaths,
) -> HostOrder:
    hosts, devices = (
        tuple(job.hosts[at] for at in places),
        tuple(job.devices[at] for at in places),
    )
    place_of = {old: new for new, old in enumerate(places)}
    moved = {(place_of[old], number): end for (old, number), end in adapters.items()}
    again = replace(job, hosts=hosts, devices=devices)
    return HostOrder(name, places, channel_map(again, moved, paths))


def _by_leaf(subnet: Subnet, job: NcclJob, adapters: Mapping[NetKey, Endport]) -> tuple[int, ...]:
    """Hosts behind one switch together, switches and hosts in the order of their names."""
    labels = labels_of(subnet)
    first: dict[int, Endport] = {}
    for (at, _), endport in sorted(adapters.items()):
        first.setdefault(at, endport)

    def key(at: int) -> tuple[object, ...]:
        port = (first[at].node, first[at].port)
        leaf = subnet.cable_at[port].beyond(port).node
        name = labels[leaf].name if leaf in labels else ""
        return natural_key(name), leaf, natural_key(job.hosts[at])

    return tuple(sorted(range(len(job.hosts)), key=key))


def _climb(
    loads: "_Loads", start: tuple[int, ...], limits: SearchLimits
) -> tuple[tuple[int, ...], int]:
    """Exchange two hosts at random, and keep what is no worse; end where no order has less."""
    pairs = np.random.default_rng(limits.seed).integers(0, len(start), (limits.tries, 2))
    cost = loads.cost_of(start)
    for tried, (a, b) in enumerate(pairs.tolist()):
        if len(start) < FEWEST or cost[0] <= _SLACK * loads.least:
            return tuple(loads.order), tried
        loads.exchange(a, b)
        now = loads.cost()
        if now <= cost:
            cost = now
        else:
            loads.exchange(a, b)
    return tuple(loads.order), limits.tries


class _Loads:
    """Hops over every cable direction under an order that changes step by step."""

    def __init__(self, job: NcclJob, adapters: Mapping[NetKey, Endport], paths: CablePaths) -> None:
        self._adapters = adapters
        self._paths = paths
        self._hops = job.hops
        self._of_place: dict[int, list[int]] = defaultdict(list)
        for at, hop in enumerate(job.hops):
            for place in {hop.src, hop.dst}:
                self._of_place[place].append(at)
        self._gbps: dict[PortKey, float] = {}
        self._ports: dict[tuple[Endport, Endport], tuple[PortKey, ...]] = {}
        self._set(tuple(range(len(job.hosts))))
        self.least = self._at_hosts()

    def cost_of(self, order: Sequence[int]) -> Cost:
        """Take an order; its cost."""
        self._set(order)
        return self.cost()

    def cost(self) -> Cost:
        """Of the order as it is."""
        worst = max(load for load, n in self._loads.items() if n)
        return worst, self._loads[worst], round(self._squares, 9)

    def exchange(self, a: int, b: int) -> None:
        """Exchange the hosts at two places."""
        touched = sorted({*self._of_place[a], *self._of_place[b]})
        self._count(touched, -1)
        self.order[a], self.order[b] = self.order[b], self.order[a]
        self._count(touched, 1)

    def _set(self, order: Sequence[int]) -> None:
        self.order = list(order)
        self._n: Counter[PortKey] = Counter()
        self._loads: Counter[float] = Counter()
        self._squares = 0.0
        self._count(range(len(self._hops)), 1)

    def _count(self, hops: Sequence[int], change: int) -> None:
        for at in hops:
            for port in self._ports_of(at):
                before = self._n[port] / self._gbps[port]
                self._n[port] += change
                now = self._n[port] / self._gbps[port]
                self._loads[before] -= 1
                self._loads[now] += 1
                self._squares += now * now - before * before

    def _ports_of(self, at: int) -> tuple[PortKey, ...]:
        hop = self._hops[at]
        src = self._adapters[self.order[hop.src], hop.src_net]
        dst = self._adapters[self.order[hop.dst], hop.dst_net]
        if (src, dst) not in self._ports:
            ports = tuple(egress for egress, _ in self._paths.between(src, dst))
            self._gbps |= {port: self._paths.gbps(port) for port in ports}
            self._ports[src, dst] = ports
        return self._ports[src, dst]

    def _at_hosts(self) -> float:
        """The load of the fullest of hosts' cables. Where hosts are alike, no order has less."""
        most = 0.0
        for at in range(len(self._hops)):
            for port in (self._ports_of(at)[0], self._ports_of(at)[-1]):
                most = max(most, self._n[port] / self._gbps[port])
        return most
