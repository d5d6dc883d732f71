"""Paths of messages around a cable out of use, where a subnet manager filled the tables.

A running manager keeps the other paths: OpenSM's minhop and ftree move the messages of a dead cable
and no others. The readings show the new paths.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Floats, Ints
from weft.check.suspects.crowding.path_fit import Crowd, DetourFit, Entry, Message, Tail
from weft.check.suspects.out_of_use.reroute import Rerouted
from weft.check.trials import ALONE

Place = tuple[int, int]
"""A switch and a destination, as vertices."""


class Kept(Rerouted):
    """As `Rerouted`, by the paths that the readings show: table entries over a cable out of use
    follow another shortest path; all others stay."""

    def __init__(self, crossings: Crossings, against: Normed, but: Ints) -> None:
        super().__init__(crossings, against, but, "")
        self._gain: dict[tuple[int, float], float] = {}
        self._crowd = Crowd(self._network.rate)
        self._crowded: Ints = np.zeros(0, np.int64)
        self._ways = Ways(self._network)

    @property
    def moves_all_messages(self) -> bool:
        """Never: that is what keeping paths means."""
        return False

    def _later(self, rows: Ints, cables: Sequence[int]) -> Floats:  # noqa: ARG002
        """As before: entries move to paths as long."""
        return np.zeros(rows.size)

    def shows_in_both_directions(self, cable: int, slow: Ints) -> bool:
        """Whether most messages that a cable out of use should slow are among rows `slow`, in each
        direction. An outdated table entry leaves only one direction of it."""
        expected = self.slowed([cable], ())
        least = self._crossings.limits.least_slowed
        over = self._crossed[expected][:, [2 * cable, 2 * cable + 1]].toarray() > 0
        shown = over[np.isin(expected, slow)].sum(axis=0)
        return bool((shown >= least * over.sum(axis=0)).all())

    def _changes(self, cables: Sequence[int]) -> csr_matrix | None:
        entries = self._entries({port for c in cables for port in (2 * c, 2 * c + 1)})
        fit = None if entries is None else self._fit(entries)
        if entries is None or fit is None:
            return None
        fit.settle()
        fit.undo()
        cells = [
            (row, port, sign)
            for entry in entries
            for ports, sign in ((entry.was, -1.0), (entry.path, 1.0))
            for row in entry.rows
            for port in ports
        ]
        row, port, sign = np.array(cells, np.float64).reshape(-1, 3).T
        places = (row.astype(np.int64), port.astype(np.int64))
        change = coo_matrix((sign, places), shape=self._crossed.shape).tocsr()
        change.eliminate_zeros()
        return csr_matrix(change)

    def _fit(self, entries: list[Entry]) -> DetourFit | None:
        """To be undone before the next one; None where trying all paths would take too long."""
        tried = sum(len(entry.paths) * len(entry.rows) for entry in entries)
        if tried > self._crossings.limits.most_placed:
            return None
        moment = self._crossings.readings.moment
        moments = np.unique(moment[[row for entry in entries for row in entry.rows]])
        fresh = np.setdiff1d(moments, self._crowded)
        if fresh.size:
            self._crowded = np.union1d(self._crowded, fresh)
            messages = self._messages(np.flatnonzero(self._sending & np.isin(moment, fresh)))
            self._crowd.add(messages)
        return DetourFit(entries, self._crowd, self._gain_of)

    def _messages(self, rows: Ints) -> dict[int, Message]:
        paths = self._crossed[rows]
        ports = np.split(paths.indices, paths.indptr[1:-1])
        moment, sent = self._crossings.readings.moment[rows], self._crossings.lowest_rate[rows]
        return {
            row: Message(at, rate, set(of.tolist()))
            for row, at, rate, of in zip(
                rows.tolist(), moment.tolist(), sent.tolist(), ports, strict=True
            )
        }

    def _gain_of(self, row: int, slower: float) -> float:
        """The evidence that one reading is so much slower than with every cable in use."""
        if not self._judged[row]:
            return 0.0
        key = (row, round(slower, 6))
        if key not in self._gain:
            gains = self._gains(np.array([row]), np.zeros(1), np.array([slower]))
            self._gain[key] = float(gains[0])
        return self._gain[key]

    def _entries(self, dead: set[int]) -> list[Entry] | None:
        """The entries that led over dead ports; None where one has no other path as short, or none
        does."""
        readings = self._crossings.readings
        over = np.asarray(self._crossed[:, sorted(dead)].sum(axis=1)).reshape(-1) > 0
        over &= self._sending
        over[readings.of_trial(ALONE)] = False
        rows = np.flatnonzero(over).tolist()
        paths = self._crossings.ports_of([readings.name(row) for row in rows])
        entries: dict[Place, Entry] = {}
        for row, path in zip(rows, paths, strict=True):
            place = self._ways.place_of([port for (port,) in path], dead, entries)
            if place is None:
                return None
            entries[place].rows.append(row)
        return list(entries.values()) or None


class Ways:
    """Paths around dead ports, as short, by a network's tables."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._vertex = network.vertex.tolist()
        self._by_tables: dict[tuple[int, int, int], list[tuple[Tail, bool]]] = {}

    def around(self, path: list[int], dead: set[int]) -> tuple[Tail, ...]:
        """The other ends of a path, as short, that lead around dead ports."""
        known: dict[Place, Entry] = {}
        place = self.place_of(path, dead, known)
        return () if place is None else known[place].paths

    def place_of(self, path: list[int], dead: set[int], known: dict[Place, Entry]) -> Place | None:
        """The last entry of a path before its cut that has another path as short; it is then
        `known`. None without any."""
        cut = next(place for place, port in enumerate(path) if port in dead)
        target = self._vertex[path[-1] ^ 1]
        for first in range(cut, 0, -1):
            at = self._vertex[path[first]]
            if (at, target) in known:
                return (at, target)
            was = tuple(path[first:])
            paths = self._tails(at, target, len(was), dead)
            if paths:
                known[at, target] = Entry(was, tuple(paths))
                return (at, target)
        return None

    def _tails(self, at: int, target: int, length: int, dead: set[int]) -> list[Tail]:
        """Each path of `length` ports from `at` to `target`: by any port, then by the tables, and
        where these lead over a dead port, by every other port."""
        found: list[Tail] = []
        for path, arrives in self._onward(at, target, length):
            if dead.isdisjoint(path):
                if arrives:
                    found.append(path)
                continue
            cut = next(place for place, port in enumerate(path) if port in dead)
            if cut:
                more = self._tails(self._vertex[path[cut]], target, length - cut, dead)
                found += [(*path[:cut], *tail) for tail in more]
        return found

    def _onward(self, at: int, target: int, length: int) -> list[tuple[Tail, bool]]:
        """By port of a switch: `length` ports from it on by the tables towards `target`, fewer
        where they end, and whether these arrive there."""
        key = (at, target, length)
        if key not in self._by_tables:
            ports = self._network.egress_of(at).tolist()
            self._by_tables[key] = [self._table_path(port, target, length) for port in ports]
        return self._by_tables[key]

    def _table_path(self, first: int, target: int, length: int) -> tuple[Tail, bool]:
        out_of, n_switches = self._network.out_of, self._network.n_switches
        assert out_of is not None
        path, at = [first], self._vertex[first ^ 1]
        while len(path) < length and at < n_switches:
            onward = int(out_of[at, target - n_switches])
            if onward < 0:
                break
            path.append(onward)
            at = self._vertex[onward ^ 1]
        return tuple(path), len(path) == length and at == target
