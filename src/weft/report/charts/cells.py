"""The values of a run by benchmark, series and size: the cells behind the figures."""

import dataclasses
from collections import defaultdict
from dataclasses import dataclass

from weft.bench.result_scale import is_imported
from weft.catalog.benchmark import Benchmark
from weft.core.units import format_size
from weft.study.comparison.cells import (
    ONE_ARM,
    Cells,
    Value,
    caveats_of,
    cells_of,
    require_positive,
)
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.replication import Unit, are_simulated, units_of_values
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
    "images": "images a second",
    "scaling": "scaling efficiency",
}


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
    """One (series, size): `values` holds one figure a unit of replication; `flags` are caveats of
    any launch.

    `series` names the difference between the curves of a benchmark: arm, nodes and ranks.
    """

    series: str
    size_bytes: int
    values: tuple[float, ...]
    flags: tuple[str, ...] = ()
    unit: Unit = Unit.LAUNCH


@dataclass(frozen=True, slots=True)
class Measured:
    """One benchmark of a run: its headline metric and its cells, by series then size."""

    benchmark: Benchmark
    metric: ChartMetric
    cells: tuple[ChartCell, ...]

    def at(self, cell: ChartCell) -> str:
        """' at 64 KiB'; nothing for a benchmark without sizes."""
        return f" at {format_size(cell.size_bytes)}" if self.benchmark.sizes else ""


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
    require_positive(cells, str(run.directory))
    for value in cells.values:
        by_benchmark[value.cell.benchmark].append(value)
    by_pair = {sample.benchmark for sample in run.samples if sample.pair is not None}
    in_order = sorted({launch.trial.id: launch.trial.benchmark for launch in run.launches}.items())
    return tuple(
        _one_measured(headline(name), by_benchmark[name], simulated=are_simulated([run]))
        for name in dict.fromkeys(benchmark for _, benchmark in in_order)
        if name not in by_pair and by_benchmark[name]
    )


def _one_measured(known: Benchmark, values: list[Value], *, simulated: bool) -> Measured:
    several_scales = len({value.cell.scale for value in values}) > 1
    groups: dict[tuple[str, int], list[Value]] = defaultdict(list)
    for value in sorted(values, key=_by_series_and_size):
        parts = [] if value.arm == ONE_ARM else [value.arm]
        if several_scales or not parts:
            parts.append(value.cell.scale)
        groups[", ".join(parts), value.cell.size_bytes].append(value)
    cells = []
    for (series, size), group in groups.items():
        units, unit = units_of_values(group, simulated=simulated)
        figures, flags = tuple(one.value for one in units), tuple(sorted(caveats_of(group)))
        cells.append(ChartCell(series, size, figures, flags, unit))
    metric = ChartMetric(values[0].metric, lower_is_better=known.better == "lower")
    return Measured(known, metric, tuple(cells))


def _by_series_and_size(value: Value) -> tuple[int, int, str, str, int]:
    cell = value.cell
    return cell.n_nodes, cell.tasks_per_node, cell.condition, value.arm, cell.size_bytes
