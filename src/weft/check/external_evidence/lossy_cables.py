"""Where counters overrule: cables that lose packets slow some of their messages and others not, as
other traffic does; their error counters tell."""

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
from scipy.stats import hypergeom

from weft.check.external_evidence.fabric_marks import GROWN, Marks
from weft.check.readings.components import PARTS, Component, Part
from weft.check.readings.readings import METRICS, Bools, Ints
from weft.check.suspects.accusation import Accusation, Standing, accuse, slow_rows
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.survey import Survey


class Damage(StrEnum):
    """What error counters of a cable say: that they grew between two readings; that they grew by
    one or two, or only as they do when a host reboots; that they hold errors of unknown age.
    """

    GROWN = "grown"
    LITTLE = "little"
    OLD = "old"


DOUBTFUL = (Standing.MET, Standing.PASSING)
"""What the readings alone call other traffic, or passed."""


def damage_of(components: Sequence[Component], marks: Marks) -> Damage | None:
    """The worst that error counters say of any of these; None where they say nothing."""
    said = [mark for mark in marks.of(c.thing for c in components) if mark.is_damage]
    if not said:
        return None
    if any(mark.growing for mark in said):
        return Damage.GROWN
    return Damage.LITTLE if any(mark.rule == GROWN for mark in said) else Damage.OLD


def overruled(accusation: Accusation, marks: Marks) -> Accusation:
    """What the readings call other traffic or passed is the fault of those of its cables whose
    error counters grew; else of those where they grew a little, else of those that hold errors;
    unchanged where none does."""
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
    named = {c.thing for accusation in accusations for c in accusation.components}
    explained = np.concatenate([np.zeros(0, np.int64), *(a.rows for a in accusations)])
    slow = slow_rows(survey) & (survey.explanation.predicted == 0)
    slow[np.union1d(explained, survey.alone)] = False
    found = []
    grown = [
        (component, candidate)
        for cable, candidate in _cables(survey).items()
        if damage_of(
            (component := survey.crossings.component((PARTS.index(Part.CABLE), cable)),), marks
        )
        is Damage.GROWN
    ]
    for component, candidate in grown:
        if component.thing in named:
            continue
        suspect = _suspect(survey, candidate, slow, len(METRICS) * len(grown))
        if suspect.evidence >= survey.limits.confirmed_evidence:
            accusation = accuse(survey, suspect, (), slow, Standing.CONFIRMED)
            found.append(replace(accusation, components=(component,)))
    return found


def _cables(survey: Survey) -> dict[int, int]:
    """By number of a cable: the candidate of all readings that cross it."""
    return {} if survey.crossings.network is None else survey.candidates.of_part(Part.CABLE)


def _suspect(survey: Survey, candidate: int, slow: Bools, n_tried: int) -> Suspect:
    """A cable as a suspect: by how much its slow readings are slow, of the metric in which so many
    of its pairs being slow is least likely; `n_tried`: as the least of so many chances."""
    judged = survey.beside_others & (survey.normed.norm >= 0)
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
