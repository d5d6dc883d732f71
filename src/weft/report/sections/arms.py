"""Arms compared: the ratio of each arm to the baseline, launch against launch, by size."""

from collections.abc import Sequence
from typing import Any

from weft.catalog.benchmark import Benchmark
from weft.core.units import format_significant, format_size
from weft.report.charts import vega as charts
from weft.report.charts.cells import ChartMetric
from weft.report.model import ReportFigure, ReportTable, Section, cut_table
from weft.stats.ratio import PAIRS_FROM, Ratio
from weft.study.comparison.comparison import Comparison
from weft.study.comparison.effects import EffectFacts, percent
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.replication import Unit
from weft.study.comparison.rows import ComparisonRow


def section(comparison: Comparison, prefix: str, known: Headlines) -> Section:
    """Of one scale, a figure a benchmark that has a ratio; else tables: a matrix has its curves."""
    by_benchmark: dict[str, list[ComparisonRow]] = {}
    for row in comparison.rows:
        by_benchmark.setdefault(row.cell.benchmark, []).append(row)
    figures, tables = [], []
    is_matrix = len({row.cell.scale for row in comparison.rows}) > 1
    for benchmark, rows in by_benchmark.items():
        if not is_matrix and any(isinstance(row.effect, Ratio) for row in rows):
            figures.append(_figure(known(benchmark), comparison, rows, prefix))
        else:
            tables.append(_table(known(benchmark), rows))
    return Section(
        "Arms compared",
        _paragraphs(comparison),
        figures=tuple(figures),
        tables=tuple(table for table in tables if not table.is_long),
        folded=tuple(table for table in tables if table.is_long),
    )


def _paragraphs(comparison: Comparison) -> tuple[str, ...]:
    text = (
        "Launches of two arms are paired by node set and repeat. Ratio: Hodges-Lehmann over pairs, "
        f"from {PAIRS_FROM} pairs up with a 95 % interval for these node sets; p-values are "
        "adjusted over all sizes and arms. Arms are equal where two one-sided tests at 5 % rule "
        f"out a difference of {percent(comparison.margin)}."
    )
    if any(row.unit is Unit.NODE_SET for row in comparison.rows):
        text += " A twin repeats itself: its launches on one node set count once, by their median."
    if not comparison.interleaved:
        text += " The arms were not interleaved: any drift counts as an effect."
    return (text, *(f"Would show: {one}." for one in comparison.would_show))


def _figure(
    benchmark: Benchmark, comparison: Comparison, rows: Sequence[ComparisonRow], prefix: str
) -> ReportFigure:
    say_scale = len({row.cell.scale for row in rows}) > 1
    drawn = [drawn for row in rows if (drawn := _drawn(row, say_scale)) is not None]
    kept = list(dict.fromkeys(one["series"] for one in drawn))[: charts.MAX_SERIES]
    drawn = [one for one in drawn if one["series"] in kept]
    title = _title(benchmark.name, comparison)
    metric = ChartMetric(rows[0].metric, benchmark.better == "lower")
    better = "below 1 is faster" if metric.lower_is_better else "above 1 is faster"
    axis = f"{metric.word}, as a ratio to {rows[0].first}"
    is_curve = len({one["size_bytes"] for one in drawn if one["size_bytes"]}) > 1
    description = f"{title} The table below holds the same figures."
    if is_curve:
        sized = [one for one in drawn if one["size_bytes"] > 0]
        spec = charts.ratio(sized, y_title=axis, description=description)
    else:
        lines = [{**one, "label": one["series"], "values": []} for one in drawn]
        spec = charts.strip(lines, x_title=axis, description=description, reference=1.0)
    return ReportFigure(
        id=f"{prefix}-arms-{benchmark.name}",
        title=title,
        how_to_read=f"Ratio to {rows[0].first}, {better}; bars are 95 % intervals.",
        spec=spec,
        table=_table(benchmark, rows),
    )


def _drawn(row: ComparisonRow, say_scale: bool) -> dict[str, Any] | None:
    effect = row.effect
    if not isinstance(effect, Ratio):
        return None
    return {
        "size_bytes": row.cell.size_bytes,
        "size": format_size(row.cell.size_bytes),
        "series": f"{row.second}, {row.cell.scale}" if say_scale else row.second,
        "value": effect.ratio,
        "low": effect.low,
        "high": effect.high,
    }


def _title(benchmark: str, comparison: Comparison) -> str:
    """The worst finding of the comparison about this benchmark."""
    for finding in comparison.findings:
        if isinstance(finding.facts, EffectFacts) and finding.facts.benchmark == benchmark:
            return finding.sentence
    return f"{benchmark}: arms compared."


def _table(benchmark: Benchmark, rows: Sequence[ComparisonRow]) -> ReportTable:
    metric = rows[0].metric
    medians, figures = (f"#{rows[0].first}", "#arm's median"), ("#ratio", "#low", "#high")
    columns = ("arm", "placement", "#size", *medians, *figures, "#adjusted p", "#pairs", "outcome")
    return cut_table(
        f"{benchmark.name}: {metric}, launch against launch",
        columns,
        [_cells(row, has_sizes=bool(benchmark.sizes)) for row in rows],
    )


def _cells(row: ComparisonRow, *, has_sizes: bool) -> tuple[str, ...]:
    effect = row.effect
    figures = (f"{effect.ratio:.3f}", "-", "-", "-")
    if isinstance(effect, Ratio):
        ends = (f"{effect.ratio:.3f}", f"{effect.low:.3f}", f"{effect.high:.3f}")
        figures = (*ends, f"{row.p_adjusted:.2g}")
    outcome = ", ".join((row.outcome.value, *row.remarks))
    return (
        row.second,
        row.cell.scale,
        format_size(row.cell.size_bytes) if has_sizes else "-",
        format_significant(row.median_first),
        format_significant(row.median_second),
        *figures,
        str(row.n_pairs),
        outcome,
    )
