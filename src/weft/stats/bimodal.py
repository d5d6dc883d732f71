"""Two populations in one sample: a flag, never a verdict."""

from collections.abc import Sequence

import numpy as np

from weft.stats.summary import Floats, finite

VALUES_FROM = 20
COEFFICIENT_OVER = 5 / 9
"""The coefficient of a uniform distribution; a normal one has 1/3."""

MINORITY_FROM = 0.1
_AT_ONCE = 4096
"""Samples of one length that are looked at together."""


def are_bimodal(samples: Sequence[Sequence[float] | Floats]) -> list[bool]:
    """Of each sample, whether its values fall into two groups, each with a tenth of them or more.

    Sarle's coefficient (skewness^2 + 1) / kurtosis, with the small-sample correction, must exceed
    5/9, and the best split in two must leave a tenth on either side: the coefficient alone takes a
    long tail for a second mode. SOURCE: Pfister et al., Good things peak in pairs, Frontiers in
    Psychology 4:700, 2013. Under 20 values, also without any, the answer is False. Samples of one
    length are looked at together. Raises ValueError on values that are not finite.
    """
    found = [False] * len(samples)
    by_length: dict[int, list[int]] = {}
    for place, sample in enumerate(samples):
        by_length.setdefault(len(sample), []).append(place)
    for length, places in by_length.items():
        for begin in range(0, len(places), _AT_ONCE):
            some = places[begin : begin + _AT_ONCE]
            rows = np.array([samples[place] for place in some], dtype=np.float64)
            if length == 0:
                continue
            finite(rows)
            if length < VALUES_FROM:
                continue
            suspects = np.flatnonzero(np.ptp(rows, axis=1) > 0)
            over = bimodality_coefficients(rows[suspects]) > COEFFICIENT_OVER
            for row in suspects[over]:
                below = _best_split(np.sort(rows[row]))
                found[some[row]] = min(below, length - below) >= MINORITY_FROM * length
    return found


def bimodality_coefficients(rows: Floats) -> Floats:
    """Sarle's coefficient of each row: four or more values that are not all equal."""
    n = rows.shape[1]
    distance = rows - rows.mean(axis=1, keepdims=True)
    squares = distance * distance
    variance = squares.mean(axis=1)
    g1 = (squares * distance).mean(axis=1) / variance**1.5
    g2 = (squares * squares).mean(axis=1) / variance**2 - 3
    # SOURCE: Joanes & Gill, Comparing measures of sample skewness and kurtosis, The Statistician
    # 47, 1998: the estimators G1 and G2.
    skewness = g1 * np.sqrt(n * (n - 1)) / (n - 2)
    excess = ((n + 1) * g2 + 6) * (n - 1) / ((n - 2) * (n - 3))
    found: Floats = (skewness**2 + 1) / (excess + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3)))
    return found


def _best_split(ordered: Floats) -> int:
    """How many values lie below the cut that leaves the least variance within the two sides."""
    n = ordered.size
    counts = np.arange(1, n)
    sums = np.cumsum(ordered)[:-1]
    total = float(ordered.sum())
    between = sums**2 / counts + (total - sums) ** 2 / (n - counts)
    return int(np.argmax(between)) + 1
