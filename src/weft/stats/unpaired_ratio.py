"""The ratio of two samples that are not paired: Hodges-Lehmann, with its rank-sum interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from weft.stats.summary import CONFIDENCE, INTERVAL_FROM, Floats, finite

MOST_VALUES = 2000
"""Of each sample; of more, as many are taken evenly: all pairs are formed."""
EXACT_UP_TO = 20


@dataclass(frozen=True, slots=True)
class UnpairedRatio:
    """second / first. `low` and `high` bound it with 95 %."""

    ratio: float
    low: float
    high: float
    n_first: int
    n_second: int


def unpaired_ratio(first: ArrayLike, second: ArrayLike) -> UnpairedRatio | None:
    """The median of all ratios of a value of `second` to one of `first`, and the interval that
    inverts the rank-sum test; None under six values of either. SOURCE: Hodges & Lehmann, Ann. Math.
    Statist. 34, 1963; Lehmann, Nonparametrics, 1975, section 2.3. Raises ValueError on values that
    are not positive and finite."""
    a, b = finite(first), finite(second)
    if min(a.min(), b.min()) <= 0:
        raise ValueError("a ratio needs positive values")
    if min(a.size, b.size) < INTERVAL_FROM:
        return None
    logs_a, logs_b = (np.log(_thinned(one)) for one in (a, b))
    ratios = np.sort((logs_b[:, None] - logs_a[None, :]).ravel())
    k = _rank(logs_a.size, logs_b.size)
    return UnpairedRatio(
        ratio=float(np.exp(np.median(ratios))),
        low=float(np.exp(ratios[k - 1])),
        high=float(np.exp(ratios[ratios.size - k])),
        n_first=a.size,
        n_second=b.size,
    )


def _thinned(values: Floats) -> Floats:
    step = -(-values.size // MOST_VALUES)
    return np.sort(values)[step // 2 :: step]


def _rank(n: int, m: int) -> int:
    """The rank of an end among the sorted ratios: the largest k with P(U <= k - 1) <= 2.5 %."""
    tail = (1 - CONFIDENCE) / 2
    if max(n, m) <= EXACT_UP_TO:
        k = int(np.searchsorted(np.cumsum(_u_distribution(n, m)), tail, side="right"))
        return max(1, k)
    spread = np.sqrt(n * m * (n + m + 1) / 12)
    return max(1, int(np.floor(n * m / 2 - stats.norm.ppf(1 - tail) * spread - 0.5)))


def _u_distribution(n: int, m: int) -> Floats:
    """P(U = 0), P(U = 1), ... of Mann and Whitney's U without ties: the coefficients of the
    Gaussian binomial, by their recurrence."""
    counts = np.zeros(n * m + 1)
    counts[0] = 1
    for i in range(1, n + 1):
        # Multiply by 1 - q^(m + i), divide by 1 - q^i.
        counts[m + i :] -= counts[: counts.size - m - i].copy() if m + i < counts.size else 0
        for at in range(i, counts.size):
            counts[at] += counts[at - i]
    shares: Floats = counts / counts.sum()
    return shares
