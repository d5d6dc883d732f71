"""All readings explained: their paths, their norms, the suspects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.bench.model import Sample
from weft.check.readings.candidates import Candidates
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import network_of
from weft.check.readings.norms import Normed, normed
from weft.check.readings.readings import (
    METRICS,
    Bools,
    Ints,
    Metric,
    Readings,
    readings_of,
    union,
)
from weft.check.suspects.crowding.crowded_paths import CrowdedPath, SharedPaths
from weft.check.suspects.disturbance import shares
from weft.check.suspects.explanation import Explainer, Explanation, Suspect
from weft.check.suspects.out_of_use.detour import Detour
from weft.check.suspects.out_of_use.repeated_rounds import rows_of_tests
from weft.check.suspects.out_of_use.unused_cables import out_of_use
from weft.check.thresholds import CheckThresholds
from weft.check.trials import ALONE, TOGETHER
from weft.topology.fabric import Fabric


@dataclass(frozen=True)
class Survey:
    """Readings and what explains them. `alone`: the rows measured without other messages; `tests`:
    those of rounds in which messages meet only if a cable is out of use."""

    readings: Readings
    crossings: Crossings
    normed: Normed
    explainer: Explainer
    explanation: Explanation
    alone: Ints
    tests: Ints

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """All that is worth a test."""
        return (*self.slow_or_out_of_use, *(path.suspect for path in self.crowded))

    @cached_property
    def slow_or_out_of_use(self) -> tuple[Suspect, ...]:
        """Components that look slow, and cables that may be out of use."""
        return (*self.explanation.suspects, *self.detours)

    @cached_property
    def detours(self) -> tuple[Suspect, ...]:
        """Cables that may be out of use."""
        return tuple(detour.suspect(self.crossings) for detour in self._detours)

    @cached_property
    def shared(self) -> SharedPaths | None:
        """The readings of paths among which switches choose; None without such paths."""
        if not len(self.readings) or not self.crossings.adaptive or not self.crossings.stages:
            return None
        shared = self.crossings.shared_paths
        others = [
            s for s in self.explanation.suspects if not shared[s.best] or self._is_slow_alone(s)
        ]
        slowed = self.explainer.predicted(others) > 0
        return SharedPaths(self.crossings, self.normed, slowed, self._holding_up(others))

    def _is_slow_alone(self, suspect: Suspect) -> bool:
        """Whether it is slow without other messages, too: then it is no path among several."""
        rows = np.intersect1d(self.candidates.rows(suspect.best), self.alone)
        evidence = self.explainer.evidence_of(suspect, (), rows)
        return bool(rows.size) and evidence >= self.limits.confirmed_evidence

    def _holding_up(self, suspects: Iterable[Suspect]) -> Bools:
        """By reading: whether others may wait for it. A slow path holds up all that shares a buffer
        with what crosses it, a slow node what shares one with what it receives: also one that is
        slow to send, since it returns room more slowly."""
        readings, holding = self.readings, np.zeros(len(self.readings), np.bool_)
        both = np.array([metric.both_directions for metric in METRICS])[readings.metric]
        host = self.crossings.host_number
        for suspect in suspects:
            rows = self.candidates.rows(suspect.best)
            found = False
            for a, b in ((readings.a, readings.b), (host[readings.a], host[readings.b])):
                for end in {int(a[rows[0]]), int(b[rows[0]])}:
                    if not found and ((a[rows] == end) | (b[rows] == end)).all():
                        found = True
                        holding |= (b == end) | (both & (a == end))
            if not found:
                holding |= self.explainer.predicted([suspect]) > 0
        return holding

    @cached_property
    def crowded(self) -> tuple[CrowdedPath, ...]:
        """Paths that share a load and deliver less than others of their kind."""
        if self.shared is None:
            return ()
        return self.shared.crowded(self.in_rounds, surely_slow=False)

    @cached_property
    def in_rounds(self) -> Bools:
        """By reading: whether it was measured in a round of the survey, then or again."""
        return ~(self.is_alone | self._is_test)

    @cached_property
    def _is_test(self) -> Bools:
        is_test = np.zeros(len(self.readings), np.bool_)
        is_test[self.tests] = True
        return is_test

    @cached_property
    def is_alone(self) -> Bools:
        """By reading: whether it was measured without other messages."""
        is_alone = np.zeros(len(self.readings), np.bool_)
        is_alone[self.alone] = True
        return is_alone

    @cached_property
    def judged(self) -> Bools:
        """By reading: whether its hop class has a norm."""
        return self.normed.norm >= 0

    @cached_property
    def explained(self) -> Bools:
        """By reading: whether a suspect slows it."""
        return self.explanation.predicted > 0

    @cached_property
    def beyond_noise(self) -> Bools:
        """By reading: whether noise alone does not explain how slow it is."""
        beyond: Bools = self.normed.slower > self.limits.noise_sigma * self.normed.sigma
        return beyond

    @cached_property
    def slow(self) -> Bools:
        """By reading: whether it is slow by more than half of what its suspects predict; without a
        suspect, by more than noise."""
        by_suspect = self.explained & (self.normed.slower > self.explanation.predicted / 2)
        return (by_suspect | (~self.explained & self.beyond_noise)) & self.judged

    @property
    def owners(self) -> Mapping[str, str]:
        """The node of each HCA."""
        network = self.crossings.network
        return {} if network is None else network.node_of_hca

    def rows_of(self, candidates: Iterable[int]) -> Ints:
        """The readings that cross any of these candidates."""
        return union(map(self.candidates.rows, candidates))

    def evidence_in(self, suspect: Suspect, trial: str) -> float | None:
        """The evidence of a trial's readings, with the other suspects in force; None without
        any."""
        suspects = self.explanation.suspects
        others = suspects if any(one is suspect for one in suspects) else ()
        rows = self.candidates.rows(suspect.best)
        of_trial = rows[self.readings.is_of_trial(trial, rows) & ~self._is_test[rows]]
        return self.explainer.evidence_of(suspect, others, of_trial) if of_trial.size else None

    def has_passed(self, suspect: Suspect) -> bool:
        """Whether a suspect was measured again and was not slow enough to confirm it."""
        again = [self.evidence_in(suspect, trial) for trial in (ALONE, TOGETHER)]
        known = [evidence for evidence in again if evidence is not None]
        return bool(known) and max(known) < self.limits.confirmed_evidence

    def alone_over(self, candidate: int, metric: Metric) -> Ints:
        """The readings of a metric that cross a candidate and were measured alone."""
        rows = np.intersect1d(self.candidates.rows(candidate), self.alone)
        of_metric: Ints = rows[self.readings.metric[rows] == metric.code]
        return of_metric

    @cached_property
    def _detours(self) -> tuple[Detour, ...]:
        """Cables that may be out of use: what should cross them met something elsewhere."""
        but = np.flatnonzero(self._surely_explained)
        return out_of_use(self.crossings, self.normed, self.slow_in_rounds, but)

    @cached_property
    def _surely_explained(self) -> Bools:
        """By reading: whether a suspect slows it that is no path: one that looks slow may be where
        messages met."""
        sure = [s for s in self.explanation.suspects if not self.crossings.is_path(s.best)]
        explained: Bools = self.explainer.predicted(sure) > 0
        return explained

    @cached_property
    def slow_in_rounds(self) -> Ints:
        """Readings in rounds that are slow beyond noise, and not for a suspect that is no path."""
        slower = self.normed.slower > self.limits.meeting_sigma * self.normed.sigma
        return np.setdiff1d(np.flatnonzero(slower & ~self._surely_explained), self.alone)

    @property
    def limits(self) -> CheckThresholds:
        """The figures of the diagnosis; without a fabric, those for unknown paths."""
        return self.crossings.limits

    @property
    def candidates(self) -> Candidates:
        """The components that the readings crossed."""
        return self.crossings.candidates

    @cached_property
    def unexplained(self) -> Ints:
        """Slow rows that no suspect explains, the slowest first."""
        unexplained = (self.normed.slower - self.explanation.predicted) / self.normed.sigma
        rows = np.flatnonzero(self.judged & (unexplained >= self.limits.noise_sigma))
        rows = np.setdiff1d(rows, self.tests)
        slowest: Ints = rows[np.argsort(-self.normed.slower[rows], kind="stable")]
        return slowest


def survey_of(
    samples: Sequence[Sample],
    wiring: Fabric | None,
    limits: CheckThresholds,
    *,
    adaptive: bool = False,
) -> Survey:
    """Explain the samples of a check. Readings that cross no suspect give the norms."""
    network = None if wiring is None else network_of(wiring)
    if network is None:
        # Hops are not known: a latency must differ by more than they explain.
        limits = replace(limits, latency_least=limits.latency_least_without_fabric)
    readings = readings_of(samples)
    crossings = Crossings(readings, network, adaptive=adaptive, limits=limits)
    first = _explained(crossings)
    second = _explained(crossings, first) if _touched(first).size else first
    # Without the touched readings a class may be too small for a norm.
    return second if len(second.normed.norms) == len(first.normed.norms) else first


def _explained(crossings: Crossings, before: Survey | None = None) -> Survey:
    """Norms and suspects. `before`: the same by all readings. Its suspects and slow pairs support
    no norm, and its other readings give the share of disturbed ones. Messages that meet in a test
    accuse no component and support no norm."""
    readings, limits = crossings.readings, crossings.limits
    alone, tests = readings.of_trial(ALONE), rows_of_tests(crossings)
    but = np.union1d(alone, tests)
    disturbed = None
    if before is None:
        against = normed(crossings, limits, but=but)
    else:
        touched = _touched(before)
        against = normed(crossings, limits, but=np.union1d(but, touched))
        against = _levelled(against, alone, touched, limits.least_controls)
        among = ~before.explained & before.in_rounds
        disturbed = shares(readings, against, among, limits)[readings.metric]
    norm = against.norm.copy()
    norm[tests] = -1
    explainer = Explainer(
        readings,
        crossings.candidates,
        replace(against, norm=norm),
        limits,
        apart=alone,
        disturbed=disturbed,
    )
    return Survey(readings, crossings, against, explainer, explainer.explain(), alone, tests)


def _touched(survey: Survey) -> Ints:
    """Rows that cross a suspect, or a pair with a slow reading that none explains."""
    pair = survey.readings.pair
    of_pairs = np.flatnonzero(np.isin(pair, pair[survey.unexplained]))
    return np.union1d(survey.rows_of(s.best for s in survey.explanation.suspects), of_pairs)


def _levelled(against: Normed, alone: Ints, touched: Ints, least: int) -> Normed:
    """Pairs alone may all differ a little from pairs in rounds. The median difference of untouched
    pairs is subtracted from every reading measured alone, norm by norm with `least` of them."""
    slower = against.slower.copy()
    for norm in np.unique(against.norm[alone]):
        rows = alone[against.norm[alone] == norm]
        controls = np.setdiff1d(rows, touched)
        if controls.size >= least:
            slower[rows] -= float(np.median(slower[controls]))
    return replace(against, slower=slower)
