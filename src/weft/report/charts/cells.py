"""The values of a run by benchmark, series and size: the cells behind the figures."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from weft.bench.model import Trial
from weft.bench.result_scale import is_imported
from weft.catalog.benchmark import Benchmark
from weft.core.errors import InputError
from weft.core.units import format_size
from weft.study.comparison.cells import Cells, StudyCell, Value, cells_of
from weft.study.comparison.headlines import Headlines
from weft.study.run.store import StudyRun

_UNITS = (
    ("_us", "µs"),
    ("_gb_s", "GB/s"),
    ("_mb_s", "MB/s"),
    ("_mps", "million messages/s"),
)
_WORDS = {
    "latency": "latency",
    "bandwidth": "bandwidth",
    "msg": "message rate",
    "busbw": "bus bandwidth",
    "algbw": "algorithm bandwidth",
}
ONE_ARM = "only"
"""The name that `weft.study.comparison.cells.arm_name` gives the arm of a study without factors."""


@dataclass(frozen=True, slots=True)
class ChartMetric:
    """A metric of a benchmark: its name in the samples, its good direction, its words."""

    name: str
    lower_is_better: bool

    @property
    def unit(self) -> str:
        """'µs', 'MB/s', ...; empty for a metric without a known unit."""
        stem = self.name.removesuffix("_p50")
        return next((unit for end, unit in _UNITS if stem.endswith(end)), "")

    @property
    def word(self) -> str:
        """'latency', 'message rate', ..."""
        return _WORDS.get(self.name.split("_")[0], self.name)

    @property
    def axis(self) -> str:
        """The axis title, with the unit."""
        word = self.word
        if self.name.endswith("_p50"):
            word += ", median of iterations"
        return f"{word} ({self.unit})" if self.unit else word


@dataclass(frozen=True, slots=True)
class ChartCell:
    """One (series, size): `values` holds one figure a launch; `flags` are caveats of any of them.

    `series` names the difference between the curves of a benchmark: arm, nodes and ranks.
    """

    series: str
    size_bytes: int
    values: tuple[float, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """One benchmark of a run: its headline metric and its cells, by series then size."""

    benchmark: Benchmark
    metric: ChartMetric
    cells: tuple[ChartCell, ...]

    def at(self, cell: ChartCell) -> str:
        """' at 64 KiB'; nothing for a benchmark without sizes."""
        return f" at {format_size(cell.size_bytes)}" if self.benchmark.sizes else ""


def study_cells_of(run: StudyRun) -> Cells:
    """One value a launch and cell by the rules of `weft compare`, and the excluded samples.

    Raises InputError for a benchmark that neither the catalogue knows nor a file brought.
    """
    return cells_of(run, Headlines([run]))


def also_measured_of(run: StudyRun) -> tuple[Measured, ...]:
    """The other metric of an imported run's benchmarks: rates next to times, or the reverse.
    Other tools print both, and readers know their figures by either."""
    if not is_imported(run.meta):
        return ()
    seconds = Headlines([run], second=True)
    with_second = {s.benchmark for s in run.samples if seconds.has(s.benchmark)}
    samples = tuple(sample for sample in run.samples if sample.benchmark in with_second)
    part = dataclasses.replace(run, samples=samples)
    return _measured(part, cells_of(part, seconds), seconds)


def measured_of(run: StudyRun, cells: Cells) -> tuple[Measured, ...]:
    """Every benchmark of a run that is not measured pair by pair, in the order of the study.

    Raises InputError on a figure that no backend writes: one that is not positive and finite.
    """
    return _measured(run, cells, Headlines([run]))


def _measured(run: StudyRun, cells: Cells, headline: Headlines) -> tuple[Measured, ...]:
    by_benchmark: dict[str, list[Value]] = defaultdict(list)
    for value in cells.values:
        if not isfinite(value.value) or value.value <= 0:
            raise InputError(
                f"{value.metric} is {value.value} in repeat {value.repeat} of {value.cell.text}",
                where=str(run.directory),
                expected="a positive number",
                hint="samples/ was changed after the run, or by another program",
            )
        by_benchmark[value.cell.benchmark].append(value)
    found = []
    by_pair = {sample.benchmark for sample in run.samples if sample.pair is not None}
    for name in _in_study_order(run):
        known = headline(name)
        if name not in by_pair and by_benchmark[name]:
            found.append(_one_measured(known, by_benchmark[name]))
    return tuple(found)


def placement(trial: Trial) -> str:
    """'2 nodes x 4 ranks'."""
    return _placement(len(trial.nodes), trial.tasks_per_node)


def _in_study_order(run: StudyRun) -> Iterable[str]:
    trials = sorted({launch.trial.id: launch.trial.benchmark for launch in run.launches}.items())
    return dict.fromkeys(benchmark for _, benchmark in trials)


def _one_measured(known: Benchmark, values: list[Value]) -> Measured:
    labels = _series_labels(values)
    groups: dict[tuple[str, int], list[Value]] = defaultdict(list)
    for value in values:
        groups[labels[_aspects_key(value)], value.cell.size_bytes].append(value)
    order = list(dict.fromkeys(labels[key] for key in sorted(labels)))
    cells = tuple(
        ChartCell(series, size, tuple(value.value for value in group), _flags(group))
        for (series, size), group in sorted(
            groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
        )
    )
    metric = ChartMetric(values[0].metric, lower_is_better=known.better == "lower")
    return Measured(known, metric, cells)


def _flags(group: list[Value]) -> tuple[str, ...]:
    """Caveats of any launch, and `bimodal` where most launches are."""
    flags = {flag for value in group for flag in value.no_verdict}
    if 2 * sum(value.bimodal for value in group) > len(group):
        flags.add("bimodal")
    return tuple(sorted(flags))


_AspectsKey = tuple[int, int, str]


def _aspects_key(value: Value) -> _AspectsKey:
    return (value.cell.n_nodes, value.cell.tasks_per_node, value.arm)


def _series_labels(values: Iterable[Value]) -> Mapping[_AspectsKey, str]:
    keys = list(dict.fromkeys(_aspects_key(value) for value in values))
    several_places = len({key[:2] for key in keys}) > 1
    labels = {}
    for n_nodes, tasks, arm in keys:
        parts = [] if arm == ONE_ARM else [arm]
        if several_places or not parts:
            parts.append(_placement(n_nodes, tasks))
        labels[n_nodes, tasks, arm] = ", ".join(parts)
    return labels


def scale_of(cell: StudyCell) -> str:
    """The placement of a compared cell, as its series says it."""
    return _placement(cell.n_nodes, cell.tasks_per_node)


def _placement(n_nodes: int, tasks_per_node: int) -> str:
    nodes = "1 node" if n_nodes == 1 else f"{n_nodes} nodes"
    ranks = "1 rank" if tasks_per_node == 1 else f"{tasks_per_node} ranks"
    return f"{nodes} x {ranks}"
