"""Which readings are slow: against the readings of their hop class, and slow side only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from weft.diagnose.hopclass import HopClass
from weft.diagnose.readings import Metric, Reading
from weft.diagnose.thresholds import Thresholds
from weft.stats.spread import robust_sigma

Values = NDArray[np.float64]


class Mark(StrEnum):
    """UNCLEAR neither accuses nor excuses: it lies between normal and slow."""

    SLOW = "slow"
    UNCLEAR = "unclear"
    NORMAL = "normal"
    UNJUDGED = "unjudged"


@dataclass(frozen=True, slots=True)
class Norm:
    """What a hop class delivers. `limit` is the deviation (a share of `expected`, slow side) from
    which a reading is slow; under half of it a reading is normal. `low`..`high` holds 95 % of the
    readings that count as normal."""

    metric: Metric
    hop_class: HopClass
    n: int
    expected: float
    low: float
    high: float
    limit: float

    def mark(self, value: float) -> Mark:
        """Where a value of this class stands."""
        deviation = self.deviation(value)
        if deviation >= self.limit:
            return Mark.SLOW
        return Mark.UNCLEAR if deviation > self.limit / 2 else Mark.NORMAL

    def deviation(self, value: float) -> float:
        """How much slower than expected, as a share: 0.3 is 30 % less bandwidth or more latency."""
        share = value / self.expected - 1
        return share if self.metric is Metric.LATENCY else -share


Norms = dict[tuple[Metric, HopClass], Norm]


def norms(
    readings: Sequence[Reading], classes: Sequence[HopClass], thresholds: Thresholds
) -> Norms:
    """The norm of each (metric, hop class) that has enough readings.

    Classes too small to judge by themselves are judged together where the metric hardly depends on
    the number of hops: bandwidth at one link rate. Latency classes are left unjudged.
    """
    grouped: dict[tuple[Metric, HopClass], list[float]] = {}
    totals = dict.fromkeys(Metric, 0)
    for reading, hop_class in zip(readings, classes, strict=True):
        grouped.setdefault((reading.metric, hop_class), []).append(reading.value)
        totals[reading.metric] += 1
    found: Norms = {}
    for (metric, hop_class), values in sorted(grouped.items()):
        judged = values
        if len(values) < thresholds.smallest_class:
            judged = _of_same_rate(grouped, metric, hop_class)
        if len(judged) >= thresholds.smallest_class:
            z = smallest_z(totals[metric], thresholds)
            found[metric, hop_class] = _norm(metric, hop_class, judged, z, thresholds)
    return found


def smallest_z(n_values: int, thresholds: Thresholds) -> float:
    """The modified z-score from which one of `n_values` is an outlier (Bonferroni)."""
    by_chance = -NormalDist().inv_cdf(thresholds.false_alarms_a_run / max(n_values, 1))
    return max(thresholds.smallest_z, by_chance)


def faster_population(values: Values, *, guard: float, largest_slow_share: float) -> Values:
    """The values to take the norm from: all, or the faster of two clearly separate populations.

    `values` are logarithms of speed, ascending. One slow spine of two slows half of the pairs: a
    median of all would then call anything normal. Two populations are believed only when their
    medians lie further apart than the guard and than five standard deviations of either.
    """
    n = values.size
    first = max(int(np.ceil(n * (1 - largest_slow_share))), 2)
    if n - first < first:
        return values
    cut = _best_cut(values, first)
    slow, fast = values[:cut], values[cut:]
    apart = float(np.median(fast) - np.median(slow))
    spread = max(robust_sigma(slow), robust_sigma(fast))
    if apart <= max(guard, 5 * spread):
        return values
    # The cut need not fall between the two: take back what belongs to the faster one.
    return values[values > np.median(fast) - max(guard, 5 * robust_sigma(fast))]


def _of_same_rate(
    grouped: dict[tuple[Metric, HopClass], list[float]], metric: Metric, hop_class: HopClass
) -> list[float]:
    if metric is Metric.LATENCY or hop_class.bits_per_s is None:
        return []
    return [
        value
        for (other_metric, other), values in grouped.items()
        if other_metric is metric and other.bits_per_s == hop_class.bits_per_s
        for value in values
    ]


def _norm(
    metric: Metric, hop_class: HopClass, values: list[float], z: float, thresholds: Thresholds
) -> Norm:
    guard = _guard(metric, hop_class, thresholds)
    to_speed: Callable[[Values], Values] = (
        (lambda x: -x) if metric is Metric.LATENCY else (lambda x: x)
    )
    fast = speeds = np.sort(to_speed(np.log(np.asarray(values, dtype=np.float64))))
    if hop_class.n_links is not None:
        # Without a fabric near and far pairs share a class: two populations are then no fault.
        fast = faster_population(
            speeds, guard=guard, largest_slow_share=thresholds.largest_slow_share
        )
    sigma = max(robust_sigma(fast), thresholds.scale_floor)
    limit = max(z * sigma, guard)
    middle = float(np.median(fast))
    normal = np.exp(to_speed(speeds[speeds > middle - limit / 2]))
    low, high = np.quantile(normal, [0.025, 0.975])
    expected = float(np.exp(to_speed(np.array([middle])))[0])
    return Norm(metric, hop_class, len(values), expected, float(low), float(high), limit)


def _guard(metric: Metric, hop_class: HopClass, thresholds: Thresholds) -> float:
    if metric is Metric.BANDWIDTH:
        return thresholds.bandwidth_guard
    if hop_class.n_links is None:
        return thresholds.latency_guard_without_fabric
    return thresholds.latency_guard


def _best_cut(values: Values, first: int) -> int:
    """Where to cut an ascending series in two so that each part is closest to its own mean."""
    n = values.size
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values**2)))
    cuts = np.arange(first, n - first + 1)
    left = squares[cuts] - sums[cuts] ** 2 / cuts
    right = (squares[n] - squares[cuts]) - (sums[n] - sums[cuts]) ** 2 / (n - cuts)
    return int(cuts[np.argmin(left + right)])
