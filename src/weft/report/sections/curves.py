"""Measured values: one figure a benchmark, with intervals over launches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.core.units import format_significant, format_size
from weft.report.charts import vega as charts
from weft.report.charts.cells import ChartCell, ChartMetric, Measured
from weft.report.charts.median_interval import MedianInterval, meaning, median_interval_of
from weft.report.model import (
    ReportFigure,
    ReportTable,
    Section,
    cut_table,
    figure_columns,
    text_columns,
)
from weft.report.published import Published

JOIN_UP_TO = 4
"""Sizes further apart than this factor are not joined: a protocol step may hide between them."""


@dataclass(frozen=True, slots=True)
class CurveEntry:
    """A cell with the median of its launches."""

    cell: ChartCell
    median: MedianInterval


def section(
    measured: Sequence[Measured], heading: str, prefix: str, published: Sequence[Published] = ()
) -> Section | None:
    """One figure a benchmark under `heading`, with published values as a series of its
    own; None where nothing was measured."""
    if not measured:
        return None
    figures = [_figure(one, prefix, _about(one, published)) for one in measured]
    return Section(heading, figures=tuple(figures))


def _about(measured: Measured, published: Sequence[Published]) -> Published | None:
    for one in published:
        if one.table.benchmark == measured.benchmark.name and one.belongs_to(measured.metric):
            return one
    return None


def _figure(measured: Measured, prefix: str, published: Published | None) -> ReportFigure:
    benchmark, metric = measured.benchmark.name, measured.metric
    entries = [CurveEntry(cell, median_interval_of(cell.values)) for cell in measured.cells]
    sized = [entry for entry in entries if entry.cell.size_bytes > 0]
    is_curve = len({entry.cell.size_bytes for entry in sized}) > 1
    most = charts.MAX_SERIES - (published is not None)
    drawn, n_left_out = _drawable(sized if is_curve else entries, most)
    notes = [meaning([entry.median for entry in drawn])]
    if is_curve:
        notes.append(f"Sizes more than {JOIN_UP_TO}x apart are not joined.")
        if len(sized) < len(entries):
            notes.append("Size 0 has no place on a logarithmic axis; it is in the table.")
    if n_left_out:
        notes.append(f"{n_left_out} more series are in the table only.")
    if any("bimodal" in entry.cell.flags for entry in entries):
        notes.append("Bimodal: the iterations of a launch fall into two groups.")
    title = _finding(measured, sized if is_curve else entries)
    if published is not None:
        title = _title_with_published(title, published, entries)
        notes += published.notes
        drawn += _published_entries(published, is_curve=is_curve)
    return ReportFigure(
        id=f"{prefix}-{benchmark}-{metric.name}",
        title=title,
        how_to_read=" ".join(notes),
        spec=spec_of(drawn, metric, title, is_curve=is_curve),
        table=_table(measured, entries, published),
    )


def _title_with_published(title: str, published: Published, entries: Sequence[CurveEntry]) -> str:
    """The title, with the distance from published values if there is one series only."""
    if len({entry.cell.series for entry in entries}) > 1:
        return title
    finding = published.finding({e.cell.size_bytes: e.median.value for e in entries})
    return f"{title.split(':', maxsplit=1)[0]}: {finding}" if finding else title


def _published_entries(published: Published, *, is_curve: bool) -> list[CurveEntry]:
    return [
        CurveEntry(ChartCell(published.series, size, (value,)), median_interval_of((value,)))
        for size, value in published.table.rows
        if size > 0 or not is_curve
    ]


def _drawable(entries: Sequence[CurveEntry], most: int) -> tuple[list[CurveEntry], int]:
    names = list(dict.fromkeys(entry.cell.series for entry in entries))
    kept = set(names[:most])
    return [entry for entry in entries if entry.cell.series in kept], len(names) - len(kept)


def spec_of(
    entries: Sequence[CurveEntry], metric: ChartMetric, title: str, *, is_curve: bool
) -> dict[str, Any]:
    """The chart of these entries by size; without two sizes, a line each."""
    description = f"{title}. The table below holds the same figures."
    if is_curve:
        sized = [entry for entry in entries if entry.cell.size_bytes > 0]
        return charts.curve(_joined(sized), y_title=metric.axis, description=description)
    rows = [
        {**_row(entry), "label": _label(entry.cell), "values": list(entry.cell.values)}
        for entry in entries
    ]
    return charts.strip(rows, x_title=metric.axis, description=description)


def _joined(entries: Sequence[CurveEntry]) -> list[dict[str, Any]]:
    """A row an entry; neighbours of one series that are close enough share a segment."""
    rows: list[dict[str, Any]] = []
    for before, entry in zip([None, *entries], entries, strict=False):
        joined = (
            before is not None
            and before.cell.series == entry.cell.series
            and entry.cell.size_bytes <= JOIN_UP_TO * before.cell.size_bytes
        )
        segment = rows[-1]["segment"] if joined else f"{entry.cell.series}/{entry.cell.size_bytes}"
        rows.append({**_row(entry), "segment": segment})
    return rows


def _row(entry: CurveEntry) -> dict[str, Any]:
    return {
        "size_bytes": entry.cell.size_bytes,
        "size": format_size(entry.cell.size_bytes),
        "series": entry.cell.series,
        "value": entry.median.value,
        "low": entry.median.low,
        "high": entry.median.high,
    }


def _label(cell: ChartCell) -> str:
    if cell.size_bytes == 0:
        return cell.series
    return f"{cell.series}, {format_size(cell.size_bytes)}"


def _finding(measured: Measured, entries: Sequence[CurveEntry]) -> str:
    """A title that states what the chart shows; no claim about arms, which need paired launches."""

    def figure(entry: CurveEntry) -> str:
        return _figure_text(entry.median.value, measured.metric)

    name = measured.benchmark.name.replace("_", " ")
    by_value = sorted(entries, key=lambda entry: entry.median.value)
    first, last = entries[0], entries[-1]
    if len({entry.cell.series for entry in entries}) > 1:
        size = max(entry.cell.size_bytes for entry in entries)
        there = [entry for entry in by_value if entry.cell.size_bytes == size]
        return f"{name}: {figure(there[0])} to {figure(there[-1])}{measured.at(there[0].cell)}"
    if first is last:
        return f"{name}: {figure(first)}{measured.at(first.cell)}"
    if measured.metric.lower_is_better:
        ends = (f"{figure(entry)}{measured.at(entry.cell)}" for entry in (first, last))
        return f"{name}: {', '.join(ends)}"
    best = by_value[-1]
    return f"{name}: at most {figure(best)}, reached{measured.at(best.cell)}"


def _figure_text(value: float, metric: ChartMetric) -> str:
    return f"{format_significant(value, 3)} {metric.unit}".rstrip()


def _table(
    measured: Measured, entries: Sequence[CurveEntry], published: Published | None
) -> ReportTable:
    """Columns with one value in all rows (one series, no flags) move into the caption."""
    benchmark, metric = measured.benchmark, measured.metric
    unit = f" ({metric.unit})" if metric.unit else ""
    series = list(dict.fromkeys(entry.cell.series for entry in entries))
    says_series, says_flags = len(series) > 1, any(entry.cell.flags for entry in entries)
    columns = [
        *text_columns(*(["series"] if says_series else [])),
        *figure_columns("size", f"median{unit}", f"low{unit}", f"high{unit}", "launches"),
        *figure_columns(*_published_headers(published, unit)),
        *text_columns(*(["flags"] if says_flags else [])),
    ]
    rows = [
        (
            *([entry.cell.series] if says_series else []),
            format_size(entry.cell.size_bytes) if benchmark.sizes else "-",
            format_significant(entry.median.value),
            format_significant(entry.median.low) if entry.median.n > 1 else "-",
            format_significant(entry.median.high) if entry.median.n > 1 else "-",
            str(entry.median.n),
            *_published_cells(entry, published),
            *([", ".join(entry.cell.flags)] if says_flags else []),
        )
        for entry in entries
    ]
    caption = f"{benchmark.name}: {metric.name}" + ("" if says_series else f", {series[0]}")
    return cut_table(caption, columns, rows)


def _published_headers(published: Published | None, unit: str) -> list[str]:
    return [f"{published.word}{unit}", f"median / {published.word}"] if published else []


def _published_cells(entry: CurveEntry, published: Published | None) -> list[str]:
    if published is None:
        return []
    value = published.by_size.get(entry.cell.size_bytes)
    if value is None:
        return ["-", "-"]
    return [format_significant(value), f"{entry.median.value / value:.3f}"]
