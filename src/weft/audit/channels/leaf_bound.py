"""The load that no order of hosts avoids: every ring has to leave each switch that has hosts."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from weft.audit.channels.adapters import NetKey
from weft.audit.channels.channel_map import CablePaths
from weft.audit.channels.job import RING, NcclJob
from weft.topology.subnet.subnet import Endport


@dataclass(frozen=True, slots=True)
class LeafBound:
    """The switch whose cables to other switches are fullest under any order: at least `n_hops`
    leave it, and one cable carries at least `load` hops per Gb/s."""

    switch: int
    n_hops: int
    n_cables: int
    load: float


def leaf_bound(
    job: NcclJob, adapters: Mapping[NetKey, Endport], paths: CablePaths
) -> LeafBound | None:
    """The bound of rings whose hops all use the same two devices; None where none is known.

    INVARIANT: hosts that send and receive behind one switch, and are not all hosts, are left by the
    ring once at least; where more send than receive behind it, so many hops leave.
    """
    nets = {(hop.channel, hop.src_net, hop.dst_net) for hop in job.hops}
    if job.pattern != RING or job.gaps or len({channel for channel, *_ in nets}) < len(nets):
        return None
    subnet = paths.subnet
    leaf = {}
    for key, endport in adapters.items():
        port = (endport.node, endport.port)
        leaf[key] = subnet.cable_at[port].beyond(port).node
    n_hops: Counter[int] = Counter()
    for _, out, into in sorted(nets):
        senders, receivers = _behind(job, leaf, out), _behind(job, leaf, into)
        for switch, send in senders.items():
            receive = receivers.get(switch, set())
            is_left = send == receive and len(send) < len(job.hosts)
            n_hops[switch] += 1 if is_left else max(0, len(send) - len(receive))
    bounds = [_of_switch(paths, switch, n) for switch, n in sorted(n_hops.items()) if n]
    return max(bounds, key=lambda bound: bound.load, default=None)


def _behind(job: NcclJob, leaf: Mapping[NetKey, int], net: int) -> Mapping[int, set[int]]:
    """By switch the hosts whose device of that number is behind it."""
    found: dict[int, set[int]] = defaultdict(set)
    for at in range(len(job.hosts)):
        found[leaf[at, net]].add(at)
    return found


def _of_switch(paths: CablePaths, switch: int, n_hops: int) -> LeafBound:
    """The least load of the fullest of its cables: hops go one by one where they add least."""
    subnet = paths.subnet
    gbps = [
        paths.gbps(key)
        for key, cable in sorted(subnet.cable_at.items())
        if key[0] == switch and subnet.nodes[cable.beyond(key).node].is_switch
    ]
    on = [0] * len(gbps)
    for _ in range(n_hops if gbps else 0):
        best = min(range(len(gbps)), key=lambda at: (on[at] + 1) / gbps[at])
        on[best] += 1
    load = max((n / rate for n, rate in zip(on, gbps, strict=True)), default=0.0)
    return LeafBound(switch, n_hops, len(gbps), load)
