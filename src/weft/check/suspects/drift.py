"""Changes during a check: stretches of rounds in which all pairs were slow, and drift.

A component is slow in every round; a neighbour's traffic, or a slower clock, slows all pairs in
some rounds. Rounds of such a stretch are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import theilslopes

from weft.bench.model import Sample
from weft.check.readings.components import Part
from weft.check.readings.readings import (
    METRICS,
    MOST_METRICS_OF_A_RUN,
    Bools,
    Floats,
    Ints,
    Metric,
)
from weft.check.suspects.explanation import log_likelihood
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds
from weft.check.trials import SURVEY
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.words import counted
from weft.stats.drift import SIGNIFICANT, Drift, trend

_STEPS = 24
"""Slownesses tried, a quarter apart: a stretch is slow by varying amounts."""


@dataclass(frozen=True, slots=True)
class SlowStretch(FindingFacts):
    """First and last round in which everything was slow, and by how much, as natural logarithms."""

    rounds: tuple[int, int]
    slower: Mapping[Metric, float]
    evidence: float


@dataclass(frozen=True, slots=True)
class MetricDrift(FindingFacts):
    """By which share a metric changed from the first third of the rounds to the last."""

    metric: Metric
    change: float
    p: float


@dataclass(frozen=True, slots=True)
class Episode:
    """Rounds `first` to `last` (as the samples number them) of `n_rounds` in which all readings
    were `slower` (natural logarithm), whatever they crossed. `evidence` as of a suspect."""

    trial: tuple[str, int]
    metric: Metric
    first: int
    last: int
    n_rounds: int
    slower: float
    evidence: float

    def holds(self, sample: Sample) -> bool:
        """Whether a sample was measured in it."""
        pair = sample.pair
        here = (sample.trial, sample.repeat) == self.trial
        return pair is not None and here and self.first <= pair.round <= self.last


def episodes(survey: Survey, limits: CheckThresholds) -> tuple[Episode, ...]:
    """The stretches of the survey's rounds in which everything was slow, in order of time; what
    became slower little by little is drift and no stretch."""
    found = [
        episode
        for number, trial in enumerate(survey.readings.trials)
        if trial[0] == SURVEY
        for metric in METRICS
        for episode in _episodes_of(survey, number, metric, limits)
    ]
    return tuple(sorted(found, key=lambda one: (one.trial, one.first, one.metric)))


def without(samples: Sequence[Sample], spoiled: Sequence[Episode]) -> list[Sample]:
    """The samples that were measured in none of the episodes."""
    return [sample for sample in samples if not any(one.holds(sample) for one in spoiled)]


def _episodes_of(
    survey: Survey, trial: int, metric: Metric, limits: CheckThresholds
) -> list[Episode]:
    readings, against = survey.readings, survey.normed
    ours = (readings.trial == trial) & (readings.metric == metric.code) & survey.judged
    if survey.shared is not None:
        # They belong to the paths that they filled.
        ours[survey.shared.by_itself[0]] = False
    rows = np.flatnonzero(ours)
    numbers, place = np.unique(readings.round[rows], return_inverse=True)
    if numbers.size < limits.fewest_rounds:
        return []
    grid = np.geomspace(limits.least_effect(metric), limits.slowest_fitted, _STEPS)
    free = ~survey.explained[rows]
    level = against.slower[rows] - _drift_at(place, against.slower[rows], free, limits)
    slower, sigma = level[:, None], against.sigma[rows, None]
    gain = log_likelihood(limits, slower, sigma, grid[None, :])
    gain -= log_likelihood(limits, slower, sigma, np.zeros((1, 1)))
    by_round = np.zeros((numbers.size, grid.size))
    np.add.at(by_round, place, gain)
    # What choosing among all stretches and slownesses gains by chance.
    chance = float(np.log(numbers.size**2 / 2)) + limits.evidence_a_metric
    found: list[Episode] = []
    while len(found) < limits.most_episodes:
        step, first, last, evidence = _best_stretch(by_round)
        inside = (place >= first) & (place <= last)
        without_one = evidence - _most_of_one(survey, rows[inside], gain[inside, step])
        too_long = last - first + 1 > limits.longest_episode * numbers.size
        # Not everything: a component that many cross in these rounds.
        n_normal = int((level[inside] < grid[step] / 2).sum())
        normal = n_normal > max(1.0, limits.contradicted_share * int(inside.sum()))
        if too_long or normal or without_one - chance < limits.suspect_evidence:
            break
        found.append(
            Episode(
                trial=readings.trials[trial],
                metric=metric,
                first=int(numbers[first]),
                last=int(numbers[last]),
                n_rounds=int(numbers.size),
                slower=float(grid[step]),
                evidence=evidence - chance,
            )
        )
        by_round[first : last + 1] = -np.inf
    return found


def _best_stretch(by_round: Floats) -> tuple[int, int, int, float]:
    """Step of the grid, first and last row of the stretch of rows with the largest sum."""
    best = (0, 0, 0, -np.inf)
    for step in range(by_round.shape[1]):
        start, total = 0, 0.0
        for row, value in enumerate(by_round[:, step].tolist()):
            if total <= 0 or total == -np.inf:
                start, total = row, 0.0
            total += value
            if total > best[3]:
                best = (step, start, row, total)
    return best


def _most_of_one(survey: Survey, rows: Ints, gain: Floats) -> float:
    """The most evidence that readings of one endpoint or one rail give: neither a slow node nor a
    round of a slow rail is a slow stretch."""
    readings = survey.readings
    by_endpoint = np.zeros(len(readings.endpoints))
    np.add.at(by_endpoint, readings.a[rows], gain)
    np.add.at(by_endpoint, readings.b[rows], gain)
    rails = [
        float(gain[np.isin(rows, survey.candidates.rows(rail))].sum())
        for rail in survey.candidates.of_part(Part.RAIL).values()
    ]
    return max(float(by_endpoint.max(initial=0.0)), 0.0, *rails)


def drifts(survey: Survey) -> tuple[tuple[Metric, Drift], ...]:
    """By metric what changed from the first round of the survey to the last, where it did: the
    median over readings of a round that cross no suspect. `change`: how much slower."""
    readings, against = survey.readings, survey.normed
    in_survey = np.isin(np.arange(len(readings)), readings.of_trial(SURVEY))
    mine = in_survey & survey.judged & ~survey.explained
    found = []
    for metric in METRICS:
        rows = np.flatnonzero(mine & (readings.metric == metric.code))
        keys = np.stack([readings.trial[rows], readings.round[rows]])
        place = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
        drift = _drift_of(*_medians(place, against.slower[rows]), survey.limits)
        if drift is not None:
            found.append((metric, drift))
    return tuple(found)


def _medians(place: Ints, slower: Floats) -> tuple[Ints, Floats]:
    """The rounds that have readings, and the median of each."""
    rounds = np.unique(place)
    medians = [float(np.median(slower[place == number])) for number in rounds]
    return rounds, np.array(medians, np.float64)


def _drift_of(rounds: Ints, medians: Floats, limits: CheckThresholds) -> Drift | None:
    """How the medians of rounds changed, where that is certain."""
    if rounds.size < limits.fewest_rounds:
        return None
    drift = trend(rounds, np.exp(medians))
    certain = drift is not None and drift.notable and drift.p < SIGNIFICANT / MOST_METRICS_OF_A_RUN
    return drift if certain else None


def _drift_at(place: Ints, slower: Floats, free: Bools, limits: CheckThresholds) -> Floats:
    """By reading: how much slower by drift than at the median round (natural logarithm), on a
    straight line through the medians of rounds; 0 where nothing drifts. `free`: what counts."""
    rounds, medians = _medians(place[free], slower[free])
    if _drift_of(rounds, medians, limits) is None:
        return np.zeros(place.size)
    slope = float(theilslopes(medians, rounds).slope)
    return np.asarray(slope * (place - float(np.median(rounds))), np.float64)


def spoiled(survey: Survey, limits: CheckThresholds) -> tuple[Episode, ...]:
    """Stretches in which all pairs were slow, without those whose rounds each filled a single path
    in both directions: these belong to that path."""
    found = episodes(survey, limits)
    if survey.shared is None or not found:
        return found
    readings, rows = survey.readings, survey.shared.by_itself[0]
    single_paths = set(
        zip(readings.trial[rows].tolist(), readings.round[rows].tolist(), strict=True)
    )
    return tuple(
        one
        for one in found
        if one.metric is not Metric.BIDIRECTIONAL
        or not single_paths.issuperset(
            (readings.trials.index(one.trial), number) for number in range(one.first, one.last + 1)
        )
    )


def findings(survey: Survey, spoiled: Sequence[Episode]) -> list[Finding]:
    """The findings about time: stretches left out, and drift of the remaining rounds."""
    stretches: list[list[Episode]] = []
    for episode in spoiled:
        last = stretches[-1] if stretches else []
        if last and last[0].trial == episode.trial and episode.first <= max(e.last for e in last):
            last.append(episode)
        else:
            stretches.append([episode])
    drifted = [_of_drift(metric, drift) for metric, drift in drifts(survey)]
    return [*map(_of_stretch, stretches), *drifted]


def _of_stretch(stretch: Sequence[Episode]) -> Finding:
    """Episodes of several metrics that overlap are one thing."""
    first, last = min(e.first for e in stretch), max(e.last for e in stretch)
    worst = {e.metric: e for e in sorted(stretch, key=lambda e: e.slower)}
    words = [
        f"{e.metric.word} {100 * (np.exp(e.slower) - 1):.0f} % slower"
        for e in sorted(worst.values(), key=lambda e: -e.slower)
    ]
    n = last - first + 1
    return Finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"All pairs were slow for {counted(n, 'round')} of {stretch[0].n_rounds}:"
        f" {', '.join(words)}.",
        evidence=(
            f"rounds {first} to {last} are left out of the verdict",
            "possible causes: traffic of another job, other processes on the hosts: check again"
            " when they are quiet",
        ),
        facts=SlowStretch(
            rounds=(first, last),
            slower={e.metric: round(e.slower, 4) for e in worst.values()},
            evidence=round(sum(e.evidence for e in stretch), 2),
        ),
    )


def _of_drift(metric: Metric, drift: Drift) -> Finding:
    direction = "slower" if drift.change > 0 else "faster"
    return Finding(
        FindingKind.DRIFT,
        Severity.WARNING,
        f"All pairs became {direction} during the run: {metric.word}"
        f" {100 * abs(drift.change):.0f} % from the first third of the rounds to the last.",
        evidence=(
            f"{drift.method}, p = {drift.p:.1g}: no single component slows all pairs",
            "possible causes: CPU clocks that fall with heat, a growing load of another job",
        ),
        facts=MetricDrift(metric, round(drift.change, 4), drift.p),
    )
