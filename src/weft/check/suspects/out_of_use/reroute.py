"""Readings as predicted with a cable out of use: the routing engine gives the paths of messages,
how many of them share a cable, and how many links they cross. Static routes only."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags

from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Bools, Floats, Ints, Metric
from weft.check.suspects.explanation import log_likelihood
from weft.check.suspects.out_of_use.longer_paths import more_links, slower_by
from weft.check.trials import ALONE


class Rerouted:
    """The readings of `crossings` held against cables out of use, as a routing engine goes around
    them; rows `but` are held against nothing, since something else slows them. Of rows measured
    alone only latencies are."""

    def __init__(self, crossings: Crossings, against: Normed, but: Ints, engine: str) -> None:
        self._engine = engine
        self._crossings = crossings
        self._network = crossings.fabric
        self._against = against
        self._judged: Bools = against.norm >= 0
        self._judged[but] = False
        alone = crossings.readings.of_trial(ALONE)
        self._judged[alone[self._sending[alone]]] = False
        # What something else slows loads a cable by as much less.
        self._rate: Floats = crossings.lowest_rate.astype(np.float64)
        self._rate[but] *= np.exp(-np.maximum(against.slower[but], 0.0))
        moment = crossings.readings.moment
        self.may_meet_slow: Bools = np.isin(moment, moment[but])
        """By reading: whether something else is slow in its moment."""
        self._crossed = crossings.crossed
        self._known: dict[tuple[int, ...], Floats | None] = {}

    @property
    def moves_all_messages(self) -> bool:
        """Whether the engine spreads all messages anew, not only those of the cables out of use."""
        return self._engine != "dmodk"

    @cached_property
    def crossed_cables(self) -> frozenset[int]:
        """Cables between switches that judged readings in rounds cross: an answer can name no
        others."""
        judged = np.flatnonzero(self._sending & self._judged)
        n = np.asarray(self.cables_of(judged).sum(axis=0)).reshape(-1)
        return frozenset(np.flatnonzero(n).tolist())

    def cables_of(self, rows: Ints) -> csr_matrix:
        """Rows x cables between switches that they cross (others stay empty)."""
        inner = self._network.between_switches.astype(np.float64)
        crossed = csr_matrix(self._crossed[rows] @ diags(inner))
        return csr_matrix(crossed[:, ::2] + crossed[:, 1::2])

    def evidence(self, cable: int, known: Sequence[int]) -> float:
        """The evidence that a cable is out of use as well as those known to be; 0 where messages
        then have no path."""
        return self._evidence([*known, cable], known, np.ones(self._judged.size, np.bool_))

    def evidence_together(self, cables: Sequence[int]) -> float:
        """The evidence that all of these are out of use."""
        return self._evidence(cables, (), np.ones(self._judged.size, np.bool_))

    def arrives_sooner(self, cable: int, known: Sequence[int]) -> bool:
        """Whether messages arrive sooner than the way around the cable allows: then it is in use.
        A disturbance only ever makes them late."""
        least = self._crossings.limits.confirmed_evidence
        return self._evidence([*known, cable], known, self._latencies) <= -least

    def _evidence(self, cables: Sequence[int], known: Sequence[int], of: Bools) -> float:
        before, after = self.predicted(known), self.predicted(cables)
        if before is None or after is None:
            return 0.0
        rows = np.flatnonzero((before != after) & self._judged & of)
        return float(self._gains(rows, before[rows], after[rows]).sum())

    def _gains(self, rows: Ints, before: Floats, after: Floats) -> Floats:
        given = (self._crossings.limits, self._against.slower[rows], self._against.sigma[rows])
        return log_likelihood(*given, after) - log_likelihood(*given, before)

    def slowed(self, cables: Sequence[int], known: Sequence[int]) -> Ints:
        """The judged bandwidths that cables out of use slow in addition to those known to be, by so
        much that it would show."""
        before, after = self.predicted(known), self.predicted(cables)
        if before is None or after is None:
            return np.zeros(0, np.int64)
        shows = after - before > self._crossings.limits.meeting_least
        return np.flatnonzero(shows & self._judged & self._sending)

    def predicted(self, cables: Sequence[int]) -> Floats | None:
        """By reading how much slower it is than with every cable in use, as a natural logarithm:
        messages that share a cable share its rate, and a longer path takes longer. None where some
        have no path."""
        key = tuple(sorted(cables))
        if key not in self._known:
            self._known[key] = self._predict(key)
        return self._known[key]

    def _predict(self, cables: Sequence[int]) -> Floats | None:
        slower = np.zeros(len(self._crossings.readings))
        if not cables:
            return slower
        rows = np.flatnonzero(self._judged & self._latencies)
        slower[rows] = self._later(rows, cables)
        change = self._changes(cables)
        if change is None:
            return None
        moment = self._crossings.readings.moment
        moved = np.flatnonzero(np.diff(change.indptr))
        rows = np.flatnonzero(self._sending & np.isin(moment, np.unique(moment[moved])))
        then = csr_matrix(self._crossed[rows] + change[rows])
        then.eliminate_zeros()
        fuller = self._fullest(rows, then) / self._fullest(rows, self._crossed[rows])
        slower[rows] = np.log(np.maximum(fuller, 1.0))
        return slower

    def _later(self, rows: Ints, cables: Sequence[int]) -> Floats:
        """How much later messages arrive over the links that they then cross."""
        more = more_links(self._crossings, rows, cables, self._engine)
        return np.zeros(rows.size) if more is None else slower_by(self._against, rows, more.mean(0))

    @cached_property
    def _sending(self) -> Bools:
        sending: Bools = self._crossings.readings.metric == Metric.BANDWIDTH.code
        return sending

    @cached_property
    def _latencies(self) -> Bools:
        latencies: Bools = self._crossings.readings.metric == Metric.LATENCY.code
        return latencies

    def _changes(self, cables: Sequence[int]) -> csr_matrix | None:
        """Readings x ports: 1 where a message then crosses a port that it does not cross now, -1
        where it no longer does. d-mod-k moves only flows through a switch of the cables; other
        engines spread everything anew."""
        network, readings = self._network, self._crossings.readings
        ends = np.isin(
            network.vertex, network.vertex[[2 * c + end for c in cables for end in (0, 1)]]
        )
        through = np.asarray(self._crossed @ ends.astype(np.float64)).reshape(-1) > 0
        chosen = self._sending.copy() if self.moves_all_messages else self._sending & through
        chosen[readings.of_trial(ALONE)] = False
        rows = np.flatnonzero(chosen)
        n = len(readings.endpoints)
        flows, first, place = np.unique(
            readings.a[rows] * n + readings.b[rows], return_index=True, return_inverse=True
        )
        hcas = [str(network.hca_of(name)) for name in readings.endpoints]
        pairs = [(hcas[key // n], hcas[key % n]) for key in flows.tolist()]
        paths = network.wiring.rerouted(
            pairs, [network.ports[2 * cable] for cable in cables], self._engine
        )
        if paths is None:
            return None
        flow = np.repeat(np.arange(flows.size), [len(path) for path in paths])
        port = np.array([network.port_id[port] for path in paths for port in path], np.int64)
        shape = (flows.size, len(network.ports))
        then = coo_matrix((np.ones(port.size), (flow, port)), shape=shape).tocsr()
        change = csr_matrix(then - self._crossed[rows[first]])
        change.eliminate_zeros()
        spread = coo_matrix(
            (np.ones(rows.size), (rows, place.reshape(-1))), shape=(len(readings), flows.size)
        )
        return csr_matrix(spread.tocsr() @ change)

    def _fullest(self, rows: Ints, crossed: csr_matrix) -> Floats:
        """By row the load of the fullest port of its path in its moment, as a share of the port's
        rate; 1 where none is full."""
        paths = crossed.tocoo()
        rate = self._rate[rows[paths.row]]
        place = self._crossings.readings.moment[rows[paths.row]] * crossed.shape[1] + paths.col
        _, where = np.unique(place, return_inverse=True)
        where = where.reshape(-1)
        load = np.bincount(where, weights=rate)[where] / self._network.rate[paths.col]
        fullest = np.ones(rows.size)
        np.maximum.at(fullest, paths.row, load)
        return fullest
