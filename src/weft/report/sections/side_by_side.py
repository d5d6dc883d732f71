"""Several runs side by side: their common benchmarks on the same axes."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from weft.core.units import format_significant, format_size
from weft.report.charts import vega as charts
from weft.report.charts.cells import ChartCell, ChartMetric
from weft.report.model import ReportFigure, ReportTable, Section, cut_table
from weft.report.run_names import run_names
from weft.report.sections.curves import CurveEntry, meaning, spec_of
from weft.stats.summary import Summary, summarise
from weft.study.comparison.cells import StudyCell, cells_of
from weft.study.comparison.headlines import Headlines
from weft.study.run.store import StudyRun

_Scale = tuple[str, int, int, str]
_Curves = dict[str, dict[int, Summary]]


def section(runs: Sequence[StudyRun]) -> Section | None:
    """A figure for each benchmark and scale that two runs or more share.

    If they share only benchmarks, a text that says why no chart is drawn; None if they share none.
    """
    if len(runs) < 2:
        return None
    headline = Headlines(runs)
    figures: list[ReportFigure] = []
    for (benchmark, n_nodes, n_tasks, condition), curves in _shared(runs, headline).items():
        known = headline(benchmark)
        metric = ChartMetric(known.headline, known.better == "lower")
        cell = StudyCell(benchmark, n_nodes, n_tasks, 0, condition)
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
    for run, name in zip(runs, run_names(runs), strict=True):
        for value in cells_of(run, headline).values:
            if headline(value.cell.benchmark).kind != "pairs":
                scales[value.cell.benchmark].setdefault(name, value.cell.scale)
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
    for number, (run, name) in enumerate(zip(runs, run_names(runs), strict=True)):
        for value in cells_of(run, headline).values:
            if headline(value.cell.benchmark).kind == "pairs" or value.value <= 0:
                continue
            cell = value.cell
            key = (cell.benchmark, cell.n_nodes, cell.tasks_per_node, cell.condition)
            series = name if value.arm == "only" else f"{name}, {value.arm}"
            sizes = values.setdefault(key, {}).setdefault(series, {})
            sizes.setdefault(value.cell.size_bytes, []).append(value.value)
            owners[key].add(number)
    return {
        key: {
            series: {size: summarise(found) for size, found in sorted(sizes.items())}
            for series, sizes in by_series.items()
        }
        for key, by_series in values.items()
        if len(owners[key]) > 1
    }


def _figure(number: int, cell: StudyCell, metric: ChartMetric, curves: _Curves) -> ReportFigure:
    kept = dict(list(curves.items())[: charts.MAX_SERIES])
    title = f"{cell.benchmark.replace('_', ' ')}, {cell.scale}: {_finding(curves)}"
    notes = [meaning([summary for by_size in kept.values() for summary in by_size.values()])]
    if len(kept) < len(curves):
        notes.append(f"{len(curves) - len(kept)} more series are in the table only.")
    sizes = {size for by_size in kept.values() for size in by_size if size > 0}
    entries = [
        CurveEntry(ChartCell(series, size, ()), summary)
        for series, by_size in kept.items()
        for size, summary in by_size.items()
    ]
    return ReportFigure(
        id=f"side-by-side-{number}",
        title=title,
        how_to_read=" ".join(notes),
        spec=spec_of(entries, metric, title, is_curve=len(sizes) > 1),
        table=_table(title, metric, curves),
    )


def _finding(curves: _Curves) -> str:
    """How far the second series is from the first, at the median and at worst."""
    (first, a), (second, b), *more = curves.items()
    ratios = {size: b[size].median / a[size].median for size in a if size in b}
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


def _table(title: str, metric: ChartMetric, curves: _Curves) -> ReportTable:
    unit = f" ({metric.unit})" if metric.unit else ""
    names = list(curves)
    sizes = sorted({size for by_size in curves.values() for size in by_size})
    ratios = (f"#{name} / first" for name in names[1:])
    columns = ("#size", *(f"#{name}{unit}" for name in names), *ratios)
    rows = []
    for size in sizes:
        found = [curves[name].get(size) for name in names]
        first = found[0]
        shares = [f"{x.median / first.median:.3f}" if x and first else "-" for x in found[1:]]
        medians = [format_significant(x.median) if x else "-" for x in found]
        rows.append((format_size(size), *medians, *shares))
    return cut_table(title, columns, rows)
