"""Medians, quantiles and the interval of a median, without assuming a distribution."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

CONFIDENCE = 0.95
"""The share of truths that an interval covers."""

INTERVAL_FROM = 6
"""Below this many values no pair of order statistics covers a median with 95 %."""

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation.

SOURCE: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC, 1993: a value's distance from
the median over this spread is its modified z-score.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Summary:
    """In the unit of the values. `low` and `high` are None under six values."""

    n: int
    median: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, or the range where there is none."""
        if self.low is None or self.high is None:
            return self.minimum, self.maximum
        return self.low, self.high


def finite(values: ArrayLike) -> Floats:
    """The values as a flat array. Raises ValueError when empty or not finite."""
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.size == 0:
        raise ValueError("no values")
    if not bool(np.all(np.isfinite(array))):
        raise ValueError("a value that is not finite")
    return array


def robust_sigma(values: ArrayLike) -> float:
    """1.4826 times the median absolute deviation. Raises ValueError on no or non-finite values."""
    array = finite(values)
    return MAD_TO_SIGMA * float(np.median(np.abs(array - np.median(array))))


def summarise(values: ArrayLike) -> Summary:
    """Median with its order-statistic interval. Raises ValueError on no or non-finite values."""
    array = np.sort(finite(values))
    interval = median_interval(array)
    return Summary(
        n=int(array.size),
        median=float(np.median(array)),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        minimum=float(array[0]),
        maximum=float(array[-1]),
    )


def median_interval(values: ArrayLike) -> tuple[float, float] | None:
    """The narrowest symmetric pair of order statistics that covers the median; None when there is
    none.

    Exact for any continuous distribution: the number of values below the median is
    Binomial(n, 1/2). SOURCE: Hoefler & Belli, Scientific Benchmarking of Parallel Computing
    Systems, SC'15, section 3.1.3 (there with the normal approximation).
    """
    array = np.sort(finite(values))
    k = _interval_rank(array.size)
    if k == 0:
        return None
    return float(array[k - 1]), float(array[array.size - k])


@functools.lru_cache(maxsize=4096)
def _interval_rank(n: int) -> int:
    """The largest k with P(Binomial(n, 1/2) <= k - 1) <= (1 - CONFIDENCE) / 2; 0 where none has."""
    tail = (1 - CONFIDENCE) / 2
    k = int(stats.binom.ppf(tail, n, 0.5)) + 1
    while k > 0 and stats.binom.cdf(k - 1, n, 0.5) > tail:
        k -= 1
    return k
