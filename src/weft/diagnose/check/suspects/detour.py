"""Accusations of cables that are out of use, in place of what merely met their messages."""

from collections.abc import Sequence

import numpy as np

from weft.diagnose.check.measured.components import PARTS, Part
from weft.diagnose.check.measured.readings import Ints, Metric
from weft.diagnose.check.suspects.accusation import Accusation, Standing, accuse, slow_rows
from weft.diagnose.check.suspects.crowded import mean_of, waiting
from weft.diagnose.check.suspects.explain import Suspect
from weft.diagnose.check.suspects.meetings import candidates_of, detours_of
from weft.diagnose.check.suspects.survey import Survey, crowded
from weft.diagnose.check.thresholds import Thresholds
from weft.diagnose.check.trials import TOGETHER

LEAST_AGAIN = 2
"""So many of its messages must have been slow when the round came again: a link that is slow now
and then looks like messages that met."""


def without_detours(
    survey: Survey, made: Sequence[Accusation], limits: Thresholds
) -> tuple[Accusation, ...]:
    """The accusations, with cables that are out of use called so.

    What is slow beside others only may have met messages that should have crossed another cable:
    that one is accused then. It must have shown again when the round came again.
    """
    if survey.crossings.network is None:
        return tuple(made)
    made = _without_waiting(survey, made, limits)
    if survey.crossings.adaptive:
        return _with_crowded(survey, made, limits)
    met = [a for a in made if a.standing is Standing.MET]
    pool = [np.flatnonzero(slow_rows(survey) & (survey.explanation.predicted == 0))]
    pool += [accusation.rows for accusation in met]
    behind = waiting(survey.crossings, _sure_rows(survey, made, limits))
    rows = np.setdiff1d(np.unique(np.concatenate(pool)), np.union1d(survey.alone, behind))
    again = survey.readings.of_trial(TOGETHER)
    kept = list(made)
    for detour in detours_of(survey.crossings, survey.normed, rows, limits):
        explained = np.union1d(detour.rows, detour.met)
        if detour.evidence < limits.named_evidence:
            continue
        if np.isin(detour.rows, again).sum() < LEAST_AGAIN:
            continue
        kept = [
            a
            for a in kept
            if a.standing is not Standing.MET
            or 2 * np.isin(np.setdiff1d(a.rows, survey.alone), explained).sum() <= a.rows.size
        ]
        suspect = Suspect(
            candidates_of(survey.crossings, detour.cables),
            {Metric.BANDWIDTH: detour.slower},
            detour.evidence,
        )
        kept.append(accuse(survey, suspect, (), slow_rows(survey), Standing.OUT_OF_USE))
    return tuple(sorted(kept, key=lambda a: -a.evidence))


def _sure_rows(survey: Survey, made: Sequence[Accusation], limits: Thresholds) -> Ints:
    """Rows that cross something slow even with nothing beside it."""
    enough = limits.confirmed_evidence
    rows = [survey.candidates.rows(a.candidate) for a in made if (a.evidence_alone or 0) >= enough]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *rows]))


def _without_waiting(
    survey: Survey, made: Sequence[Accusation], limits: Thresholds
) -> list[Accusation]:
    """The accusations, less those of ways on which messages wait behind something slower: in a
    shared buffer a message for a slow receiver holds up what comes after it."""
    kept: list[Accusation] = []
    for accusation in sorted(made, key=lambda a: -a.evidence):
        sure = _sure_rows(survey, kept, limits)
        own = np.setdiff1d(accusation.rows, sure)
        behind = waiting(survey.crossings, sure)
        if sure.size and _is_way(survey, accusation) and 2 * np.isin(own, behind).sum() >= own.size:
            continue
        kept.append(accusation)
    return kept


def _is_way(survey: Survey, accusation: Accusation) -> bool:
    """Whether the accused lie between switches."""
    network = survey.crossings.network
    assert network is not None
    ports = {Part.CABLE: 2, Part.DIRECTION: 1}
    return all(
        part is Part.SWITCH or (part in ports and network.between_switches[ports[part] * index])
        for part, index in (
            (PARTS[number], index)
            for number, index in survey.candidates.members[accusation.candidate]
        )
    )


def _with_crowded(
    survey: Survey, made: Sequence[Accusation], limits: Thresholds
) -> tuple[Accusation, ...]:
    """The accusations, and ways that deliver less than others of their kind again and again, in
    place of those that are merely uneven.

    Not beside something whose slowness is sure: what it holds up reaches ways it never crosses.
    """
    if any(a.standing is Standing.CONFIRMED and Metric.BANDWIDTH in a.slower for a in made):
        return tuple(made)
    again = np.setdiff1d(survey.readings.of_trial(TOGETHER), survey.alone)
    predicted = survey.explanation.predicted
    kept = list(made)
    for suspect in crowded(survey, limits):
        mean = mean_of(survey.crossings, survey.normed, predicted, suspect.best, again)
        shown_again = mean is not None and mean >= suspect.slower[Metric.BANDWIDTH] / 2
        if suspect.evidence < limits.named_evidence or not shown_again:
            continue
        rows = survey.candidates.rows(suspect.best)
        kept = [a for a in kept if a.standing is Standing.CONFIRMED or not _share(a, rows)]
        if not any(_share(a, rows) for a in kept):
            kept.append(accuse(survey, suspect, (), slow_rows(survey), Standing.CONFIRMED))
    return tuple(sorted(kept, key=lambda a: -a.evidence))


def _share(accusation: Accusation, rows: Ints) -> bool:
    """Whether most slow readings of an accusation are among rows."""
    return bool(2 * np.isin(accusation.rows, rows).sum() > accusation.rows.size)
