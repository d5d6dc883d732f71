"""A judged file: a figure a table, causes, thresholds of others, coverage, sources."""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from weft.core.units import format_significant, format_size
from weft.expect.model import Expectation
from weft.judge.model import FileJudgement, JudgedRow, RowState
from weft.report.charts import judged_points as charts
from weft.report.charts.cells import ChartMetric
from weft.report.model import ReportFigure, ReportTable, Section, cut_table
from weft.report.sections.judged_thresholds import (
    full_width_marks,
    size_marks,
    threshold_notes,
    thresholds_of,
)
from weft.results.model import Row
from weft.study.comparison.headlines import lower_is_better

MAX_FIGURES = 30
"""Further tables are counted, not drawn; tables with notable rows come first."""
DRAWN_WITHIN = 30.0
"""A limit further from every figure of its chart than this factor is in the table only."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The judged rows of one metric of one table."""

    rows: tuple[JudgedRow, ...]

    @property
    def metric(self) -> ChartMetric:
        """The metric of the rows."""
        name = self.rows[0].metric
        return ChartMetric(name, lower_is_better(name))

    @property
    def test(self) -> str:
        """The tool's own name of the test, or the tool's."""
        table = self.rows[0].table
        return table.test or table.tool


def groups_of(judgement: FileJudgement) -> tuple[RowGroup, ...]:
    """Rows by table and metric, those with something to notice first, then as in the file."""
    found: dict[tuple[int, str, str], list[JudgedRow]] = {}
    for row in judgement.rows:
        key = (row.table.first_line, row.table.test, row.metric)
        found.setdefault(key, []).append(row)
    groups = [RowGroup(tuple(rows)) for rows in found.values()]
    return tuple(sorted(groups, key=lambda group: not any(row.noticed for row in group.rows)))


def figures_section(groups: Sequence[RowGroup], judgement: FileJudgement) -> Section | None:
    """A figure a table; None for a file without rows."""
    if not groups:
        return None
    drawn = groups[:MAX_FIGURES]
    paragraphs: tuple[str, ...] = ()
    if len(drawn) < len(groups):
        left = len(groups) - len(drawn)
        paragraphs = (f"{left} more tables, all without a remark, are not drawn.",)
    figures = tuple(_figure(group, judgement, number) for number, group in enumerate(drawn))
    return Section("Measured and expected", paragraphs, figures=figures)


def _figure(group: RowGroup, judgement: FileJudgement, number: int) -> ReportFigure:
    title = title_of(group)
    applied = thresholds_of(group.rows, group.metric, judgement.field)
    rows = _drawn(group)
    metric = group.metric
    sized = [row for row in rows if row["size_bytes"] > 0]
    sizes = [row["size_bytes"] for row in sized]
    description = f"{title}. The table below holds the same figures."
    against: dict[str, Any] = {"y_title": metric.axis, "lower_is_better": metric.lower_is_better}
    if len(set(sizes)) > 1:
        kind = "size"
        marks = size_marks(applied, sizes)
        spec = charts.curve(sized, marks, **against, description=description)
    elif len(rows) > charts.MAX_STRIP:
        kind, x_title = "order", "row, slowest first"
        rows.sort(key=lambda row: row["value"], reverse=metric.lower_is_better)
        ordered = [{**row, "position": place} for place, row in enumerate(rows, start=1)]
        marks = full_width_marks(applied)
        spec = charts.in_order(ordered, marks, x_title=x_title, **against, description=description)
    else:
        kind, marks = "strip", full_width_marks(applied)
        spec = charts.strip(rows, marks, x_title=metric.axis, description=description)
    return ReportFigure(
        id=f"table{number}",
        title=title,
        how_to_read=" ".join((*_how_to_read(group, rows, kind), *threshold_notes(applied))),
        spec=spec,
        table=_rows_table(group),
    )


def title_of(group: RowGroup) -> str:
    """The finding of the figure: rows by state, and the largest deviation."""
    n = len(group.rows)
    head = f"{group.test}, {group.metric.word}"
    for state in (RowState.IMPOSSIBLE, RowState.LOW, RowState.HIGH):
        there = [row for row in group.rows if row.state is state]
        if there:
            rows = f"{len(there)} of {n} rows" if n > 1 else "the row"
            are = "is" if len(there) == 1 else "are"
            return f"{head}: {rows} {are} {state.value}{_at_worst(there)}"
    n_outliers = sum(row.odd for row in group.rows)
    if n_outliers:
        out = "stands out of its" if n_outliers == 1 else "stand out of their"
        return f"{head}: {n_outliers} of {n} rows {out} own table"
    judged = [row for row in group.rows if row.state.is_verdict]
    if not judged:
        return f"{head}: {n} row{'' if n == 1 else 's'}, nothing to compare with"
    unjudged = f" ({n - len(judged)} not judged)" if len(judged) < n else ""
    speeds = [speed for row in judged if (speed := speed_of(row)) is not None]
    if len(judged) == 1:
        figure = f"{format_significant(judged[0].value, 3)} {group.metric.unit}".strip()
        return f"{head}: {figure} is normal{unjudged}"
    ends = dict.fromkeys(f"{speed:.2f}" for speed in (min(speeds), max(speeds))) if speeds else {}
    span = f", {' to '.join(ends)} of the expected speed" if ends else ""
    return f"{head}: all {len(judged)} judged rows are normal{span}{unjudged}"


def _at_worst(rows: Sequence[JudgedRow]) -> str:
    """', at worst 0.52 of the expected speed at 1 MiB'."""
    speeds = [(speed, row) for row in rows if (speed := speed_of(row)) is not None]
    beyond = [
        (_times_faster(row.value, known.limit, known), known.limit_name, row)
        for row in rows
        if (known := row.expectation) is not None and known.limit and row.value > 0
    ]
    if beyond and rows[0].state is RowState.IMPOSSIBLE:
        times, limit, row = max(beyond, key=lambda found: found[0])
        where = f" at {format_size(row.row.size_bytes)}" if row.row.size_bytes else ""
        return f": {times:.2f} times the limit ({limit}){where}"
    if not speeds:
        return ""
    is_low = rows[0].state is RowState.LOW
    speed, row = (min if is_low else max)(speeds, key=lambda pair: pair[0])
    where = f" at {format_size(row.row.size_bytes)}" if row.row.size_bytes else ""
    most = "at worst" if is_low else "at most"
    return f", {most} {speed:.2f} of the expected speed{where}"


def speed_of(row: JudgedRow) -> float | None:
    """Measured speed over expected speed, above 1 if faster; None without either."""
    if row.expectation is None or row.value <= 0 or row.expectation.value <= 0:
        return None
    return _times_faster(row.value, row.expectation.value, row.expectation)


def _times_faster(value: float, reference: float, known: Expectation) -> float:
    return reference / value if known.lower_is_better else value / reference


def _drawn(group: RowGroup) -> list[dict[str, Any]]:
    """Rows for the charts: sizes rising, expectations joined where neighbours have one."""
    series = list(dict.fromkeys(_series(row.row) for row in group.rows))
    ordered = sorted(group.rows, key=lambda row: row.row.size_bytes or 0)
    distinct = _distinct_labels(group.rows)
    drawn: list[dict[str, Any]] = []
    segment = 0
    for judged in ordered:
        if judged.value <= 0:
            continue
        size = judged.row.size_bytes or 0
        segment += judged.expectation is None
        is_off = judged.state in (RowState.LOW, RowState.HIGH, RowState.IMPOSSIBLE)
        name = _label(judged.row, distinct)
        drawn.append(
            {
                "size_bytes": size,
                "size": format_size(size),
                "name": name,
                "label": name,
                "value": judged.value,
                "state": charts.ODD if judged.odd and not is_off else _state_word(judged),
                "is_main": _series(judged.row) == series[0],
                "segment": str(segment),
                **_expected(judged.expectation, judged.value),
            }
        )
    return _distinct_names(_limits_near(drawn))


def _distinct_names(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A strip has one line a name: rows of the same name are numbered."""
    counts = Counter(row["label"] for row in rows)
    seen: Counter[str] = Counter()
    for row in rows:
        name = row["label"]
        seen[name] += 1
        if counts[name] > 1:
            row["label"] = f"{name} ({seen[name]})"
    return rows


def _state_word(row: JudgedRow) -> str:
    return row.state.value if row.state.is_verdict else charts.UNJUDGED


def _expected(expectation: Expectation | None, value: float) -> dict[str, Any]:
    if expectation is None:
        return {"expected": None, "limit": None}
    # A logarithmic axis has no zero.
    low = max(expectation.low, min(value, expectation.value) * 1e-3)
    shares = [x / expectation.value for x in (value, low, expectation.high)]
    if expectation.lower_is_better:
        shares = [1 / shares[0], 1 / shares[2], 1 / shares[1]]
    return {
        "expected": expectation.value,
        "low": low,
        "high": expectation.high,
        "speed": shares[0],
        "speed_low": shares[1],
        "speed_high": shares[2],
        "limit": expectation.limit if expectation.limit and expectation.limit > 0 else None,
        "limit_name": f"limit: {expectation.limit_name}",
    }


def _limits_near(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drops limits far from all other values: they would flatten the chart."""
    figures = [row[key] for row in rows for key in ("value", "expected") if row[key] is not None]
    for row in rows:
        limit = row["limit"]
        if limit is not None and not (
            min(figures) / DRAWN_WITHIN <= limit <= max(figures) * DRAWN_WITHIN
        ):
            row["limit"] = None
    return rows


def _series(row: Row) -> str:
    return row.labels.get("placement", "")


def _label(row: Row, distinct: Set[str]) -> str:
    """'64 KiB, in-place'; the line if a row has neither a size nor distinct labels."""
    parts = [format_size(row.size_bytes)] if row.size_bytes is not None else []
    for name in sorted(distinct & set(row.labels)):
        value = row.labels[name]
        parts.append(value if any(c.isalpha() for c in value) else f"{name} {value}")
    return ", ".join(parts) or f"line {row.line}"


def _distinct_labels(rows: Sequence[JudgedRow]) -> frozenset[str]:
    """Labels that are not the same in all rows."""
    names = {name for row in rows for name in row.row.labels} - {"validation"}
    return frozenset(n for n in names if len({row.row.labels.get(n) for row in rows}) > 1)


def _how_to_read(group: RowGroup, rows: Sequence[dict[str, Any]], kind: str) -> list[str]:
    notes = []
    bar = "bar" if kind == "strip" else "band"
    if any(row["expected"] is not None for row in rows):
        thin = "thin tick" if kind == "strip" else "dashed line"
        notes.append(f"Grey {bar}: the expected range; {thin}: the expected value.")
        if kind == "size":
            notes.append("Below: measured speed as a share of the expected one; under 1 is slower.")
    n_limits = sum(bool(row.expectation and row.expectation.limit) for row in group.rows)
    n_drawn = sum(row.get("limit") is not None for row in rows)
    if n_drawn:
        notes.append("Thick black: the limit of this platform.")
    if n_drawn < n_limits:
        where = "at some sizes" if n_drawn else "here"
        notes.append(f"The limit is too far away {where} to be drawn; the table holds it.")
    series = list(dict.fromkeys(_series(row.row) for row in group.rows))
    if len(series) > 1:
        notes.append(f"Filled: {series[0]}; hollow: {', '.join(series[1:])}.")
    if any(not row.row.size_bytes for row in group.rows) and kind == "size":
        notes.append("Rows of size 0 have no place on a logarithmic axis; they are in the table.")
    if any(row.value <= 0 for row in group.rows):
        notes.append("Rows printed as 0 are in the table only.")
    return notes or ["No expectation covers these rows; they are shown as measured."]


def _rows_table(group: RowGroup) -> ReportTable:
    unit = f" ({group.metric.unit})" if group.metric.unit else ""
    figures = (f"#measured{unit}", "#expected", "#low", "#high", "#limit")
    columns = ("row", "#line", *figures, "judged", "binding limit")
    distinct = _distinct_labels(group.rows)
    cells = [_row_cells(row, distinct) for row in group.rows]
    return cut_table(f"{group.test}: {group.rows[0].metric}", columns, cells)


def _row_cells(judged: JudgedRow, distinct: Set[str]) -> tuple[str, ...]:
    known = judged.expectation
    figures: tuple[str, ...] = ("-", "-", "-", "-")
    if known is not None:
        limit = "-" if known.limit is None else format_significant(known.limit)
        ends = (format_significant(x) for x in (known.value, known.low, known.high))
        figures = (*ends, limit)
    state = _state_word(judged) + (", inconsistent" if judged.odd else "")
    why = [known.bound] if known is not None else []
    return (
        _label(judged.row, distinct),
        str(judged.row.line),
        format_significant(judged.value),
        *figures,
        state,
        "; ".join(part for part in (*why, judged.note) if part) or "-",
    )
