"""Is the second sample larger? Evidence by ranks alone, valid after every launch.

The likelihood of the rank order under Lehmann alternatives, over that under no difference. SOURCE:
Savage, Contributions to the theory of rank order statistics, Ann. Math. Statist. 27, 1956; as a
sequential test: Savage & Sethuraman, Stopping time of a rank-order sequential probability ratio
test based on Lehmann alternatives, Ann. Math. Statist. 37, 1966. Mixed over alternatives it is a
test martingale: with no difference it ever exceeds 1 / level with probability `level` at most
(Ville 1939; Ramdas et al., Game-theoretic statistics and safe anytime-valid inference, Statist.
Sci. 38, 2023). It wants no distribution, and takes infinity: a launch that failed or hung.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from weft.stats.summary import Floats

ALTERNATIVES = ((1000.0, 0.35), (20.0, 0.1), (5.0, 0.05))
"""Powers of Lehmann's alternatives and their weights, of each of the two families: the second
sample as the largest of so many draws of the first, the first as the least of so many of the
second. The large one finds effects above the noise soonest, the small ones those within it."""

_POWERS = np.array([[[power]] for power, _ in ALTERNATIVES])
_LOG_WEIGHTS = np.log([[weight] for _, weight in ALTERNATIVES])
BESIDE = 1e-9
"""Just below a difference: at the difference itself two values are equal."""


def log_evidence(first: ArrayLike, second: ArrayLike) -> float:
    """log of the evidence that values of `second` are larger; below 0 where they are not.

    Ties count as if `second` were the smaller: that can only lower the evidence.
    """
    a, b = _values(first), _values(second)
    n = a.size + b.size
    if not a.size or not b.size:
        return 0.0
    is_second = np.concatenate([np.zeros(a.size, bool), np.ones(b.size, bool)])
    # Of equal values, those of `second` come first.
    order = np.lexsort((~is_second, np.concatenate([a, b])))
    upwards = is_second[order]
    # One row a family: its raised labels in order of value, then of the negative values.
    n_raised = np.cumsum(np.stack([upwards, ~upwards[::-1]]), axis=1)
    n_others = np.arange(1, n + 1) - n_raised
    steps = np.log(n_others + _POWERS * n_raised).sum(axis=2)
    logs = _LOG_WEIGHTS + n_raised[:, -1] * np.log(_POWERS[:, :, 0])
    return float(np.logaddexp.reduce((logs - steps).ravel()) + math.lgamma(n + 1))


def is_larger(first: ArrayLike, second: ArrayLike, level: float) -> bool:
    """Whether the evidence that `second` is larger reaches 1 / level."""
    return log_evidence(first, second) >= -math.log(level)


def shift_interval(first: ArrayLike, second: ArrayLike, level: float) -> tuple[float, float]:
    """The shifts of `first` that no evidence speaks against, at `level` for both ends together.

    Always valid: it holds after every launch at once, because it inverts the test above. An end is
    infinite where there are too few values. Raises ValueError on values that are not finite.
    """
    a, b = _values(first), _values(second)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a shift needs finite values")
    shifts = np.unique(b[:, None] - a[None, :])
    wanted = -math.log(level / 2)
    return _low_end(a, b, shifts, wanted), -_low_end(-a, -b, -shifts[::-1], wanted)


def middle_shift(first: ArrayLike, second: ArrayLike) -> float:
    """The median of all differences second - first (Hodges & Lehmann 1963)."""
    return float(np.median(_values(second)[:, None] - _values(first)[None, :]))


def _low_end(a: Floats, b: Floats, shifts: Floats, wanted: float) -> float:
    """The least shift that is left. Evidence falls as the shift grows, in steps at `shifts`."""
    low, high = 0, shifts.size
    while low < high:
        middle = (low + high) // 2
        if log_evidence(a + (shifts[middle] - BESIDE), b) >= wanted:
            low = middle + 1
        else:
            high = middle
    return -math.inf if low == 0 else float(shifts[low - 1])


def _values(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64).ravel()
