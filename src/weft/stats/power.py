"""Power: the smallest effect that a study with this scatter would have found."""

import functools

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from weft.stats.multiplicity import critical_t
from weft.stats.summary import Floats

POWER = 0.8
"""The share of studies that find an effect of that size."""
_MOST_SHIFT = 1e3
"""Standard errors; an effect of so many is found by any test that can find one."""


def detectable(log_ratios: ArrayLike, share: float, *, seed: int = 1) -> Floats:
    """By column, the |log ratio| that 4 of 5 studies like this would call different.

    `log_ratios`: a row a pair of launches, a column a cell, NaN where it is missing. `share` is the
    chance of any false difference over all columns. The mean of a column over its standard error
    has a noncentral t distribution, and must exceed `critical_t`. Infinite where no effect could be
    found: too few pairs. SOURCE: Cohen, Statistical Power Analysis for the Behavioral Sciences,
    1988, chapter 2. Raises ValueError unless the array has two dimensions.
    """
    critical = critical_t(log_ratios, share, seed=seed)
    matrix = np.asarray(log_ratios, dtype=np.float64)
    present = np.isfinite(matrix)
    n = present.sum(axis=0)
    means = np.where(present, matrix, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(present, (matrix - means) ** 2, 0.0).sum(axis=0)
    errors = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
    shifts = np.array([_shift(int(count), critical) for count in n])
    can = np.isfinite(shifts)
    return np.asarray(np.where(can, np.where(can, shifts, 0.0) * errors, np.inf), dtype=np.float64)


@functools.lru_cache(maxsize=256)
def _shift(n: int, critical: float) -> float:
    """Standard errors between 0 and an effect whose |t| exceeds `critical` in 4 of 5 studies."""
    if n < 2 or not np.isfinite(critical):
        return float("inf")

    def excess(shift: float) -> float:
        return float(stats.nct.sf(critical, n - 1, shift)) - POWER

    if excess(_MOST_SHIFT) < 0:
        return float("inf")
    return float(optimize.brentq(excess, 0.0, _MOST_SHIFT, xtol=1e-6))
