"""The cables that any pair of the ranks can cross, and how much of each they can fill."""

from dataclasses import dataclass

import numpy as np

from weft.check.readings.readings import Bools, Floats, Ints
from weft.check.schedule.node_group import Group
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks


@dataclass(frozen=True)
class PairReach:
    """The ports that flows between ranks can cross.

    `ports`: by port, whether its cable joins switches and some flow crosses it. `full`: by port,
    the rate that flows can fill (bit/s): its own, or less where too few cross it. `n_flows`: by
    port, how many of the fastest hosts' flows that takes. `leaf`, `column`: the paths (from a leaf,
    to an HCA of `paths.hcas`) that cross port p are those from `first[p]` to `first[p + 1]`;
    empty under adaptive routing.
    """

    ports: Bools
    full: Floats
    n_flows: Ints
    first: Ints
    leaf: Ints
    column: Ints


def reach_of(ranks: ScheduleRanks, paths: FlowPaths, only: Group | None = None) -> PairReach:
    """The reach of all pairs of ranks that have a rail, or of those that touch a group."""
    if paths.adaptive:
        return _of_stages(ranks, paths, only)
    n_ports = paths.nowhere
    rank_hcas = ranks.hca[ranks.has_rail]
    used = np.isin(paths.hcas, rank_hcas)
    ports = paths.inner.reshape(-1)
    order = np.argsort(ports, kind="stable")
    entry = order // paths.inner.shape[2]
    leaf, column = entry // paths.hcas.size, entry % paths.hcas.size
    port = ports[order]
    kept = (port >= 0) & (port < n_ports) & used[column]
    if only is not None:
        kept &= _belongs(ranks, paths, only)[leaf, column]
    port, leaf, column = port[kept], leaf[kept], column[kept]
    first = np.searchsorted(port, np.arange(n_ports + 1))
    crossed = np.diff(first) > 0
    full, n_flows = _capacity(ranks, paths, port, leaf, column)
    return PairReach(crossed, full, n_flows, first, leaf, column)


def _capacity(
    ranks: ScheduleRanks, paths: FlowPaths, port: Ints, leaf: Ints, column: Ints
) -> tuple[Floats, Ints]:
    """The rate at which flows can fill each port, and how many flows that takes."""
    network = paths.network
    n_ports = len(network.ports)
    hcas = np.unique(ranks.hca[ranks.has_rail])
    fastest = float(network.rate[network.port_of_hca[hcas]].max())
    n_flows = np.maximum(1, np.floor(network.rate / fastest * 1.001)).astype(np.int64)
    if (n_flows > 1).any():
        ends = np.unique(np.stack([port, column]), axis=1)[0]
        starts = np.unique(np.stack([port, leaf]), axis=1)
        of_leaf = np.bincount(paths.leaf_of(hcas), minlength=paths.leaves.size)
        n_ends = np.bincount(ends, minlength=n_ports)
        n_starts = np.bincount(starts[0], weights=of_leaf[starts[1]], minlength=n_ports)
        n_flows = np.clip(np.minimum(n_ends, n_starts), 1, n_flows).astype(np.int64)
    return np.minimum(network.rate, n_flows * fastest), n_flows


def _belongs(ranks: ScheduleRanks, paths: FlowPaths, only: Group) -> Bools:
    """Leaves x HCAs: whether some flow from the leaf to the HCA touches the group."""
    inside = np.unique(ranks.hca[only.inside & ranks.has_rail])
    ends = np.isin(paths.hcas, inside)
    starts = np.zeros(paths.leaves.size, np.bool_)
    starts[paths.leaf_of(inside)] = True
    if paths.adaptive:
        ends = starts
    belongs = starts[:, None] | ends[None, :]
    if only.places is not None:
        belongs = belongs | only.places[paths.inner].any(axis=2)
    return np.asarray(belongs, np.bool_)


def _of_stages(ranks: ScheduleRanks, paths: FlowPaths, only: Group | None) -> PairReach:
    network = paths.network
    inner = paths.inner if only is None else paths.inner[_belongs(ranks, paths, only)]
    ports = np.zeros(len(network.ports), np.bool_)
    for place in np.unique(inner):
        if 0 <= place < paths.nowhere:
            ports[list(paths.stages[place])] = True
    none: Ints = np.zeros(0, np.int64)
    full = _full_of_stages(ranks, paths)
    return PairReach(ports, full, np.ones(ports.size, np.int64), none, none, none)


def _full_of_stages(ranks: ScheduleRanks, paths: FlowPaths) -> Floats:
    """By port: its share (bit/s) of its stage's capacity that whole messages of all hosts can fill.
    Of several stages the largest share."""
    network = paths.network
    hcas = np.unique(ranks.hca[ranks.has_rail])
    rate = network.rate[network.port_of_hca[hcas]]
    leaf, n_leaves = paths.leaf_of(hcas), paths.leaves.size
    of_leaf: Floats = np.asarray(np.bincount(leaf, rate, n_leaves), np.float64)
    fastest = np.zeros(n_leaves)
    np.maximum.at(fastest, leaf, rate)
    is_place = (paths.inner >= 0) & (paths.inner < paths.nowhere)
    start, end, _ = np.nonzero(is_place)
    place = paths.inner[is_place]
    message = np.ones(paths.nowhere)
    np.maximum.at(message, place, np.minimum(fastest[start], fastest[end]))
    whole = np.maximum(1, np.floor(paths.room[:-1] / message * 1.001)) * message
    sent = [_summed(place, ends, of_leaf, paths.nowhere) for ends in (start, end)]
    share = np.minimum.reduce([whole, *sent]) / paths.room[:-1]
    full = np.zeros(len(network.ports))
    for number in np.unique(place).tolist():
        ports = list(paths.stages[number])
        full[ports] = np.maximum(full[ports], min(1.0, share[number]))
    return np.asarray(full * network.rate, np.float64)


def _summed(place: Ints, leaf: Ints, of_leaf: Floats, n_places: int) -> Floats:
    """By place: the sum over its leaves, each once."""
    once = np.unique(np.stack([place, leaf]), axis=1)
    summed = np.bincount(once[0], weights=of_leaf[once[1]], minlength=n_places)
    return np.asarray(summed, np.float64)
