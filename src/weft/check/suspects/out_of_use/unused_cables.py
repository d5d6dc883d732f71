"""Cables that carry no message: their messages take other paths and meet others there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Bools, Floats, Ints, Metric, union
from weft.check.suspects.out_of_use.detour import (
    Detour,
    candidates_of,
    gains_of_sharing,
    that_may_have_met,
)
from weft.check.suspects.out_of_use.kept_paths import Kept
from weft.check.suspects.out_of_use.repeated_rounds import slow_each_time
from weft.check.suspects.out_of_use.reroute import Rerouted
from weft.check.suspects.queueing import waiting

_MOST_STARTS = 3
"""Of 120 pairs of dead cables of a tree (four leaves, four spines) with known tables, one named a
healthy cable with one start and none with three."""


_EXCHANGED = 2
"""Cables that exchange their ends."""


def out_of_use(crossings: Crossings, against: Normed, pool: Ints, but: Ints) -> tuple[Detour, ...]:
    """Detours that explain slow readings of `pool`, the strongest first; rows `but` were measured
    alone or are slow for something else.

    A known routing engine gives the paths without a cable. For tables of a subnet manager the
    readings give them.
    """
    return _by_routing(crossings, against, _rows_of(crossings, against, pool), but)


@dataclass(frozen=True)
class Settled:
    """Cables that surely carry nothing: `dead`, or two that are `exchanged`. `cables` (numbers):
    all that may."""

    dead: tuple[Detour, ...] = ()
    exchanged: tuple[Detour, ...] = ()
    cables: tuple[int, ...] = ()

    @property
    def sure(self) -> tuple[Detour, ...]:
        """The detours of both."""
        return (*self.dead, *self.exchanged)


def surely_out_of_use(crossings: Crossings, against: Normed, pool: Ints, but: Ints) -> Settled:
    """Those of the same that surely are, once the rounds came again, and whose messages were slow
    each time. None where most of what slow messages tell stays open: other cabling or other traffic
    is there. Two cables that both look dead, though some of the messages of one are normal, are
    exchanged."""
    rows = _rows_of(crossings, against, pool)
    found = _by_routing(crossings, against, rows, but)
    sure = tuple(
        detour
        for detour in found
        if detour.is_sure(crossings)
        and slow_each_time(crossings, against, detour)
        and not _is_of_one_entry(crossings, detour)
        and not detour.is_slower
    )
    dead = tuple(detour for detour in sure if not detour.keeps_some(crossings))
    exchanged: tuple[Detour, ...] = ()
    if len(found) == len(sure) == _EXCHANGED and len(dead) < len(sure):
        dead, exchanged = (), sure
    told_by = [part for detour in (*dead, *exchanged) for part in (detour.rows, detour.met)]
    left_open = share_left_open(crossings, against, rows, union(told_by))
    if left_open > (crossings.limits.left_open if dead else 1 - crossings.limits.least_explained):
        return Settled()
    return Settled(dead, exchanged, tuple(detour.cables[0] for detour in found))


def _is_of_one_entry(crossings: Crossings, detour: Detour) -> bool:
    """Whether the slow messages that should cross a cable all go to one destination, though it
    should slow those to others, too: one wrong entry of a table does that, and a dead cable moves
    all of them."""
    readings = crossings.readings
    over = union(map(crossings.candidates.rows, candidates_of(crossings, detour.cables[:1])))
    over = over[readings.metric[over] == Metric.BANDWIDTH.code]
    moved = np.unique(readings.b[np.intersect1d(over, detour.rows)])
    return moved.size == 1 and np.unique(readings.b[np.intersect1d(over, detour.expected)]).size > 1


def share_left_open(crossings: Crossings, against: Normed, rows: Ints, explained: Ints) -> float:
    """The share of what slow messages `rows` tell that those not `explained` tell. One that was
    slow by itself in its moment met nothing, and tells nothing."""
    moment = crossings.readings.moment[rows]
    is_explained = np.isin(rows, explained)
    told = (np.bincount(moment)[moment] > 1) | is_explained if rows.size else is_explained
    shown = np.maximum(gains_of_sharing(crossings, against, rows[told]), 0.0)
    return float(shown[~is_explained[told]].sum()) / max(float(shown.sum()), 1e-9)


def _rows_of(crossings: Crossings, against: Normed, pool: Ints) -> Ints:
    if crossings.network is None or crossings.adaptive:
        return np.zeros(0, np.int64)
    return that_may_have_met(crossings, against, pool)


def _by_routing(crossings: Crossings, against: Normed, rows: Ints, but: Ints) -> tuple[Detour, ...]:
    """The detours that the routing explains; none where it is unknown."""
    if not rows.size:
        return ()
    if crossings.fabric.wiring.engines:
        return _by_engines(crossings, against, rows, but)
    return () if crossings.fabric.out_of is None else _by_tables(crossings, against, rows, but)


def _by_engines(crossings: Crossings, against: Normed, rows: Ints, but: Ints) -> tuple[Detour, ...]:
    """The detours of the engine that explains most, of those that fill the tables as they are."""
    by_engine = (
        _ByRouting(crossings, against, rows, Rerouted(crossings, against, but, engine))
        for engine in crossings.fabric.wiring.engines
    )
    found = [(one.found(), one) for one in by_engine]
    return max(found, key=lambda pair: pair[1].evidence_of(pair[0]))[0]


def _by_tables(crossings: Crossings, against: Normed, rows: Ints, but: Ints) -> tuple[Detour, ...]:
    """The cables out of use that explain nearly all slow messages, by the paths that the readings
    show, each in both directions."""
    kept = Kept(crossings, against, but)
    found = _ByRouting(crossings, against, rows, kept).found()
    if not all(kept.shows_in_both_directions(one.cables[0], one.rows) for one in found):
        return ()
    left_open = share_left_open(crossings, against, rows, union([one.rows for one in found]))
    return found if left_open <= crossings.limits.left_open else ()


class _ByRouting:
    """Looks for the cables without which the routing engine would send messages so that they met
    as they did: one after another, each with those before it out of use."""

    def __init__(
        self, crossings: Crossings, against: Normed, rows: Ints, rerouted: Rerouted
    ) -> None:
        self._crossings = crossings
        self._limits = crossings.limits
        self._slower, self._sigma = against.slower, against.sigma
        self._rows = rows
        self._rerouted = rerouted
        self._gain = gains_of_sharing(crossings, against, rows)
        self._cables = rerouted.cables_of(rows)

    def found(self) -> tuple[Detour, ...]:
        """The detours, each with the others in force; none where messages arrive sooner than they
        could: the cabling is another one. Begun with each of the strongest: the first of several
        cables may look weaker than one whose messages meet those of both."""
        chains = [self._settled(start) for start in self._starts()]
        kept = max(chains, key=self.evidence_of, default=[])
        cables = [detour.cables[0] for detour in kept]
        sooner = (
            self._rerouted.arrives_sooner(cable, [one for one in cables if one != cable])
            for cable in cables
        )
        return () if any(sooner) else tuple(kept)

    def evidence_of(self, chain: Sequence[Detour]) -> float:
        """The evidence for all detours of a chain together."""
        return self._rerouted.evidence_together([detour.cables[0] for detour in chain])

    def _starts(self) -> list[Detour]:
        """The strongest detours by themselves; one where every start takes long."""
        most = 1 if self._rerouted.moves_all_messages else _MOST_STARTS
        return list(islice(self._that_show(()), most))

    def _settled(self, first: Detour) -> list[Detour]:
        """The detours that follow from a first one, each with the others in force; none where they
        never end: something else than cables out of use is slow."""
        found = [first]
        while (best := self.following(found)) is not None:
            found.append(best)
            if len(found) > self._limits.most_out_of_use:
                return []
        if len(found) == 1:
            return found
        # What one explains depends on the others: without one that is dropped, all are asked again.
        while len(kept := self._with_the_others(found)) < len(found):
            found = kept
        return kept

    def _with_the_others(self, found: Sequence[Detour]) -> list[Detour]:
        """Each, or one that may have been taken for it, by what it explains with the others in
        force; none for one that they explain."""
        kept: list[Detour] = []
        for place, one in enumerate(found):
            again = self.following([*kept, *found[place + 1 :]], one.cables)
            kept += [] if again is None else [again]
        return kept

    def following(self, known: Sequence[Detour], also: Sequence[int] = ()) -> Detour | None:
        """The strongest detour whose messages show it, with those known in force: of the likely
        cables, or of these."""
        return next(self._that_show(known, also), None)

    def _that_show(self, known: Sequence[Detour], also: Sequence[int] = ()) -> Iterator[Detour]:
        before = [detour.cables[0] for detour in known]
        scored = sorted(
            (-self._rerouted.evidence(cable, before), cable)
            for cable in self._likely(before).union(also)
        )
        for minus, cable in scored:
            if -minus < self._limits.suspect_evidence:
                return
            expected = self._rerouted.slowed([*before, cable], before)
            if self._shows(expected):
                predicted = self._rerouted.predicted([*before, cable])
                assert predicted is not None  # Else its evidence were 0.
                found = self._detour(cable, -minus, scored, expected, predicted)
                if found is None:
                    return
                yield found

    def _shows(self, expected: Ints) -> bool:
        """Whether most of the messages that a cable should slow are slow, and more than once. Of
        several cables out of use one may slow few of its messages without the others."""
        slowed = np.isin(self._rows, expected)
        enough = slowed.sum() >= self._limits.least_slowed * expected.size
        return bool(enough) and self._shows_repeatedly(slowed)

    def _detour(
        self,
        cable: int,
        score: float,
        scored: Sequence[tuple[float, int]],
        expected: Ints,
        predicted: Floats,
    ) -> Detour | None:
        slowed = np.isin(self._rows, expected)
        least = score - self._limits.near_evidence
        near = [c for minus, c in scored if c != cable and least <= -minus <= score]
        alike = (cable, *near)
        if not self._rerouted.crossed_cables.issuperset(alike):
            return None
        mine = self._rows[slowed]
        met = np.intersect1d(waiting(self._crossings, mine), self._rows)
        return Detour(
            cables=alike,
            rows=mine,
            met=np.setdiff1d(met, mine),
            expected=expected,
            slower=float(np.median(self._slower[mine])),
            evidence=score,
            is_slower=self._are_slower(mine, predicted),
        )

    def _are_slower(self, rows: Ints, predicted: Floats) -> bool:
        """Whether messages are slower than sharing cables makes them: by more than paths differ
        (`uneven_share`) and noise explains (`contradicted_sigma`). Those that meet something slow
        say nothing."""
        rows = rows[~self._rerouted.may_meet_slow[rows]]
        if not rows.size:
            return False
        error = float(np.median(self._sigma[rows])) / np.sqrt(rows.size)
        most = (1 + self._limits.uneven_share) * predicted[rows]
        beyond = float(np.median(self._slower[rows] - most))
        return bool(beyond > self._limits.contradicted_sigma * error)

    def _likely(self, known: Sequence[int]) -> set[int]:
        """The cables that the most of the slow readings should cross, by how clear these are. Where
        the engine spreads all messages anew, slow ones may cross others only: then as many cables
        as there is time for."""
        left = ~np.isin(self._rows, self._rerouted.slowed(known, ()))
        gain = np.asarray(self._cables[left].T @ np.maximum(0.0, self._gain[left]))
        most, least = self._limits.rerouted_most, 0.0
        if self._rerouted.moves_all_messages:
            tries = self._limits.rerouted_readings // len(self._crossings.readings)
            most, least = max(most, tries), -1.0
        crossed = self._rerouted.crossed_cables
        order = [int(cable) for cable in np.argsort(-gain, kind="stable") if gain[cable] > least]
        return set([cable for cable in order if cable in crossed][:most]) - set(known)

    def _shows_repeatedly(self, slowed: Bools) -> bool:
        """Whether it shows more than once."""
        moment = self._crossings.readings.moment[self._rows[slowed]]
        return bool(np.unique(moment).size >= self._limits.meeting_moments)
