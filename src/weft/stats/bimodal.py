"""Two populations in one sample: a flag, never a verdict."""

import numpy as np
from numpy.typing import ArrayLike

from weft.stats.summary import Floats, finite

VALUES_FROM = 20
COEFFICIENT_OVER = 5 / 9
"""The coefficient of a uniform distribution; a normal one has 1/3."""

MINORITY_FROM = 0.1


def is_bimodal(values: ArrayLike) -> bool:
    """Whether the values fall into two groups, each with a tenth of them or more.

    Sarle's coefficient (skewness^2 + 1) / kurtosis, with the small-sample correction, must exceed
    5/9, and the best split in two must leave a tenth on either side: the coefficient alone takes a
    long tail for a second mode. SOURCE: Pfister et al., Good things peak in pairs, Frontiers in
    Psychology 4:700, 2013. Under 20 values the answer is False. Raises ValueError on no or
    non-finite values.
    """
    array = finite(values)
    if array.size < VALUES_FROM or np.ptp(array) == 0:
        return False
    if bimodality_coefficient(array) <= COEFFICIENT_OVER:
        return False
    below = _best_split(np.sort(array))
    return min(below, array.size - below) >= MINORITY_FROM * array.size


def bimodality_coefficient(values: Floats) -> float:
    """Sarle's coefficient of four or more values that are not all equal."""
    n = values.size
    distance = values - values.mean()
    variance = float(np.mean(distance**2))
    g1 = float(np.mean(distance**3)) / variance**1.5
    g2 = float(np.mean(distance**4)) / variance**2 - 3
    # SOURCE: Joanes & Gill, Comparing measures of sample skewness and kurtosis, The Statistician
    # 47, 1998: the estimators G1 and G2.
    skewness = g1 * np.sqrt(n * (n - 1)) / (n - 2)
    excess = ((n + 1) * g2 + 6) * (n - 1) / ((n - 2) * (n - 3))
    return float((skewness**2 + 1) / (excess + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))))


def _best_split(ordered: Floats) -> int:
    """How many values lie below the cut that leaves the least variance within the two sides."""
    n = ordered.size
    counts = np.arange(1, n)
    sums = np.cumsum(ordered)[:-1]
    total = float(ordered.sum())
    between = sums**2 / counts + (total - sums) ** 2 / (n - counts)
    return int(np.argmax(between)) + 1
