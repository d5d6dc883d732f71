"""What a choice loses on launches that it was not made by."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import exp, log
from statistics import fmean

from weft.stats.ratio import PAIRS_FROM
from weft.study.comparison.cells import n_repeats_of
from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.replication import Unit, are_simulated
from weft.study.comparison.rows import SIGNIFICANT, ComparisonRow
from weft.study.run.store import StudyRun
from weft.study.tuning.arms import AlgorithmArms
from weft.study.tuning.choice import choices_of

Place = tuple[int, int]
"""Ranks and bytes."""


@dataclass(frozen=True, slots=True)
class HeldOutRegret:
    """Relative losses against the best arm of the other half of the launches, 0.05 for 5 %.

    `mean` and `worst` of the choices that a half made (the worst at `worst_place`), over all cells
    and both directions; `of_default` the mean of the library's own choice. Noise counts as a loss:
    the best arm of a half is the best by chance, too.
    """

    mean: float
    worst: float
    worst_place: Place
    of_default: float
    n_cells: int


@dataclass(frozen=True, slots=True)
class TooFewLaunches:
    """Halves of `n` units decide nothing; `needed` in the whole run would."""

    n: int
    needed: int
    unit: Unit


def held_out_regret(run: StudyRun, arms: AlgorithmArms) -> HeldOutRegret | TooFewLaunches:
    """Choose on each half of the launches by the same rule, and measure on the other one.

    The halves interleave: launches (on a twin node sets) by turns. Losses are those of the paired
    ratios to the library's choice, of the geometric mean over cells that share a choice.
    """
    halves = _halves(run)
    costs = [_costs(half, arms) for half in halves]
    n_compared = len({row.second for row in costs[0].rows})
    needed = _units_needed(n_compared)
    n, unit = min((row.n_pairs, row.unit) for one in costs for row in one.rows)
    if n < needed:
        return TooFewLaunches(n, 2 * needed, unit)
    losses: list[tuple[float, Place]] = []
    of_default: list[float] = []
    for half, other in zip(halves, reversed(costs), strict=True):
        for choice in choices_of(half, arms):
            place = (choice.n_ranks, choice.size_bytes)
            by_arm = other.by_place.get(place)
            if by_arm is not None:
                best = min(by_arm.values())
                losses.append((by_arm.get(choice.arm, 1.0) / best - 1, place))
                of_default.append(1 / best - 1)
    worst, worst_place = max(losses)
    return HeldOutRegret(
        mean=fmean(loss for loss, _ in losses),
        worst=worst,
        worst_place=worst_place,
        of_default=fmean(of_default),
        n_cells=len({place for _, place in losses}),
    )


@dataclass(frozen=True, slots=True)
class _Costs:
    """By place and arm the time in times of the library's choice, which is the arm ""."""

    by_place: Mapping[Place, Mapping[str, float]]
    rows: Sequence[ComparisonRow]


def _costs(half: StudyRun, arms: AlgorithmArms) -> _Costs:
    compared = compare_arms(half, baseline=arms.default, overturned={})
    slowdowns: dict[Place, dict[str, list[float]]] = {}
    for row in compared.rows:
        if row.cell.benchmark == arms.benchmark and row.second in arms.algorithms:
            place = (row.cell.n_nodes * row.cell.tasks_per_node, row.cell.size_bytes)
            slowdowns.setdefault(place, {}).setdefault(row.second, []).append(row.slowdown)
    by_place = {
        place: {"": 1.0} | {arm: exp(fmean(map(log, ratios))) for arm, ratios in by_arm.items()}
        for place, by_arm in slowdowns.items()
    }
    return _Costs(by_place, compared.rows)


def _units_needed(n_compared: int) -> int:
    """Units with which the sign-flip test of `n_compared` arms can find anything: its smallest
    p-value is 2 of 2^n flips, times the arms."""
    return next(n for n in count(PAIRS_FROM) if 2 * n_compared / 2**n < SIGNIFICANT)


def _halves(run: StudyRun) -> tuple[StudyRun, StudyRun]:
    n_repeats = n_repeats_of(run)
    launches = [one for one in run.launches if one.repeat < n_repeats]
    n_sets = len({one.trial.node_set for one in launches})
    by_set = are_simulated([run]) and n_sets > 1
    units = sorted(
        {(one.trial.node_set, 0 if by_set else one.repeat) for one in launches},
    )
    turn = {unit: i % 2 for i, unit in enumerate(units)}
    halves = []
    for side in (0, 1):
        kept = tuple(
            one for one in launches if turn[one.trial.node_set, 0 if by_set else one.repeat] == side
        )
        keys = {one.key for one in kept}
        samples = tuple(one for one in run.samples if (one.trial, one.repeat) in keys)
        done = frozenset(key for key in run.done if key in keys)
        halves.append(dataclasses.replace(run, launches=kept, samples=samples, done=done))
    return halves[0], halves[1]
