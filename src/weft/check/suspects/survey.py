"""All that was measured, explained: readings, what they crossed, their norms, the suspects."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.bench.model import Sample
from weft.check.readings.candidates import Candidates
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import CabledFabric, network_of
from weft.check.readings.norms import Normed, normed
from weft.check.readings.readings import Bools, Floats, Ints, Readings, readings_of
from weft.check.suspects.crowding.crowded_paths import CrowdedWay, SharedWays
from weft.check.suspects.disturbance import shares
from weft.check.suspects.explanation import Explainer, Explanation, Suspect
from weft.check.suspects.out_of_use.collisions import Detour
from weft.check.suspects.out_of_use.unused_cables import out_of_use
from weft.check.thresholds import CheckThresholds
from weft.check.trials import ALONE


@dataclass(frozen=True)
class Survey:
    """Readings and what explains them. `alone`: the rows measured with nothing beside them."""

    readings: Readings
    crossings: Crossings
    normed: Normed
    explainer: Explainer
    explanation: Explanation
    alone: Ints

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """All that is worth a test."""
        return (*self.slow_or_out_of_use, *(way.suspect for way in self.crowded))

    @cached_property
    def slow_or_out_of_use(self) -> tuple[Suspect, ...]:
        """What looks slow, and cables that may be out of use."""
        detours = (detour.suspect(self.crossings) for detour in self._detours)
        return (*self.explanation.suspects, *detours)

    @cached_property
    def shared(self) -> SharedWays | None:
        """What ways carried among which switches choose; None without such."""
        if not len(self.readings) or not self.crossings.adaptive or not self.crossings.stages:
            return None
        others = [s for s in self.explanation.suspects if not self.crossings.shared_ways[s.best]]
        return SharedWays(self.crossings, self.normed, self.explainer.predicted(others))

    @cached_property
    def crowded(self) -> tuple[CrowdedWay, ...]:
        """Ways that share a load and deliver less than others of their kind."""
        if self.shared is None:
            return ()
        return self.shared.crowded(self.beside_others, surely_slow=False)

    @cached_property
    def beside_others(self) -> Bools:
        """By reading: whether it was measured in a round, not by itself."""
        beside = np.ones(len(self.readings), np.bool_)
        beside[self.alone] = False
        return beside

    @cached_property
    def _detours(self) -> tuple[Detour, ...]:
        """Cables that may be out of use: what should cross them met something elsewhere."""
        # A way that looks slow may be where messages met.
        sure = [s for s in self.explanation.suspects if not self.crossings.is_way(s.best)]
        explained = self.explainer.predicted(sure) > 0
        slower = self.normed.slower > self.limits.meeting_sigma * self.normed.sigma
        pool = np.setdiff1d(np.flatnonzero(slower & ~explained), self.alone)
        but = np.union1d(self.alone, np.flatnonzero(explained))
        return out_of_use(self.crossings, self.normed, pool, but)

    @property
    def limits(self) -> CheckThresholds:
        """The figures that all of it rests on."""
        return self.crossings.limits

    @property
    def candidates(self) -> Candidates:
        """What the readings crossed."""
        return self.crossings.candidates

    @property
    def unexplained(self) -> Floats:
        """By reading: standard deviations that it is slower than the suspects say."""
        rest = self.normed.slower - self.explanation.predicted
        scaled: Floats = np.where(self.normed.norm >= 0, rest / self.normed.sigma, 0.0)
        return scaled

    @property
    def lone(self) -> Ints:
        """Slow rows that no suspect explains, the slowest first."""
        unexplained = self.unexplained
        rows = np.flatnonzero(unexplained >= self.limits.lone_sigma)
        slowest: Ints = rows[np.argsort(-self.normed.slower[rows], kind="stable")]
        return slowest


def survey_of(
    samples: Sequence[Sample],
    wiring: CabledFabric | None,
    limits: CheckThresholds,
    *,
    adaptive: bool = False,
) -> Survey:
    """Explain the samples of a check. Norms rest on readings that cross no suspect."""
    network = None if wiring is None else network_of(wiring)
    limits = limits if network is not None else limits.without_fabric
    readings = readings_of(samples)
    crossings = Crossings(readings, network, adaptive=adaptive, limits=limits)
    alone = readings.of_trial(ALONE)
    first = _explained(crossings, limits, alone)
    second = _explained(crossings, limits, alone, first) if _touched(first).size else first
    # Without the touched readings a class may be too small for a norm.
    return second if len(second.normed.norms) == len(first.normed.norms) else first


def _explained(
    crossings: Crossings, limits: CheckThresholds, alone: Ints, before: Survey | None = None
) -> Survey:
    """Norms and suspects; `before`: the same for all readings, which says what to leave out of the
    norms, and how often a reading is slow that crosses no suspect."""
    readings = crossings.readings
    if before is None:
        against = normed(crossings, limits, but=alone)
        disturbed = None
    else:
        touched = _touched(before)
        against = normed(crossings, limits, but=np.union1d(alone, touched))
        against = _levelled(against, alone, touched, limits.least_controls)
        among = before.explanation.predicted == 0
        among[alone] = False
        disturbed = shares(readings, against, among, limits)[readings.metric]
    explainer = Explainer(
        readings, crossings.candidates, against, limits, apart=alone, disturbed=disturbed
    )
    return Survey(readings, crossings, against, explainer, explainer.explain(), alone)


def _touched(survey: Survey) -> Ints:
    """Rows that cross a suspect, or a pair with a slow reading that none explains."""
    readings = survey.readings
    n = len(readings.endpoints)
    pair = np.minimum(readings.a, readings.b) * n + np.maximum(readings.a, readings.b)
    rows = [survey.candidates.rows(s.best) for s in survey.explanation.suspects]
    return np.unique(np.concatenate([*rows, np.flatnonzero(np.isin(pair, pair[survey.lone]))]))


def _levelled(against: Normed, alone: Ints, touched: Ints, least: int) -> Normed:
    """Pairs alone may all differ a little from pairs beside others: what untouched pairs differ by
    is taken off every reading measured alone, norm by norm with at least so many of them."""
    slower = against.slower.copy()
    for norm in np.unique(against.norm[alone]):
        rows = alone[against.norm[alone] == norm]
        controls = np.setdiff1d(rows, touched)
        if controls.size >= least:
            slower[rows] -= float(np.median(slower[controls]))
    return Normed(against.norms, against.norm, slower, against.sigma)
