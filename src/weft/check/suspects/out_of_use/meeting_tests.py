"""Rounds of few messages that meet only if a cable is out of use: static routes.

Such a round holds a message over the cable and, on each other path that it may then take, as many
more as fill a cable. With every cable in use they share none, or have room on it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from random import Random

import numpy as np
from scipy.sparse import csc_matrix

from weft.check.readings.crossing import Crossings
from weft.check.readings.readings import Floats, Metric, host_of
from weft.check.suspects.crowding.partner_test import EndpointPair, Round
from weft.check.suspects.out_of_use.detour import gains_of_sharing, that_may_have_met
from weft.check.suspects.out_of_use.kept_paths import Ways
from weft.check.suspects.survey import Survey
from weft.core.units import ROUNDING

Ports = frozenset[int]


def meeting_tests(survey: Survey, draws: Random) -> list[Round]:
    """Rounds for each cable that slow messages of the survey should have crossed, the most likely
    first; none where their paths are not known for certain."""
    crossings = survey.crossings
    network = crossings.network
    if network is None or crossings.adaptive:
        return []
    if not network.wiring.engines and network.out_of is None:
        return []
    likely = _likely(survey)
    tests = _Tests(crossings, likely, draws)
    most = survey.limits.tests_a_suspect
    by_cable = [list(islice(tests.of(cable), most)) for cable in likely]
    return [one for group in zip_longest(*by_cable) for one in group if one is not None]


def _likely(survey: Survey) -> list[int]:
    """The cables that may be out of use, those first whose messages were clearly slow at once."""
    crossings, limits = survey.crossings, survey.limits
    rows = that_may_have_met(crossings, survey.normed, survey.slow_in_rounds)
    moment = crossings.readings.moment
    slow = moment[survey.slow & survey.in_rounds]
    slow_at_once = np.bincount(slow, minlength=int(moment.max(initial=0)) + 1)
    rows = rows[slow_at_once[moment[rows]] > 1]
    if not rows.size:
        return []
    gain = np.maximum(gains_of_sharing(crossings, survey.normed, rows), 0.0)
    score = np.asarray(crossings.crossed[rows].T @ gain).reshape(-1)
    score *= crossings.fabric.between_switches
    of_cable = score[::2] + score[1::2]
    order = np.argsort(-of_cable, kind="stable")[: limits.cables_tested]
    return [int(cable) for cable in order if of_cable[cable] > 0]


class _Tests:
    """Chooses the messages of such rounds among those of the survey, by their numbers."""

    def __init__(self, crossings: Crossings, likely: Sequence[int], draws: Random) -> None:
        self._crossings = crossings
        self._network = crossings.fabric
        self._draws = draws
        self._likely = frozenset(likely)
        readings = crossings.readings
        n = len(readings.endpoints)
        rows = np.flatnonzero(readings.metric == Metric.BANDWIDTH.code)
        flows, first = np.unique(readings.a[rows] * n + readings.b[rows], return_index=True)
        names = readings.endpoints
        self._flows = [(names[key // n], names[key % n]) for key in flows.tolist()]
        self._rate = crossings.lowest_rate[rows[first]].tolist()
        self._crossed = csc_matrix(crossings.crossed[rows[first]])
        self._paths: dict[EndpointPair, list[int]] = {}

    def of(self, cable: int) -> Iterator[Round]:
        """Rounds that test a cable, each by another message over it."""
        over = self._ordered([*self._over(2 * cable), *self._over(2 * cable + 1)])
        for flow, ways in zip(over, self._ways(over, cable), strict=True):
            others = self._others(flow, cable, ways)
            if others:
                yield tuple(self._flows[one] for one in (flow, *others))

    def _ordered(self, flows: list[int]) -> list[int]:
        """At random, those first that cross few cables that are tested too."""
        self._draws.shuffle(flows)
        return sorted(flows, key=self._n_likely)

    def _n_likely(self, flow: int) -> int:
        return len({port >> 1 for port in self._path(self._flows[flow])} & self._likely)

    def _over(self, port: int) -> list[int]:
        column = self._crossed.indptr[port : port + 2]
        found: list[int] = self._crossed.indices[column[0] : column[1]].tolist()
        return found

    def _path(self, flow: EndpointPair) -> list[int]:
        if flow not in self._paths:
            self._paths[flow] = [port for (port,) in self._crossings.ports_of([flow])[0]]
        return self._paths[flow]

    def _ways(self, flows: Sequence[int], cable: int) -> list[list[Ports]]:
        """By message, the ports of each path that it may take around a cable, but for those of its
        path as it is."""
        was = [self._path(self._flows[flow]) for flow in flows]
        engines = self._network.wiring.engines
        if not engines:
            dead = {2 * cable, 2 * cable + 1}
            around = Ways(self._network).around
            found = [around(path, dead) for path in was]
        else:
            found = list(zip(*(self._rerouted(flows, cable, one) for one in engines), strict=True))
        return [
            [frozenset(way).difference(path) for way in ways if way]
            for path, ways in zip(was, found, strict=True)
        ]

    def _rerouted(self, flows: Sequence[int], cable: int, engine: str) -> list[tuple[int, ...]]:
        """The path of each message with a cable out of use; empty where some have none."""
        network = self._network
        hcas = [tuple(str(network.hca_of(end)) for end in self._flows[flow]) for flow in flows]
        down = [network.ports[2 * cable]]
        paths = network.wiring.rerouted([(a, b) for a, b in hcas], down, engine)
        if paths is None:
            return [()] * len(flows)
        return [tuple(network.port_id[port] for port in path) for path in paths]

    def _others(self, flow: int, cable: int, ways: Sequence[Ports]) -> list[int]:
        """Messages that fill a cable on each way, as far as there are, between other hosts; there
        is room for all, and for their answers, with every cable in use."""
        round_ = _Round(self._network.rate, self._rate[flow], {2 * cable, 2 * cable + 1})
        round_.add(self._flows[flow], self._path(self._flows[flow]), self._answer(flow))
        found: list[int] = []
        for way in ways:
            for port in () if any(map(round_.is_full, way)) else sorted(way):
                for one in self._ordered(self._over(port)):
                    given = self._flows[one], self._path(self._flows[one]), self._answer(one)
                    if not round_.is_full(port) and round_.has_room(*given):
                        round_.add(*given)
                        found.append(one)
                if round_.is_full(port):
                    break
        return found

    def _answer(self, flow: int) -> list[int]:
        """The path of the messages the other way, which are measured next."""
        a, b = self._flows[flow]
        return self._path((b, a))


class _Round:
    """Messages of different hosts at one rate, and those the other way. `but`: ports that no more
    may cross."""

    def __init__(self, rate: Floats, sent: float, but: set[int]) -> None:
        room = np.maximum(1, np.floor(rate / sent + ROUNDING)).astype(np.int64)
        self._room: list[int] = room.tolist()
        self._but = but
        self._hosts = set[str]()
        self._there, self._back = Counter[int](), Counter[int]()

    def is_full(self, port: int) -> bool:
        """Whether one more message over a port is too much."""
        return self._there[port] >= self._room[port]

    def has_room(self, flow: EndpointPair, there: Sequence[int], back: Sequence[int]) -> bool:
        """Whether a message, and its answer, can be added."""
        return not (
            self._hosts.intersection(map(host_of, flow))
            or self._but.intersection(there)
            or any(map(self.is_full, there))
            or any(self._back[port] >= self._room[port] for port in back)
        )

    def add(self, flow: EndpointPair, there: Sequence[int], back: Sequence[int]) -> None:
        """Add a message and its answer."""
        self._hosts.update(map(host_of, flow))
        self._there.update(there)
        self._back.update(back)
