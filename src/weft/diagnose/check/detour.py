"""Accusations of cables that are out of use, in place of what merely met their messages."""

from collections.abc import Sequence

import numpy as np

from weft.diagnose.check.accusation import Accusation, Standing, accuse, slow_rows
from weft.diagnose.check.explain import Suspect
from weft.diagnose.check.meetings import candidates_of, detours_of
from weft.diagnose.check.peers import waits_behind
from weft.diagnose.check.readings import Metric
from weft.diagnose.check.survey import Survey
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
    made = _without_waiting(survey, made, limits)
    met = [a for a in made if a.standing is Standing.MET]
    pool = [np.flatnonzero(slow_rows(survey) & (survey.explanation.predicted == 0))]
    pool += [accusation.rows for accusation in met]
    rows = np.setdiff1d(np.unique(np.concatenate(pool)), survey.alone)
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


def _without_waiting(
    survey: Survey, made: Sequence[Accusation], limits: Thresholds
) -> list[Accusation]:
    """The accusations, less those of ways on which messages wait behind something slow."""
    if not survey.crossings.adaptive:
        return list(made)
    enough = limits.confirmed_evidence
    shown_alone = [a for a in made if (a.evidence_alone or 0.0) >= enough]
    faulty = [survey.candidates.rows(a.candidate) for a in shown_alone]
    rows = np.unique(np.concatenate([np.zeros(0, np.int64), *faulty]))
    return [a for a in made if a in shown_alone or not waits_behind(survey, a.rows, rows)]
