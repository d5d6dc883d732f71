"""The steady state of a run: without the beginning that differs, and without stragglers."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter

from weft.results.training.model import TrainingRun
from weft.stats.change_points import find_changes
from weft.stats.drift import NOTABLE, Drift, trend
from weft.stats.summary import INTERVAL_FROM, Floats, Summary, summarise
from weft.stats.warm_up import LEAST_EXCESS, bounds, warm_up
from weft.train.log.stragglers import (
    IrregularSteps,
    StragglerGroup,
    irregular_steps,
    straggler_groups,
)

WINDOW = 51
"""Readings whose median is the level around the one in their middle."""
LEVELS_FROM = 20
"""Readings from which on a change of level between them is looked for."""


@dataclass(frozen=True, slots=True)
class LevelStep:
    """From reading `at` on, steps take `ratio` times as long as before it."""

    at: int
    ratio: float


@dataclass(frozen=True, slots=True, eq=False)
class SteadyState:
    """Readings from `first` on that are no stragglers: `kept`, a mask over all readings.

    `method` found the beginning, "" where none was left out; `batch_change` is the last reading
    whose batch differs from the one before, 0 without one: what stands before it is left out too.
    `total_s` is the time of all steps from `first` on, stragglers included, `mean_s` that of one.
    """

    first: int
    method: str
    batch_change: int
    kept: NDArray[np.bool_]
    summary: Summary
    groups: tuple[StragglerGroup, ...]
    irregular: IrregularSteps
    levels: tuple[LevelStep, ...]
    drift: Drift | None
    total_s: float
    mean_s: float

    @property
    def n_stragglers(self) -> int:
        """How many readings are stragglers."""
        return sum(group.n for group in self.groups)

    @property
    def straggler_share(self) -> float:
        """The share of the time that stragglers take longer than the other steps."""
        return sum(group.excess_s for group in self.groups) / self.total_s


def steady_state(run: TrainingRun) -> SteadyState | None:
    """The steady state; None where a run has none, or fewer than six readings of it."""
    changed = _last_batch_change(run.batches)
    times = run.times_s[changed:]
    found = warm_up(times) if times.size >= INTERVAL_FROM else None
    if found is None:
        return None
    first = changed + found.n
    steady = run.times_s[first:]
    slow = _slow(steady)
    if (~slow).sum() < INTERVAL_FROM:
        return None
    summary = summarise(steady[~slow])
    kept = np.zeros(run.times_s.size, dtype=np.bool_)
    kept[first:] = ~slow
    levels = _levels(run, kept)
    drift = _drift(run, kept) if not levels else None
    if not found.settles and not levels and drift is None:
        return None
    groups = straggler_groups(run, first + np.flatnonzero(slow), first, summary.median)
    total_s = float((steady * run.n_steps[first:]).sum())
    return SteadyState(
        first=first,
        method=found.method,
        batch_change=changed,
        kept=kept,
        summary=summary,
        groups=groups,
        irregular=irregular_steps(run, groups, first, summary.median),
        levels=levels,
        drift=drift,
        total_s=total_s,
        mean_s=total_s / float(run.n_steps[first:].sum()),
    )


def _slow(times: Floats) -> NDArray[np.bool_]:
    """Whether each time is an outlier above the median of those around it: a level that changes is
    no crowd of stragglers."""
    window = min(WINDOW, times.size - 1 + times.size % 2)
    level = median_filter(times, size=window, mode="reflect")
    _, high = bounds(times - level + np.median(times))
    far = times - level > high - np.median(times)
    slow: NDArray[np.bool_] = far & (times > (1 + LEAST_EXCESS) * level)
    return slow


def _last_batch_change(batches: Floats) -> int:
    """The last reading whose batch differs from the one before; 0 without one."""
    if batches.size < 2:
        return 0
    changed = np.flatnonzero((batches[1:] != batches[:-1]) & np.isfinite(batches[1:]))
    return int(changed[-1]) + 1 if changed.size else 0


def _levels(run: TrainingRun, kept: NDArray[np.bool_]) -> tuple[LevelStep, ...]:
    """Where the step time changes for the remaining steps, by 2 % or more."""
    at = np.flatnonzero(kept)
    if at.size < LEVELS_FROM:
        return ()
    times = run.times_s[at]
    edges = [0, *find_changes(np.log(times)[:, None], [0]).boundaries, at.size]
    medians = [float(np.median(times[a:b])) for a, b in pairwise(edges)]
    return tuple(
        LevelStep(int(at[edge]), after / before)
        for edge, before, after in zip(edges[1:-1], medians, medians[1:], strict=False)
        if abs(after / before - 1) >= NOTABLE
    )


def _drift(run: TrainingRun, kept: NDArray[np.bool_]) -> Drift | None:
    found = trend(run.steps[kept], run.times_s[kept])
    return found if found is not None and found.notable else None
