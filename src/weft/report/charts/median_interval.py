"""The median of a few launches with its interval, or with the range if there are too few."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.stats.summary import INTERVAL_FROM, summarise


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """Median, ends and count. `is_interval`: the ends are a 95 % interval, not just the range."""

    value: float
    low: float
    high: float
    n: int
    is_interval: bool


def median_interval_of(values: Sequence[float]) -> MedianInterval:
    """The median of launches with its 95 % interval, or their range. Raises ValueError on none."""
    summary = summarise(values)
    if summary.low is None or summary.high is None:
        ends = (summary.minimum, summary.maximum)
        return MedianInterval(summary.median, *ends, summary.n, is_interval=False)
    return MedianInterval(summary.median, summary.low, summary.high, summary.n, is_interval=True)


def meaning(medians: Sequence[MedianInterval]) -> str:
    """The meaning of these intervals' ends, in words."""
    fewest, most = min(m.n for m in medians), max(m.n for m in medians)
    if most == 1:
        return "One launch: no interval."
    launches = f"{most} launches" if fewest == most else f"{fewest} to {most} launches"
    exact = "95 % intervals of the median (order statistics)"
    if all(m.is_interval for m in medians):
        return f"Median of {launches}; bars are {exact}."
    if not any(m.is_interval for m in medians):
        return (
            f"Median of {launches}; bars go from the smallest to the largest launch "
            f"(an interval needs {INTERVAL_FROM})."
        )
    return (
        f"Median of {launches}; bars are {exact} from {INTERVAL_FROM} launches up, "
        "else the smallest and largest launch."
    )
