"""Measured values: one figure a benchmark, with intervals over launches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.core.units import format_significant, format_size
from weft.report.charts import vega as charts
from weft.report.charts.cells import ChartCell, ChartMetric, Measured
from weft.report.model import ReportFigure, ReportTable, Section, cut_table
from weft.report.published_values import Published
from weft.stats.summary import INTERVAL_FROM, Summary, summarise
from weft.study.comparison.replication import Unit

JOIN_UP_TO = 4
"""Sizes further apart than this factor are not joined: a protocol step may hide between them."""


@dataclass(frozen=True, slots=True)
class CurveEntry:
    """A cell with the summary of its units of replication."""

    cell: ChartCell
    summary: Summary


def section(
    measured: Sequence[Measured], heading: str, prefix: str, published: Sequence[Published] = ()
) -> Section | None:
    """One figure a benchmark under `heading`, with published values as a series of its
    own; None where nothing was measured."""
    if not measured:
        return None
    figures = []
    for one in measured:
        about = (each for each in published if each.belongs_to(one.benchmark.name, one.metric))
        figures.append(_figure(one, prefix, next(about, None)))
    return Section(heading, figures=tuple(figures))


def _figure(measured: Measured, prefix: str, published: Published | None) -> ReportFigure:
    benchmark, metric = measured.benchmark.name, measured.metric
    entries = [CurveEntry(cell, summarise(cell.values)) for cell in measured.cells]
    sized = [entry for entry in entries if entry.cell.size_bytes > 0]
    is_curve = len({entry.cell.size_bytes for entry in sized}) > 1
    most = charts.MAX_SERIES - (published is not None)
    drawable = sized if is_curve else entries
    names = list(dict.fromkeys(entry.cell.series for entry in drawable))
    drawn = [entry for entry in drawable if entry.cell.series in names[:most]]
    notes = [meaning([entry.summary for entry in drawn], _unit_of(drawn))]
    if is_curve:
        notes.append(f"Sizes more than {JOIN_UP_TO}x apart are not joined.")
        if len(sized) < len(entries):
            notes.append("Size 0 has no place on a logarithmic axis; it is in the table.")
    if len(names) > most:
        notes.append(f"{len(names) - most} more series are in the table only.")
    if any("bimodal" in entry.cell.flags for entry in entries):
        notes.append("Bimodal: the iterations of a launch fall into two groups.")
    title = _finding(measured, drawable)
    if published is not None:
        of_one_series = len({entry.cell.series for entry in entries}) == 1
        apart = published.finding({e.cell.size_bytes: e.summary.median for e in entries})
        if of_one_series and apart:
            title = f"{title.split(':', maxsplit=1)[0]}: {apart}"
        notes += published.notes
        drawn += [
            CurveEntry(ChartCell(published.series, size, (value,)), summarise((value,)))
            for size, value in published.by_size.items()
            if size > 0 or not is_curve
        ]
    return ReportFigure(
        id=f"{prefix}-{benchmark}-{metric.name}",
        title=title,
        how_to_read=" ".join(notes),
        spec=spec_of(drawn, metric, title, is_curve=is_curve),
        table=_table(measured, entries, published),
    )


def spec_of(
    entries: Sequence[CurveEntry], metric: ChartMetric, title: str, *, is_curve: bool
) -> dict[str, Any]:
    """The chart of these entries by size; without two sizes, a line each."""
    description = f"{title}. The table below holds the same figures."
    if is_curve:
        sized = [entry for entry in entries if entry.cell.size_bytes > 0]
        return charts.curve(_joined(sized), y_title=metric.axis, description=description)
    rows = []
    for entry in entries:
        cell = entry.cell
        label = cell.series + (f", {format_size(cell.size_bytes)}" if cell.size_bytes else "")
        rows.append({**_row(entry), "label": label, "values": list(cell.values)})
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
    low, high = entry.summary.ends
    return {
        "size_bytes": entry.cell.size_bytes,
        "size": format_size(entry.cell.size_bytes),
        "series": entry.cell.series,
        "value": entry.summary.median,
        "low": low,
        "high": high,
    }


def _unit_of(entries: Sequence[CurveEntry]) -> Unit:
    return entries[0].cell.unit if entries else Unit.LAUNCH


def meaning(summaries: Sequence[Summary], unit: Unit = Unit.LAUNCH) -> str:
    """The meaning of these intervals' ends, in words."""
    fewest, most = min(m.n for m in summaries), max(m.n for m in summaries)
    if most == 1:
        return f"One {unit.one}: no interval."
    launches = f"{most} {unit.value}" if fewest == most else f"{fewest} to {most} {unit.value}"
    exact = "95 % intervals of the median (order statistics)"
    if all(m.low is not None for m in summaries):
        return f"Median of {launches}; bars are {exact}."
    if not any(m.low is not None for m in summaries):
        return (
            f"Median of {launches}; bars go from the smallest to the largest {unit.one} "
            f"(an interval needs {INTERVAL_FROM})."
        )
    return (
        f"Median of {launches}; bars are {exact} from {INTERVAL_FROM} {unit.value} up, "
        f"else the smallest and largest {unit.one}."
    )


def _finding(measured: Measured, entries: Sequence[CurveEntry]) -> str:
    """A title that states the finding; no claim about arms, which need paired launches."""

    def figure(entry: CurveEntry) -> str:
        value = format_significant(entry.summary.median, 3)
        return f"{value} {measured.metric.unit}".rstrip()

    name = measured.benchmark.name.replace("_", " ")
    by_value = sorted(entries, key=lambda entry: entry.summary.median)
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


def _table(
    measured: Measured, entries: Sequence[CurveEntry], published: Published | None
) -> ReportTable:
    """Columns with one value in all rows (one series, no flags) move into the caption."""
    benchmark, metric = measured.benchmark, measured.metric
    unit = f" ({metric.unit})" if metric.unit else ""
    series = list(dict.fromkeys(entry.cell.series for entry in entries))
    word = published.word if published else ""
    says_series, says_flags = len(series) > 1, any(entry.cell.flags for entry in entries)
    columns = [
        *(["series"] if says_series else []),
        *("#size", f"#median{unit}", f"#low{unit}", f"#high{unit}", f"#{_unit_of(entries).value}"),
        *([f"#{word}{unit}", f"#median / {word}"] if published else []),
        *(["flags"] if says_flags else []),
    ]
    rows = [
        (
            *([entry.cell.series] if says_series else []),
            format_size(entry.cell.size_bytes) if benchmark.sizes else "-",
            format_significant(entry.summary.median),
            *(
                format_significant(end) if entry.summary.n > 1 else "-"
                for end in entry.summary.ends
            ),
            str(entry.summary.n),
            *_published_cells(entry, published),
            *([", ".join(entry.cell.flags)] if says_flags else []),
        )
        for entry in entries
    ]
    caption = f"{benchmark.name}: {metric.name}" + ("" if says_series else f", {series[0]}")
    return cut_table(caption, columns, rows)


def _published_cells(entry: CurveEntry, published: Published | None) -> list[str]:
    if published is None:
        return []
    value = published.by_size.get(entry.cell.size_bytes)
    if value is None:
        return ["-", "-"]
    return [format_significant(value), f"{entry.summary.median / value:.3f}"]
