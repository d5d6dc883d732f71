"""Which cables any pair of the ranks can cross, and how much of each they can fill."""

from dataclasses import dataclass

import numpy as np

from weft.check.readings.readings import Bools, Floats, Ints
from weft.check.schedule.node_group import Group
from weft.check.schedule.paths import Ways
from weft.check.schedule.ranks import ScheduleRanks


@dataclass(frozen=True)
class PairReach:
    """What flows between ranks can cross.

    `ports`: by port, whether its cable joins switches and some flow crosses it. `full`: by port,
    what flows can fill of it (bit/s): its rate, or less where too few cross it. `n_flows`: by
    port, how many of the fastest hosts' flows that takes. `leaf`, `column`: the ways (from a leaf,
    to an HCA of `ways.hcas`) that cross port p are those from `first[p]` to `first[p + 1]`;
    empty under adaptive routing.
    """

    ports: Bools
    full: Floats
    n_flows: Ints
    first: Ints
    leaf: Ints
    column: Ints


def reach_of(ranks: ScheduleRanks, ways: Ways, only: Group | None = None) -> PairReach:
    """The reach of all pairs of ranks that have a rail, or of those that touch a group."""
    if ways.adaptive:
        return _of_stages(ranks, ways, only)
    n_ports = ways.nowhere
    rank_hcas = ranks.hca[ranks.has_rail]
    used = np.isin(ways.hcas, rank_hcas)
    ports = ways.inner.reshape(-1)
    order = np.argsort(ports, kind="stable")
    entry = order // ways.inner.shape[2]
    leaf, column = entry // ways.hcas.size, entry % ways.hcas.size
    port = ports[order]
    kept = (port >= 0) & (port < n_ports) & used[column]
    if only is not None:
        kept &= _belongs(ranks, ways, only)[leaf, column]
    port, leaf, column = port[kept], leaf[kept], column[kept]
    first = np.searchsorted(port, np.arange(n_ports + 1))
    crossed = np.diff(first) > 0
    full, n_flows = _capacity(ranks, ways, port, leaf, column)
    return PairReach(crossed, full, n_flows, first, leaf, column)


def _capacity(
    ranks: ScheduleRanks, ways: Ways, port: Ints, leaf: Ints, column: Ints
) -> tuple[Floats, Ints]:
    """What flows can fill of each port, and how many flows that takes."""
    network = ways.network
    n_ports = len(network.ports)
    hcas = np.unique(ranks.hca[ranks.has_rail])
    fastest = float(network.rate[network.port_of_hca[hcas]].max())
    n_flows = np.maximum(1, np.floor(network.rate / fastest * 1.001)).astype(np.int64)
    if (n_flows > 1).any():
        ends = np.unique(np.stack([port, column]), axis=1)[0]
        starts = np.unique(np.stack([port, leaf]), axis=1)
        of_leaf = np.bincount(ways.leaf_of(hcas), minlength=ways.leaves.size)
        n_ends = np.bincount(ends, minlength=n_ports)
        n_starts = np.bincount(starts[0], weights=of_leaf[starts[1]], minlength=n_ports)
        n_flows = np.clip(np.minimum(n_ends, n_starts), 1, n_flows).astype(np.int64)
    return np.minimum(network.rate, n_flows * fastest), n_flows


def _belongs(ranks: ScheduleRanks, ways: Ways, only: Group) -> Bools:
    """Leaves x HCAs: whether some flow from the leaf to the HCA touches the group."""
    inside = np.unique(ranks.hca[only.inside & ranks.has_rail])
    ends = np.isin(ways.hcas, inside)
    starts = np.zeros(ways.leaves.size, np.bool_)
    starts[ways.leaf_of(inside)] = True
    if ways.adaptive:
        ends = starts
    belongs = starts[:, None] | ends[None, :]
    if only.places is not None:
        belongs = belongs | only.places[ways.inner].any(axis=2)
    return np.asarray(belongs, np.bool_)


def _of_stages(ranks: ScheduleRanks, ways: Ways, only: Group | None) -> PairReach:
    network = ways.network
    inner = ways.inner if only is None else ways.inner[_belongs(ranks, ways, only)]
    ports = np.zeros(len(network.ports), np.bool_)
    for place in np.unique(inner):
        if 0 <= place < ways.nowhere:
            ports[list(ways.stages[place])] = True
    none: Ints = np.zeros(0, np.int64)
    full = _full_of_stages(ranks, ways)
    return PairReach(ports, full, np.ones(ports.size, np.int64), none, none, none)


def _full_of_stages(ranks: ScheduleRanks, ways: Ways) -> Floats:
    """By port: its share (bit/s) of what whole messages can fill of the stage it is part of, from
    all hosts whose way it is on; of several stages the one of which that is most."""
    network = ways.network
    hcas = np.unique(ranks.hca[ranks.has_rail])
    rate = network.rate[network.port_of_hca[hcas]]
    leaf, n_leaves = ways.leaf_of(hcas), ways.leaves.size
    of_leaf: Floats = np.asarray(np.bincount(leaf, rate, n_leaves), np.float64)
    fastest = np.zeros(n_leaves)
    np.maximum.at(fastest, leaf, rate)
    is_place = (ways.inner >= 0) & (ways.inner < ways.nowhere)
    start, end, _ = np.nonzero(is_place)
    place = ways.inner[is_place]
    message = np.ones(ways.nowhere)
    np.maximum.at(message, place, np.minimum(fastest[start], fastest[end]))
    whole = np.maximum(1, np.floor(ways.room[:-1] / message * 1.001)) * message
    sent = [_summed(place, ends, of_leaf, ways.nowhere) for ends in (start, end)]
    share = np.minimum.reduce([whole, *sent]) / ways.room[:-1]
    full = np.zeros(len(network.ports))
    for number in np.unique(place).tolist():
        ports = list(ways.stages[number])
        full[ports] = np.maximum(full[ports], min(1.0, share[number]))
    return np.asarray(full * network.rate, np.float64)


def _summed(place: Ints, leaf: Ints, of_leaf: Floats, n_places: int) -> Floats:
    """By place: the sum over the leaves that stand beside it, each once."""
    once = np.unique(np.stack([place, leaf]), axis=1)
    summed = np.bincount(once[0], weights=of_leaf[once[1]], minlength=n_places)
    return np.asarray(summed, np.float64)
