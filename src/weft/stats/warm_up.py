"""Where the beginning of a series ends that differs from the steady state."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from weft.stats.summary import INTERVAL_FROM, Floats, finite, robust_sigma

METHOD = "MSER"
SOURCE = "White 1997"
"""SOURCE: White, An effective truncation heuristic for bias reduction in simulation output,
Simulation 69, 1997; White, Cobb & Spratt, A comparison of five steady-state truncation heuristics
for simulation, WSC 2000."""
BATCH, BATCHES_FROM = 5, 20
"""MSER-5 takes the means of five values. Below twenty means of five, single values are taken."""
OUTLIER_SIGMAS = 3.5
"""SOURCE: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC, 1993."""
LEAST_EXCESS = 0.05
"""A value less than 5 % off the median is no outlier: logs print few digits, so that all other
values may be equal."""
SIGNIFICANT = 0.01
"""Of the rank-sum test that the beginning differs from what stands behind it."""


@dataclass(frozen=True, slots=True)
class WarmUp:
    """`n` values to leave out; `method` names how they were found, "" where there are none.
    `settles` is False where half of the values or more would have to go: none goes then but leading
    outliers."""

    n: int
    method: str
    settles: bool = True


def warm_up(values: ArrayLike) -> WarmUp | None:
    """The beginning that differs; None of fewer than six values, or where fewer would be left.

    MSER chooses the number d of values that makes the standard error of the mean of the others
    least: sum((x - mean)^2) / (n - d)^2. Outliers count as the farthest value that is none, so that
    one slow step near the end does not count as a beginning without end. The d values go if the
    rank-sum test says that they differ, and so do outliers that follow at once.
    """
    array = finite(values)
    n = array.size
    if n < INTERVAL_FROM:
        return None
    clipped = np.clip(array, *bounds(array[n // 2 :]))
    batch = BATCH if n >= BATCH * BATCHES_FROM else 1
    cut = batch * _least_error(clipped[: n // batch * batch].reshape(-1, batch).mean(axis=1))
    settles = True
    if not _differs(array[:cut], array[cut:]):
        cut, batch = 0, 1
    elif 2 * cut >= n:
        cut, batch, settles = 0, 1, False
    low, high = bounds(array[cut:])
    while 2 * cut < n and not low <= array[cut] <= high:
        cut += 1
    if n - cut < INTERVAL_FROM:
        return None
    return WarmUp(cut, f"{METHOD}-{batch}" if cut else "", settles)


def bounds(values: Floats) -> tuple[float, float]:
    """Between which values none is an outlier."""
    median = float(np.median(values))
    off = max(OUTLIER_SIGMAS * robust_sigma(values), LEAST_EXCESS * abs(median))
    return median - off, median + off


def _least_error(means: Floats) -> int:
    """The number of leading means whose removal leaves the least standard error."""
    size = np.arange(means.size, 0, -1)
    centred = means - means.mean()
    sums = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1]
    errors = (squares - sums**2 / size) / size**2
    # Of few values left the error is no estimate; half of them stay in any case.
    half = means.size // 2 + 1
    return int(np.argmin(np.maximum(errors[:half], 0)))


def _differs(beginning: Floats, others: Floats) -> bool:
    if beginning.size == 0 or others.size == 0:
        return False
    low, high = bounds(others)
    if np.all((beginning < low) | (beginning > high)):
        return True
    return float(stats.mannwhitneyu(beginning, others).pvalue) < SIGNIFICANT
