"""From a suspect to an accusation: its components, how slow they are, the result of the tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from weft.check.readings.candidates import Member
from weft.check.readings.components import PARTS, Component, Thing
from weft.check.readings.norms import Norm
from weft.check.readings.readings import Bools, Floats, Ints, Metric
from weft.check.suspects.constancy import comes_and_goes, is_longer_path, spares_partners
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.survey import Survey
from weft.check.trials import ALONE, SURVEY, TOGETHER
from weft.core.natural import SortKey, natural_key


class Standing(StrEnum):
    """The result of measuring an accused component again.

    CONFIRMED: slow alone, or (where several paths share a load) slow again in rounds. OUT_OF_USE: a
    cable whose messages meet others elsewhere. EXCHANGED: one of two such cables, some of whose
    messages are normal. ANOTHER_ENTRY: a switch whose messages to one destination leave by another
    port than its table says. MET: slow in rounds only. PASSING: slow in the survey only.
    COMING_AND_GOING: a path between switches that is normal too often for a fault. LONGER: a path
    that takes longer at full rate. PARTNERS: a node in one direction that is normal with some
    partners, where paths are not known. UNTESTED: measured once.
    """

    CONFIRMED = "confirmed"
    OUT_OF_USE = "out of use"
    EXCHANGED = "exchanged"
    ANOTHER_ENTRY = "another entry"
    MET = "met other traffic"
    PASSING = "passing"
    COMING_AND_GOING = "comes and goes"
    LONGER = "longer path"
    PARTNERS = "some partners"
    UNTESTED = "untested"


@dataclass(frozen=True)
class Count:
    """The readings of one metric over the accused. `norm`: of the hop class with most of them;
    `measured`: their median there; `n_others`: readings of the metric elsewhere."""

    metric: Metric
    norm: Norm
    measured: float
    n: int
    n_slow: int
    n_others: int
    n_others_slow: int


@dataclass(frozen=True, slots=True)
class MovedEntry:
    """What a switch sends to `destination` leaves by `port`: `n_slow` of the `n` messages are slow
    that then share a cable."""

    destination: str
    port: str
    n_slow: int
    n: int


@dataclass(frozen=True)
class Accusation:
    """`components`: those that no reading separates, one for each thing. `rows`: the slow
    readings over `candidate`, the best of them. `moved`: of ANOTHER_ENTRY."""

    components: tuple[Component, ...]
    standing: Standing
    slower: dict[Metric, float]
    evidence: float
    evidence_alone: float | None
    counts: tuple[Count, ...]
    pairs: tuple[tuple[str, str], ...]
    rows: Ints
    candidate: int
    moved: MovedEntry | None = None

    @property
    def tie(self) -> bool:
        """Whether more than one thing is left."""
        return len(self.components) > 1

    @property
    def things(self) -> frozenset[Thing]:
        """The accused things: the two directions of a cable are one."""
        return frozenset(component.thing for component in self.components)

    @property
    def worst(self) -> Count:
        """The metric that is slowed most."""
        return max(self.counts, key=lambda count: self.slower.get(count.metric, 0.0))


def accuse_all(survey: Survey) -> tuple[Accusation, ...]:
    """An accusation for each suspect, the strongest first."""
    suspects = survey.explanation.suspects
    return tuple(accuse(survey, suspect, standing_of(survey, suspect)) for suspect in suspects)


def components_of(survey: Survey, candidates: Sequence[int]) -> tuple[Component, ...]:
    """The components of candidates, one for each physical thing, the widest: a cable rather than
    its direction."""
    members: list[Member] = [m for c in candidates for m in survey.candidates.members[c]]
    found = [survey.crossings.component(member) for member in members]
    widest: dict[Thing, Component] = {}
    for component in sorted(found, key=_widest_first):
        widest.setdefault(component.thing, component)
    return tuple(widest.values())


def _widest_first(component: Component) -> tuple[int, list[SortKey]]:
    return PARTS.index(component.part), [natural_key(end) for end in component.ends]


def accuse(
    survey: Survey,
    suspect: Suspect,
    standing: Standing,
    slow: Bools | None = None,
) -> Accusation:
    """The accusation of a suspect. `slow`: by reading, whether it counts as slow (None: as in the
    survey)."""
    slow = survey.slow if slow is None else slow
    rows = survey.candidates.rows(suspect.best)
    metrics = [metric.code for metric in suspect.slower]
    accused = rows[slow[rows] & np.isin(survey.readings.metric[rows], metrics)]
    return Accusation(
        components=components_of(survey, suspect.candidates),
        standing=standing,
        slower=suspect.slower,
        evidence=suspect.evidence,
        evidence_alone=survey.evidence_in(suspect, ALONE),
        counts=tuple(_count(survey, rows, metric, slow) for metric in suspect.slower),
        pairs=tuple(sorted({survey.readings.unordered(row) for row in accused.tolist()})),
        rows=accused,
        candidate=suspect.best,
    )


def standing_of(survey: Survey, suspect: Suspect) -> Standing:
    """The result of measuring a suspect of the explanation again."""
    tested = _standing_of_tests(survey, suspect)
    if tested not in (Standing.CONFIRMED, Standing.UNTESTED):
        return tested
    if is_longer_path(survey, suspect):
        return Standing.LONGER
    if spares_partners(survey, suspect):
        return Standing.PARTNERS
    # A node may be unsteady: that is a fault of its own.
    if not survey.crossings.is_path(suspect.best):
        return tested
    in_survey = survey.evidence_in(suspect, SURVEY)
    was_normal = in_survey is not None and in_survey <= 0
    return Standing.COMING_AND_GOING if was_normal or comes_and_goes(survey, suspect) else tested


def _standing_of_tests(survey: Survey, suspect: Suspect) -> Standing:
    alone, together = (survey.evidence_in(suspect, trial) for trial in (ALONE, TOGETHER))
    if alone is None and together is None:
        return Standing.UNTESTED
    if survey.has_passed(suspect):
        return Standing.PASSING
    if alone is not None and alone >= survey.limits.confirmed_evidence:
        return Standing.CONFIRMED
    # Of several paths at once a message takes a fast one while no other message runs.
    shared = survey.crossings.shared_paths[suspect.best]
    return Standing.CONFIRMED if shared else Standing.MET


def _count(survey: Survey, rows: Ints, metric: Metric, slow: Bools) -> Count:
    readings, against = survey.readings, survey.normed
    judged = (readings.metric == metric.code) & survey.judged
    mine = rows[judged[rows]]
    numbers, sizes = np.unique(against.norm[mine], return_counts=True)
    number = int(numbers[np.argmax(sizes)])
    of = mine[against.norm[mine] == number]
    values: Floats = readings.value[of]
    slow_here = of[slow[of]]
    shown = readings.value[slow_here] if slow_here.size else values
    others = np.setdiff1d(np.flatnonzero(judged), mine)
    return Count(
        metric=metric,
        norm=against.norms[number],
        measured=float(np.median(shown)),
        n=int(mine.size),
        n_slow=int(slow[mine].sum()),
        n_others=int(others.size),
        n_others_slow=int((slow[others] & ~survey.explained[others]).sum()),
    )
