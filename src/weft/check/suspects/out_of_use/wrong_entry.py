"""A table entry that leads elsewhere than the fabric file says: what a switch sends to one
destination takes other cables and meets other messages there. Static routes only."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weft.check.readings.components import Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Ints
from weft.check.suspects.crowding.path_fit import Entry
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.out_of_use.detour import Detour, gains_of_sharing, that_may_have_met
from weft.check.suspects.out_of_use.kept_paths import Kept, Place
from weft.check.suspects.out_of_use.repeated_rounds import numbers_of_rounds, slow_each_time
from weft.check.suspects.out_of_use.reroute import Rerouted
from weft.check.suspects.out_of_use.unused_cables import share_left_open
from weft.check.trials import ALONE, TOGETHER


@dataclass(frozen=True)
class WrongEntry:
    """What `switch` (a vertex) sends to `destination` (an HCA) leaves by `port` (a number), and
    should leave by `table_port`. `detour`: the slow messages, its own and those they meet, of all
    that it should slow."""

    switch: int
    destination: str
    port: int
    table_port: int
    detour: Detour

    def suspect(self, crossings: Crossings) -> Suspect:
        """The switch as something to accuse."""
        candidate = crossings.candidates.of_part(Part.SWITCH)[self.switch]
        return replace(self.detour.suspect(crossings), candidates=(candidate,))


def wrong_entry(crossings: Crossings, against: Normed, pool: Ints, but: Ints) -> WrongEntry | None:
    """The one wrong entry that explains slow readings of `pool`; rows `but` were measured alone or
    are slow for something else. None where another explanation is about as likely, another switch
    or a dead cable, or where most of what slow messages tell stays open."""
    if crossings.network is None or crossings.adaptive or crossings.network.out_of is None:
        return None
    rows = that_may_have_met(crossings, against, pool)
    tries = _Tries(crossings, against, rows, but)
    found = sorted(tries.found(), key=lambda one: -one.detour.evidence)
    if not found or not _is_sure(crossings, against, found[0].detour):
        return None
    best, least = found[0], found[0].detour.evidence - crossings.limits.near_evidence
    others = (one.detour.evidence for one in found if one.switch != best.switch)
    left_open = share_left_open(crossings, against, rows, best.detour.rows)
    if left_open > 1 - crossings.limits.least_explained or max(others, default=0.0) > least:
        return None
    return best if tries.of_dead_cable(best.table_port >> 1) <= least else None


def _is_sure(crossings: Crossings, against: Normed, detour: Detour) -> bool:
    """Whether nearly all messages that an entry should slow are slow, in several rounds, and each
    time that these came again."""
    limits, again = crossings.limits, crossings.readings.of_trial(TOGETHER)
    n_endpoints = len(crossings.readings.endpoints)
    rounds = np.unique(numbers_of_rounds(crossings)[detour.rows] // n_endpoints**2)
    return bool(
        detour.is_sure(crossings)
        and rounds.size >= limits.meeting_moments
        and np.setdiff1d(detour.rows, again).size
        and detour.normal_share <= limits.contradicted_share
        and slow_each_time(crossings, against, detour)
    )


class _Tries(Kept):
    """The readings held against entries that lead elsewhere, one at a time."""

    def __init__(self, crossings: Crossings, against: Normed, rows: Ints, but: Ints) -> None:
        super().__init__(crossings, against, but)
        self._but = but
        self._rows = rows
        self._gains_of_rows = gains_of_sharing(crossings, against, rows)

    def of_dead_cable(self, cable: int) -> float:
        """The evidence that a cable is out of use, by any routing that may go around it."""
        engines = self._network.wiring.engines
        given = (self._crossings, self._against, self._but)
        return max(
            self.evidence(cable, ()),
            *(Rerouted(*given, engine).evidence(cable, ()) for engine in engines),
            0.0,
        )

    def found(self) -> Iterator[WrongEntry]:
        """The likely entries, each by the path that explains most."""
        for at, target in self._likely():
            entry = self._entry(at, target)
            fit = self._fit([entry]) if entry.paths and entry.rows else None
            if fit is None:
                continue
            fit.settle()
            slowed = fit.slowed(entry)
            fit.undo()
            expected = np.array(sorted(slowed), np.int64)
            expected = expected[self._judged[expected]]
            slow = expected[np.isin(expected, self._rows)]
            if not slow.size:
                continue
            slower = float(np.median(self._against.slower[slow]))
            none = np.zeros(0, np.int64)
            evidence = sum(self._gain_of(row, slowed[row]) for row in expected.tolist())
            yield WrongEntry(
                at,
                self._network.hcas[target - self._network.n_switches],
                entry.path[0],
                entry.was[0],
                Detour((entry.was[0] >> 1,), slow, none, expected, slower, evidence),
            )

    def _likely(self) -> list[Place]:
        """The entries over which most of the slow messages go, by how clear these are, in rounds
        enough."""
        moment, gain = self._crossings.readings.moment, defaultdict[Place, float](float)
        moments = defaultdict[Place, set[int]](set)
        for row, path, more in zip(
            self._rows.tolist(), self._paths(self._rows), self._gains_of_rows, strict=True
        ):
            target = int(self._network.vertex[path[-1] ^ 1])
            for port in path[1:-1]:
                place = (int(self._network.vertex[port]), target)
                gain[place] += float(more)
                moments[place].add(int(moment[row]))
        enough = self._crossings.limits.meeting_moments
        likely = [place for place, of in moments.items() if len(of) >= enough]
        return sorted(likely, key=lambda place: -gain[place])[
            : self._crossings.limits.rerouted_most
        ]

    def _paths(self, rows: Ints) -> list[list[int]]:
        """The ports of the paths of rows."""
        names = [self._crossings.readings.name(row) for row in rows.tolist()]
        return [[port for (port,) in path] for path in self._crossings.ports_of(names)]

    def _entry(self, at: int, target: int) -> Entry:
        """The entry of a switch for a destination, with the paths of its other ports by the tables;
        its rows: the messages of rounds that it carries."""
        network, readings = self._network, self._crossings.readings
        hca = target - network.n_switches
        to_target = self._crossings.hca_number[readings.b] == hca
        rows = np.setdiff1d(np.flatnonzero(self._sending & to_target), readings.of_trial(ALONE))
        over = [
            (row, path[place:])
            for row, path in zip(rows.tolist(), self._paths(rows), strict=True)
            for place in range(1, len(path))
            if network.vertex[path[place]] == at
        ]
        if not over:
            return Entry((), ())
        was = tuple(over[0][1])
        return Entry(was, tuple(self._other_tails(at, hca, was[0])), [row for row, _ in over])

    def _other_tails(self, at: int, hca: int, table_port: int) -> Iterator[tuple[int, ...]]:
        """The paths to an HCA by every other port of a switch, on by the tables."""
        network = self._network
        ports = [port for port in network.egress_of(at).tolist() if port != table_port]
        start = network.vertex[np.array(ports, np.int64) ^ 1]
        inner = start < network.n_switches
        ports = [port for port, is_inner in zip(ports, inner, strict=True) if is_inner]
        if not ports:
            return
        walked, arrives = network.walk(start[inner], np.full(len(ports), hca))
        for port, path, good in zip(ports, walked.tolist(), arrives, strict=True):
            tail = (port, *(one for one in path if one >= 0))
            # One that comes back goes in a circle.
            if good and at not in network.vertex[list(tail[1:])]:
                yield tail
