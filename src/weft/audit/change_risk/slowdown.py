"""How much slower the communication of a job gets by other tables and fewer cables.

Assumed traffic: the job is alone, and its hosts exchange equal messages in shifts. In shift k, the
adapter a of host i sends one message to the adapter a of host i + k (modulo n hosts, in the order
of their names); the next shift begins when the last message has arrived. All n - 1 shifts together
are an alltoall by pairwise exchange; no shift is longer than the *worst* one.

Time of a shift, at the flow level: max over directions of cables of (messages over it / its rate).
The flows of the fullest direction share it alike and end together; every other flow ends earlier.
So the max-min fair rates are not needed for the time of the last one.

mean slowdown  = sum of all shifts' times after / sum before - 1
worst slowdown = max over shifts of (time after / time before) - 1

SOURCE: shifts as the measure of static routing: Zahavi et al., "Optimized InfiniBand fat-tree
routing for shift all-to-all communication patterns", 2010.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.core.natural import natural_key
from weft.core.nodeset import short_name
from weft.core.words import nearest
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import PortKey, Subnet

MOST_SHIFTS = 64
"""Of a job of more hosts, so many shifts are counted, evenly spread."""


@dataclass(frozen=True, slots=True)
class JobRisk:
    """What a change does to a job: slowdowns as 0.25 for 25 % longer, or why they are `unknown`.
    `cut_off`: its hosts that lose an adapter or all of them."""

    name: str
    n_hosts: int
    mean: float | None = None
    worst: float | None = None
    worst_shift: int | None = None
    n_shifts: int = 0
    unknown: str | None = None
    cut_off: tuple[str, ...] = ()


def shift_times(subnet: Subnet, ranks: Sequence[Sequence[PortKey]]) -> NDArray[np.float64]:
    """Nanoseconds a bit of a message, for each of up to MOST_SHIFTS shifts of a job.

    `ranks`: by host its adapters' ports, by the GUID of the node and the port number, equally many
    each. NaN where the rate of a cable in use is not known.
    """
    number = {(subnet.nodes[it.node].guid, it.port): at for at, it in enumerate(subnet.endports)}
    every = subnet.loads([])
    ports = zip(every["node"].tolist(), every["port"].tolist(), strict=True)
    gbps = np.array([subnet.cable_at[port].gbps or np.nan for port in ports])
    own = [subnet.endports[number[key]] for host in ranks for key in host]
    slowest_host = np.min([subnet.cable_at[it.node, it.port].gbps or np.nan for it in own])
    times = []
    for shift in shifts_of(len(ranks)):
        pairs = [
            (number[src], number[dst])
            for at, host in enumerate(ranks)
            for src, dst in zip(host, ranks[(at + shift) % len(ranks)], strict=True)
        ]
        n_paths = subnet.loads(pairs)["n_paths"]
        used = n_paths > 0
        fullest = float(np.max(n_paths[used] / gbps[used], initial=0.0))
        times.append(
            np.nan if np.isnan(gbps[used]).any() else np.maximum(fullest, 1.0 / slowest_host)
        )
    return np.array(times)


def shifts_of(n_hosts: int) -> list[int]:
    """The shifts that are counted: all, or MOST_SHIFTS evenly spread ones."""
    n = n_hosts - 1
    if n <= MOST_SHIFTS:
        return list(range(1, n_hosts))
    return [1 + at * (n - 1) // (MOST_SHIFTS - 1) for at in range(MOST_SHIFTS)]


def job_risks(
    before: Subnet,
    after: Subnet,
    jobs: Mapping[str, Sequence[str]],
    cut_off: Sequence[PortKey],
    gone: frozenset[int],
) -> tuple[JobRisk, ...]:
    """The slowdown of each job (name -> hosts), the slowest first. `cut_off` are end ports that
    lose their path, `gone` the GUIDs of nodes that are taken out."""
    adapters = _adapters(before)
    taken = (key for keys in adapters.values() for key in keys if key[0] in gone)
    fabrics = _Fabrics(before, after, adapters, frozenset([*cut_off, *taken]))
    found = (fabrics.risk(name, hosts) for name, hosts in jobs.items())
    return tuple(
        sorted(found, key=lambda it: (not it.cut_off, -(it.mean or 0.0), natural_key(it.name)))
    )


def _adapters(subnet: Subnet) -> dict[str, list[PortKey]]:
    """By host its end ports, in the order of the adapters' names."""
    found: dict[str, list[tuple[str, PortKey]]] = defaultdict(list)
    for endport in subnet.endports:
        node = subnet.nodes[endport.node]
        found[host_of(node.description)].append((node.description, (node.guid, endport.port)))
    by_host = {
        host: [key for _, key in sorted(ports, key=lambda it: (natural_key(it[0]), it[1]))]
        for host, ports in found.items()
    }
    shorts = Counter(short_name(host) for host in by_host)
    # The scheduler knows short names, an adapter may have the whole one.
    for host in list(by_host):
        if shorts[short_name(host)] == 1:
            by_host.setdefault(short_name(host), by_host[host])
    return by_host


@dataclass(frozen=True, slots=True)
class _Fabrics:
    """Before and after a change: adapters by host, and the ends that are lost."""

    before: Subnet
    after: Subnet
    adapters: Mapping[str, Sequence[PortKey]]
    lost: frozenset[PortKey]

    def risk(self, name: str, hosts: Sequence[str]) -> JobRisk:
        """What the change does to a job."""
        order = sorted(set(hosts), key=natural_key)
        reason = self._unnamed(order)
        ranks = [] if reason else [self._of(host) for host in order]
        cut = tuple(host for host, keys in zip(order, ranks, strict=False) if self.lost & set(keys))
        if cut:
            return JobRisk(name, len(order), cut_off=cut)
        if len({len(keys) for keys in ranks}) > 1:
            few, most = min(map(len, ranks)), max(map(len, ranks))
            reason = f"its hosts have {few} to {most} adapters"
        if reason is not None:
            return JobRisk(name, len(order), unknown=reason)
        if len(ranks) < 2:
            return JobRisk(name, len(order), 0.0, 0.0)
        return _slowdown(name, len(order), *self._times(ranks))

    def _times(
        self, ranks: Sequence[Sequence[PortKey]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return shift_times(self.before, ranks), shift_times(self.after, ranks)

    def _of(self, host: str) -> Sequence[PortKey]:
        return self.adapters[host if host in self.adapters else short_name(host)]

    def _unnamed(self, hosts: Sequence[str]) -> str | None:
        known = self.adapters
        strange = [it for it in hosts if it not in known and short_name(it) not in known]
        if not strange:
            return None
        near = nearest(strange[0], known)
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        return f"no file names {strange[0]}{more}" + (f"; the nearest is {near}" if near else "")


def _slowdown(
    name: str, n_hosts: int, then: NDArray[np.float64], now: NDArray[np.float64]
) -> JobRisk:
    if np.isnan(then).any() or np.isnan(now).any():
        return JobRisk(name, n_hosts, unknown="the rate of a cable that it uses was not read")
    ratios = now / then
    at = int(np.argmax(ratios))
    return JobRisk(
        name,
        n_hosts,
        mean=float(now.sum() / then.sum() - 1),
        worst=float(ratios[at] - 1),
        worst_shift=shifts_of(n_hosts)[at],
        n_shifts=len(then),
    )
