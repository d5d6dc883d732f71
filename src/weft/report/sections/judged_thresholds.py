"""Field thresholds as marks of a chart: at the sizes they apply to, in its unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.core.units import SUMMED, format_significant
from weft.judge.model import FieldVerdict, JudgedRow
from weft.report.charts.cells import ChartMetric

_TO_MB_S = {"MB/s": 1.0, "GB/s": 1e3, "Gb/s": 125.0, "Gbps": 125.0, "MiB/s": 2**20 / 1e6}
_TO_US = {"us": 1.0, "µs": 1.0, "ns": 1e-3, "ms": 1e3}
_HALF_WIDTH = 2.0
"""A threshold for one size is drawn over this factor around it."""
_EDGE = 2**0.4
"""The axis ends this far beyond the outermost sizes, or a little further."""


@dataclass(frozen=True, slots=True)
class AppliedThreshold:
    """A threshold in the unit of a chart's metric, and the sizes of the rows it applies to."""

    verdict: FieldVerdict
    value: float
    sizes_bytes: frozenset[int]


def thresholds_of(
    rows: Sequence[JudgedRow], metric: ChartMetric, verdicts: Sequence[FieldVerdict]
) -> list[AppliedThreshold]:
    """Those that were applied to a value of these rows."""
    found = []
    for verdict in verdicts:
        units = (verdict.unit, metric.unit)
        table = next((one for one in (_TO_MB_S, _TO_US) if one.keys() >= set(units)), None)
        if table is None:
            # They measure different quantities.
            continue
        factor = table[verdict.unit] / table[metric.unit]
        measured = verdict.measured * factor
        matching = [row for row in rows if abs(row.value - measured) <= SUMMED * abs(measured)]
        if matching:
            sizes = frozenset(row.row.size_bytes or 0 for row in matching)
            found.append(AppliedThreshold(verdict, verdict.threshold * factor, sizes))
    return found


def threshold_notes(applied: Sequence[AppliedThreshold]) -> tuple[str, ...]:
    """How to read the marks."""
    systems = dict.fromkeys(one.verdict.system for one in applied)
    return (f"Dotted: thresholds of {', '.join(systems)}.",) if systems else ()


def full_width_marks(applied: Sequence[AppliedThreshold]) -> list[dict[str, Any]]:
    """A mark a value with its name, for charts of one size; several systems share a mark."""
    by_value: dict[float, list[AppliedThreshold]] = {}
    for one in applied:
        by_value.setdefault(one.value, []).append(one)
    return [{"value": value, "label": _mark_label(sharing)} for value, sharing in by_value.items()]


def size_marks(applied: Sequence[AppliedThreshold], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Short marks at the sizes they are for; those of one size share one name."""
    by_size: dict[int, list[AppliedThreshold]] = {}
    for one in applied:
        for size in sorted(one.sizes_bytes & set(sizes)):
            by_size.setdefault(size, []).append(one)
    median_size = sorted(sizes)[len(sizes) // 2] if sizes else 0
    marks: list[dict[str, Any]] = []
    for size, sharing in by_size.items():
        values = sorted({one.value for one in sharing})
        for number, value in enumerate(values):
            marks.append(
                {
                    "value": value,
                    "size_low": max(size / _HALF_WIDTH, min(sizes) / _EDGE),
                    "size_high": min(size * _HALF_WIDTH, max(sizes) * _EDGE),
                    "label": _shared_label(sharing) if number == len(values) - 1 else "",
                    "is_right": size > median_size,
                }
            )
    return marks


def _mark_label(sharing: Sequence[AppliedThreshold]) -> str:
    first = sharing[0].verdict
    n_more = len({one.verdict.system for one in sharing}) - 1
    more = f" and {n_more} more" if n_more else ""
    threshold = format_significant(first.threshold, 3)
    return f"{first.system}{more}: {first.kind} {threshold} {first.unit}"


def _shared_label(sharing: Sequence[AppliedThreshold]) -> str:
    """'3.80 / 4.37 us'; the table of thresholds names each."""
    ordered = sorted(sharing, key=lambda one: one.value)
    texts = dict.fromkeys(format_significant(one.verdict.threshold, 3) for one in ordered)
    return f"{' / '.join(texts)} {sharing[0].verdict.unit}"
