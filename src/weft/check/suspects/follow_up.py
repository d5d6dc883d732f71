"""The launches after the survey: suspects alone with other partners, then the rounds in which they
were slow, once more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from random import Random

import numpy as np

from weft.check.readings.candidates import Member, cable_ports
from weft.check.readings.components import PARTS, Part
from weft.check.readings.readings import Metric, host_of
from weft.check.readings.stages import Stage
from weft.check.suspects.crowding.partner_test import (
    EndpointPair,
    Round,
    round_of,
    rounds_with_others,
)
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.out_of_use.meeting_tests import meeting_tests
from weft.check.suspects.queueing import waiting
from weft.check.suspects.recurrence import unsteady
from weft.check.suspects.stall import stalls
from weft.check.suspects.survey import Survey
from weft.check.suspects.untraced import rounds_to_repeat
from weft.check.trials import SURVEY


@dataclass(frozen=True, slots=True)
class FollowUpPlan:
    """Rounds of pairs of endpoints: one test a round, and rounds of the survey again."""

    alone: tuple[Round, ...]
    together: tuple[Round, ...]


def follow_up(
    survey: Survey, seed: int, most_rounds: int | None = None, hosts: Sequence[str] = ()
) -> FollowUpPlan:
    """The plan for the suspects of a survey, and for `hosts` that look faulty by their own
    counters, which rounds that load all hosts alike tell; empty without any. At most so many
    rounds of each kind (None: no limit)."""
    suspects, limits = survey.slow_or_out_of_use, survey.limits
    unexplained = _pairs_again(survey, limits.pairs_again)
    stalled = tuple((stall.pair,) for stall in stalls(survey)[: limits.stalls_again])
    uneasy = unsteady(survey)
    rounds = (round_of(survey, number) for number in rounds_to_repeat(survey))
    of_meetings = tuple(pairs for pairs in rounds if len(pairs) > 1)
    if not any((suspects, unexplained, survey.crowded, stalled, uneasy, hosts)):
        return FollowUpPlan((), ())
    draws = Random(f"follow-up/{seed}")  # noqa: S311
    meetings = tuple(meeting_tests(survey, draws)) * limits.times_again
    finder = _Finder(survey, draws)
    n_tests, times = limits.tests_a_suspect, limits.times_again
    of_suspects = [
        list(islice(chain(finder.at_its_switch(suspect), finder.tests(suspect)), n_tests))
        for suspect in suspects
    ]
    interleaved = [t for group in zip_longest(*of_suspects) for t in group if t is not None]
    alone = [*interleaved, *((pair,) for pair in unexplained)]
    alone += [(pair,) for pair in finder.controls(limits.control_pairs)]
    once = tuple(alone if most_rounds is None else alone[: max(1, most_rounds // times)])
    # Two readings may both be disturbed by chance, of many pairs: three hardly ever are.
    once_more = tuple((pair,) for pair in unexplained if (pair,) in once)
    of_paths = tuple(
        test
        for suspect, tests_of in zip(suspects, of_suspects, strict=True)
        if survey.crossings.is_path(suspect.best)
        for test in tests_of
        if test in once
    )
    again = tuple(dict.fromkeys((*_rounds_again(survey, suspects), *of_meetings)))
    # A path among several is tested in rounds only.
    shared = [s for s in survey.explanation.suspects if survey.crossings.shared_paths[s.best]]
    of_shared = _rounds_again(survey, shared) * limits.path_repeats
    others = rounds_with_others(survey, n_tests * (times + limits.path_repeats), draws)
    tests = once * times
    room = None if most_rounds is None else max(0, most_rounds - len(tests))
    of_uneasy = tuple(
        test for one in uneasy for test in finder.partners(one, limits.partners_again)
    )
    more = once_more + of_uneasy * times + of_paths * limits.path_repeats
    more = (more + stalled * limits.stall_repeats)[:room]
    alike = _rounds_alike(survey, draws) * times if hosts else ()
    together = again * times + meetings + of_shared + others + alike
    return FollowUpPlan(tests + more, together[:most_rounds])


class _Finder:
    """Finds flows that cross one suspect and, as far as possible, no other."""

    def __init__(self, survey: Survey, draws: Random) -> None:
        self._survey = survey
        self._draws = draws
        self._crossings = survey.crossings
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

    def at_its_switch(self, suspect: Suspect) -> list[Round]:
        """Of a node that is only late, a test with another node at its switch, if possible of no
        suspect: no cable between switches is on that path."""
        crossings, readings = self._crossings, self._survey.readings
        only_late = set(suspect.slower) == {Metric.LATENCY}
        if crossings.network is None or not only_late or crossings.is_path(suspect.best):
            return []
        rows = self._survey.candidates.rows(suspect.best)
        ends = readings.a[rows], readings.b[rows]
        host = crossings.host_number
        own = [
            end
            for end in np.unique(ends).tolist()
            if ((host[ends[0]] == host[end]) | (host[ends[1]] == host[end])).all()
        ]
        near = [np.flatnonzero(crossings.switch == crossings.switch[end]).tolist() for end in own]
        flows = [
            (self._names[a], self._names[b])
            for end, there in zip(own, near, strict=True)
            for other in there
            for a, b in ((end, other), (other, end))
            if self._may_meet(self._names[a], self._names[b])
        ]
        place = self._suspects.index(suspect)
        over = [
            (len({s for s, _ in crossed}), flow)
            for flow, crossed in zip(flows, self._crossed(flows), strict=True)
            if (place, suspect.best) in crossed
        ]
        return [(min(over)[1],)] if over else []

    def controls(self, n: int) -> list[EndpointPair]:
        """Pairs that cross no suspect."""
        found: list[EndpointPair] = []
        flows = self._random_flows(self._names, self._names, 20 * n)
        for flow, crossed in zip(flows, self._crossed(flows), strict=True):
            if not crossed and len(found) < n:
                found.append(flow)
        return found

    def partners(self, candidate: int, most: int) -> list[Round]:
        """So many tests of a candidate: of a node with as many other nodes, of a cable between as
        many pairs; each flow alone."""
        member = self._survey.candidates.members[candidate][0]
        rows = self._survey.candidates.rows(candidate)
        sources, targets = (
            sorted({self._names[i] for i in ends[rows].tolist()})
            for ends in (self._survey.readings.a, self._survey.readings.b)
        )
        flows = self._random_flows(sources, targets, self._survey.limits.flows_looked_at)
        stages = self._stages(flows)
        over = [
            flow
            for flow, of in zip(flows, stages, strict=True)
            if member in self._members_on(flow, of)
        ]
        return [(flow,) for flow in over[:most]]

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
            if self._may_meet(a, b):
                flows[a, b] = None
        return list(flows)

    def _may_meet(self, a: str, b: str) -> bool:
        """Whether both are ranks of one rail and of two hosts; of one, where there is no other."""
        network = self._crossings.network
        one_host = len(self._crossings.hosts) == 1
        are_apart = a != b if one_host else host_of(a) != host_of(b)
        return are_apart and (network is None or network.rail_of(a) == network.rail_of(b))

    def _crossed(self, flows: Sequence[EndpointPair]) -> list[set[tuple[int, int]]]:
        """By flow: which candidates of which suspects it crosses."""
        stages = self._stages(flows)
        members = self._survey.candidates.members
        return [
            {
                (place, candidate)
                for place, suspect in enumerate(self._suspects)
                for candidate in suspect.candidates
                if members[candidate][0] in of_flow
            }
            for of_flow in map(self._members_on, flows, stages)
        ]

    def _stages(self, flows: Sequence[EndpointPair]) -> Sequence[tuple[Stage, ...]]:
        """By flow: the stages of its path; none without a fabric."""
        known = self._crossings.network is not None
        return self._crossings.ports_of(flows) if known else [()] * len(flows)

    def _members_on(self, flow: EndpointPair, stages: Sequence[Stage]) -> set[Member]:
        """Every component that a flow crosses."""
        ranks = [self._rank[name] for name in flow]
        hosts = self._crossings.host_number[ranks].tolist()
        found = {(Part.NODE, host) for host in hosts} | {(Part.RANK, rank) for rank in ranks}
        found |= {(Part.NODE_SENDING, hosts[0]), (Part.NODE_RECEIVING, hosts[1])}
        network = self._crossings.network
        if network is not None:
            ports = [port for stage in stages for port in stage]
            hcas = [network.vertex_id[network.known_hca_of(name)] for name in flow]
            found |= {(Part.HCA, hca - network.n_switches) for hca in hcas}
            found.add((Part.RAIL, network.rail_of(flow[0])))
            found |= {(Part.DIRECTION, port) for port in ports}
            found |= {(Part.CABLE, port >> 1) for port in ports}
            found |= {(Part.SWITCH, vertex) for vertex in network.vertex[ports].tolist()}
            ends = sorted(int(network.vertex[port]) for port in (ports[0] ^ 1, ports[-1]))
            found.add((Part.SWITCH_PAIR, ends[0] * network.n_switches + ends[1]))
        return {(PARTS.index(part), index) for part, index in found}

    def _fill(self, suspect: Suspect) -> int:
        """How many flows fill a suspected cable: one, or more where it is faster than a host."""
        network = self._crossings.network
        ports = cable_ports(self._survey.candidates.members[suspect.best][0])
        if network is None or not ports:
            return 1
        rows = self._survey.candidates.rows(suspect.best)
        lowest = float(self._crossings.lowest_rate[rows].min())
        return max(1, round(float(network.rate[ports[0]]) / lowest))

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


def _rounds_alike(survey: Survey, draws: Random) -> tuple[Round, ...]:
    """Rounds of the survey at random until each host has been in `partners_again`; at most all."""
    readings = survey.readings
    numbers = np.unique(readings.round[readings.of_trial(SURVEY)]).tolist()
    draws.shuffle(numbers)
    chosen: list[Round] = []
    seen = dict.fromkeys(survey.crossings.hosts, 0)
    for number in numbers:
        if min(seen.values()) >= survey.limits.partners_again:
            break
        chosen.append(round_of(survey, number))
        for host in {host_of(end) for pair in chosen[-1] for end in pair}:
            seen[host] += 1
    return tuple(chosen)


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
