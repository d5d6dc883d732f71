"""From a suspect to an accusation: which components, how slow, how it stood the tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from weft.check.readings.candidates import Member
from weft.check.readings.components import Component, Part
from weft.check.readings.norms import Norm
from weft.check.readings.readings import Bools, Floats, Ints, Metric
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds
from weft.check.trials import ALONE, SURVEY, TOGETHER
from weft.core.natural import SortKey, natural_key

_WIDEST_FIRST = (
    Part.RAIL,
    Part.NODE,
    Part.NODE_SENDING,
    Part.NODE_RECEIVING,
    Part.HCA,
    Part.RANK,
    Part.CABLE,
    Part.DIRECTION,
    Part.SWITCH,
)


class Standing(StrEnum):
    """How an accusation stood being measured again.

    CONFIRMED: slow with nothing beside it, or (where several ways share a load) slow again beside
    others. OUT_OF_USE: a cable whose messages meet others elsewhere. MET: slow beside others only.
    PASSING: slow in the survey only. UNTESTED: measured once.
    """

    CONFIRMED = "confirmed"
    OUT_OF_USE = "out of use"
    MET = "met other traffic"
    PASSING = "passing"
    UNTESTED = "untested"


@dataclass(frozen=True)
class Count:
    """Of one metric, in the hop class where most readings cross the accused: how many there are
    and are slow, what they deliver and what is normal; and how many others of the metric are slow.
    """

    metric: Metric
    norm: Norm
    measured: float
    n: int
    n_slow: int
    n_others: int
    n_others_slow: int


@dataclass(frozen=True)
class Accusation:
    """`components`: what the readings do not tell apart, one for each thing. `rows`: the slow
    readings over `candidate`, the best of them."""

    components: tuple[Component, ...]
    standing: Standing
    slower: dict[Metric, float]
    evidence: float
    evidence_alone: float | None
    evidence_together: float | None
    counts: tuple[Count, ...]
    pairs: tuple[tuple[str, str], ...]
    rows: Ints
    candidate: int

    @property
    def tie(self) -> bool:
        """Whether more than one thing is left."""
        return len(self.components) > 1

    @property
    def worst(self) -> Count:
        """The metric that is slowed most."""
        return max(self.counts, key=lambda count: self.slower.get(count.metric, 0.0))


def accuse_all(survey: Survey, limits: CheckThresholds) -> tuple[Accusation, ...]:
    """An accusation for each suspect, the strongest first."""
    suspects = survey.explanation.suspects
    slow = slow_rows(survey)
    standings = [standing_of(survey, suspect, suspects, limits) for suspect in suspects]
    return tuple(
        accuse(survey, suspect, suspects, slow, standing)
        for suspect, standing in zip(suspects, standings, strict=True)
    )


def slow_rows(survey: Survey) -> Bools:
    """By reading: whether it is slow by more than half of what its suspects say, or without one by
    more than noise."""
    predicted, slower = survey.explanation.predicted, survey.normed.slower
    noise = survey.limits.lone_sigma * survey.normed.sigma
    by_suspect = (predicted > 0) & (slower > predicted / 2)
    slow: Bools = by_suspect | ((predicted == 0) & (slower > noise))
    return slow & (survey.normed.norm >= 0)


def components_of(survey: Survey, candidates: Sequence[int]) -> tuple[Component, ...]:
    """The components of candidates, one for each physical thing, the widest: a cable rather than
    its direction."""
    members: list[Member] = [m for c in candidates for m in survey.candidates.members[c]]
    found = [survey.crossings.component(member) for member in members]
    widest: dict[tuple[str, tuple[str, ...]], Component] = {}
    for component in sorted(found, key=_widest_first):
        widest.setdefault(component.thing, component)
    return tuple(widest.values())


def _widest_first(component: Component) -> tuple[int, list[SortKey]]:
    return _WIDEST_FIRST.index(component.part), [natural_key(end) for end in component.ends]


def accuse(
    survey: Survey,
    suspect: Suspect,
    suspects: Sequence[Suspect],
    slow: Bools,
    standing: Standing,
) -> Accusation:
    """The accusation of a suspect, among others."""
    rows = survey.candidates.rows(suspect.best)
    tests = _tests(survey, suspect, suspects)
    components = components_of(survey, suspect.candidates)
    metrics = [metric.code for metric in suspect.slower]
    accused = rows[slow[rows] & np.isin(survey.readings.metric[rows], metrics)]
    names = [survey.readings.name(row) for row in accused.tolist()]
    return Accusation(
        components=components,
        standing=standing,
        slower=suspect.slower,
        evidence=suspect.evidence,
        evidence_alone=tests[ALONE],
        evidence_together=tests[TOGETHER],
        counts=tuple(_count(survey, rows, metric, slow) for metric in suspect.slower),
        pairs=tuple(sorted({(min(pair), max(pair)) for pair in names})),
        rows=accused,
        candidate=suspect.best,
    )


def _tests(
    survey: Survey, suspect: Suspect, suspects: Sequence[Suspect]
) -> dict[str, float | None]:
    """By trial: the evidence of its readings, None without any."""
    rows = survey.candidates.rows(suspect.best)
    tests: dict[str, float | None] = {}
    for trial in (SURVEY, ALONE, TOGETHER):
        of = np.intersect1d(survey.readings.of_trial(trial), rows)
        tests[trial] = survey.explainer.evidence_of(suspect, suspects, of) if of.size else None
    return tests


def standing_of(
    survey: Survey, suspect: Suspect, suspects: Sequence[Suspect], limits: CheckThresholds
) -> Standing:
    """How a suspect stood being measured again."""
    tests = _tests(survey, suspect, suspects)
    alone, together = tests[ALONE], tests[TOGETHER]
    if alone is None and together is None:
        return Standing.UNTESTED
    enough = limits.confirmed_evidence
    if alone is not None and alone >= enough:
        return Standing.CONFIRMED
    if together is not None and together >= enough:
        # Of several ways at once a message takes a fast one while nothing else runs.
        shared = survey.crossings.shared_ways[suspect.best]
        return Standing.CONFIRMED if shared else Standing.MET
    return Standing.PASSING


def _count(survey: Survey, rows: Ints, metric: Metric, slow: Bools) -> Count:
    readings, against = survey.readings, survey.normed
    judged = (readings.metric == metric.code) & (against.norm >= 0)
    mine = rows[judged[rows]]
    numbers, sizes = np.unique(against.norm[mine], return_counts=True)
    number = int(numbers[np.argmax(sizes)])
    of = mine[against.norm[mine] == number]
    values: Floats = readings.value[of]
    slow_here = of[slow[of]]
    shown = readings.value[slow_here] if slow_here.size else values
    others = np.setdiff1d(np.flatnonzero(judged), mine)
    unpredicted = survey.explanation.predicted[others] == 0
    return Count(
        metric=metric,
        norm=against.norms[number],
        measured=float(np.median(shown)),
        n=int(mine.size),
        n_slow=int(slow[mine].sum()),
        n_others=int(others.size),
        n_others_slow=int((slow[others] & unpredicted).sum()),
    )
