"""Messages that met although the tables keep them apart, and the cable they should have crossed.

Messages of a cable out of use take detours and meet other messages. Both are slow in that moment,
by the cost of sharing a cable, and neither is slow without the other. No component is then slow by
a common amount, so weft looks for such cables separately. Static routes only.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.check.readings.components import Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Floats, Ints, Metric, union
from weft.check.suspects.explanation import Suspect, log_likelihood
from weft.check.trials import ALONE, TOGETHER
from weft.core.units import ROUNDING

_TWO_HOPS = 2
"""Cables between switches on a path that passes one spine."""


@dataclass(frozen=True)
class Detour:
    """`cables` (numbers; several where no reading separates them) carry nothing: `rows` should have
    crossed the first, and may have met `met`, all slow by about `slower`. `expected`: readings that
    the first should slow."""

    cables: tuple[int, ...]
    rows: Ints
    met: Ints
    expected: Ints
    slower: float
    evidence: float

    def is_sure(self, crossings: Crossings) -> bool:
        """Whether the evidence names a fault that showed again when the rounds came again: a link
        that is slow now and then looks like messages that met."""
        limits = crossings.limits
        again = np.isin(self.rows, crossings.readings.of_trial(TOGETHER)).sum()
        return bool(self.evidence >= limits.named_evidence and again >= limits.detour_again)

    def suspect(self, crossings: Crossings) -> Suspect:
        """The cables as something to accuse."""
        slower = {Metric.BANDWIDTH: self.slower}
        return Suspect(candidates_of(crossings, self.cables), slower, self.evidence)


def detours_of(crossings: Crossings, against: Normed, rows: Ints) -> tuple[Detour, ...]:
    """Detours that explain rows that may have met others, the strongest first."""
    found: list[Detour] = []
    while (best := _next_detour(crossings, against, rows, found)) is not None:
        found.append(best)
    kept: list[Detour] = []
    for place in range(len(found)):
        # One may have been taken for rows that others explain.
        again = _next_detour(crossings, against, rows, [*kept, *found[place + 1 :]])
        kept += [] if again is None else [again]
    return tuple(kept)


def shown_apart(crossings: Crossings, found: Sequence[Detour]) -> tuple[Detour, ...]:
    """The certain detours. Messages around one cable delay more than they meet, so a further cable
    must also show in moments without them. Tables of parallel cables are filled anew.
    """
    moment = crossings.readings.moment
    again = crossings.readings.of_trial(TOGETHER)
    held_up: set[int] = set()
    joined: set[frozenset[int]] = set()
    kept: list[Detour] = []
    for detour in found:
        moments = set(moment[np.setdiff1d(detour.rows, again)].tolist())
        between = {_ends(crossings, cable) for cable in detour.cables}
        shown = len(moments - held_up) >= crossings.limits.meeting_moments
        if shown and not between & joined and detour.is_sure(crossings):
            kept.append(detour)
            held_up |= moments
            joined |= between
    return tuple(kept)


def shown_in_most(
    crossings: Crossings, against: Normed, found: Sequence[Detour]
) -> tuple[Detour, ...]:
    """The detours that slow most messages of their cable. On hosts with other work, some of the
    messages over any cable seem to have met."""

    def n_normal(detour: Detour) -> int:
        free = _free(crossings, detour.cables[0], detour.rows)
        return int((against.slower[free] < crossings.limits.meeting_least).sum())

    least = crossings.limits.least_slowed
    return tuple(d for d in found if d.rows.size >= least * (d.rows.size + n_normal(d)))


def _free(crossings: Crossings, cable: int, mine: Ints) -> Ints:
    """Readings in rounds that should cross a cable and are not among `mine`."""
    alone = crossings.readings.of_trial(ALONE)
    rows = union(map(crossings.candidates.rows, candidates_of(crossings, (cable,))))
    sending = crossings.readings.metric[rows] == Metric.BANDWIDTH.code
    return np.setdiff1d(rows[sending], np.union1d(mine, alone))


def _ends(crossings: Crossings, cable: int) -> frozenset[int]:
    """The vertices that a cable joins."""
    return frozenset(crossings.fabric.vertex[[2 * cable, 2 * cable + 1]].tolist())


def _next_detour(
    crossings: Crossings, against: Normed, rows: Ints, known: Sequence[Detour]
) -> Detour | None:
    """The strongest detour besides those known: without their rows, and with support of rows that
    did not meet them."""
    left = np.setdiff1d(rows, union(detour.rows for detour in known))
    excused = union(detour.met for detour in known)
    return _Search(crossings, against, left).strongest(excused) if left.size else None


def candidates_of(crossings: Crossings, cables: Sequence[int]) -> tuple[int, ...]:
    """The candidates that stand for cables."""
    of_cable = crossings.candidates.of_part(Part.CABLE)
    return tuple(sorted({of_cable[cable] for cable in cables if cable in of_cable}))


def that_may_have_met(crossings: Crossings, against: Normed, pool: Ints) -> Ints:
    """The rows of a pool that are as slow as sharing a cable makes them, one direction."""
    limits = crossings.limits
    sending = crossings.readings.metric[pool] == Metric.BANDWIDTH.code
    slower, sigma = against.slower[pool], against.sigma[pool]
    slow = (slower > limits.meeting_least) & (slower > limits.meeting_sigma * sigma)
    slow &= against.norm[pool] >= 0
    chosen: Ints = pool[sending & slow]
    return chosen


def gains_of_sharing(crossings: Crossings, against: Normed, rows: Ints) -> Floats:
    """By row: the gain in log-likelihood if it shared a cable, not if it was disturbed."""
    limits = crossings.limits
    given = (limits, against.slower[rows], against.sigma[rows])
    room = _room(crossings, rows)
    shared = [np.log((room + guests) / room) for guests in range(1, limits.meeting_guests + 1)]
    best: Floats = np.max([log_likelihood(*given, one) for one in shared], axis=0)
    return best - log_likelihood(*given, np.zeros(rows.size))


def _room(crossings: Crossings, rows: Ints) -> Floats:
    """By row: flows like it that fit the narrowest cable between switches on its path."""
    network = crossings.fabric
    by_stage = crossings.by_stage[rows].tocoo()
    ports = np.array([stage[0] for stage in crossings.stages], np.int64)[by_stage.col]
    inner = network.between_switches[ports]
    rate = crossings.lowest_rate[rows].astype(np.float64)
    narrowest = np.full(rows.size, np.inf)
    np.minimum.at(narrowest, by_stage.row[inner], network.rate[ports[inner]])
    narrowest = np.where(np.isfinite(narrowest), narrowest, rate)
    room: Floats = np.maximum(1.0, np.floor(narrowest / rate + ROUNDING))
    return room


class _Search:
    """One look for the cable that explains most meetings among `rows`."""

    def __init__(self, crossings: Crossings, against: Normed, rows: Ints) -> None:
        self._crossings = crossings
        self._network = crossings.fabric
        self._against = against
        self._limits = crossings.limits
        self._rows = rows
        self._moment = crossings.readings.moment[rows]
        # A round that came again is the same meeting.
        self._is_survey = ~np.isin(rows, crossings.readings.of_trial(TOGETHER))
        self._inner = [self._inner_ports(row) for row in rows.tolist()]
        self._gain = gains_of_sharing(crossings, against, rows)
        self._groups = self._meetings()
        self._met = [{j for group in groups.values() for j in group} for groups in self._groups]
        self._best = [self._on_one_path(place) for place in range(rows.size)]

    def strongest(self, excused: Ints) -> Detour | None:
        """The best cable and those that met it in all of its moments, None below
        `suspect_evidence`; that much must come of readings that are not excused."""
        scored = [
            (self._score(cable, mine), mine, cable)
            for cable, mine in sorted(self._places_of_cables().items())
        ]
        fresh = ~np.isin(self._rows, excused)
        enough = self._limits.suspect_evidence
        scored = [
            one
            for one in scored
            if one[0] >= enough and self._shows_repeatedly([i for i in one[1] if fresh[i]])
        ]
        if not scored:
            return None
        score, mine, cable = max(scored, key=lambda one: (one[0], -one[2]))
        near = score - self._limits.near_evidence
        alike = [
            other
            for other_score, theirs, other in scored
            if other_score >= near and self._tell_one_story(mine, theirs)
        ]
        slower = float(np.median(self._against.slower[self._rows[mine]]))
        met = sorted((self._touched(mine) | self._parallel(cable)) - set(mine))
        cables = (cable, *(other for other in alike if other != cable))
        rows = self._rows[mine]
        expected = np.union1d(rows, _free(self._crossings, cable, rows))
        return Detour(cables, rows, self._rows[met], expected, slower, score)

    def _shows_repeatedly(self, places: list[int]) -> bool:
        """Whether rows by themselves make a suspect: by evidence, and more than once."""
        enough = self._gain[places].sum() >= self._limits.suspect_evidence
        first = [place for place in places if self._is_survey[place]]
        return bool(enough and np.unique(self._moment[first]).size >= self._limits.meeting_moments)

    def _touched(self, mine: list[int]) -> set[int]:
        """Rows that these may have met, and rows that waited behind those: messages of the same
        moment that share a cable share its buffers."""
        met = {*mine, *(j for i in mine for j in self._met[i])}
        places = {(self._moment[i], port) for i in met for port in self._inner[i]}
        return {
            place
            for place, ports in enumerate(self._inner)
            if any((self._moment[place], port) in places for port in ports)
        }

    def _parallel(self, cable: int) -> set[int]:
        """Ports of cables between the same two switches: their tables are filled anew."""
        ends = _ends(self._crossings, cable)
        return {
            place
            for place, ports in enumerate(self._inner)
            if any(_ends(self._crossings, port >> 1) == ends for port in ports)
        }

    def _tell_one_story(self, mine: list[int], theirs: list[int]) -> bool:
        """Whether nearly all rows of either may have met rows of the other."""
        pairs = ((mine, set(theirs)), (theirs, set(mine)))
        return all(
            sum(bool(others & self._met[i]) for i in rows) >= self._limits.one_story * len(rows)
            for rows, others in pairs
        )

    def _inner_ports(self, row: int) -> list[int]:
        by_stage, inner = self._crossings.by_stage, self._network.between_switches
        numbers = by_stage.indices[by_stage.indptr[row] : by_stage.indptr[row + 1]]
        ports = (self._crossings.stages[number][0] for number in numbers.tolist())
        return [port for port in ports if inner[port]]

    def _on_one_path(self, place: int) -> set[int]:
        """The rows that a row most likely met on one detour: it leaves for a switch and comes in
        from one, the same where there is only one between."""
        vertex, groups = self._network.vertex, self._groups[place]
        starts = {int(vertex[port]) for port in self._inner[place]}
        out: dict[int, set[int]] = defaultdict(set)
        back: dict[int, set[int]] = defaultdict(set)
        for port, others in groups.items():
            start, end = int(vertex[port]), int(vertex[port ^ 1])
            (out[end] if start in starts else back[start]).update(others)
        if len(self._inner[place]) > _TWO_HOPS:
            paths = [self._heaviest(out.values()) | self._heaviest(back.values())]
        else:
            paths = [out[switch] | back[switch] for switch in {*out, *back}]
        return self._heaviest(paths)

    def _heaviest(self, paths: Iterable[set[int]]) -> set[int]:
        return max(paths, key=lambda path: float(self._gain[sorted(path)].sum()), default=set())

    def _meetings(self) -> list[dict[int, list[int]]]:
        """By row: for each port on which it may have met others the places of these.

        A path around leaves from a switch that the path leaves from, or comes in where it comes in.
        On a port that had no room left, all that crossed it in that moment are slow by what that
        costs.
        """
        vertex = self._network.vertex
        crossed, moments = self._n_flows(), self._moment.tolist()
        on_port: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for place, (moment, ports) in enumerate(zip(moments, self._inner, strict=True)):
            for port in ports:
                on_port[moment][port].append(place)
        groups: list[dict[int, list[int]]] = []
        for moment, ports in zip(moments, self._inner, strict=True):
            starts = {int(vertex[port]) for port in ports}
            ends = {int(vertex[port ^ 1]) for port in ports}
            groups.append(
                {
                    port: others
                    for port, others in on_port[moment].items()
                    if port not in ports
                    and (int(vertex[port]) in starts or int(vertex[port ^ 1]) in ends)
                    and len(others) == crossed[moment, port]
                }
            )
        return groups

    def _n_flows(self) -> dict[tuple[int, int], int]:
        """By moment and port that rows crossed: how many readings did, slow or not."""
        stages = self._crossings.stages
        crossed = self._crossings.by_stage[self._rows].tocoo()
        moment = self._moment[crossed.row]
        n = np.asarray(self._crossings.n_sending[moment, crossed.col]).reshape(-1)
        ports = [stages[stage][0] for stage in crossed.col.tolist()]
        return dict(zip(zip(moment.tolist(), ports, strict=True), n.tolist(), strict=True))

    def _places_of_cables(self) -> dict[int, list[int]]:
        """By cable: the places of rows that should have crossed it and met something."""
        found: dict[int, list[int]] = defaultdict(list)
        for place, ports in enumerate(self._inner):
            if self._groups[place]:
                for cable in dict.fromkeys(port >> 1 for port in ports):
                    found[cable].append(place)
        return found

    def _score(self, cable: int, mine: list[int]) -> float:
        """The evidence for a cable being out of use, from the places of its slow rows."""
        met = {other for place in mine for other in self._best[place]}
        if not met - set(mine) or not self._shows_repeatedly(mine):
            return 0.0
        gain = float(self._gain[sorted(met | set(mine))].sum())
        return gain - self._limits.free_path * _free(self._crossings, cable, self._rows[mine]).size
