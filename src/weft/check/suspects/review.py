"""The review of accusations: paths on which messages only wait are dropped; a cable out of use, or
a crowded path, replaces the paths that its messages met."""

from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np

from weft.check.readings.components import Thing
from weft.check.readings.readings import Bools, Ints, Metric, union
from weft.check.suspects.accusation import Accusation, MovedEntry, Standing, accuse
from weft.check.suspects.constancy import is_normal_at_times
from weft.check.suspects.crowding.common_switches import with_common_switches
from weft.check.suspects.crowding.crowded_paths import CrowdedPath, Look, SharedPaths
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.out_of_use.detour import Detour
from weft.check.suspects.out_of_use.longer_paths import take_longer
from weft.check.suspects.out_of_use.unused_cables import surely_out_of_use
from weft.check.suspects.out_of_use.wrong_entry import wrong_entry
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
    """The accusations, less those of paths on which messages wait behind something slower: in a
    shared buffer a message for a slow receiver holds up what comes after it."""
    sure = _sure_rows(survey, made)
    behind = waiting(survey.crossings, sure)
    is_path = survey.crossings.is_path

    def waits(accusation: Accusation) -> bool:
        if _is_sure(survey, accusation):
            others = [
                other
                for other in made
                if other.evidence > accusation.evidence or not is_path(other.candidate)
            ]
            return not _is_slow_without(survey, accusation, _sure_rows(survey, others))
        own = np.setdiff1d(accusation.rows, sure)
        return bool(sure.size and 2 * np.isin(own, behind).sum() >= own.size)

    return [a for a in made if not (is_path(a.candidate) and waits(a))]


def _is_slow_without(survey: Survey, accusation: Accusation, others: Ints) -> bool:
    """Whether something is slow even where no rows `others` run, of what is stronger or no path: of
    two messages that fill a path, one may go to a slow receiver, and the other waits."""
    alone = np.intersect1d(survey.candidates.rows(accusation.candidate), survey.alone)
    left = np.setdiff1d(alone, waiting(survey.crossings, others))
    suspect = Suspect((accusation.candidate,), accusation.slower, accusation.evidence)
    evidence = survey.explainer.evidence_of(suspect, (), left)
    return evidence >= survey.limits.confirmed_evidence


def _is_sure(survey: Survey, accusation: Accusation) -> bool:
    """Whether the accused is slow even alone."""
    return (accusation.evidence_alone or 0) >= survey.limits.confirmed_evidence


def _sure_rows(survey: Survey, made: Sequence[Accusation]) -> Ints:
    """Rows that cross an accused component that is slow even alone."""
    return survey.rows_of(a.candidate for a in made if _is_sure(survey, a))


_IN_ROUNDS_ONLY = (Standing.MET, Standing.LONGER, Standing.PASSING)
"""Not slow alone."""


def _with_out_of_use(survey: Survey, made: list[Accusation]) -> list[Accusation]:
    """The accusations, with cables out of use in place of paths that their messages met: paths that
    are slow in rounds only. Then nothing else is said of the cables themselves."""
    of_paths = union(a.rows for a in made if a.standing in _IN_ROUNDS_ONLY)
    explained = np.setdiff1d(np.flatnonzero(survey.explained), of_paths)
    behind = waiting(survey.crossings, _sure_rows(survey, made))
    but = union([behind, explained])
    rows = np.setdiff1d(np.flatnonzero(survey.slow), np.union1d(survey.alone, but))
    kept = list(made)
    settled_cables = surely_out_of_use(survey.crossings, survey.normed, rows, but)
    detours, cables = settled_cables.sure, settled_cables.cables
    if detours:
        kept = [a for a in kept if not _goes_around(survey, a, cables)]
    if any(a.standing is Standing.LONGER for a in kept):
        # Longer paths that no cable out of use explains: the cabling is another one.
        return list(made)
    for detour in detours:
        is_dead = detour in settled_cables.dead
        standing = Standing.OUT_OF_USE if is_dead else Standing.EXCHANGED
        accused = accuse(survey, detour.suspect(survey.crossings), standing)
        kept = [a for a in kept if not _follows(survey, a, detour, accused)] + [accused]
    return kept if detours else _with_wrong_entry(survey, kept, rows, but)


def _with_wrong_entry(
    survey: Survey, made: list[Accusation], rows: Ints, but: Ints
) -> list[Accusation]:
    """The accusations, with a switch one of whose table entries explains slow messages `rows`."""
    entry = wrong_entry(survey.crossings, survey.normed, rows, but)
    if entry is None:
        return made
    slow = np.zeros(len(survey.readings), np.bool_)
    slow[entry.detour.rows] = True
    suspect = entry.suspect(survey.crossings)
    accused = accuse(survey, suspect, Standing.ANOTHER_ENTRY, slow)
    port = survey.crossings.fabric.ports[entry.port]
    moved = MovedEntry(entry.destination, port, entry.detour.rows.size, entry.detour.expected.size)
    accused = replace(accused, moved=moved)
    return [a for a in made if not _follows(survey, a, entry.detour, accused)] + [accused]


def _follows(survey: Survey, accusation: Accusation, detour: Detour, accused: Accusation) -> bool:
    """Whether an accusation follows from the cables out of use that are `accused`."""
    passed = accusation.standing in (Standing.PASSING, Standing.MET)
    if passed and accusation.things <= accused.things:
        return True
    return accusation.standing is Standing.MET and _met(survey, accusation, detour)


def _goes_around(survey: Survey, accusation: Accusation, cables: Sequence[int]) -> bool:
    """Whether something is slow by latency only, most of its slow messages take a longer path
    around cables out of use, and most of its other messages are normal."""
    if set(accusation.slower) != {Metric.LATENCY}:
        return False
    longer = take_longer(survey.crossings, accusation.rows, cables)
    over = survey.candidates.rows(accusation.candidate)
    over = over[survey.judged[over] & (survey.readings.metric[over] == Metric.LATENCY.code)]
    others = over[~take_longer(survey.crossings, over, cables)]
    return bool(
        2 * longer.sum() > accusation.rows.size and 2 * survey.slow[others].sum() <= others.size
    )


def _met(survey: Survey, accusation: Accusation, detour: Detour) -> bool:
    """Whether a detour explains most readings of an accusation."""
    explained = np.union1d(detour.rows, detour.met)
    in_rounds = np.setdiff1d(accusation.rows, survey.alone)
    return bool(2 * np.isin(in_rounds, explained).sum() > accusation.rows.size)


def _with_crowded(survey: Survey, made: list[Accusation]) -> list[Accusation]:
    """The accusations, with crowded paths in place of other accusations of paths of their kind. A
    crowded path must show in the survey and again with other partners."""
    shared = survey.shared
    assert shared is not None
    again = np.isin(np.arange(len(survey.readings)), survey.readings.of_trial(TOGETHER))
    surely_slow = any(_is_sure_of_bandwidth(survey, accusation) for accusation in made)
    crowded = shared.crowded
    first = crowded(survey.in_rounds & ~again, surely_slow=surely_slow)
    suspected = {shared.cables_of(path) for path in first}
    found = crowded(survey.in_rounds, surely_slow=surely_slow)
    kept = [a for a in made if not _is_of_shared_paths(survey, shared, a)]
    for path in found:
        accusation = _accused_path(survey, path, found, suspected, again)
        if accusation is None:
            continue
        rows = shared.rows_of(path)
        kept = [a for a in kept if a.things != accusation.things]
        kept = [a for a in kept if a.standing is Standing.CONFIRMED or not _share(a, rows)]
        if not any(_share(a, rows) for a in kept):
            kept.append(accusation)
    kept = [a for a in kept if not _slows_some(survey, shared, a)]
    return with_common_switches(survey, _once(survey, kept))


def _once(survey: Survey, made: Sequence[Accusation]) -> list[Accusation]:
    """The accusations, of those of the two directions of the same paths the stronger one, and
    a confirmed one first."""
    by_things: dict[frozenset[Thing], Accusation] = {}
    others = []
    for one in sorted(made, key=lambda a: (a.standing is not Standing.CONFIRMED, -a.evidence)):
        if survey.crossings.shared_paths[one.candidate]:
            by_things.setdefault(one.things, one)
        else:
            others.append(one)
    return [*others, *by_things.values()]


def _accused_path(
    survey: Survey,
    path: CrowdedPath,
    found: Sequence[CrowdedPath],
    suspected: Container[frozenset[int]],
    again: Bools,
) -> Accusation | None:
    """The accusation of a crowded path that was `suspected` in the survey and showed in the rows
    measured `again`; None else."""
    shared = survey.shared
    assert shared is not None
    seen = shared.cables_of(path) in suspected
    if not seen or path.suspect.evidence < survey.limits.named_evidence:
        return None
    tested = shared.is_measured(path, again)
    if tested and not shared.shows_again(path, found, again):
        path = replace(path, look=Look.AT_TIMES) if path.look.is_alone else path
        if not shared.shows_again(path, found, again):
            return None
    rows, at_times = shared.judged_rows_of(path), path.look is Look.AT_TIMES
    is_normal = path.look.is_alone and is_normal_at_times(survey, rows, path.slower)
    if at_times and not (tested or is_normal):
        return None
    standing = Standing.CONFIRMED if tested else Standing.UNTESTED
    if at_times or is_normal:
        standing = Standing.COMING_AND_GOING
    return accuse(survey, path.suspect, standing)


def _slows_some(survey: Survey, shared: SharedPaths, accusation: Accusation) -> bool:
    """Whether an accused path among several slows only the messages of another path."""
    slower = accusation.slower.get(Metric.BANDWIDTH)
    if slower is None or not survey.crossings.shared_paths[accusation.candidate]:
        return False
    rows = survey.candidates.rows(accusation.candidate)
    rows = rows[survey.in_rounds[rows]]
    if accusation.standing is Standing.COMING_AND_GOING:
        rows = shared.slow_at_times(rows, slower)
    return shared.is_slow_for_some(rows, slower)


def _is_sure_of_bandwidth(survey: Survey, accusation: Accusation) -> bool:
    """Whether something is surely slow that is no path among several."""
    confirmed = accusation.standing is Standing.CONFIRMED and Metric.BANDWIDTH in accusation.slower
    return confirmed and not survey.crossings.shared_paths[accusation.candidate]


def _is_of_shared_paths(survey: Survey, shared: SharedPaths, accusation: Accusation) -> bool:
    """Whether paths are accused, not slow alone, that are better held against their kind, or are as
    slow as others of it."""
    candidate, slower = accusation.candidate, accusation.slower.get(Metric.BANDWIDTH)
    if not survey.crossings.shared_paths[candidate]:
        return False
    told = not _is_sure(survey, accusation) and shared.can_tell(candidate)
    if slower is None:
        return told
    told = told and not shared.is_mixed(candidate, slower, survey.in_rounds)
    return told or shared.is_usual(candidate, slower, survey.in_rounds)


def _share(accusation: Accusation, rows: Ints) -> bool:
    """Whether most slow readings of an accusation are among rows."""
    return bool(2 * np.isin(accusation.rows, rows).sum() > accusation.rows.size)
