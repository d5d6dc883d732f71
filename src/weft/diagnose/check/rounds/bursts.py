"""Rounds in which single leaves send and receive all they can, while little else runs.

Where switches choose among several ways, full rounds blur: messages of all leaves hold one another
up, now here, now there, and a slow way among many hides in that. What fills the ways of one leaf
only, its partners spread over all others, is slow where those ways are.
"""

import numpy as np

from weft.diagnose.check.measured.readings import Bools, Ints
from weft.diagnose.check.rounds.matchings import Round
from weft.diagnose.check.rounds.ranks import Ranks
from weft.diagnose.check.rounds.ways import Ways


def burst_rounds(
    ranks: Ranks, ways: Ways, times: int, *, seed: int, leaves: Ints | None = None
) -> list[Round]:
    """Rounds in which each leaf (of `leaves`, places in `ways.leaves`) is filled `times` times:
    its ranks, each with a partner of its rail under another leaf, so many as its ways bear.

    As many leaves share a round as leave every other one with no more partners than it takes to
    hold those of one leaf. The rank under the filled leaf comes first in its pair.
    """
    works = np.flatnonzero(ranks.has_rail)
    of_rank = np.full(len(ranks), -1, np.int64)
    of_rank[works] = ways.leaf_of(ranks.hca[works])
    if np.unique(of_rank[works]).size < 2:
        return []
    draws = np.random.default_rng(seed)
    wanted = np.unique(of_rank[works]) if leaves is None else leaves
    rounds: list[Round] = []
    for _ in range(times):
        left = draws.permutation(wanted).tolist()
        while left:
            burst = _Burst(ranks, ways, of_rank, draws)
            filled = [leaf for leaf in left if burst.take(leaf)]
            left = [leaf for leaf in left if leaf not in filled]
            if not filled:
                left.pop(0)
            rounds += [burst.pairs] if len(burst.pairs) else []
    return rounds


class _Burst:
    """One round while it is made."""

    def __init__(self, ranks: Ranks, ways: Ways, of_rank: Ints, draws: np.random.Generator) -> None:
        self._ranks, self._ways, self._draws = ranks, ways, draws
        self._leaf = of_rank
        self._free: Bools = of_rank >= 0
        self._guests = np.zeros(ways.leaves.size, np.int64)
        self._is_filled = np.zeros(ways.leaves.size, np.bool_)
        self._pairs: list[tuple[int, int]] = []

    @property
    def pairs(self) -> Round:
        """The pairs so far."""
        return np.array(self._pairs, np.int64).reshape(-1, 2)

    def take(self, leaf: int) -> bool:
        """Fill a leaf if that is possible beside what the round holds: a round's first leaf as far
        as there are partners, others wholly."""
        if self._guests[leaf]:
            return False
        mine = self._draws.permutation(np.flatnonzero(self._leaf == leaf))
        mine = mine[: self._n_that_fit(mine)]
        before = (self._free.copy(), self._guests.copy())
        self._is_filled[leaf] = True
        # A place for each, however few the other leaves are.
        most = -(-mine.size // max(1, self._ways.leaves.size - 1))
        pairs = [(int(rank), self._partner(int(rank), most)) for rank in mine]
        met = [pair for pair in pairs if pair[1] >= 0]
        if not met or (self._pairs and len(met) < len(pairs)):
            self._free, self._guests = before
            self._is_filled[leaf] = False
            return False
        self._pairs += met
        return True

    def _n_that_fit(self, mine: Ints) -> int:
        """So many ranks of a leaf fill the narrowest place that all of them cross."""
        ranks, ways = self._ranks, self._ways
        other = int(np.flatnonzero((self._leaf >= 0) & (self._leaf != self._leaf[mine[0]]))[0])
        hcas = ranks.hca[mine]
        crossed = ways.cross(hcas, np.full(hcas.size, ranks.hca[other]))
        shared = [place for place in crossed[0].tolist() if (crossed == place).any(axis=1).all()]
        inner = [place for place in shared if place >= len(ways.network.ports)]
        rate = float(ways.rate(crossed).max())
        room = min((float(ways.room[place]) for place in inner), default=np.inf)
        return int(min(mine.size, max(1.0, np.floor(room / rate + 1e-9))))

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
