"""The signed-rank distribution, exact: the basis of a ratio's interval and p-value."""

import functools

import numpy as np
from scipy import stats

from weft.stats.summary import CONFIDENCE, Floats


def cumulative(n: int) -> Floats:
    """P(W <= w) for w = 0 .. n(n+1)/2 under no effect, n pairs without ties.

    W is the sum of the ranks with a plus sign; each of the 2^n sign patterns is equally likely.
    """
    return _sum_distribution(tuple(range(1, n + 1)))


@functools.lru_cache(maxsize=64)
def _sum_distribution(ranks: tuple[int, ...]) -> Floats:
    counts = np.zeros(sum(ranks) + 1, dtype=np.float64)
    counts[0] = 1.0
    for rank in ranks:
        shifted = np.zeros_like(counts)
        shifted[rank:] = counts[: counts.size - rank]
        counts = (counts + shifted) / 2
    return np.cumsum(counts)


def p_value(differences: Floats) -> float:
    """Two-sided exact p of "symmetric around zero"; zeros dropped, ties by mid-ranks.

    With ties the distribution is that of the sums of the mid-ranks themselves (doubled, so that
    they are integers). Under no difference at all the answer is 1.
    """
    moved = differences[differences != 0]
    if moved.size == 0:
        return 1.0
    ranks = np.rint(2 * stats.rankdata(np.abs(moved))).astype(int)
    below = _sum_distribution(tuple(sorted(ranks.tolist())))
    w = int(ranks[moved > 0].sum())
    smaller = min(w, int(ranks.sum()) - w)
    return float(min(1.0, 2 * below[smaller]))


def p_below(values: Floats, limit: float, n_lost: int = 0) -> float:
    """One-sided exact p of "the centre is at `limit` or above", where `n_lost` values are missing
    and each is taken to lie above the limit by more than any other does."""
    distances = limit - values
    moved = np.append(distances[distances != 0], np.full(n_lost, -np.inf))
    if moved.size == 0:
        return 1.0
    ranks = np.rint(2 * stats.rankdata(np.abs(moved))).astype(int)
    below = _sum_distribution(tuple(sorted(ranks.tolist())))
    return float(below[int(ranks[moved < 0].sum())])


def critical_rank(n: int) -> int:
    """The largest k with P(W <= k - 1) <= (1 - CONFIDENCE) / 2; 0 when no k has it.

    [k-th smallest, k-th largest] of the Walsh averages then covers the centre of symmetry.
    """
    return int(np.searchsorted(cumulative(n), (1 - CONFIDENCE) / 2, side="right"))
