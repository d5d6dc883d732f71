"""Fast nodes: pairs of nodes in two populations, the faster one exactly the pairs among some of the
nodes. A slow node makes such populations; a slow path between two groups of nodes does not."""

from dataclasses import dataclass

import numpy as np

from weft.check.readings.readings import Floats, Ints
from weft.check.thresholds import CheckThresholds

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class _NodePairs:
    """Unordered pairs of nodes: `ends` is 2 x pairs, `of` the pair of each value, `best` and
    `worst` the fastest and the slowest value of each pair."""

    ends: Ints
    of: Ints
    best: Floats
    worst: Floats

    def nodes_of(self, fast: Ints) -> Ints:
        """The nodes of the pairs `fast`, if these are all the pairs among them; else none."""
        nodes: Ints = np.unique(self.ends[:, fast])
        n_among = int(np.isin(self.ends, nodes).all(axis=0).sum())
        return nodes if n_among == fast.size else _NONE


def _pairs_of(slow: Floats, ends: tuple[Ints, Ints]) -> _NodePairs:
    pairs, of = np.unique(np.sort(np.stack(ends), axis=0), axis=1, return_inverse=True)
    of = of.reshape(-1)
    best, worst = np.full(pairs.shape[1], np.inf), np.full(pairs.shape[1], -np.inf)
    np.minimum.at(best, of, slow)
    np.maximum.at(worst, of, slow)
    return _NodePairs(pairs, of, best, worst)


def among_fast_nodes(
    slow: Floats, ends: tuple[Ints, Ints], guard: float, limits: CheckThresholds
) -> Floats:
    """The values of pairs of fast nodes, where each pair with another node is slower by more than
    the fast pairs, and the slow ones, differ among themselves; else all values.

    `slow` are logarithms of slowness, `ends` the two nodes of each. A pair counts by its fastest
    value, because a disturbance slows.
    """
    pairs = _pairs_of(slow, ends)
    order = np.argsort(pairs.best, kind="stable")
    ranked = pairs.best[order]
    first = max(int(np.ceil(ranked.size * (1 - limits.largest_slow_share))), 2)
    gaps = np.diff(ranked)[first - 1 :]
    if not gaps.size:
        return slow
    cut = first + int(np.argmax(gaps))
    spread = max(float(ranked[cut - 1] - ranked[0]), float(ranked[-1] - ranked[cut]))
    if ranked[cut] - ranked[cut - 1] <= max(guard, spread):
        return slow
    fast = order[:cut]
    return slow[np.isin(pairs.of, fast)] if pairs.nodes_of(fast).size else slow


def fewest_fast_nodes(slow: Floats, ends: tuple[Ints, Ints], guard: float) -> Ints:
    """The fewest nodes whose pairs among one another are, value by value, faster than all other
    pairs by more than the guard; none if no nodes are. `slow` are logarithms of slowness, `ends`
    the two nodes of each. Any share of the pairs may be slow, and each by another amount."""
    if not slow.size:
        return _NONE
    pairs = _pairs_of(slow, ends)
    order = np.argsort(pairs.worst, kind="stable")
    for n_fast in range(1, order.size):
        fast, others = order[:n_fast], order[n_fast:]
        nodes = pairs.nodes_of(fast)
        if nodes.size and pairs.best[others].min() - pairs.worst[fast].max() > guard:
            return nodes
    return _NONE
