"""Rounds in which single leaves send and receive all they can, while little else runs.

Where switches choose among several paths, full rounds blur: messages of all leaves hold one another
up, now here, now there, and a slow path among many hides in that. What fills the paths of one leaf
only, its partners spread over all others, is slow where those paths are.
"""

import numpy as np

from weft.check.readings.readings import Bools, Ints
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.rounds.matchings import Round
from weft.check.thresholds import thresholds
from weft.core.units import ROUNDING


def burst_rounds(
    ranks: ScheduleRanks, paths: FlowPaths, *, seed: int, only: Bools | None = None
) -> list[Round]:
    """Rounds in which each leaf is filled: by as many of its ranks as its paths bear, each with a
    partner of its rail under another leaf. So often that a median of their readings is meaningful.
    `only`: by rank, whether it belongs to a group; then the leaves that belong to it wholly, and
    others to compare them with.

    As many leaves share a round as leave every other one with no more partners than it takes to
    hold those of one leaf. The rank under the filled leaf comes first in its pair. None where the
    leaves are too few to be held against one another.
    """
    works = np.flatnonzero(ranks.has_rail)
    of_rank = np.full(len(ranks), -1, np.int64)
    of_rank[works] = paths.leaf_of(ranks.hca[works])
    limits = thresholds()
    leaves = np.unique(of_rank[works])
    # A leaf's paths up and its paths down are two of a kind.
    if 2 * leaves.size < limits.crowded_peers:
        return []
    draws = np.random.default_rng(seed)
    outside = np.zeros(len(ranks), np.bool_) if only is None else ~only
    wanted = np.setdiff1d(leaves, of_rank[works][outside[works]])
    if wanted.size:
        others = draws.permutation(np.setdiff1d(leaves, wanted))
        wanted = np.concatenate([wanted, others[: limits.crowded_peers]])
    fit = {leaf: n_that_fit(ranks, paths, of_rank, leaf) for leaf in wanted.tolist()}
    least, most = limits.bursts_least, limits.bursts_most
    times = {leaf: min(most, max(least, -(-limits.burst_flows // n))) for leaf, n in fit.items()}
    rounds: list[Round] = []
    for time in range(max(times.values(), default=0)):
        left = [leaf for leaf in draws.permutation(wanted).tolist() if time < times[leaf]]
        while left:
            burst = _Burst(ranks, of_rank, draws)
            filled = [leaf for leaf in left if burst.take(leaf, fit[leaf])]
            left = [leaf for leaf in left if leaf not in filled]
            if not filled:
                left.pop(0)
            rounds += [burst.pairs] if len(burst.pairs) else []
    return rounds


def n_that_fit(ranks: ScheduleRanks, paths: FlowPaths, of_rank: Ints, leaf: int) -> int:
    """So many ranks of a leaf fill the widest of its paths to other leaves."""
    mine = np.flatnonzero(of_rank == leaf)
    network = paths.network
    rate = float(network.rate[network.port_of_hca[ranks.hca[mine]]].max())
    others = np.setdiff1d(np.unique(of_rank[of_rank >= 0]), [leaf])
    first = paths.inner[leaf, others, 0]
    first = first[(first >= 0) & (first != paths.nowhere)]
    room = float(paths.room[first].max()) if first.size else np.inf
    return int(min(mine.size, max(1.0, np.floor(room / rate + ROUNDING))))


class _Burst:
    """One round while it is made."""

    def __init__(self, ranks: ScheduleRanks, of_rank: Ints, draws: np.random.Generator) -> None:
        self._ranks, self._draws = ranks, draws
        self._leaf = of_rank
        self._free: Bools = of_rank >= 0
        n_leaves = int(of_rank.max()) + 1
        self._guests = np.zeros(n_leaves, np.int64)
        self._is_filled = np.zeros(n_leaves, np.bool_)
        self._pairs: list[tuple[int, int]] = []

    @property
    def pairs(self) -> Round:
        """The pairs so far."""
        return np.array(self._pairs, np.int64).reshape(-1, 2)

    def take(self, leaf: int, n: int) -> bool:
        """Fill a leaf by `n` of its ranks if the pairs of the round leave room: a
        round's first leaf as far as there are partners, others wholly."""
        if self._guests[leaf]:
            return False
        mine = self._draws.permutation(np.flatnonzero(self._leaf == leaf))[:n]
        before = (self._free.copy(), self._guests.copy())
        self._is_filled[leaf] = True
        most = -(-mine.size // max(1, self._n_others(mine, leaf)))
        pairs = [(int(rank), self._partner(int(rank), most)) for rank in mine]
        met = [pair for pair in pairs if pair[1] >= 0]
        if not met or (self._pairs and len(met) < len(pairs)):
            self._free, self._guests = before
            self._is_filled[leaf] = False
            return False
        self._pairs += met
        return True

    def _n_others(self, mine: Ints, leaf: int) -> int:
        """Leaves that hold ranks of the same rails."""
        alike = np.isin(self._ranks.rail, self._ranks.rail[mine]) & (self._leaf >= 0)
        return int(np.setdiff1d(self._leaf[alike], [leaf]).size)

    def _partner(self, rank: int, most: int) -> int:
        """A free rank of the same rail under a leaf that is not filled, -1 for none."""
        ranks, leaf = self._ranks, self._leaf
        fit = self._free & (ranks.rail == ranks.rail[rank]) & (ranks.unit != ranks.unit[rank])
        fit &= ~self._is_filled[leaf] & (self._guests[leaf] < most)
        found = np.flatnonzero(fit)
        if not found.size:
            return -1
        chosen = int(self._draws.choice(found))
        self._free[[rank, chosen]] = False
        self._guests[leaf[chosen]] += 1
        return chosen
