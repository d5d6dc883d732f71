"""Several runs side by side: their common benchmarks on the same axes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from weft.core.units import format_significant, format_size
from weft.report.charts import vega as charts
from weft.report.charts.cells import ChartMetric, scale_of
from weft.report.charts.median_interval import MedianInterval, meaning, median_interval_of
from weft.report.model import ReportFigure, ReportTable, Section, TableColumn, cut_table
from weft.study.comparison.cells import StudyCell, cells_of
from weft.study.comparison.headlines import Headlines
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

JOIN_UP_TO = 4
"""Sizes further apart than this factor are not joined: a protocol step may hide between them."""
_Scale = tuple[str, int, int]
_Curves = dict[str, dict[int, MedianInterval]]


def section(runs: Sequence[StudyRun]) -> Section | None:
    """A figure for each benchmark and scale that two runs or more share.

    If they share only benchmarks, a text that says why no chart is drawn; None if they share none.
    """
    if len(runs) < 2:
        return None
    headline = Headlines(runs)
    figures: list[ReportFigure] = []
    for (benchmark, *scale), curves in _shared(runs, headline).items():
        known = headline(benchmark)
        metric = ChartMetric(known.headline, known.better == "lower")
        cell = StudyCell(benchmark, scale[0], scale[1], 0)
        figures.append(_figure(len(figures), cell, metric, curves))
    if not figures:
        return _why_not(runs, headline)
    text = (
        "The same benchmark at the same scale in several runs. They were not interleaved: "
        "any other difference between them counts too; weft compare gives intervals."
    )
    return Section("Side by side", (text,), figures=tuple(figures))


def _why_not(runs: Sequence[StudyRun], headline: Headlines) -> Section | None:
    """The scales of each benchmark by run, where no two are equal."""
    scales: dict[str, dict[str, str]] = defaultdict(dict)
    for run, name in zip(runs, _names(runs), strict=True):
        for value in cells_of(run, headline).values:
            if headline(value.cell.benchmark).kind != "pairs":
                scales[value.cell.benchmark].setdefault(name, scale_of(value.cell))
    texts = [
        f"{benchmark}: " + ", ".join(f"{scale} in {name}" for name, scale in by_run.items())
        for benchmark, by_run in scales.items()
        if len(by_run) > 1
    ]
    if not texts:
        return None
    text = f"The scales differ, so no chart shows these runs together: {'; '.join(texts)}."
    return Section("Side by side", (text,))


def _shared(runs: Sequence[StudyRun], headline: Headlines) -> dict[_Scale, _Curves]:
    """Medians over launches by scale, series and size, of scales with two series from two runs."""
    values: dict[_Scale, dict[str, dict[int, list[float]]]] = {}
    owners: dict[_Scale, set[int]] = defaultdict(set)
    for number, (run, name) in enumerate(zip(runs, _names(runs), strict=True)):
        for value in cells_of(run, headline).values:
            if headline(value.cell.benchmark).kind == "pairs" or value.value <= 0:
                continue
            key = (value.cell.benchmark, value.cell.n_nodes, value.cell.tasks_per_node)
            series = name if value.arm == "only" else f"{name}, {value.arm}"
            sizes = values.setdefault(key, {}).setdefault(series, {})
            sizes.setdefault(value.cell.size_bytes, []).append(value.value)
            owners[key].add(number)
    return {
        key: {
            series: {size: median_interval_of(found) for size, found in sorted(sizes.items())}
            for series, sizes in by_series.items()
        }
        for key, by_series in values.items()
        if len(owners[key]) > 1
    }


def _names(runs: Sequence[StudyRun]) -> list[str]:
    """'r1 (imported)', 'r2 (twin of azure-a9)': directories, numbered where they are equal."""
    names = []
    for run in runs:
        backend = backend_of(run)
        platform = backend.facts.get("platform")
        what = backend.name
        if backend.is_twin and platform:
            what = f"twin of {platform}"
        names.append(f"{run.directory.name or run.directory} ({what})")
    return [
        name if names.count(name) == 1 else f"{number}: {name}"
        for number, name in enumerate(names, start=1)
    ]


def _figure(number: int, cell: StudyCell, metric: ChartMetric, curves: _Curves) -> ReportFigure:
    kept = dict(list(curves.items())[: charts.MAX_SERIES])
    title = f"{cell.benchmark.replace('_', ' ')}, {scale_of(cell)}: {_finding(curves)}"
    medians = [median_value for sizes in kept.values() for median_value in sizes.values()]
    notes = [meaning(medians)]
    if len(kept) < len(curves):
        notes.append(f"{len(curves) - len(kept)} more series are in the table only.")
    sizes = {size for by_size in kept.values() for size in by_size if size > 0}
    draw = _curve if len(sizes) > 1 else _strip
    return ReportFigure(
        id=f"beside-{number}",
        title=title,
        how_to_read=" ".join(notes),
        spec=draw(kept, metric, f"{title}. The table below holds the same figures."),
        table=_table(title, metric, curves),
    )


def _finding(curves: _Curves) -> str:
    """How far the second series is from the first, at the median and at worst."""
    (first, a), (second, b), *more = curves.items()
    ratios = {size: b[size].value / a[size].value for size in a if size in b}
    if not ratios:
        return f"{len(curves)} series without a size in common"
    median_value = median(ratios.values())
    if len(ratios) == 1:
        text = f"{second} is {median_value:.2f} of {first}"
    else:
        worst = max(ratios, key=lambda size: abs(ratios[size] - 1))
        text = (
            f"{second} is {median_value:.2f} of {first} at the median of {len(ratios)} sizes, "
            f"{ratios[worst]:.2f} at {format_size(worst)}"
        )
    return f"{text}; {len(more)} more" if more else text


def _curve(curves: _Curves, metric: ChartMetric, description: str) -> dict[str, Any]:
    rows = []
    for series, sizes in curves.items():
        before, segment = 0, ""
        for size, median_value in sizes.items():
            if size == 0:
                continue
            if not before or size > JOIN_UP_TO * before:
                segment = f"{series}/{size}"
            before = size
            rows.append({**_row(series, size, median_value), "segment": segment})
    return charts.curve(rows, y_title=metric.axis, description=description)


def _strip(curves: _Curves, metric: ChartMetric, description: str) -> dict[str, Any]:
    rows = [
        {**_row(series, size, median_value), "label": _label(series, size), "values": []}
        for series, sizes in curves.items()
        for size, median_value in sizes.items()
    ]
    return charts.strip(rows, x_title=metric.axis, description=description)


def _label(series: str, size: int) -> str:
    return f"{series}, {format_size(size)}" if size else series


def _row(series: str, size: int, median_value: MedianInterval) -> dict[str, Any]:
    return {
        "size_bytes": size,
        "size": format_size(size),
        "series": series,
        "value": median_value.value,
        "low": median_value.low,
        "high": median_value.high,
    }


def _table(
    title: str, metric: ChartMetric, curves: Mapping[str, Mapping[int, MedianInterval]]
) -> ReportTable:
    unit = f" ({metric.unit})" if metric.unit else ""
    names = list(curves)
    sizes = sorted({size for by_size in curves.values() for size in by_size})
    columns = (
        TableColumn("size"),
        *(TableColumn(f"{name}{unit}") for name in names),
        *(TableColumn(f"{name} / first") for name in names[1:]),
    )
    rows = []
    for size in sizes:
        found = [curves[name].get(size) for name in names]
        first = found[0]
        shares = [f"{x.value / first.value:.3f}" if x and first else "-" for x in found[1:]]
        rows.append(
            (
                format_size(size),
                *(format_significant(x.value) if x else "-" for x in found),
                *shares,
            )
        )
    return cut_table(title, columns, rows)
