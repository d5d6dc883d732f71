"""Crowded paths measured again as they were filled before, by messages between other partners. A
slowness that stays lies in the paths; one that disappears came from the schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from weft.check.readings.network import Network
from weft.check.readings.readings import Floats, Ints, Metric, host_of
from weft.check.readings.stages import Stage, stages_of
from weft.check.schedule.rounds.admission import FULL
from weft.check.suspects.crowding.crowded_paths import Look
from weft.check.suspects.survey import Survey
from weft.check.trials import SURVEY

EndpointPair = tuple[str, str]
Round = tuple[EndpointPair, ...]

_NO_PORTS, _NO_LOAD = np.zeros(0, np.int64), np.zeros(0)
_TRIES = 50
"""Shuffles until no rank meets one of its own host; then such pairs stay as they were."""


def rounds_with_others(survey: Survey, n: int, draws: Random) -> tuple[Round, ...]:
    """`n` rounds that fill each path that looked crowded alone; and `n` full rounds, if any path
    looked crowded in such."""
    shared = survey.shared
    if shared is None or not survey.crowded:
        return ()
    alone = {path.number: path for path in survey.crowded if path.look.is_alone}
    full = [path for path in survey.crowded if path.look is Look.ALL]
    rounds: list[Round] = []
    for path in list(alone.values())[: survey.limits.most_suspects]:
        rounds += _with_others(survey, shared.rows_of(path), n, draws, whole=False)
    if full:
        rounds += _with_others(survey, shared.rows_of(full[0]), n, draws, whole=True)
    return tuple(rounds)


def round_of(survey: Survey, number: int, among: Ints | None = None) -> Round:
    """The pairs of a round of the survey (of its rows `among`), who sends first in each first."""
    readings = survey.readings
    rows = readings.of_trial(SURVEY)
    rows = rows if among is None else np.intersect1d(rows, among)
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
    readings = survey.readings
    numbers = np.unique(readings.round[np.intersect1d(rows, readings.of_trial(SURVEY))])
    if not numbers.size:
        return []
    known = [round_of(survey, number, None if whole else rows) for number in numbers.tolist()]
    network = survey.crossings.fabric
    room = _Room(network, survey.limits.asked_of_shared, known)
    return [
        room.admitted([*_mixed(network, pairs, draws), *pairs])
        for pairs in (known[i % len(known)] for i in range(n))
    ]


class _Room:
    """The load (bit/s) that a round may ask of each port between switches: as much as the fullest
    of some rounds did, or the share that any round may ask. Ports of a stage have equal shares.

    Pair by pair: nearly all share some stage, and `rounds.admission`, which admits at once what
    shares nothing, would look at all of them again for each.
    """

    def __init__(self, network: Network, asked: float, rounds: Sequence[Round]) -> None:
        self._network = network
        self._stages = stages_of(network)
        self._known: dict[int, _Shared] = {}
        self._most: Floats = asked * network.rate
        for pairs in rounds:
            asked_of: dict[int, float] = {}
            for stage, rate in (one for pair in pairs for one in self._stages_of(pair)):
                asked_of[id(stage)] = asked_of.get(id(stage), 0.0) + rate
            carried = np.zeros(self._most.size)
            for stage in self._known.values():
                carried[stage.ports] += asked_of.get(id(stage), 0.0) * stage.share
            self._most = np.maximum(self._most, carried)

    def admitted(self, pairs: Sequence[EndpointPair]) -> Round:
        """The pairs, in turn, whose ranks are free and that overload no port. One message finds
        room in any case."""
        carried = np.zeros(self._most.size)
        taken: set[str] = set()
        kept: list[EndpointPair] = []
        for pair in pairs:
            if taken & set(pair):
                continue
            ports, load = self._asked_by(pair)
            fits = carried[ports] + load <= self._most[ports] * FULL
            if (fits | (carried[ports] == 0)).all():
                taken |= set(pair)
                kept.append(pair)
                carried[ports] += load
        return tuple(kept)

    def _asked_by(self, pair: EndpointPair) -> tuple[Ints, Floats]:
        """The ports that a pair may take, there and back, and its load on each (bit/s)."""
        stages = self._stages_of(pair)
        ports = [_NO_PORTS, *(stage.ports for stage, _ in stages)]
        load = [_NO_LOAD, *(rate * stage.share for stage, rate in stages)]
        return np.concatenate(ports), np.concatenate(load)

    def _stages_of(self, pair: EndpointPair) -> list[tuple["_Shared", float]]:
        """The stages between switches of a pair, there and back, with the rate of its messages
        (bit/s)."""
        rate = self._network.rate
        ends = (self._network.known_hca_of(end) for end in pair)
        (first, a), (last, b) = (self._stages.end(hca) for hca in ends)
        found = []
        for inner, own in (
            (self._stages.inner(a, b), min(rate[first], rate[last ^ 1])),
            (self._stages.inner(b, a), min(rate[last], rate[first ^ 1])),
        ):
            stages = [self._stage(stage) for stage in inner]
            lowest = float(min([own, *(stage.lowest for stage in stages)]))
            found += [(stage, lowest) for stage in stages]
        return found

    def _stage(self, stage: Stage) -> "_Shared":
        """INVARIANT: `stages_of` makes such a stage once and keeps it, so that no other has its
        id."""
        known = self._known.get(id(stage))
        if known is None:
            ports = np.array(stage, np.int64)
            share = np.full(ports.size, 1 / ports.size)
            known = _Shared(ports, share, float(self._network.rate[ports].min()))
            self._known[id(stage)] = known
        return known


@dataclass(frozen=True, slots=True)
class _Shared:
    """The ports of a stage between switches, the share of a message that each may get, and the
    lowest rate of one (bit/s)."""

    ports: Ints
    share: Floats
    lowest: float


def _mixed(network: Network, pairs: Round, draws: Random) -> list[EndpointPair]:
    """The same first ranks, each with the second one of another pair of its rail."""
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
    return mixed


def _apart(a: str, b: str) -> bool:
    return host_of(a) != host_of(b)
