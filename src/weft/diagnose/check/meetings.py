"""Messages that met although the tables keep them apart, and the cable they should have crossed.

Where a cable is out of use, what should cross it goes around and meets other messages. Both are
slow in that moment, by what sharing a cable costs, and neither is slow when the other is missing.
So no component is slow by a common amount, and this is looked for by itself: static routes only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.diagnose.check.components import PARTS, Part
from weft.diagnose.check.crossing import Crossings
from weft.diagnose.check.explain import Likelihood
from weft.diagnose.check.norms import Normed
from weft.diagnose.check.readings import Floats, Ints, Metric
from weft.diagnose.check.thresholds import Thresholds

ALIKE = 0.25
"""Messages that met are slowed by about the same: logarithms closer than this."""

LEAST_SIGMA = 4.0
LEAST_SLOWER = 0.2
"""A reading slower than both may have met something."""

MOST_GUESTS = 2
"""Flows more than fit that are thought of on one cable."""

FREE_WAY = 0.3
"""What a normal reading of a cable out of use costs: its way around was free, by chance."""

LEAST_MOMENTS = 2

ONE_STORY = 0.8
"""Two cables are not told apart when this much of what either slows may have met the other's."""


@dataclass(frozen=True)
class Detour:
    """`cables` (numbers; more than one where nothing tells them apart) carry nothing: `rows` should
    have crossed the first, and may have met `met`, all slow by about `slower`."""

    cables: tuple[int, ...]
    rows: Ints
    met: Ints
    slower: float
    evidence: float


def detours_of(
    crossings: Crossings, against: Normed, pool: Ints, limits: Thresholds
) -> tuple[Detour, ...]:
    """Detours that explain slow readings of `pool`, the strongest first."""
    if crossings.network is None or crossings.adaptive:
        return ()
    rows = _that_may_have_met(crossings, against, pool)
    excused = np.zeros(0, np.int64)
    found: list[Detour] = []
    while rows.size:
        best = _Search(crossings, against, rows, limits).strongest(excused)
        if best is None:
            break
        found.append(best)
        # What met the messages of this cable may be a cable out of use itself, but that takes
        # messages that did not.
        excused = np.union1d(excused, best.met)
        rows = np.setdiff1d(rows, best.rows)
    return tuple(found)


def candidates_of(crossings: Crossings, cables: Sequence[int]) -> tuple[int, ...]:
    """The candidates that stand for cables."""
    cable = PARTS.index(Part.CABLE)
    wanted = {(cable, number) for number in cables}
    members = crossings.candidates.members
    return tuple(i for i, of in enumerate(members) if wanted & set(of))


def _that_may_have_met(crossings: Crossings, against: Normed, pool: Ints) -> Ints:
    sending = crossings.readings.metric[pool] == Metric.BANDWIDTH.code
    slower, sigma = against.slower[pool], against.sigma[pool]
    slow = (slower > LEAST_SLOWER) & (slower > LEAST_SIGMA * sigma) & (against.norm[pool] >= 0)
    chosen: Ints = pool[sending & slow]
    return chosen


class _Search:
    """One look for the cable that explains most meetings among `rows`."""

    def __init__(
        self, crossings: Crossings, against: Normed, rows: Ints, limits: Thresholds
    ) -> None:
        assert crossings.network is not None
        self._crossings = crossings
        self._network = crossings.network
        self._against = against
        self._limits = limits
        self._rows = rows
        self._gain = self._gains()
        self._ports = [self._ports_of(row) for row in rows.tolist()]
        self._met = self._meetings()
        self._partner = [max(met, key=lambda j: self._gain[j], default=-1) for met in self._met]

    def strongest(self, excused: Ints) -> Detour | None:
        """The best cable and those that met it in all of its moments, None below
        `suspect_evidence`; that much must come of readings that are not excused."""
        scored = [(*self._score(cable), cable) for cable in self._cables()]
        fresh = ~np.isin(self._rows, excused)
        enough = self._limits.suspect_evidence
        scored = [
            (score, mine, cable)
            for score, mine, cable in scored
            if score >= enough and self._gain[[i for i in mine if fresh[i]]].sum() >= enough
        ]
        if not scored:
            return None
        score, mine, cable = max(scored, key=lambda one: (one[0], -one[2]))
        alike = [other for _, theirs, other in scored if self._tell_one_story(mine, theirs)]
        slower = float(np.median(self._against.slower[self._rows[mine]]))
        met = sorted({j for i in mine for j in self._met[i]} - set(mine))
        cables = (cable, *(other for other in alike if other != cable))
        return Detour(cables, self._rows[mine], self._rows[met], slower, score)

    def _tell_one_story(self, mine: list[int], theirs: list[int]) -> bool:
        """Whether nearly all rows of either may have met rows of the other."""
        pairs = ((mine, set(theirs)), (theirs, set(mine)))
        return all(
            sum(not others.isdisjoint(self._met[i]) for i in rows) >= ONE_STORY * len(rows)
            for rows, others in pairs
        )

    def _gains(self) -> Floats:
        """By row: the gain in log-likelihood if it shared a cable, not if it was disturbed."""
        rows, against = self._rows, self._against
        slower, sigma = against.slower[rows], against.sigma[rows]
        log = Likelihood(self._limits).log
        room = self._room()
        shared = [np.log((room + guests) / room) for guests in range(1, MOST_GUESTS + 1)]
        nothing = log(slower, sigma, np.zeros(rows.size))
        gains: Floats = np.max([log(slower, sigma, one) for one in shared], axis=0) - nothing
        return gains

    def _room(self) -> Floats:
        """By row: flows like it that fit the narrowest cable between switches on its way."""
        rate = self._crossings.lowest_rate[self._rows].astype(np.float64)
        inner = [self._inner_ports(row) for row in self._rows.tolist()]
        narrowest = [
            float(self._network.rate[list(ports)].min()) if ports else own
            for ports, own in zip(inner, rate.tolist(), strict=True)
        ]
        room: Floats = np.maximum(1.0, np.floor(np.array(narrowest) / rate + 1e-9))
        return room

    def _ports_of(self, row: int) -> tuple[int, ...]:
        by_stage = self._crossings.by_stage
        numbers = by_stage.indices[by_stage.indptr[row] : by_stage.indptr[row + 1]]
        return tuple(self._crossings.stages[number][0] for number in numbers.tolist())

    def _inner_ports(self, row: int) -> list[int]:
        inner = self._network.between_switches
        return [port for port in self._ports_of(row) if inner[port]]

    def _meetings(self) -> list[list[int]]:
        """By row: the places of the rows that it may have met: in the same moment about as slow,
        and sent from a switch, or to a switch, that both cross: a way around leaves and comes in
        where the way does."""
        moment = self._crossings.readings.moment[self._rows]
        slower = self._against.slower[self._rows]
        inner = [self._inner_ports(row) for row in self._rows.tolist()]
        vertex = self._network.vertex
        starts = [{int(vertex[port]) for port in ports} for ports in inner]
        ends = [{int(vertex[port ^ 1]) for port in ports} for ports in inner]
        met: list[list[int]] = [[] for _ in inner]
        for number in np.unique(moment):
            places = np.flatnonzero(moment == number).tolist()
            for i in places:
                met[i] = [
                    j
                    for j in places
                    if j != i
                    and abs(slower[j] - slower[i]) < ALIKE
                    and (starts[i] & starts[j] or ends[i] & ends[j])
                ]
        return met

    def _cables(self) -> list[int]:
        inner = self._network.between_switches
        return sorted({port >> 1 for ports in self._ports for port in ports if inner[port]})

    def _score(self, cable: int) -> tuple[float, list[int]]:
        """The evidence for a cable being out of use, and the places of its slow rows."""
        mine = [
            place
            for place, ports in enumerate(self._ports)
            if any(port >> 1 == cable for port in ports) and self._met[place]
        ]
        met = {self._partner[place] for place in mine} - set(mine)
        moments = np.unique(self._crossings.readings.moment[self._rows[mine]])
        if moments.size < LEAST_MOMENTS or not met:
            return (0.0, [])
        gain = float(self._gain[mine].sum() + self._gain[sorted(met)].sum())
        return (gain - FREE_WAY * self._n_free(cable, self._rows[mine]), mine)

    def _n_free(self, cable: int, mine: Ints) -> int:
        """Readings beside others that should cross a cable and are not among `mine`."""
        crossings = self._crossings
        (candidate, *_) = candidates_of(crossings, (cable,)) or (None,)
        if candidate is None:
            return 0
        rows = crossings.candidates.rows(candidate)
        sending = crossings.readings.metric[rows] == Metric.BANDWIDTH.code
        return int(np.setdiff1d(rows[sending], mine).size)
