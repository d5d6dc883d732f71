"""What becomes of accusations: what merely waits is let go, cables out of use and crowded ways come
in place of what met their messages."""

from collections.abc import Sequence

import numpy as np

from weft.diagnose.check.measured.components import Thing
from weft.diagnose.check.measured.readings import Ints, Metric
from weft.diagnose.check.suspects.accusation import Accusation, Standing, accuse, slow_rows
from weft.diagnose.check.suspects.crowded import waiting
from weft.diagnose.check.suspects.meetings import Detour, detours_of
from weft.diagnose.check.suspects.survey import Survey
from weft.diagnose.check.thresholds import Thresholds
from weft.diagnose.check.trials import TOGETHER


def settled(
    survey: Survey, made: Sequence[Accusation], limits: Thresholds
) -> tuple[Accusation, ...]:
    """The accusations that stand, the strongest first."""
    if survey.crossings.network is None:
        return tuple(made)
    kept = _without_waiting(survey, made, limits)
    settle = _with_crowded if survey.crossings.adaptive else _with_out_of_use
    return tuple(sorted(settle(survey, kept, limits), key=lambda a: -a.evidence))


def _without_waiting(
    survey: Survey, made: Sequence[Accusation], limits: Thresholds
) -> list[Accusation]:
    """The accusations, less those of ways on which messages wait behind something slower: in a
    shared buffer a message for a slow receiver holds up what comes after it."""
    kept: list[Accusation] = []
    for accusation in sorted(made, key=lambda a: -a.evidence):
        sure = _sure_rows(survey, kept, limits)
        own = np.setdiff1d(accusation.rows, sure)
        is_way = survey.crossings.is_way(accusation.candidate)
        if sure.size and is_way:
            behind = waiting(survey.crossings, sure)
            if 2 * np.isin(own, behind).sum() >= own.size:
                continue
        kept.append(accusation)
    return kept


def _sure_rows(survey: Survey, made: Sequence[Accusation], limits: Thresholds) -> Ints:
    """Rows that cross something slow even with nothing beside it."""
    enough = limits.confirmed_evidence
    rows = [survey.candidates.rows(a.candidate) for a in made if (a.evidence_alone or 0) >= enough]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *rows]))


def _with_out_of_use(
    survey: Survey, made: list[Accusation], limits: Thresholds
) -> list[Accusation]:
    """The accusations, with cables that are out of use called so.

    What is slow beside others only may have met messages that should have crossed another cable:
    that one is accused then. It must have shown again when the round came again.
    """
    met = [a for a in made if a.standing is Standing.MET]
    pool = [np.flatnonzero(slow_rows(survey) & (survey.explanation.predicted == 0))]
    pool += [accusation.rows for accusation in met]
    behind = waiting(survey.crossings, _sure_rows(survey, made, limits))
    rows = np.setdiff1d(np.unique(np.concatenate(pool)), np.union1d(survey.alone, behind))
    again = survey.readings.of_trial(TOGETHER)
    kept = list(made)
    moment = survey.readings.moment
    held_up: set[int] = set()
    joined: set[frozenset[int]] = set()
    for detour in detours_of(survey.crossings, survey.normed, rows, limits):
        # A link that is slow now and then looks like messages that met.
        shown_again = np.isin(detour.rows, again).sum() >= limits.detour_again
        # What goes around one cable holds up more than it meets: another one shows without it, too.
        moments = set(moment[np.setdiff1d(detour.rows, again)].tolist())
        shown_without = len(moments - held_up) >= limits.meeting_moments
        if detour.evidence < limits.named_evidence or not shown_again or not shown_without:
            continue
        # The tables of cables beside it, between the same two switches, are filled anew.
        between = {_ends(survey, cable) for cable in detour.cables}
        if between & joined:
            continue
        held_up |= moments
        joined |= between
        kept = [a for a in kept if a.standing is not Standing.MET or not _met(survey, a, detour)]
        suspect = detour.suspect(survey.crossings)
        kept.append(accuse(survey, suspect, (), slow_rows(survey), Standing.OUT_OF_USE))
    return kept


def _ends(survey: Survey, cable: int) -> frozenset[int]:
    """The vertices that a cable joins."""
    network = survey.crossings.network
    assert network is not None
    return frozenset(network.vertex[[2 * cable, 2 * cable + 1]].tolist())


def _met(survey: Survey, accusation: Accusation, detour: Detour) -> bool:
    """Whether a detour explains most of what an accusation rests on."""
    explained = np.union1d(detour.rows, detour.met)
    beside = np.setdiff1d(accusation.rows, survey.alone)
    return bool(2 * np.isin(beside, explained).sum() > accusation.rows.size)


def _with_crowded(survey: Survey, made: list[Accusation], limits: Thresholds) -> list[Accusation]:
    """The accusations, with ways that deliver less than others of their kind, again when measured
    with other partners, in place of any other accusation of ways of that kind."""
    shared = survey.shared
    assert shared is not None
    is_shared = survey.crossings.shared_ways
    surely_slow = any(
        a.standing is Standing.CONFIRMED
        and Metric.BANDWIDTH in a.slower
        and not is_shared[a.candidate]
        for a in made
    )
    together = np.ones(len(survey.readings), np.bool_)
    together[survey.alone] = False
    again = np.zeros(len(survey.readings), np.bool_)
    again[survey.readings.of_trial(TOGETHER)] = True
    kept = [
        a
        for a in made
        if not is_shared[a.candidate]
        or (a.evidence_alone or 0) >= limits.confirmed_evidence
        or not shared.can_tell(a.candidate)
    ]
    slow = slow_rows(survey)
    found = shared.crowded(together, surely_slow=surely_slow)
    for way in found:
        suspect = way.suspect
        standing = Standing.CONFIRMED if again.any() else Standing.UNTESTED
        if suspect.evidence < limits.named_evidence:
            continue
        if again.any() and not shared.shows_again(way, found, again):
            continue
        rows = shared.rows_of(way)
        kept = [a for a in kept if a.standing is Standing.CONFIRMED or not _share(a, rows)]
        made_of = _things(accusation := accuse(survey, suspect, (), slow, standing))
        if not any(_share(a, rows) or _things(a) == made_of for a in kept):
            kept.append(accusation)
    return kept


def _things(accusation: Accusation) -> frozenset[Thing]:
    """What is accused: the two directions of a cable are one."""
    return frozenset(component.thing for component in accusation.components)


def _share(accusation: Accusation, rows: Ints) -> bool:
    """Whether most slow readings of an accusation are among rows."""
    return bool(2 * np.isin(accusation.rows, rows).sum() > accusation.rows.size)
