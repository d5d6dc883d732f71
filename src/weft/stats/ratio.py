"""The ratio of paired launches: Hodges-Lehmann on the log scale, with an interval that covers."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from weft.core.words import counted
from weft.stats import signed_rank
from weft.stats.summary import CONFIDENCE, Floats, finite

PAIRS_FROM = 6
"""Below six pairs no signed-rank interval reaches 95 %: 2 / 2^5 > 0.05."""

EXACT_UP_TO = 25
BOOTSTRAP_UP_TO = 60
"""Above, the normal approximation of the signed-rank statistic is as good as exact, and cheap."""

RESAMPLES = 999


@dataclass(frozen=True, slots=True)
class NotEnoughData:
    """Fewer pairs than an interval needs: the estimate of second / first alone; NaN of no pair."""

    n: int
    ratio: float

    @property
    def text(self) -> str:
        """'not enough data: 4 pairs, 6 needed'."""
        return f"not enough data: {counted(self.n, 'pair')}, {PAIRS_FROM} needed"


@dataclass(frozen=True, slots=True)
class Ratio:
    """second / first. `low` and `high` bound it with 95 %; `p` is two-sided for ratio 1."""

    ratio: float
    low: float
    high: float
    p: float
    n: int

    @property
    def differs(self) -> bool:
        """Whether the interval leaves 1 out."""
        return self.low > 1.0 or self.high < 1.0


def paired_ratio(first: ArrayLike, second: ArrayLike, *, seed: int = 1) -> Ratio | NotEnoughData:
    """second / first over pairs, or NotEnoughData under six of them.

    The estimate is the median of all pairwise means of log ratios (Hodges & Lehmann 1963). Up to
    25 pairs the interval inverts the exact signed-rank test, up to 60 it is a bootstrap-t, above
    it inverts the normal approximation of the same test. Raises ValueError on values that are not
    positive and finite, or when the two differ in length.
    """
    logs = log_ratios(first, second)
    if logs.size < PAIRS_FROM:
        walsh = walsh_averages(logs)
        estimate = float(np.exp(np.median(walsh))) if logs.size else float("nan")
        return NotEnoughData(int(logs.size), estimate)
    walsh = walsh_averages(logs, _rank(logs.size))
    if logs.size <= EXACT_UP_TO:
        low, high = _ends(walsh, _rank(logs.size))
    elif logs.size <= BOOTSTRAP_UP_TO:
        low, high = _bootstrap_t(logs, walsh, seed)
    else:
        low, high = _ends(walsh, _rank(logs.size))
    return Ratio(
        ratio=float(np.exp(_middle(walsh))),
        low=float(np.exp(low)),
        high=float(np.exp(high)),
        p=_p_value(logs),
        n=int(logs.size),
    )


def log_ratios(first: ArrayLike, second: ArrayLike) -> Floats:
    """log(second / first), pair by pair. Raises ValueError as `paired_ratio` does."""
    a = np.asarray(first, dtype=np.float64).ravel()
    b = np.asarray(second, dtype=np.float64).ravel()
    if a.size != b.size:
        raise ValueError(f"{a.size} values cannot be paired with {b.size}")
    if a.size == 0:
        return a
    if finite(a).min() <= 0 or finite(b).min() <= 0:
        raise ValueError("a ratio needs positive values")
    logs: Floats = np.log(b) - np.log(a)
    return logs


def walsh_averages(values: Floats, *ranks: int) -> Floats:
    """Means of all pairs i <= j along the last axis: n (n + 1) / 2 of them, of which the `ranks`
    smallest and largest (from 1) stand in their places of order, and all without any."""
    rows, columns = _pairs(values.shape[-1])
    averages: Floats = (values[..., rows] + values[..., columns]) / 2
    if not ranks:
        return np.sort(averages, axis=-1)
    size = rows.size
    places = {(size - 1) // 2, size // 2, *(place for k in ranks for place in (k - 1, size - k))}
    return np.partition(averages, sorted(places), axis=-1)


@functools.lru_cache(maxsize=16)
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(n)


def _middle(walsh: Floats) -> Floats:
    """The median along the last axis, of averages whose middle stands in its place."""
    size = walsh.shape[-1]
    return np.asarray((walsh[..., (size - 1) // 2] + walsh[..., size // 2]) / 2, dtype=np.float64)


def hodges_lehmann(values: ArrayLike) -> float:
    """The median of the Walsh averages."""
    return float(np.median(walsh_averages(finite(values))))


def _ends(walsh: Floats, k: int) -> tuple[float, float]:
    """The k-th smallest and the k-th largest."""
    return float(walsh[k - 1]), float(walsh[walsh.size - k])


def _rank(n: int) -> int:
    """The rank of an interval's ends among the averages, exact where there are few."""
    return signed_rank.critical_rank(n) if n <= EXACT_UP_TO else _normal_rank(n)


def _normal_rank(n: int) -> int:
    z = stats.norm.ppf((1 + CONFIDENCE) / 2)
    spread = z * np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return max(1, int(np.floor(n * (n + 1) / 4 - spread)))


def _standard_error(walsh: Floats, n: int) -> Floats:
    """From the length of the 95 % signed-rank interval, along the last axis. SOURCE: Lehmann,
    Nonparametric Confidence Intervals for a Shift Parameter, Ann. Math. Statist. 34, 1963."""
    k = _normal_rank(n)
    length = walsh[..., walsh.shape[-1] - k] - walsh[..., k - 1]
    return np.asarray(length / (2 * stats.norm.ppf(0.975)), dtype=np.float64)


def _bootstrap_t(logs: Floats, walsh: Floats, seed: int) -> tuple[float, float]:
    """Studentised bootstrap of the Hodges-Lehmann estimate. SOURCE: Efron & Tibshirani, An
    Introduction to the Bootstrap, 1993, section 12.5."""
    centre, error = float(_middle(walsh)), float(_standard_error(walsh, logs.size))
    if error == 0:
        return centre, centre
    resampled = np.random.default_rng(seed).choice(logs, (RESAMPLES, logs.size))
    again = walsh_averages(resampled, _rank(logs.size))
    spreads = _standard_error(again, logs.size)
    usable = spreads > 0
    if not usable.any():
        return centre, centre
    quotients = (_middle(again)[usable] - centre) / spreads[usable]
    tail = (1 - CONFIDENCE) / 2
    lower, upper = np.quantile(quotients, [tail, 1 - tail])
    return centre - float(upper) * error, centre - float(lower) * error


def _p_value(logs: Floats) -> float:
    if logs.size <= EXACT_UP_TO:
        return signed_rank.p_value(logs)
    if not np.any(logs):
        return 1.0
    return float(stats.wilcoxon(logs, method="approx").pvalue)
