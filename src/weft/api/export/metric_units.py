"""A metric's name taken apart: what is measured, its unit, and the statistic over iterations."""

import re
from dataclasses import dataclass

_STATISTIC = "p50|p90|p95|p99|p999|min|max|stdev"
_METRIC = re.compile(
    rf"(?P<stem>.+?)_(?P<unit>us|ns|mb_s|gb_s|mps)(?:_(?P<statistic>{_STATISTIC}))?"
)

UNITS = {
    "us": ("us", "seconds", 1e-6),
    "ns": ("ns", "seconds", 1e-9),
    "mb_s": ("MB/s", "bytes_per_second", 1e6),
    "gb_s": ("GB/s", "bytes_per_second", 1e9),
    "mps": ("M/s", "per_second", 1e6),
}
"""By the end of a name: the unit as people write it, the base unit as Prometheus names it, and the
factor to the base unit."""


@dataclass(frozen=True, slots=True)
class MetricName:
    """'latency', 'us' and 'p50' of latency_us_p50; a ratio or a count has no unit."""

    stem: str
    unit: str = ""
    statistic: str = ""

    @property
    def written_unit(self) -> str:
        """'us', 'GB/s'; '1' without a unit."""
        return UNITS[self.unit][0] if self.unit else "1"

    @property
    def base_unit(self) -> str:
        """'seconds'; "" without a unit."""
        return UNITS[self.unit][1] if self.unit else ""

    @property
    def factor(self) -> float:
        """From the unit to the base unit."""
        return UNITS[self.unit][2] if self.unit else 1.0


def metric_name(metric: str) -> MetricName:
    """The parts of a metric's name."""
    found = _METRIC.fullmatch(metric)
    if found is None:
        return MetricName(metric)
    return MetricName(found["stem"], found["unit"], found["statistic"] or "")
