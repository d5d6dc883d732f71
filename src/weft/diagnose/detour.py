"""Messages that met although the fabric's tables keep them apart: routing is not as documented."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.diagnose.crossing import Cable, Crossings
from weft.diagnose.judged import Judged
from weft.diagnose.readings import Metric, Reading

_LEAST_MOMENTS = 3
"""Fewer are passing disturbances, and share a cable by chance."""

_MOST_AVOIDED = 2
"""More cables in common than this point at none of them."""


@dataclass(frozen=True, slots=True)
class Detour:
    """Readings slowed by others that the tables keep off their path, in `n_moments` moments.

    `avoided` are the cables that carry nothing: one such reading at least should have crossed them
    in every single moment in which any met, and others were met elsewhere. Empty where that points
    at no cable: a neighbour's traffic, adaptive routing or outdated tables then.
    """

    met: tuple[Reading, ...]
    n_moments: int
    avoided: tuple[Cable, ...]


def find_detour(judged: Sequence[Judged], crossings: Crossings) -> Detour | None:
    """The detour, or None where the tables foresee what met, or hardly anything met."""
    moments: dict[tuple[int, bool], list[Judged]] = {}
    for one in judged:
        if one.reading.metric is Metric.BANDWIDTH and crossings.path(*_ends(one.reading)):
            moments.setdefault((one.reading.round, one.reading.backwards), []).append(one)
    unforeseen = [met for moment in moments.values() if (met := _unforeseen(moment, crossings))]
    if len(unforeseen) < _LEAST_MOMENTS:
        return None
    readings = tuple(reading for met in unforeseen for reading in met)
    return Detour(readings, len(unforeseen), _avoided(unforeseen, crossings))


def _avoided(unforeseen: Sequence[Sequence[Reading]], crossings: Crossings) -> tuple[Cable, ...]:
    common = set.intersection(*(crossings.cables_on(map(_ends, met)) for met in unforeseen))
    # Were all of them to cross it, it would be busy, not avoided: a neighbour's traffic.
    avoided = sorted(
        cable
        for cable in common
        if any(cable not in crossings.cables_on([_ends(r)]) for met in unforeseen for r in met)
    )
    return tuple(avoided) if len(avoided) <= _MOST_AVOIDED else ()


def _unforeseen(moment: Sequence[Judged], crossings: Crossings) -> list[Reading]:
    """Readings that collided in this moment without sharing a documented port with another."""
    n_users: dict[str, int] = {}
    for one in moment:
        for port in crossings.path(one.reading.a, one.reading.b):
            n_users[port] = n_users.get(port, 0) + 1
    return [
        one.reading
        for one in moment
        if one.collided
        and all(n_users[port] == 1 for port in crossings.path(one.reading.a, one.reading.b))
    ]


def _ends(reading: Reading) -> tuple[str, str]:
    return (reading.a, reading.b)
