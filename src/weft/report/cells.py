"""From the samples of a run to cells: the values of one metric, one a launch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.bench.model import Launch, Sample, State, Trial
from weft.core.errors import InputError

_UNITS = (
    ("_us", "µs"),
    ("_gb_s", "GB/s"),
    ("_mb_s", "MB/s"),
    ("_mps", "million messages/s"),
)
_NAMES = {
    "latency": "latency",
    "bandwidth": "bandwidth",
    "msg": "message rate",
    "busbw": "bus bandwidth",
    "algbw": "algorithm bandwidth",
    "skew": "start skew",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a benchmark: its name in the samples, which way is better, how to say it."""

    name: str
    lower_is_better: bool

    @property
    def unit(self) -> str:
        """'µs', 'MB/s', ...; empty for a metric without a known unit."""
        stem = self.name.split("_us")[0] + "_us" if "_us" in self.name else self.name
        return next((unit for end, unit in _UNITS if end in stem), "")

    @property
    def quantity(self) -> str:
        """'latency, median of iterations', 'bandwidth', ..."""
        word = _NAMES.get(self.name.split("_")[0], self.name)
        return f"{word}, median of iterations" if self.name.endswith("_p50") else word

    @property
    def axis(self) -> str:
        """The axis title, with the unit."""
        return f"{self.quantity} ({self.unit})" if self.unit else self.quantity


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one (benchmark, series, size): `values` holds one figure a launch."""

    series: str
    size_bytes: int
    values: tuple[float, ...]
    flags: tuple[str, ...] = ()


def benchmarks_of(launches: Sequence[Launch]) -> tuple[str, ...]:
    """Benchmark names in the order of first appearance by trial id."""
    by_trial = sorted({launch.trial.id: launch.trial for launch in launches}.items())
    return tuple(dict.fromkeys(trial.benchmark for _, trial in by_trial))


def headline(benchmark: str, samples: Sequence[Sample]) -> Metric | None:
    """The metric the catalogue names first; for a benchmark it does not know, the first by name."""
    from weft.catalog.load import benchmark as benchmark_named

    present = sorted({name for sample in samples for name in sample.metrics})
    if not present:
        return None
    try:
        known = benchmark_named(benchmark)
    except InputError:
        return Metric(present[0], lower_is_better="_us" in present[0])
    name = known.headline if known.headline in present else present[0]
    return Metric(name, lower_is_better=known.better == "lower")


def without_drift_check(launches: Sequence[Launch]) -> tuple[Launch, ...]:
    """The launches of the study proper: those of the baseline's return at the end belong to the
    drift check only, and would count the baseline more often than the other arms."""
    repeats: dict[str, set[int]] = defaultdict(set)
    for launch in launches:
        repeats[launch.trial.id].add(launch.repeat)
    if not any(launch.trial.arm for launch in launches):
        return tuple(launches)
    n_repeats = min(len(seen) for seen in repeats.values())
    return tuple(launch for launch in launches if launch.repeat < n_repeats)


def cells_of(
    benchmark: str, metric: str, launches: Sequence[Launch], samples: Sequence[Sample]
) -> tuple[Cell, ...]:
    """Cells of a benchmark, by series then size. Only OK samples without a pair count."""
    mine = [launch for launch in launches if launch.trial.benchmark == benchmark]
    trials = {launch.trial.id: launch.trial for launch in mine}
    counted = {launch.key for launch in without_drift_check(mine)}
    labels = series_labels(tuple(trials.values()))
    values: dict[tuple[str, int], list[float]] = defaultdict(list)
    flags: dict[tuple[str, int], set[str]] = defaultdict(set)
    for sample in sorted(samples, key=lambda s: (s.trial, s.size_bytes, s.repeat)):
        if (sample.trial, sample.repeat) not in counted or sample.pair is not None:
            continue
        if sample.state is not State.OK or metric not in sample.metrics:
            continue
        key = (labels[sample.trial], sample.size_bytes)
        values[key].append(sample.metrics[metric])
        flags[key].update(sample.flags)
    order = list(dict.fromkeys(labels[trial] for trial in sorted(trials)))
    return tuple(
        Cell(series, size, tuple(values[series, size]), tuple(sorted(flags[series, size])))
        for series, size in sorted(values, key=lambda key: (order.index(key[0]), key[1]))
    )


def series_labels(trials: Sequence[Trial]) -> dict[str, str]:
    """Trial id -> a label of what differs between these trials (node sets share a label)."""
    aspects = {trial.id: _aspects(trial) for trial in trials}
    everything = list(aspects.values())
    varying = [
        name
        for name in dict.fromkeys(name for aspect in everything for name in aspect)
        if len({aspect.get(name) for aspect in everything}) > 1
    ]
    return {
        trial_id: ", ".join(aspect[name] for name in varying if name in aspect)
        or aspect["placement"]
        for trial_id, aspect in aspects.items()
    }


def _aspects(trial: Trial) -> Mapping[str, str]:
    aspects = {f"factor {name}": f"{name}={value}" for name, value in sorted(trial.arm.items())}
    aspects["placement"] = placement(trial)
    return aspects


def placement(trial: Trial) -> str:
    """'2 nodes x 4 ranks'."""
    n_nodes = len(trial.nodes)
    nodes = "1 node" if n_nodes == 1 else f"{n_nodes} nodes"
    ranks = "1 rank" if trial.tasks_per_node == 1 else f"{trial.tasks_per_node} ranks"
    return f"{nodes} x {ranks}"
