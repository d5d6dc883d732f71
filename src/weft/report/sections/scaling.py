"""A metric by number of nodes, an arm a line: a figure for each benchmark and ranks a node."""

import dataclasses
import re
from collections import defaultdict

from weft.bench.result_scale import is_imported
from weft.catalog.benchmark import Benchmark
from weft.catalog.load import benchmark
from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.report.charts import vega as charts
from weft.report.charts.cells import ChartMetric
from weft.report.model import ReportFigure, Section, cut_table
from weft.report.sections.curves import meaning
from weft.stats.summary import Summary, summarise
from weft.study.comparison.cells import (
    ONE_ARM,
    StudyCell,
    Value,
    arm_name,
    cells_of,
    scale_text,
)
from weft.study.comparison.replication import Unit, are_simulated, units_of_values
from weft.study.run.store import StudyRun

LEAST_COUNTS = 3
"""Numbers of nodes of a curve: a line through two points shows no course."""
SHARE, BUS = "scaling_efficiency", "busbw_gb_s"
"""What tells most about a course, where every sample of a benchmark has it; else the headline."""

Point = tuple[str, int]
"""Arm, number of nodes."""


def section(run: StudyRun, prefix: str) -> Section | None:
    """The figures; None for a run with fewer than LEAST_COUNTS numbers of nodes."""
    if is_imported(run.meta):
        return None
    planned = sorted((launch.trial for launch in run.launches), key=lambda trial: trial.id)
    arms = list(dict.fromkeys(arm_name(trial.arm) for trial in planned))
    names = list(dict.fromkeys(trial.benchmark for trial in planned))
    groups: dict[tuple[str, int, str], list[Value]] = defaultdict(list)
    if len({len(trial.nodes) for trial in planned}) < LEAST_COUNTS:
        return None
    by_nodes = {name: _by_nodes(run, name) for name in names}
    values = cells_of(_of_largest_sizes(run), by_nodes.__getitem__).values
    for value in sorted(values, key=lambda value: arms.index(value.arm)):
        cell = value.cell
        groups[cell.benchmark, cell.tasks_per_node, cell.condition].append(value)
    simulated = are_simulated([run])
    in_order = sorted(groups.items(), key=lambda group: (names.index(group[0][0]), -group[0][1]))
    figures = [
        _figure(_largest_size(group), prefix, simulated=simulated)
        for (name, *_), group in in_order
        if benchmark(name).kind != "pairs"
        and len({value.cell.n_nodes for value in group}) >= LEAST_COUNTS
    ]
    return Section("By number of nodes", figures=tuple(figures)) if figures else None


def _by_nodes(run: StudyRun, name: str) -> Benchmark:
    """The benchmark, with the metric that tells most about a course."""
    known = benchmark(name)
    samples = [sample for sample in run.samples if sample.benchmark == name]
    for metric in (SHARE, BUS):
        if all(sample.metrics.get(metric, 0) > 0 for sample in samples):
            return known.model_copy(update={"headline": metric, "better": "higher"})
    return known


def _of_largest_sizes(run: StudyRun) -> StudyRun:
    """The run with the largest size of each benchmark and ranks a node, which alone is drawn."""
    tasks = {launch.trial.id: launch.trial.tasks_per_node for launch in run.launches}
    groups = [(sample.benchmark, tasks.get(sample.trial, 0)) for sample in run.samples]
    largest: dict[tuple[str, int], int] = {}
    for group, sample in zip(groups, run.samples, strict=True):
        largest[group] = max(largest.get(group, 0), sample.size_bytes)
    pairs = zip(groups, run.samples, strict=True)
    kept = tuple(sample for group, sample in pairs if sample.size_bytes == largest[group])
    return dataclasses.replace(run, samples=kept)


def _largest_size(values: list[Value]) -> list[Value]:
    largest = max(value.cell.size_bytes for value in values)
    return [value for value in values if value.cell.size_bytes == largest]


def _figure(values: list[Value], prefix: str, *, simulated: bool) -> ReportFigure:
    groups: dict[Point, list[Value]] = defaultdict(list)
    for value in values:
        groups[value.arm, value.cell.n_nodes].append(value)
    summaries: dict[Point, Summary] = {}
    unit = Unit.LAUNCH
    for point, group in sorted(groups.items(), key=lambda one: one[0][1]):
        units, unit = units_of_values(group, simulated=simulated)
        summaries[point] = summarise([one.value for one in units])
    cell, metric = values[0].cell, ChartMetric(values[0].metric, lower_is_better=False)
    arms = list(dict.fromkeys(value.arm for value in values))
    title = _title(values[0], metric, summaries)
    words = "".join(f"-{word}" for word in re.findall(r"\w+", cell.condition))
    rows = [
        {
            "nodes": n_nodes,
            "scale": scale_text(n_nodes, cell.tasks_per_node),
            "series": arm,
            "value": summary.median,
            "low": summary.ends[0],
            "high": summary.ends[1],
        }
        for arm in arms[: charts.MAX_SERIES]
        for (of, n_nodes), summary in summaries.items()
        if of == arm
    ]
    notes = [meaning(list(summaries.values()), unit)]
    if metric.name == SHARE:
        notes.append("1: as many GPUs alone.")
    if len(arms) > charts.MAX_SERIES:
        notes.append(f"{len(arms) - charts.MAX_SERIES} more arms are in the table only.")
    return ReportFigure(
        id=f"{prefix}-nodes-{cell.benchmark}-{cell.tasks_per_node}{words}",
        title=title,
        how_to_read=" ".join(notes),
        spec=charts.scaling(
            rows, y_title=metric.axis, description=title, is_share=metric.name == SHARE
        ),
        table=cut_table(
            f"{cell.benchmark}: {metric.name}, {_ranks(cell.tasks_per_node)}{_under(cell)}",
            ("#nodes", *(f"#{arm}" for arm in arms)),
            [
                (str(n), *(_cell(summaries.get((arm, n))) for arm in arms))
                for n in dict.fromkeys(n for _, n in summaries)
            ],
        ),
    )


def _under(cell: StudyCell) -> str:
    return f", {cell.condition}" if cell.condition else ""


def _cell(summary: Summary | None) -> str:
    return "-" if summary is None else format_significant(summary.median)


def _ranks(tasks_per_node: int) -> str:
    return f"{counted(tasks_per_node, 'rank')} a node"


def _title(value: Value, metric: ChartMetric, summaries: dict[Point, Summary]) -> str:
    """The finding: the least and the most of the arms on the largest number of nodes."""
    cell, most = value.cell, max(n for _, n in summaries)
    there = sorted((summary.median, arm) for (arm, n), summary in summaries.items() if n == most)

    def said(end: tuple[float, str]) -> str:
        figure = f"{format_significant(end[0], 3)} {metric.unit}".rstrip()
        return figure if end[1] == ONE_ARM else f"{figure} with {end[1]}"

    size = f" of {format_size(cell.size_bytes)}" if cell.size_bytes else ""
    ends = said(there[0]) if len(there) == 1 else f"{said(there[0])}, {said(there[-1])}"
    name = cell.benchmark.replace("_", " ")
    where = f"{name}{size}, {_ranks(cell.tasks_per_node)}{_under(cell)}"
    return f"{where}: {metric.word} on {counted(most, 'node')} {ends}"
