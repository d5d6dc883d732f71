"""Congestion impact: how much worse a job is beside aggressors than alone, on average and in the
tail.

SOURCE: GPCNeT 1.3, network_load_test: impact is time beside congestors over time alone, of a
bandwidth alone over beside; here of values that are not rounded, and with intervals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

import numpy as np

from weft.bench.aggressor import OPTION, aggressors_of, in_words
from weft.bench.metrics import P99_FROM_ITERATIONS, PROGRAMS
from weft.bench.model import Launch, Sample, State
from weft.stats.ratio import NotEnoughData, Ratio, paired_ratio
from weft.stats.summary import Floats
from weft.study.comparison.cells import ONE_ARM, StudyCell, arm_name
from weft.study.comparison.replication import Unit, are_simulated
from weft.study.run.store import StudyRun

P999_FROM = 5000
"""As few values lie beyond a quantile as `P99_FROM_ITERATIONS` leaves beyond the 99th."""
TAILS: Mapping[str, tuple[float, int]] = {
    "mean": (0.0, 1),
    "p99": (0.99, P99_FROM_ITERATIONS),
    "p999": (0.999, P999_FROM),
    "slowest": (1.0, 1),
}
"""By name its quantile, and the fewest iterations that it needs; the mean is no quantile. The
slowest iteration is one of a program, whose iterations are as many on each launch."""
TAIL_NAMES = {"mean": "mean", "p99": "99 %", "p999": "99.9 %", "slowest": "slowest"}


@dataclass(frozen=True, slots=True)
class Impact:
    """A figure alone and beside aggressors, of all iterations, and its impact: 2 is twice as bad.
    `low` and `high` bound it with 95 %, None where too few launches have so many iterations."""

    alone: float
    beside: float
    impact: float
    low: float | None
    high: float | None

    @property
    def text(self) -> str:
        """'1.04'."""
        return _times(self.impact)

    def between(self, joint: str = " to ") -> str:
        """'1.03 to 1.05', or 'no interval'."""
        if self.low is None or self.high is None:
            return "no interval"
        return f"{_times(self.low)}{joint}{_times(self.high)}"


def _times(ratio: float) -> str:
    """'1.00', '12.3', '123'."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.3g}"


@dataclass(frozen=True, slots=True)
class ImpactRow:
    """A benchmark at one size beside `aggressors`. `metric` is `latency_us` or `bandwidth_mb_s`;
    `figures` by name of `TAILS`, without those that the iterations do not allow."""

    cell: StudyCell
    arm: str
    aggressors: str
    metric: str
    unit: Unit
    n_units: int
    n_iterations: int
    figures: Mapping[str, Impact]
    caveats: tuple[str, ...]

    @property
    def units(self) -> str:
        """'6 node sets'."""
        return f"{self.n_units} {self.unit.one if self.n_units == 1 else self.unit.value}"

    @property
    def factors(self) -> str:
        """'routing,sharp' of the arm 'routing=adaptive,sharp=on'; "" without other factors."""
        return self._parts(0)

    @property
    def settings(self) -> str:
        """'adaptive,on'; "" without other factors."""
        return self._parts(2)

    def _parts(self, which: int) -> str:
        if self.arm == ONE_ARM:
            return ""
        return ",".join(part.partition("=")[which] for part in self.arm.split(","))

    def to_record(self) -> dict[str, Any]:
        """As JSON has it."""
        record = asdict(self)
        del record["cell"]
        cell = asdict(self.cell)
        del cell["condition"]
        return {**cell, **record, "unit": self.unit.value}


def impact_rows(run: StudyRun) -> list[ImpactRow]:
    """A row for each cell that was measured alone and beside; none of a run without aggressors."""
    launches = {launch.key: launch for launch in run.launches if OPTION in launch.trial.options}
    loads = _load_factors(list(launches.values()))
    groups: dict[tuple[StudyCell, str], dict[str, list[tuple[Launch, Sample]]]] = {}
    # In the order of the study, not of its launches.
    for sample in sorted(run.samples, key=lambda one: (one.trial, one.repeat)):
        launch = launches.get((sample.trial, sample.repeat))
        if launch is None or sample.state is not State.OK or not sample.times_ns:
            continue
        settings = {**launch.trial.arm, **launch.trial.condition}
        others = {name: one for name, one in settings.items() if name not in loads}
        key = (_cell(launch, sample), arm_name(others))
        groups.setdefault(key, {}).setdefault(_load(launch), []).append((launch, sample))
    simulated = are_simulated([run])
    found = [
        _row(cell, arm, beside, by_load["none"], loaded, simulated=simulated)
        for (cell, arm), by_load in groups.items()
        for beside, loaded in by_load.items()
        if beside != "none" and "none" in by_load
    ]
    return [row for row in found if row is not None]


def _load(launch: Launch) -> str:
    return in_words(aggressors_of(launch.trial))


def _load_factors(launches: Sequence[Launch]) -> set[str]:
    """The factors whose settings say which aggressors there are."""
    found = set()
    for factor in {name for one in launches for name in (*one.trial.arm, *one.trial.condition)}:
        by_setting: dict[str, set[str]] = {}
        for launch in launches:
            by_setting.setdefault(launch.trial.setting(factor), set()).add(_load(launch))
        distinct = {next(iter(one)) for one in by_setting.values() if len(one) == 1}
        if len(distinct) == len(by_setting) > 1:
            found.add(factor)
    return found


def _cell(launch: Launch, sample: Sample) -> StudyCell:
    trial = launch.trial
    return StudyCell(sample.benchmark, len(trial.nodes), trial.tasks_per_node, sample.size_bytes)


def _row(
    cell: StudyCell,
    arm: str,
    beside: str,
    alone: Sequence[tuple[Launch, Sample]],
    loaded: Sequence[tuple[Launch, Sample]],
    *,
    simulated: bool,
) -> ImpactRow | None:
    """None where no launch alone has a partner beside."""
    by_unit = [_by_unit(found, simulated=simulated) for found in (alone, loaded)]
    units = [unit for unit in by_unit[0] if unit in by_unit[1]]
    if not units:
        return None
    of_all = [np.concatenate([one[unit] for unit in units]) for one in by_unit]
    scale, metric = _scale(alone[0][1])
    figures = {}
    n_iterations = min(times.size for times in of_all)
    for name, (quantile, fewest) in TAILS.items():
        if n_iterations < fewest or (name == "slowest" and cell.benchmark not in PROGRAMS):
            continue
        whole = [_figure(times, quantile) for times in of_all]
        shown = [value * scale if metric == "latency_us" else scale / value for value in whole]
        enough = min(one[unit].size for one in by_unit for unit in units) >= fewest
        bounds: Ratio | NotEnoughData | None = None
        if enough:
            first, second = ([_figure(one[unit], quantile) for unit in units] for one in by_unit)
            bounds = paired_ratio(first, second)
        ratio = bounds.ratio if isinstance(bounds, Ratio) else whole[1] / whole[0]
        low, high = (bounds.low, bounds.high) if isinstance(bounds, Ratio) else (None, None)
        figures[name] = Impact(shown[0], shown[1], ratio, low, high)
    flags = dict.fromkeys(flag for _, sample in (*alone, *loaded) for flag in sample.flags)
    unit = Unit.NODE_SET if simulated else Unit.LAUNCH
    return ImpactRow(
        cell, arm, beside, metric, unit, len(units), n_iterations, figures, tuple(flags)
    )


def _by_unit(
    found: Sequence[tuple[Launch, Sample]], *, simulated: bool
) -> dict[tuple[int, int], Floats]:
    """The times of each launch; of a twin those on one node set, which it repeats, together."""
    times: dict[tuple[int, int], list[Floats]] = {}
    for launch, sample in found:
        unit = (launch.trial.node_set, 0 if simulated else launch.repeat)
        times.setdefault(unit, []).append(np.asarray(sample.times_ns, dtype=np.float64))
    return {unit: np.concatenate(series) for unit, series in times.items()}


def _figure(times: Floats, quantile: float) -> float:
    return float(np.quantile(times, quantile)) if quantile else float(times.mean())


_ONE_WAY = ("latency", "random_ring_latency")
"""Benchmarks whose latency is half of a time."""


def _scale(sample: Sample) -> tuple[float, str]:
    """What makes the benchmark's own metric of a time in nanoseconds: a latency by multiplying, a
    bandwidth by dividing."""
    assert sample.times_ns is not None
    if "latency_us_p50" in sample.metrics:
        return 1 / (2e3 if sample.benchmark in _ONE_WAY else 1e3), "latency_us"
    if "bandwidth_mb_s_p50" in sample.metrics:
        return sample.metrics["bandwidth_mb_s_p50"] * median(sample.times_ns), "bandwidth_mb_s"
    return sample.metrics["bandwidth_mb_s"] * fmean(sample.times_ns), "bandwidth_mb_s"
