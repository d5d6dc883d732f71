"""Components of checks over time: which of them stepped or drifted, when, and who was accused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from weft.stats.change_points import FAMILY_ERROR, LOCAL_ERROR, ChangePoint, find_changes
from weft.stats.change_points import least_runs as least_runs_of_a_step
from weft.stats.change_series import p_of_two, series_apart
from weft.stats.drift import trend
from weft.stats.summary import Floats
from weft.study.history.history import History, SettingChange
from weft.study.history.run_components import (
    KINDS,
    PAIR,
    ComponentSeries,
    NamedComponent,
    RunAccusation,
)
from weft.study.history.shifts import TOLERANCE, steady, still_holds

MOST_PAIR_SERIES = 1_000
"""Of more pairs those that vary most are scanned: that choice does not look at the order of runs,
so that the chance of a false step stays the same."""


@dataclass(frozen=True, slots=True)
class MetricShift:
    """A metric of a component over one step: `slower` is the ratio of times (over 1: slower)
    between the stretches on both sides, against others of its kind; `p` of Welch's test."""

    metric: str
    slower: float
    in_force: bool
    p: float


@dataclass(frozen=True, slots=True)
class ComponentStep:
    """A component that steps at `point`, counted in runs of the history. `changed`: the settings
    that changed on one of its dates."""

    component: NamedComponent
    point: ChangePoint
    shifts: tuple[MetricShift, ...]
    changed: tuple[SettingChange, ...]

    @property
    def most(self) -> MetricShift:
        """The metric that moved most."""
        return max(self.shifts, key=lambda one: abs(np.log(one.slower)))

    @property
    def in_force(self) -> bool:
        """Whether the component still is as the step left it."""
        return self.most.in_force


@dataclass(frozen=True, slots=True)
class ComponentDrift:
    """A component that drifts without a step: `slower` is the last third over the first."""

    component: NamedComponent
    metric: str
    slower: float
    p: float


@dataclass(frozen=True, slots=True)
class ComponentHistory:
    """`rows` are the checks among the runs of `history`; `values` has a row each and a column a
    series, NaN where a check did not measure it. `undated` moved, and no date explains it;
    `scanned` are the columns that were searched for steps, beyond the statistic `critical`.
    `accused`: by component the runs that accused it, in order, with the severity."""

    history: History
    rows: tuple[int, ...]
    series: tuple[ComponentSeries, ...]
    values: Floats
    scanned: tuple[int, ...]
    critical: float
    steps: tuple[ComponentStep, ...]
    drifts: tuple[ComponentDrift, ...]
    undated: tuple[NamedComponent, ...]
    accused: Mapping[NamedComponent, tuple[tuple[int, RunAccusation], ...]]

    @property
    def components(self) -> tuple[NamedComponent, ...]:
        """All that were measured, by kind and name, then others that were accused."""
        measured = dict.fromkeys(one.component for one in self.series)
        return tuple(dict.fromkeys([*measured, *self.accused]))

    @property
    def enough(self) -> bool:
        """Whether any series has the runs that a step needs."""
        return bool(self.scanned)

    def columns_of(self, component: NamedComponent) -> list[int]:
        """The columns of a component, one a metric."""
        return [i for i, one in enumerate(self.series) if one.component == component]


def component_history(history: History, *, seed: int = 1) -> ComponentHistory:
    """The components of the checks of a history: `values` are relative to others of their kind in
    the same check, so that a fabric that is slower as a whole moves none of them.

    One scan over all series keeps the error of the whole history (`FAMILY_ERROR`); then the series
    of each component that stands out are dated alone, and must show the step there, too.
    """
    rows = tuple(i for i, run in enumerate(history.runs) if run.components.slowness)
    series = tuple(sorted({s for i in rows for s in history.runs[i].components.slowness}, key=_key))
    place = {one: i for i, one in enumerate(series)}
    values = np.full((len(rows), len(series)), np.nan)
    for row, i in enumerate(rows):
        found = history.runs[i].components.slowness
        values[row, [place[one] for one in found]] = list(found.values())
    scanned = _scanned(series, values)
    steps: list[ComponentStep] = []
    undated: list[NamedComponent] = []
    critical = float("inf")
    if scanned:
        apart, critical = series_apart(values[:, scanned], alpha=FAMILY_ERROR, seed=seed)
        standing_out = dict.fromkeys(
            series[i].component for i, is_apart in zip(scanned, apart, strict=True) if is_apart
        )
        for component in standing_out:
            own = [i for i in scanned if series[i].component == component]
            dated = _steps_of(history, rows, [series[i] for i in own], values[:, own], seed)
            steps += dated
            undated += [] if dated else [component]
    drifts = _drifts(series, values, scanned, {one.component for one in steps})
    drifting = {one.component for one in drifts}
    return ComponentHistory(
        history=history,
        rows=rows,
        series=series,
        values=values,
        scanned=tuple(scanned),
        critical=critical,
        steps=tuple(sorted(steps, key=lambda one: (one.point.at, one.component))),
        drifts=tuple(drifts),
        undated=tuple(one for one in undated if one not in drifting),
        accused=_accused(history),
    )


def _key(series: ComponentSeries) -> tuple[int, ComponentSeries]:
    return KINDS.index(series.component.kind), series


def _scanned(series: Sequence[ComponentSeries], values: Floats) -> list[int]:
    """The columns with enough runs for a step; of pairs the most varied."""
    enough = np.flatnonzero(np.isfinite(values).sum(axis=0) >= least_runs_of_a_step()).tolist()
    pairs = [i for i in enough if series[i].component.kind == PAIR]
    if len(pairs) > MOST_PAIR_SERIES:
        spread = np.ptp(np.nanquantile(values[:, pairs], [0.1, 0.9], axis=0), axis=0)
        dropped = {pairs[i] for i in np.argsort(-spread, kind="stable")[MOST_PAIR_SERIES:]}
        enough = [i for i in enough if i not in dropped]
    return enough


def _steps_of(
    history: History,
    rows: Sequence[int],
    own: Sequence[ComponentSeries],
    values: Floats,
    seed: int,
) -> list[ComponentStep]:
    """The dated steps of one component, from its own series."""
    metrics = [one.metric for one in own]
    present = np.flatnonzero(np.isfinite(values).any(axis=1))
    kept = values[present]
    changes = find_changes(kept, [0] * kept.shape[1], seed=seed)
    edges = [0, *changes.boundaries, len(kept)]
    found = []
    for i, point in enumerate(changes.points):
        low, at, high = edges[i], edges[i + 1], edges[i + 2]
        shifts = list(_shifts(metrics, kept[low:at], kept[at:high], kept[edges[-2] :]))
        if not shifts:
            continue
        numbers = [rows[present[one]] for one in (point.at, point.first, point.last)]
        moved = ChangePoint(numbers[0], numbers[1], numbers[2], point.p)
        # Runs of benchmarks may lie between the last check before and the first one after.
        before = rows[present[max(0, point.first - 1)]]
        changed = tuple(one for one in history.events if before < one.at <= moved.last)
        found.append(ComponentStep(own[0].component, moved, tuple(shifts), changed))
    return found


def _shifts(
    metrics: Sequence[str], before: Floats, after: Floats, end: Floats
) -> Iterable[MetricShift]:
    """The metrics whose stretches differ (Welch's test at 0.1 %, adjusted over metrics) by a
    hundredth or more."""
    for i, metric in enumerate(metrics):
        old, new, last = before[:, i], after[:, i], end[:, i]
        if not (np.isfinite(old).any() and np.isfinite(new).any()):
            continue
        p = p_of_two(steady(old), steady(new)) * len(metrics)
        slower = float(np.exp(np.nanmedian(new) - np.nanmedian(old)))
        if p < LOCAL_ERROR and abs(np.log(slower)) >= np.log1p(TOLERANCE):
            yield MetricShift(metric, slower, still_holds(old, new, last), p)


def _drifts(
    series: Sequence[ComponentSeries],
    values: Floats,
    scanned: Sequence[int],
    stepped: set[NamedComponent],
) -> list[ComponentDrift]:
    """Of each component without a step the metric that drifts most, at the error of the whole
    history (Bonferroni over all series)."""
    found: dict[NamedComponent, ComponentDrift] = {}
    for i in scanned:
        component = series[i].component
        kept = np.flatnonzero(np.isfinite(values[:, i]))
        drift = trend(kept.astype(float), np.exp(values[kept, i]))
        if component in stepped or drift is None or not drift.notable:
            continue
        if drift.p * len(scanned) < FAMILY_ERROR:
            one = ComponentDrift(component, series[i].metric, 1 + drift.change, drift.p)
            found[component] = min(found.get(component, one), one, key=lambda of: of.p)
    return sorted(found.values(), key=lambda one: (KINDS.index(one.component.kind), one.component))


def _accused(
    history: History,
) -> dict[NamedComponent, tuple[tuple[int, RunAccusation], ...]]:
    all_of = sorted(
        (one.component, number, one)
        for number, run in enumerate(history.runs)
        for one in run.components.accused
    )
    return {
        component: tuple((number, accusation) for _, number, accusation in some)
        for component, some in groupby(all_of, key=lambda one: one[0])
    }
