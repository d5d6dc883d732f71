"""Cables that lose packets. They slow only some of their messages, as other traffic does, so
their error counters overrule the readings."""

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
from scipy.stats import hypergeom

from weft.check.external_evidence.fabric_marks import GROWN, Marks
from weft.check.readings.components import PARTS, Component, Part, Thing
from weft.check.readings.readings import METRICS, MOST_METRICS_OF_A_RUN, Bools, Ints, union
from weft.check.suspects.accusation import Accusation, Standing, accuse
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.survey import Survey


class Damage(StrEnum):
    """The state of a cable's error counters. GROWN between two readings. LITTLE: by one or two, or
    only as when a host reboots. OLD: errors of unknown age.
    """

    GROWN = "grown"
    LITTLE = "little"
    OLD = "old"


DOUBTFUL = (Standing.MET, Standing.PASSING, Standing.COMING_AND_GOING)
"""Standings of components that readings alone do not call faulty."""


def damage_of(components: Sequence[Component], marks: Marks) -> Damage | None:
    """The worst state of the error counters of any of these; None without an error."""
    errors = [mark for mark in marks.of(c.thing for c in components) if mark.is_damage]
    if not errors:
        return None
    if any(mark.growing for mark in errors):
        return Damage.GROWN
    return Damage.LITTLE if any(mark.rule == GROWN for mark in errors) else Damage.OLD


def overruled(accusation: Accusation, marks: Marks) -> Accusation:
    """A doubtful accusation becomes the fault of those of its cables whose error counters are in
    the worst state; unchanged where none holds an error."""
    if accusation.standing not in DOUBTFUL:
        return accusation
    worst = damage_of(accusation.components, marks)
    cables = tuple(c for c in accusation.components if damage_of((c,), marks) is worst)
    if worst is None:
        return accusation
    return replace(accusation, components=cables, standing=Standing.CONFIRMED)


def disturbed_by(
    survey: Survey, accusations: Sequence[Accusation], marks: Marks
) -> list[Accusation]:
    """An accusation of each cable whose error counters grew, that nothing accuses yet, and over
    which slow readings that nothing explains are more frequent than by chance.

    Pairs are counted, however many of their readings are slow: a disturbed one counts once. The
    evidence is less the logarithm of the chance that over any such cable so many of the pairs are
    slow (hypergeometric: drawn blindly from all of the metric where that is least likely).
    """
    named = frozenset[Thing]().union(*(accusation.things for accusation in accusations))
    slow = survey.slow & ~survey.explained & survey.in_rounds
    slow[union(a.rows for a in accusations)] = False
    part = PARTS.index(Part.CABLE)
    cables = {
        survey.crossings.component((part, cable)): candidate
        for cable, candidate in survey.candidates.of_part(Part.CABLE).items()
    }
    grown = [cable for cable in cables if damage_of((cable,), marks) is Damage.GROWN]
    found = []
    for cable in grown:
        if cable.thing in named:
            continue
        suspect = _suspect(survey, cables[cable], slow, MOST_METRICS_OF_A_RUN * len(grown))
        if suspect.evidence >= survey.limits.confirmed_evidence:
            accusation = accuse(survey, suspect, Standing.CONFIRMED, slow)
            found.append(replace(accusation, components=(cable,)))
    return found


def _suspect(survey: Survey, candidate: int, slow: Bools, n_tried: int) -> Suspect:
    """A cable as a suspect, by the metric in which so many slow pairs are least likely. `n_tried`:
    the number of chances of which this is the least."""
    judged = survey.in_rounds & survey.judged
    rows, pair = survey.candidates.rows(candidate), survey.readings.pair
    found = Suspect((candidate,), {}, 0.0)
    for metric in METRICS:
        of = judged & (survey.readings.metric == metric.code)
        mine: Ints = rows[of[rows]]
        hit = mine[slow[mine]]
        if hit.size:
            n, n_slow, n_mine, n_hit = (
                np.unique(pair[each]).size for each in (of, slow & of, mine, hit)
            )
            evidence = -float(hypergeom.logsf(n_hit - 1, n, n_slow, n_mine)) - math.log(n_tried)
            if evidence > found.evidence:
                slower = {metric: float(np.median(survey.normed.slower[hit]))}
                found = Suspect((candidate,), slower, evidence)
    return found
