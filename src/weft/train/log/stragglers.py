"""Slow steps between steady ones: those that come at a fixed period, and the others."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.results.training.collector import CHECKPOINT, EVALUATION
from weft.results.training.model import Floats, TrainingRun
from weft.stats.warm_up import LEAST_EXCESS

LEAST_TEETH = 3
COMPLETE = 0.8
"""Of the steps at which a period expects a straggler, so many are stragglers."""
BY_CHANCE = 0.01
"""So many periods with as many stragglers are expected by chance at most."""
MOST_PERIODS = 4
_NEIGHBOURS, _MOST_TRIED = 6, 40
"""A period is looked for among the distances of a straggler to the next six."""
_CAUSES = {CHECKPOINT: "checkpoint", EVALUATION: "evaluation"}


@dataclass(frozen=True, slots=True)
class StragglerGroup:
    """Slow readings: `period` steps apart, 0 without a period. `excess_s` is what they took longer
    than the steady state in all, `median_excess_s` each. `causes`: lines of checkpoints or
    evaluations right before, counted. `lines` are those of the first few."""

    readings: tuple[int, ...]
    period: int
    first_step: int
    excess_s: float
    median_excess_s: float
    causes: tuple[tuple[str, int], ...]
    lines: tuple[int, ...]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.readings)


@dataclass(frozen=True, slots=True)
class IrregularSteps:
    """Slow readings without a period or a cause that the log names, of `n_places` that have
    neither: how many, and the share of the whole time that the slow ones take beyond the median."""

    n: int
    n_places: int
    time_share: float

    @property
    def share(self) -> float:
        """How many of the places are slow."""
        return self.n / self.n_places if self.n_places else 0.0


_LINES_KEPT = 3


def straggler_groups(
    run: TrainingRun, stragglers: NDArray[np.intp], first: int, median_s: float
) -> tuple[StragglerGroup, ...]:
    """The stragglers of readings `first` and later, by period; those without one come last."""
    left = [int(at) for at in stragglers]
    groups: list[StragglerGroup] = []
    n_places = run.steps.size - first
    while len(groups) < MOST_PERIODS:
        comb = _best_comb(left, first, n_places)
        if comb is None:
            break
        groups.append(_group(run, comb, _period_steps(run, comb), median_s))
        left = [at for at in left if at not in set(comb)]
    if left:
        groups.append(_group(run, left, 0, median_s))
    return tuple(groups)


def irregular_steps(
    run: TrainingRun, groups: tuple[StragglerGroup, ...], first: int, median_s: float
) -> IrregularSteps:
    """Readings `first` and later, without those that have a period or follow a checkpoint or an
    evaluation. All count that lie above the median by `LEAST_EXCESS`: where many are slow, a test
    for outliers misses most."""
    counted = (np.arange(run.times_s.size) >= first) & ~np.isin(run.follows, list(_CAUSES))
    for group in groups:
        if group.period:
            counted[list(group.readings)] = False
    slow = counted & (run.times_s > (1 + LEAST_EXCESS) * median_s)
    excess_s = float(((run.times_s - median_s) * run.n_steps)[slow].sum())
    total_s = float((run.times_s[first:] * run.n_steps[first:]).sum())
    return IrregularSteps(
        n=int(slow.sum()),
        n_places=int(counted.sum()),
        time_share=excess_s / total_s,
    )


def _best_comb(places: list[int], first: int, n_places: int) -> list[int] | None:
    """Of the combs over all readings with so many of these places as teeth, the one with most;
    None where none is complete, or some would be expected by chance.

    The expected number of combs with k teeth among n places, each slow with the share q of them
    all, is at most (n / k)^2 q^k: there are n / k periods of n / k phases.
    """
    if len(places) < LEAST_TEETH:
        return None
    found, share = set(places), len(places) / n_places
    apart = Counter(
        other - at for i, at in enumerate(places) for other in places[i + 1 : i + 1 + _NEIGHBOURS]
    )
    best: list[int] = []
    for period, _ in apart.most_common(_MOST_TRIED):
        phases = Counter((at - first) % period for at in places)
        phase, n_hit = phases.most_common(1)[0]
        n_teeth = len(range(phase, n_places, period))
        if n_hit > len(best) and n_hit >= max(LEAST_TEETH, COMPLETE * n_teeth):
            best = [at for at in range(first + phase, first + n_places, period) if at in found]
    k = len(best)
    if k < LEAST_TEETH or (n_places / k) ** 2 * share**k > BY_CHANCE:
        return None
    return best


def _period_steps(run: TrainingRun, comb: list[int]) -> int:
    return round(float(np.median(np.diff(run.steps[comb]))))


def _group(run: TrainingRun, at: list[int], period: int, median_s: float) -> StragglerGroup:
    excess: Floats = (run.times_s[at] - median_s) * run.n_steps[at]
    follows = run.follows[at]
    causes = tuple(
        (word, int((follows == cause).sum()))
        for cause, word in _CAUSES.items()
        if (follows == cause).any()
    )
    return StragglerGroup(
        readings=tuple(at),
        period=period,
        first_step=int(run.steps[at[0]]),
        excess_s=float(excess.sum()),
        median_excess_s=float(np.median(excess)),
        causes=causes,
        lines=tuple(int(line) for line in run.lines[at[:_LINES_KEPT]]),
    )
