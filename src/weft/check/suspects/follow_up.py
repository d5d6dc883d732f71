"""The launches after the survey: suspects alone with other partners, then the rounds in which they
were slow, once more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from random import Random

import numpy as np

from weft.check.readings.candidates import Member
from weft.check.readings.components import PARTS, Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.readings import host_of
from weft.check.readings.stages import Stage
from weft.check.suspects.crowding.partner_test import (
    EndpointPair,
    Round,
    round_of,
    rounds_with_others,
)
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.queueing import waiting
from weft.check.suspects.survey import Survey
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY


@dataclass(frozen=True, slots=True)
class FollowUpPlan:
    """Rounds of pairs of endpoints: one test a round, and rounds of the survey again."""

    alone: tuple[Round, ...]
    together: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class FollowUpSize:
    """How much to measure: tests a suspect, how often all of it, and at most so many rounds of
    each kind (None: no limit)."""

    tests: int = field(default_factory=lambda: thresholds().tests_a_suspect)
    times: int = field(default_factory=lambda: thresholds().times_again)
    controls: int = field(default_factory=lambda: thresholds().control_pairs)
    most_pairs: int = field(default_factory=lambda: thresholds().pairs_again)
    most_rounds: int | None = None


def follow_up(survey: Survey, size: FollowUpSize, seed: int) -> FollowUpPlan:
    """The plan for the suspects of a survey; empty without any."""
    suspects = survey.slow_or_out_of_use
    unexplained = _pairs_again(survey, size.most_pairs)
    if not suspects and not unexplained and not survey.crowded:
        return FollowUpPlan((), ())
    draws = Random(f"follow-up/{seed}")  # noqa: S311
    finder = _Finder(survey, draws)
    of_suspects = [list(islice(finder.tests(suspect), size.tests)) for suspect in suspects]
    interleaved = [t for group in zip_longest(*of_suspects) for t in group if t is not None]
    alone = [*interleaved, *((pair,) for pair in unexplained)]
    alone += [(pair,) for pair in finder.controls(size.controls)]
    most = size.most_rounds
    once = tuple(alone if most is None else alone[: max(1, most // size.times)])
    # Two readings may both be disturbed by chance, of many pairs: three hardly ever are.
    once_more = tuple((pair,) for pair in unexplained if (pair,) in once)
    again = _rounds_again(survey, suspects)
    others = rounds_with_others(survey, size.tests * size.times, draws)
    together = again * size.times + others
    tests = once * size.times
    room = None if most is None else max(0, most - len(tests))
    return FollowUpPlan(tests + once_more[:room], together[:most])


class _Finder:
    """Finds flows that cross one suspect and, as far as possible, no other."""

    def __init__(self, survey: Survey, draws: Random) -> None:
        self._survey = survey
        self._draws = draws
        crossings = survey.crossings
        self._crossings: Crossings = crossings
        self._names = survey.readings.endpoints
        self._rank = {name: i for i, name in enumerate(self._names)}
        self._suspects = survey.slow_or_out_of_use
        measured = zip(survey.readings.a.tolist(), survey.readings.b.tolist(), strict=True)
        self._measured = {frozenset(pair) for pair in measured}

    def tests(self, suspect: Suspect) -> Iterator[Round]:
        """Rounds that test a suspect: each of its candidates in turn, with unused partners while
        there are any, and as many flows as fill the candidate."""
        used: set[str] = set()
        tested = suspect.candidates[: self._survey.limits.tests_a_suspect]
        queues = [self._flows(suspect, candidate) for candidate in tested]
        fill = self._fill(suspect)
        while any(queues):
            for queue in queues:
                test = self._take(queue, fill, used)
                if test:
                    yield test

    def controls(self, n: int) -> list[EndpointPair]:
        """Pairs that cross no suspect."""
        found: list[EndpointPair] = []
        flows = [(a, b) for a, b in self._random_flows(self._names, self._names, 20 * n)]
        for flow, crossed in zip(flows, self._crossed(flows), strict=True):
            if not crossed and len(found) < n:
                found.append(flow)
        return found

    def _flows(self, suspect: Suspect, candidate: int) -> list[EndpointPair]:
        """Flows across a candidate, the most telling first."""
        readings = self._survey.readings
        rows = self._survey.candidates.rows(candidate)
        most = self._survey.limits.flows_looked_at
        # A destination's table entries give neighbours of this source the same path.
        sources = sorted({self._names[i] for i in readings.a[rows]})
        targets = sorted({self._names[i] for i in readings.b[rows]})
        flows = self._random_flows(sources, targets, most)
        hosts = {host_of(name) for name in sources} | {host_of(name) for name in targets}
        near = [name for name in self._names if host_of(name) in hosts]
        flows += self._random_flows(near, self._names, most // 2)
        scored: list[tuple[int, int, bool, int, EndpointPair]] = []
        place = self._suspects.index(suspect)
        for flow, crossed in zip(flows, self._crossed(flows), strict=True):
            mine = {c for s, c in crossed if s == place}
            if candidate in mine:
                others = len({s for s, _ in crossed if s != place})
                known = frozenset(self._rank[name] for name in flow) in self._measured
                scored.append((others, len(mine), known, len(scored), flow))
        return [flow for *_, flow in sorted(scored)]

    def _random_flows(
        self, sources: Sequence[str], targets: Sequence[str], most: int
    ) -> list[EndpointPair]:
        flows: dict[EndpointPair, None] = {}
        for _ in range(4 * most):
            if len(flows) >= most:
                break
            a, b = self._draws.choice(sources), self._draws.choice(targets)
            if self._are_apart(a, b) and self._meet(a, b):
                flows[a, b] = None
        return list(flows)

    def _are_apart(self, a: str, b: str) -> bool:
        """Ranks of one host meet each other only where there is no other host."""
        one_host = len(self._crossings.hosts) == 1
        return a != b if one_host else host_of(a) != host_of(b)

    def _meet(self, a: str, b: str) -> bool:
        """Ranks of rails meet their own kind only."""
        network = self._crossings.network
        if network is None:
            return True
        return network.rail_of(a) == network.rail_of(b)

    def _crossed(self, flows: Sequence[EndpointPair]) -> list[set[tuple[int, int]]]:
        """By flow: which candidates of which suspects it crosses."""
        network = self._crossings.network
        stages: Sequence[tuple[Stage, ...]] = [()] * len(flows)
        if network is not None:
            stages = self._crossings.ports_of(flows)
        crossed = [frozenset(port for stage in of for port in stage) for of in stages]
        members = self._survey.candidates.members
        return [
            {
                (place, candidate)
                for place, suspect in enumerate(self._suspects)
                for candidate in suspect.candidates
                if self._crosses(members[candidate][0], flow, ports)
            }
            for flow, ports in zip(flows, crossed, strict=True)
        ]

    def _crosses(self, member: Member, flow: EndpointPair, ports: frozenset[int]) -> bool:
        part = PARTS[member[0]]
        component = self._crossings.component(member)
        name = component.ends[0]
        hosts = (host_of(flow[0]), host_of(flow[1]))
        network = self._crossings.network
        match part:
            case Part.NODE:
                found = name in hosts
            case Part.NODE_SENDING:
                found = name == hosts[0]
            case Part.NODE_RECEIVING:
                found = name == hosts[1]
            case Part.RANK:
                found = name in flow
            case Part.HCA:
                assert network is not None
                found = name in (network.hca_of(flow[0]), network.hca_of(flow[1]))
            case Part.RAIL:
                assert network is not None
                found = str(network.rail_of(flow[0])) == name
            case _:
                found = self._crosses_ports(part, member[1], ports)
        return found

    def _crosses_ports(self, part: Part, index: int, ports: frozenset[int]) -> bool:
        network = self._crossings.network
        assert network is not None
        if part is Part.CABLE:
            return 2 * index in ports or 2 * index + 1 in ports
        if part is Part.DIRECTION:
            return index in ports
        return any(network.vertex[port] == index for port in ports)

    def _fill(self, suspect: Suspect) -> int:
        """How many flows fill a suspected cable: one, or more where it is faster than a host."""
        network = self._crossings.network
        part, index = self._survey.candidates.members[suspect.best][0]
        if network is None or PARTS[part] not in (Part.CABLE, Part.DIRECTION):
            return 1
        port = 2 * index if PARTS[part] is Part.CABLE else index
        rows = self._survey.candidates.rows(suspect.best)
        lowest = float(self._crossings.lowest_rate[rows].min())
        return max(1, round(float(network.rate[port]) / lowest))

    def _take(self, queue: list[EndpointPair], fill: int, used: set[str]) -> Round:
        """The next test of a queue: pairs of different nodes."""
        taken: list[EndpointPair] = []
        hosts: set[str] = set()
        for fresh_only in (True, False):
            for flow in list(queue):
                if len(taken) == fill:
                    break
                ends = {host_of(flow[0]), host_of(flow[1])}
                known = all(name in used for name in flow)
                if ends & hosts or (fresh_only and known):
                    continue
                taken.append(flow)
                hosts |= ends
                used.update(flow)
                queue.remove(flow)
        if len(taken) < fill:
            queue.clear()
        return tuple(taken) if len(taken) == fill else ()


def _pairs_again(survey: Survey, most: int) -> list[EndpointPair]:
    """Slow pairs that no suspect explains, the slowest first."""
    return list(dict.fromkeys(map(survey.readings.unordered, survey.unexplained.tolist())))[:most]


def _rounds_again(survey: Survey, suspects: Sequence[Suspect]) -> tuple[Round, ...]:
    """Few rounds of the survey that hold a slow reading of every suspect. One in which a single
    pair was measured is no such round."""
    readings = survey.readings
    survey_rows = readings.of_trial(SURVEY)
    missing: dict[int, set[int]] = {}
    behind = waiting(survey.crossings, np.flatnonzero(survey.explained))
    for place, suspect in enumerate(suspects):
        rows = np.intersect1d(survey.candidates.rows(suspect.best), survey_rows)
        metrics = [metric.code for metric in suspect.slower]
        slow = rows[
            np.isin(readings.metric[rows], metrics)
            & (survey.normed.slower[rows] >= min(suspect.slower.values(), default=0.0) / 2)
        ]
        if suspect not in survey.explanation.suspects:
            # Next to a slow component the cause of a slow message is unknown.
            free = np.setdiff1d(slow, behind)
            slow = free if free.size else slow
        for number in np.unique(readings.round[slow]).tolist():
            missing.setdefault(number, set()).add(place)
    chosen: list[int] = []
    left = set().union(*missing.values()) if missing else set()
    while left:
        best = max(missing, key=lambda number: (len(missing[number] & left), -number))
        chosen.append(best)
        left -= missing[best]
    rounds = (round_of(survey, number) for number in chosen)
    return tuple(pairs for pairs in rounds if len(pairs) > 1)
