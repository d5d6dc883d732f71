"""Anomalies of a table, which need no platform: columns that contradict each other, and rows
outside their own curve.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from weft.core.units import format_size
from weft.judge.anomalies.column_agreement import contradictions, half_digit
from weft.judge.anomalies.curve_outliers import Outlier, outliers
from weft.judge.rules import Rules
from weft.results.model import Row, Table

CURVES = ("latency_us", "bandwidth_mb_s", "busbw_gb_s", "algbw_gb_s", "msg_rate_mps")
"""Metrics that are smooth over the sizes of one series."""
NOT_A_SERIES = frozenset({"algorithm", "protocol", "channels", "validation"})
"""Labels that change along one curve without breaking it."""
MIN_PEERS = 4
"""Least repeats of one size of which one can be an outlier."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RowAnomaly:
    """The anomaly of a row; `of_curve`: only its curve shows it."""

    text: str
    of_curve: bool


def row_anomalies(table: Table, n_ranks: int | None, rules: Rules) -> dict[int, RowAnomaly]:
    """Index of a row -> its anomaly."""
    texts: dict[int, list[str]] = defaultdict(list)
    for found in contradictions(table, n_ranks, rules):
        texts[found.row].append(found.text)
    anomalies = {
        i: RowAnomaly(
            "its columns contradict each other: " + "; ".join(dict.fromkeys(found)), False
        )
        for i, found in texts.items()
    }
    for (metric, _), members in _curves(table, rules).items():
        for outlier in _outliers(table, metric, members, rules):
            index = members[outlier.index]
            anomalies.setdefault(
                index, RowAnomaly(_stands_out(table.rows[index], metric, outlier), True)
            )
    for index, text in _placements_apart(table, rules).items():
        anomalies.setdefault(index, RowAnomaly(text, True))
    return anomalies


def series_of(row: Row) -> Labels:
    """The labels of a series: those that do not change along one curve."""
    return tuple(sorted((k, v) for k, v in row.labels.items() if k not in NOT_A_SERIES))


def _curves(table: Table, rules: Rules) -> Mapping[tuple[str, Labels], list[int]]:
    found: dict[tuple[str, Labels], list[int]] = defaultdict(list)
    for index, row in enumerate(table.rows):
        labels = series_of(row)
        for metric in CURVES:
            value = row.metrics.get(metric, 0.0)
            if (
                value > 0
                and row.size_bytes is not None
                and _has_digits(table.tool, metric, value, rules)
            ):
                found[(metric, labels)].append(index)
    return found


def _has_digits(tool: str, metric: str, value: float, rules: Rules) -> bool:
    return 2 * half_digit(value, tool, metric) * rules.digits_to_compare <= value


def _outliers(table: Table, metric: str, members: Sequence[int], rules: Rules) -> list[Outlier]:
    rows = [table.rows[index] for index in members]
    values = [row.metrics[metric] for row in rows]
    sizes = [row.size_bytes or 0 for row in rows]
    slack = [math.log1p(half_digit(value, table.tool, metric) / value) for value in values]
    if len(set(sizes)) == len(sizes):
        return outliers(sizes, values, rules, slack)
    return _repeats_apart(sizes, values, rules)


def _repeats_apart(sizes: Sequence[int], values: Sequence[float], rules: Rules) -> list[Outlier]:
    """Rows of a size measured several times that lie apart from the median of that size."""
    found = []
    for size in dict.fromkeys(sizes):
        members = [i for i, other in enumerate(sizes) if other == size]
        median_value = median(values[i] for i in members)
        away = {i: math.log(values[i] / median_value) for i in members}
        rough = rules.curve_roughness * median(abs(distance) for distance in away.values())
        limit = max(math.log(rules.curve_factor), rough)
        if len(members) >= MIN_PEERS:
            found += [
                Outlier(i, math.exp(distance), median_value)
                for i, distance in away.items()
                if abs(distance) > limit
            ]
    return found


def _stands_out(row: Row, metric: str, outlier: Outlier) -> str:
    size = format_size(row.size_bytes or 0)
    times = outlier.factor if outlier.factor > 1 else 1 / outlier.factor
    side = "above" if outlier.factor > 1 else "below"
    return (
        f"outlier of its curve: {metric} at {size} is a factor of {times:.2g} {side}"
        " the rows around it"
    )


def _placements_apart(table: Table, rules: Rules) -> dict[int, str]:
    """In place and out of place of one size that differ, where only one of them has changed."""
    by_size: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for index, row in enumerate(table.rows):
        large = (row.size_bytes or 0) >= rules.placement_from_bytes
        if "placement" in row.labels and row.metrics.get("latency_us", 0.0) > 0 and large:
            key = (row.size_bytes or 0, row.labels.get("redop", "") + row.labels.get("type", ""))
            by_size[key][row.labels["placement"]] = index
    found = {}
    for pair in by_size.values():
        if len(pair) != 2:
            continue
        times = {index: table.rows[index].metrics["latency_us"] for index in pair.values()}
        slower, faster = max(times, key=times.__getitem__), min(times, key=times.__getitem__)
        factor = times[slower] / times[faster]
        if factor > rules.placement_factor:
            for index in (slower, faster):
                found[index] = (
                    f"in place and out of place differ by a factor of {factor:.2g}: one is wrong"
                )
    return found
