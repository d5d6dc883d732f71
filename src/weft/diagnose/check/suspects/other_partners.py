"""Crowded ways measured again as they were filled before, by messages between other partners: what
stays slow lies in the ways, what goes was the schedule's."""

from collections.abc import Sequence
from random import Random

import numpy as np

from weft.diagnose.check.measured.network import Network
from weft.diagnose.check.measured.readings import Ints, Metric, host_of
from weft.diagnose.check.suspects.crowded import Look
from weft.diagnose.check.suspects.survey import Survey
from weft.diagnose.check.trials import SURVEY

EndpointPair = tuple[str, str]
Round = tuple[EndpointPair, ...]

_TRIES = 50


def rounds_with_others(survey: Survey, n: int, draws: Random) -> tuple[Round, ...]:
    """`n` rounds for each way that looked crowded by itself, which fill that way only; and `n` full
    rounds, if any way looked crowded in such."""
    shared = survey.shared
    if shared is None or not survey.crowded:
        return ()
    alone = [way for way in survey.crowded if way.look is Look.ALONE]
    full = [way for way in survey.crowded if way.look is not Look.ALONE]
    rounds: list[Round] = []
    for way in alone[: survey.limits.most_suspects]:
        rounds += _with_others(survey, shared.rows_of(way), n, draws, whole=False)
    if full:
        rounds += _with_others(survey, shared.rows_of(full[0]), n, draws, whole=True)
    return tuple(rounds)


def round_of(survey: Survey, number: int, among: Ints | None = None) -> Round:
    """The pairs of a round of the survey (of its rows `among`), who sends first in each first."""
    readings = survey.readings
    rows = np.flatnonzero(readings.round == number)
    rows = np.intersect1d(readings.of_trial(SURVEY), rows if among is None else among)
    rows = rows[readings.round[rows] == number]
    first = readings.metric[rows] == Metric.BANDWIDTH.code
    rows = rows[first] if first.any() else rows
    pairs: dict[frozenset[int], EndpointPair] = {}
    for row in rows.tolist():
        a, b = readings.name(row)
        key = frozenset((int(readings.a[row]), int(readings.b[row])))
        pairs.setdefault(key, (b, a) if readings.backwards[row] else (a, b))
    return tuple(pairs.values())


def _with_others(survey: Survey, rows: Ints, n: int, draws: Random, *, whole: bool) -> list[Round]:
    numbers = np.unique(
        survey.readings.round[np.intersect1d(rows, survey.readings.of_trial(SURVEY))]
    )
    if not numbers.size:
        return []
    known = [round_of(survey, number, None if whole else rows) for number in numbers.tolist()]
    return [_mixed(survey.crossings.network, known[i % len(known)], draws) for i in range(n)]


def _mixed(network: Network | None, pairs: Round, draws: Random) -> Round:
    """The same first ranks, each with the second one of another pair of its rail."""
    assert network is not None
    by_rail: dict[int, list[int]] = {}
    for place, (_, second) in enumerate(pairs):
        by_rail.setdefault(network.rail_of(second), []).append(place)
    mixed = list(pairs)
    for places in by_rail.values():
        others = [pairs[place][1] for place in places]
        for _ in range(_TRIES):
            draws.shuffle(others)
            if all(_apart(pairs[i][0], b) for i, b in zip(places, others, strict=True)):
                break
        for place, other in zip(places, others, strict=True):
            if _apart(pairs[place][0], other):
                mixed[place] = (pairs[place][0], other)
    return _once_each(mixed)


def _apart(a: str, b: str) -> bool:
    return host_of(a) != host_of(b)


def _once_each(pairs: Sequence[EndpointPair]) -> Round:
    """The pairs whose ranks no pair before them has."""
    taken: set[str] = set()
    kept: list[EndpointPair] = []
    for pair in pairs:
        if not taken & set(pair):
            taken |= set(pair)
            kept.append(pair)
    return tuple(kept)
