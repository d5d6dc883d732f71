"""What becomes of accusations: what merely waits is let go, cables out of use and crowded ways come
in place of what met their messages."""

from collections.abc import Sequence

import numpy as np

from weft.check.readings.components import Thing
from weft.check.readings.readings import Ints, Metric
from weft.check.suspects.accusation import Accusation, Standing, accuse, slow_rows
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.out_of_use.collisions import Detour
from weft.check.suspects.out_of_use.unused_cables import surely_out_of_use
from weft.check.suspects.queueing import waiting
from weft.check.suspects.survey import Survey
from weft.check.trials import TOGETHER


def settled(survey: Survey, made: Sequence[Accusation]) -> tuple[Accusation, ...]:
    """The accusations that stand, the strongest first."""
    if survey.crossings.network is None:
        return tuple(made)
    kept = _without_waiting(survey, made)
    settle = _with_crowded if survey.crossings.adaptive else _with_out_of_use
    return tuple(sorted(settle(survey, kept), key=lambda a: -a.evidence))


def _without_waiting(survey: Survey, made: Sequence[Accusation]) -> list[Accusation]:
    """The accusations, less those of ways on which messages wait behind something slower: in a
    shared buffer a message for a slow receiver holds up what comes after it."""
    sure = _sure_rows(survey, made)
    behind = waiting(survey.crossings, sure)

    def waits(accusation: Accusation) -> bool:
        if _is_sure(survey, accusation):
            stronger = [other for other in made if other.evidence > accusation.evidence]
            return not _is_slow_without(survey, accusation, _sure_rows(survey, stronger))
        own = np.setdiff1d(accusation.rows, sure)
        return bool(sure.size and 2 * np.isin(own, behind).sum() >= own.size)

    is_way = survey.crossings.is_way
    return [a for a in made if not (is_way(a.candidate) and waits(a))]


def _is_slow_without(survey: Survey, accusation: Accusation, stronger: Ints) -> bool:
    """Whether something is slow even where neither others run nor anything stronger: of two
    messages that fill a way, one may go to a slow receiver, and the other waits."""
    alone = np.intersect1d(survey.candidates.rows(accusation.candidate), survey.alone)
    left = np.setdiff1d(alone, waiting(survey.crossings, stronger))
    suspect = Suspect((accusation.candidate,), accusation.slower, accusation.evidence)
    evidence = survey.explainer.evidence_of(suspect, (), left)
    return evidence >= survey.limits.confirmed_evidence


def _is_sure(survey: Survey, accusation: Accusation) -> bool:
    """Whether something is slow even with nothing beside it."""
    return (accusation.evidence_alone or 0) >= survey.limits.confirmed_evidence


def _sure_rows(survey: Survey, made: Sequence[Accusation]) -> Ints:
    """Rows that cross something slow even with nothing beside it."""
    rows = [survey.candidates.rows(a.candidate) for a in made if _is_sure(survey, a)]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *rows]))


def _with_out_of_use(survey: Survey, made: list[Accusation]) -> list[Accusation]:
    """The accusations, with cables that are out of use called so.

    What is slow beside others only may have met messages that should have crossed another cable:
    that one is accused then.
    """
    met = [a.rows for a in made if a.standing is Standing.MET]
    of_met = np.unique(np.concatenate([np.zeros(0, np.int64), *met]))
    explained = np.setdiff1d(np.flatnonzero(survey.explanation.predicted > 0), of_met)
    behind = waiting(survey.crossings, _sure_rows(survey, made))
    but = np.unique(np.concatenate([survey.alone, behind, explained]))
    rows = np.setdiff1d(np.flatnonzero(slow_rows(survey)), but)
    kept = list(made)
    for detour in surely_out_of_use(survey.crossings, survey.normed, rows, but):
        kept = [a for a in kept if a.standing is not Standing.MET or not _met(survey, a, detour)]
        suspect = detour.suspect(survey.crossings)
        kept.append(accuse(survey, suspect, (), slow_rows(survey), Standing.OUT_OF_USE))
    return kept


def _met(survey: Survey, accusation: Accusation, detour: Detour) -> bool:
    """Whether a detour explains most of what an accusation rests on."""
    explained = np.union1d(detour.rows, detour.met)
    beside = np.setdiff1d(accusation.rows, survey.alone)
    return bool(2 * np.isin(beside, explained).sum() > accusation.rows.size)


def _with_crowded(survey: Survey, made: list[Accusation]) -> list[Accusation]:
    """The accusations, with ways that deliver less than others of their kind, in the survey and
    again with other partners, in place of any other accusation of ways of that kind."""
    shared = survey.shared
    assert shared is not None
    again = np.zeros(len(survey.readings), np.bool_)
    again[survey.readings.of_trial(TOGETHER)] = True
    surely_slow = any(_is_sure_of_bandwidth(survey, accusation) for accusation in made)
    crowded = shared.crowded
    first = crowded(survey.beside_others & ~again, surely_slow=surely_slow)
    suspected = {shared.cables_of(way) for way in first}
    found = crowded(survey.beside_others, surely_slow=surely_slow)
    kept = [a for a in made if not _is_of_shared_ways(survey, a)]
    slow = slow_rows(survey)
    for way in found:
        seen = shared.cables_of(way) in suspected
        if not seen or way.suspect.evidence < survey.limits.named_evidence:
            continue
        rows = shared.rows_of(way)
        tested = shared.is_measured(way, again)
        if tested and not shared.shows_again(way, found, again):
            continue
        standing = Standing.CONFIRMED if tested else Standing.UNTESTED
        accusation = accuse(survey, way.suspect, (), slow, standing)
        things = _things(accusation)
        kept = [a for a in kept if a.standing is Standing.CONFIRMED or not _share(a, rows)]
        if not any(_share(a, rows) or _things(a) == things for a in kept):
            kept.append(accusation)
    return kept


def _is_sure_of_bandwidth(survey: Survey, accusation: Accusation) -> bool:
    """Whether something is surely slow that is no way among several."""
    confirmed = accusation.standing is Standing.CONFIRMED and Metric.BANDWIDTH in accusation.slower
    return confirmed and not survey.crossings.shared_ways[accusation.candidate]


def _is_of_shared_ways(survey: Survey, accusation: Accusation) -> bool:
    """Whether ways are accused, not slow alone, that are better held against their kind."""
    assert survey.shared is not None
    if _is_sure(survey, accusation):
        return False
    candidate = accusation.candidate
    return bool(survey.crossings.shared_ways[candidate]) and survey.shared.can_tell(candidate)


def _things(accusation: Accusation) -> frozenset[Thing]:
    """What is accused: the two directions of a cable are one."""
    return frozenset(component.thing for component in accusation.components)


def _share(accusation: Accusation, rows: Ints) -> bool:
    """Whether most slow readings of an accusation are among rows."""
    return bool(2 * np.isin(accusation.rows, rows).sum() > accusation.rows.size)
