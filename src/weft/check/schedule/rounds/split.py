"""Rounds taken apart until no port carries more than its rate."""

from collections.abc import Iterable

import numpy as np

from weft.check.readings.readings import Floats, Ints
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.rounds.admission import FULL, admitted
from weft.check.schedule.rounds.matchings import Round


def without_overload(
    rounds: Iterable[Round], ranks: ScheduleRanks, paths: FlowPaths | None, shared: float = 1.0
) -> list[Round]:
    """Each round in as few parts as first fit needs, so that the pairs of a part, sending in both
    directions at once, load no port above its rate. Two slow hosts may fill a fast cable together.

    Under adaptive routing a stage's ports carry its messages together, up to `shared` of their
    rate. Without a fabric rounds stay as they are.
    """
    if paths is None:
        return list(rounds)
    room = paths.room.copy()
    stages = slice(len(paths.network.ports), paths.nowhere)
    # One message fits in any case.
    fastest = float(paths.network.rate[paths.network.port_of_hca[paths.hcas]].max())
    room[stages] = np.maximum(room[stages] * shared, np.minimum(room[stages], fastest))
    parts: list[Round] = []
    for pairs in rounds:
        parts.extend(_parts(pairs, ranks, paths, room))
    return parts


def crossed_in_both_directions(
    pairs: Round, ranks: ScheduleRanks, paths: FlowPaths
) -> tuple[Ints, Ints, Floats, Floats]:
    """Places crossed there and back (pairs x places each), and the rates of both flows."""
    a, b = ranks.hca[pairs[:, 0]], ranks.hca[pairs[:, 1]]
    there, back = paths.cross(a, b), paths.cross(b, a)
    return there, back, paths.rate(there), paths.rate(back)


def overloads(pairs: Round, ranks: ScheduleRanks, paths: FlowPaths) -> bool:
    """Whether the pairs load a place above its rate, sending in both directions at once."""
    there, back, rate_there, rate_back = crossed_in_both_directions(pairs, ranks, paths)
    load = paths.load(there, rate_there) + paths.load(back, rate_back)
    return bool((load[:-1] > paths.room[:-1] * FULL).any())


def _parts(pairs: Round, ranks: ScheduleRanks, paths: FlowPaths, room: Floats) -> list[Round]:
    there, back, rate_there, rate_back = crossed_in_both_directions(pairs, ranks, paths)
    load = paths.load(there, rate_there) + paths.load(back, rate_back)
    if (load[:-1] <= room[:-1] * FULL).all():
        return [pairs]
    uses = np.concatenate([there, back], axis=1)
    rates = np.repeat(np.stack([rate_there, rate_back], axis=1), there.shape[1], axis=1)
    parts = []
    left = np.arange(len(pairs))
    while left.size:
        fit = admitted(uses[left], rates[left], room.copy())
        if not fit.any():
            raise ValueError("a pair does not fit by itself")
        parts.append(pairs[left[fit]])
        left = left[~fit]
    return parts
