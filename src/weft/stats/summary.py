"""Medians, quantiles and the interval of a median, without assuming a distribution."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

P99_FROM = 500
"""Below this many values a 99th percentile depends on fewer than five of them."""

INTERVAL_FROM = 6
"""Below this many values no pair of order statistics covers a median with 95 %."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Summary:
    """In the unit of the values. `low` and `high` are None under six values, `p99` under 500."""

    n: int
    median: float
    low: float | None
    high: float | None
    minimum: float
    maximum: float
    p99: float | None


def finite(values: ArrayLike) -> Floats:
    """The values as a flat array. Raises ValueError when empty or not finite."""
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.size == 0:
        raise ValueError("no values")
    if not bool(np.all(np.isfinite(array))):
        raise ValueError("a value that is not finite")
    return array


def summarise(values: ArrayLike, *, confidence: float = 0.95) -> Summary:
    """Median with its order-statistic interval. Raises ValueError on no or non-finite values."""
    array = np.sort(finite(values))
    interval = median_interval(array, confidence=confidence)
    return Summary(
        n=int(array.size),
        median=float(np.median(array)),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        minimum=float(array[0]),
        maximum=float(array[-1]),
        p99=float(np.quantile(array, 0.99)) if array.size >= P99_FROM else None,
    )


def median_interval(values: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """The narrowest symmetric pair of order statistics that covers the median; None when there is
    none.

    Exact for any continuous distribution: the number of values below the median is
    Binomial(n, 1/2). SOURCE: Hoefler & Belli, Scientific Benchmarking of Parallel Computing
    Systems, SC'15, section 3.1.3 (there with the normal approximation).
    """
    array = np.sort(finite(values))
    k = _interval_rank(array.size, confidence)
    if k == 0:
        return None
    return float(array[k - 1]), float(array[array.size - k])


@functools.lru_cache(maxsize=4096)
def _interval_rank(n: int, confidence: float) -> int:
    """The largest k with P(Binomial(n, 1/2) <= k - 1) <= (1 - confidence) / 2; 0 where none has."""
    tail = (1 - confidence) / 2
    k = int(stats.binom.ppf(tail, n, 0.5)) + 1
    while k > 0 and stats.binom.cdf(k - 1, n, 0.5) > tail:
        k -= 1
    return k
