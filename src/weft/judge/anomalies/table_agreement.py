"""Several tables of one file about the same test: do they agree?

GPCNeT prints a test alone, the same test under congestion, and the ratio of the two.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from weft.judge.rules import Rules
from weft.results.model import Row, Table

IMPACTS = {"impact": "", "impact_p99": "_p99"}
"""Metric of the ratio -> what the metrics of the two measurements end with."""


@dataclass(frozen=True, slots=True)
class _TestRow:
    table: Table
    row: Row


def across_tables(tables: Sequence[Table], rules: Rules) -> dict[int, str]:
    """id of a row -> its contradiction with another table of the file."""
    by_test: dict[tuple[str, int | None], dict[str, _TestRow]] = defaultdict(dict)
    for table in tables:
        for row in table.rows if table.tool == "gpcnet" else ():
            part = "impact" if "impact" in row.metrics else row.labels.get("state", "")
            by_test[(table.test, table.n_nodes)][part] = _TestRow(table, row)
    return dict(_contradicted(by_test.values(), rules))


def _contradicted(tests: Iterable[dict[str, _TestRow]], rules: Rules) -> Iterator[tuple[int, str]]:
    for parts in tests:
        if not {"isolated", "congested", "impact"} <= parts.keys():
            continue
        alone, loaded, ratio = (parts[name].row for name in ("isolated", "congested", "impact"))
        text = _disagreement(alone, loaded, ratio, rules)
        if text is not None:
            for row in (alone, loaded, ratio):
                yield id(row), text


def _disagreement(alone: Row, loaded: Row, ratio: Row, rules: Rules) -> str | None:
    """GPCNeT rounds both measurements to one digit behind the point, and their ratio again."""
    for metric, end in IMPACTS.items():
        stated = ratio.metrics.get(metric)
        for name, is_time in ((f"latency_us{end}", True), (f"bandwidth_mb_s{end}", False)):
            before, after = alone.metrics.get(name, 0.0), loaded.metrics.get(name, 0.0)
            if not stated or before <= 0 or after <= 0:
                continue
            impact = after / before if is_time else before / after
            slack = 0.051 + impact * (rules.rounding + 0.05 / before + 0.05 / after)
            if abs(impact - stated) > slack:
                return (
                    "its columns contradict each other: isolated and congested give an impact of"
                    f" {impact:.2g}, the file says {stated:g}"
                )
    return None
