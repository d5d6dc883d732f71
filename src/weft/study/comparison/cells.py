"""From a run to one value a launch and cell, the input of every comparison."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from weft.bench.model import Launch, Sample, State, Trial
from weft.bench.result_scale import is_imported
from weft.catalog.benchmark import Benchmark
from weft.core.errors import InputError
from weft.core.units import format_size
from weft.core.work.progress import each
from weft.stats.bimodal import are_bimodal
from weft.study.comparison.treatment import SettingInForce, settings_of, untreated_because
from weft.study.plan.document import parse_study
from weft.study.plan.live import on_machine
from weft.study.plan.model import Study
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

NO_VERDICT_FLAGS = (
    "oversubscribed",
    "skew_dominates",
    "late_starts",
    State.NOT_ON_FABRIC.value,
)
"""Caveats of a sample that is shown, but supports no verdict."""


ONE_ARM = "only"
"""The arm of a study without factors."""

HeadlineOf = Callable[[str], Benchmark]
"""By name, a benchmark with the metric that is compared."""


@dataclass(frozen=True, slots=True, order=True)
class StudyCell:
    """The unit of comparison: one benchmark at one size, on a number of nodes and ranks, under one
    condition ("" where a study has none)."""

    benchmark: str
    n_nodes: int
    tasks_per_node: int
    size_bytes: int
    condition: str = ""

    @property
    def text(self) -> str:
        """'allreduce 64 KiB'."""
        return f"{self.benchmark} {format_size(self.size_bytes)}"

    @property
    def place(self) -> str:
        """'allreduce 64 KiB on 2 nodes x 4 ranks'; 'barrier on ...' without a size."""
        return f"{self.text if self.size_bytes else self.benchmark} on {self.scale}"

    @property
    def scale(self) -> str:
        """'2 nodes x 4 ranks', and the condition."""
        scale = scale_text(self.n_nodes, self.tasks_per_node)
        return f"{scale}, {self.condition}" if self.condition else scale


@dataclass(frozen=True, slots=True)
class Value:
    """The headline metric of one cell in one launch: the unit of replication. `nodes` in any order:
    blocks of jobs may get the same ones, and are then one node set by two numbers."""

    arm: str
    cell: StudyCell
    node_set: int
    nodes: frozenset[str]
    repeat: int
    metric: str
    value: float
    started_unix_s: float
    no_verdict: tuple[str, ...] = ()
    bimodal: bool = False

    @property
    def pairs_with(self) -> tuple[int, int]:
        """Launches of two arms pair when this is equal."""
        return (self.node_set, self.repeat)


@dataclass(frozen=True, slots=True)
class Cells:
    """All values of a run. `at_end` are the baseline's returns; `excluded` counts reasons."""

    values: tuple[Value, ...]
    at_end: tuple[Value, ...]
    excluded: Mapping[str, int]


def caveats_of(values: Sequence[Value]) -> tuple[str, ...]:
    """Caveats of any launch, and 'bimodal' where most launches are."""
    flags = dict.fromkeys(flag for value in values for flag in value.no_verdict)
    return (*flags, "bimodal") if mostly_bimodal(values) else tuple(flags)


def mostly_bimodal(values: Sequence[Value]) -> bool:
    """Whether more than half of the launches are."""
    return 2 * sum(value.bimodal for value in values) > len(values)


def scale_text(n_nodes: int, tasks_per_node: int) -> str:
    """'2 nodes x 4 ranks'."""
    nodes = "1 node" if n_nodes == 1 else f"{n_nodes} nodes"
    return f"{nodes} x {tasks_per_node} rank{'' if tasks_per_node == 1 else 's'}"


def arm_name(arm: Mapping[str, str]) -> str:
    """'routing=adaptive,sharp=on'; 'only' for a study without factors."""
    return ",".join(f"{factor}={setting}" for factor, setting in arm.items()) or ONE_ARM


def study_of(run: StudyRun) -> Study | None:
    """The study of a run, or None for a run that had none (`weft bench`)."""
    text = str(run.meta.get("study", ""))
    if not text.strip():
        return None
    study = parse_study(text, str(run.directory / "run.toml"))
    return study if backend_of(run).is_twin else on_machine(study)


def cells_of(run: StudyRun, headline: HeadlineOf) -> Cells:
    """Values of completed, treated and valid launches; the remaining samples counted by reason.

    A pairs benchmark has a sample a pair: its value is the median over the pairs of the launch.
    Raises InputError where samples belong to no launch of the plan.
    """
    launches = {launch.key: launch for launch in run.launches}
    study = study_of(run)
    n_repeats = n_repeats_of(run)
    excluded: dict[str, int] = {}
    groups: dict[tuple[tuple[str, int], int], list[Sample]] = {}
    settings: dict[str, Sequence[SettingInForce]] = {}
    for sample in each(run.samples, "reading values"):
        launch = launches.get((sample.trial, sample.repeat))
        if launch is None:
            raise InputError(
                f"samples of {sample.trial} repeat {sample.repeat}, which is not in the plan",
                where=str(run.directory),
                expected="plan.jsonl and samples/ of the same run",
            )
        trial = launch.trial
        if trial.id not in settings:
            settings[trial.id] = settings_of(study, {**trial.arm, **trial.condition})
        reason = unusable_because(sample, settings[trial.id])
        if reason:
            excluded[reason] = excluded.get(reason, 0) + 1
            continue
        groups.setdefault((launch.key, sample.size_bytes), []).append(sample)
    found: list[tuple[Launch, _Place, list[Sample]]] = []
    places: dict[tuple[str, int], _Place] = {}
    imported = is_imported(run.meta)
    for (key, size), samples in groups.items():
        usable = _with_figure(samples, headline, excluded) if imported else samples
        if usable:
            trial = launches[key].trial
            place = places.get((trial.id, size)) or _place(trial, size)
            places[trial.id, size] = place
            found.append((launches[key], place, usable))
    bimodal = are_bimodal([_series(usable) for _, _, usable in found])
    values = [
        _value(launch, place, usable, headline, bimodal=is_it)
        for (launch, place, usable), is_it in zip(found, bimodal, strict=True)
    ]
    return Cells(
        values=tuple(value for value in values if value.repeat < n_repeats),
        at_end=tuple(value for value in values if value.repeat >= n_repeats),
        excluded=excluded,
    )


def require_positive(cells: Cells, where: str) -> None:
    """Raise InputError on a figure that no backend writes: one that is not positive and finite."""
    for value in (*cells.values, *cells.at_end):
        if not isfinite(value.value) or value.value <= 0:
            raise InputError(
                f"{value.metric} is {value.value} in repeat {value.repeat} of {value.cell.text}",
                where=where,
                expected="a positive number",
                hint="samples/ was changed after the run, or by another program",
            )


def _with_figure(
    samples: Sequence[Sample], headline: HeadlineOf, excluded: dict[str, int]
) -> list[Sample]:
    """The samples of an imported run that have a value: tools print 0.00 if they have too
    few digits, and leave fields empty."""
    metric = headline(samples[0].benchmark).headline
    kept = [sample for sample in samples if sample.metrics.get(metric, 0) > 0]
    for sample in samples:
        if sample.metrics.get(metric, 0) <= 0:
            what = "is printed as 0" if metric in sample.metrics else "is not in the row"
            reason = f"{sample.benchmark}: {metric} {what}"
            excluded[reason] = excluded.get(reason, 0) + 1
    return kept


def n_repeats_of(run: StudyRun) -> int:
    """Repeats that are compared. Those numbered from here on are the baseline's return, which the
    planner adds for the first arm only: the repeats that every arm has tell where they begin.
    An imported run has no planner, and no such return."""
    by_arm: dict[str, int] = {}
    for launch in run.launches:
        arm = arm_name(launch.trial.arm)
        by_arm[arm] = max(by_arm.get(arm, 0), launch.repeat + 1)
    return (max if is_imported(run.meta) else min)(by_arm.values(), default=0)


def metric_of(samples: Sequence[Sample], headline: str) -> str:
    """The headline where all samples have it; a pair's small size has only its latency, a launch
    of nccl-tests only its bus bandwidth."""
    if all(headline in sample.metrics for sample in samples):
        return headline
    shared = set(samples[0].metrics).intersection(*(sample.metrics for sample in samples))
    for name in ("latency_us", "busbw_gb_s"):
        if name in shared:
            return name
    raise InputError(
        f"a sample of {samples[0].benchmark} has no metric '{headline}'",
        where=f"{samples[0].trial} repeat {samples[0].repeat}",
        expected="the headline metric of the benchmark in every completed sample",
    )


def unusable_because(sample: Sample, settings: Sequence[SettingInForce]) -> str | None:
    """The reason why a sample counts in no comparison, or None if it counts."""
    if sample.state not in (State.OK, State.NOT_ON_FABRIC):
        return sample.state.value
    if "invalid_data" in sample.flags:
        return "invalid data"
    return untreated_because(sample, settings)


@dataclass(frozen=True, slots=True)
class _Place:
    """What the launches of a trial share at one size."""

    arm: str
    cell: StudyCell
    nodes: frozenset[str]


def cell_of(trial: Trial, size_bytes: int) -> StudyCell:
    """The cell of a trial's launches at a size."""
    condition = arm_name(trial.condition) if trial.condition else ""
    n_nodes, n_tasks = len(trial.nodes), trial.tasks_per_node
    return StudyCell(trial.benchmark, n_nodes, n_tasks, size_bytes, condition)


def _place(trial: Trial, size_bytes: int) -> _Place:
    cell = cell_of(trial, size_bytes)
    return _Place(arm_name(trial.arm), cell, frozenset(trial.nodes))


def _series(samples: Sequence[Sample]) -> Sequence[float]:
    """The times of a launch; none of one with a sample a pair."""
    return (samples[0].times_ns or ()) if len(samples) == 1 else ()


def _value(
    launch: Launch,
    place: _Place,
    samples: Sequence[Sample],
    headline: HeadlineOf,
    *,
    bimodal: bool,
) -> Value:
    trial = launch.trial
    metric = metric_of(samples, headline(trial.benchmark).headline)
    flags = {flag for sample in samples for flag in (*sample.flags, sample.state.value)}
    return Value(
        arm=place.arm,
        cell=place.cell,
        node_set=trial.node_set,
        nodes=place.nodes,
        repeat=launch.repeat,
        metric=metric,
        value=median(sample.metrics[metric] for sample in samples),
        started_unix_s=min(sample.started_unix_s for sample in samples),
        no_verdict=tuple(flag for flag in NO_VERDICT_FLAGS if flag in flags),
        bimodal=bimodal,
    )
