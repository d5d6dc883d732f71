"""Other people's thresholds as marks of a chart: where they were applied, in its unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.core.units import format_significant
from weft.judge.model import FieldVerdict, JudgedRow
from weft.report.charts.cells import ChartMetric

_SAME = 1e-6
_TO_MB_S = {"MB/s": 1.0, "GB/s": 1e3, "Gb/s": 125.0, "Gbps": 125.0, "MiB/s": 2**20 / 1e6}
_TO_US = {"us": 1.0, "µs": 1.0, "ns": 1e-3, "ms": 1e3}
_HALF_WIDTH = 2.0
"""A threshold for one size is drawn over this factor around it."""
_EDGE = 2**0.4
"""The axis ends this far beyond the outermost sizes, or a little further."""


@dataclass(frozen=True, slots=True)
class AppliedThreshold:
    """A threshold in the unit of a chart's metric, and the sizes of rows it was applied to."""

    verdict: FieldVerdict
    value: float
    sizes_bytes: frozenset[int]


def thresholds_of(
    rows: Sequence[JudgedRow], metric: ChartMetric, verdicts: Sequence[FieldVerdict]
) -> list[AppliedThreshold]:
    """Those that were applied to a value of these rows."""
    found = []
    for verdict in verdicts:
        factor = _factor(verdict.unit, metric.unit)
        if factor is None:
            continue
        measured = verdict.measured * factor
        there = [row for row in rows if abs(row.value - measured) <= _SAME * abs(measured)]
        if there:
            sizes = frozenset(row.row.size_bytes or 0 for row in there)
            found.append(AppliedThreshold(verdict, verdict.threshold * factor, sizes))
    return found


def about(applied: Sequence[AppliedThreshold]) -> tuple[str, ...]:
    """How to read the marks."""
    systems = dict.fromkeys(one.verdict.system for one in applied)
    return (f"Dotted: thresholds of {', '.join(systems)}.",) if systems else ()


def across(applied: Sequence[AppliedThreshold]) -> list[dict[str, Any]]:
    """A mark a value with its name, for charts of one size; several systems share a mark."""
    by_value: dict[float, list[AppliedThreshold]] = {}
    for one in applied:
        by_value.setdefault(one.value, []).append(one)
    return [{"value": value, "label": _named(here)} for value, here in by_value.items()]


def at_sizes(applied: Sequence[AppliedThreshold], sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Short marks at the sizes they are for; those of one size share one name."""
    by_size: dict[int, list[AppliedThreshold]] = {}
    for one in applied:
        for size in sorted(one.sizes_bytes & set(sizes)):
            by_size.setdefault(size, []).append(one)
    middle = sorted(sizes)[len(sizes) // 2] if sizes else 0
    marks: list[dict[str, Any]] = []
    for size, here in by_size.items():
        values = sorted({one.value for one in here})
        for number, value in enumerate(values):
            marks.append(
                {
                    "value": value,
                    "size_low": max(size / _HALF_WIDTH, min(sizes) / _EDGE),
                    "size_high": min(size * _HALF_WIDTH, max(sizes) * _EDGE),
                    "label": _together(here) if number == len(values) - 1 else "",
                    "is_right": size > middle,
                }
            )
    return marks


def _named(here: Sequence[AppliedThreshold]) -> str:
    first = here[0].verdict
    n_more = len({one.verdict.system for one in here}) - 1
    more = f" and {n_more} more" if n_more else ""
    return f"{first.system}{more}: {_said(first)} {first.unit}"


def _together(here: Sequence[AppliedThreshold]) -> str:
    """'3.80 / 4.37 us': which is which is said in the table of thresholds."""
    ordered = sorted(here, key=lambda one: one.value)
    said = dict.fromkeys(format_significant(one.verdict.threshold, 3) for one in ordered)
    return f"{' / '.join(said)} {here[0].verdict.unit}"


def _said(verdict: FieldVerdict) -> str:
    return f"{verdict.kind} {format_significant(verdict.threshold, 3)}"


def _factor(unit: str, wanted: str) -> float | None:
    """What turns a value in `unit` into `wanted`; None where they measure different things."""
    for table in (_TO_MB_S, _TO_US):
        if unit in table and wanted in table:
            return table[unit] / table[wanted]
    return None
