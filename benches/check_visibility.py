"""How far a planted fault shows in the readings of a survey, before anything is judged."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benches.check_kinds import Planted, Thing, When
from scipy.stats import binom, norm

from weft.check.readings.components import Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.readings import METRICS, Floats, Ints, Metric

STANDARD_ERRORS = 3.0
"""A fault counts when it slows a reading by more than these (the scoreboard's terms)."""

LEAST_ERRORS = 2.0
"""A fault that shows by these, and not by three, is counted apart (the scoreboard's terms)."""

WHOLE = (Part.CABLE, Part.HCA, Part.NODE, Part.SWITCH)
"""Planted parts; a direction of them only where the fault is in one direction."""

ONE_WAY = (Part.DIRECTION, Part.NODE_SENDING, Part.NODE_RECEIVING, Part.HCA)


@dataclass(frozen=True, slots=True)
class Seen:
    """How far a planted fault shows: its largest effect on a reading that crosses it, in standard
    errors; on how many readings it exceeds three; how many cross it. `alike`: the things that no
    reading of the schedule tells from it. `parts`: its cables that show by themselves; `pairs`:
    those that it slows, or may. `is_located`: whether what is slow has nothing else in common."""

    errors: float
    n_beyond: int
    n_crossing: int
    alike: frozenset[Thing]
    parts: frozenset[Thing] = frozenset()
    pairs: frozenset[Thing] = frozenset()
    is_located: bool = True

    @property
    def identifiable(self) -> bool:
        """Whether it counts."""
        return self.errors > STANDARD_ERRORS and self.is_located

    @property
    def is_faint(self) -> bool:
        """Whether it is counted apart."""
        return LEAST_ERRORS < self.errors <= STANDARD_ERRORS and self.is_located


def slowness(metric: Ints, value: Floats) -> Floats:
    """The natural logarithm of how slow: of latency, or of one over bandwidth."""
    sign = np.where(metric == METRICS.index(Metric.LATENCY), 1.0, -1.0)
    logs: Floats = sign * np.log(value)
    return logs


def scatter(moment: Ints, healthy: Floats, nudged: Floats) -> Floats:
    """By reading: the standard deviation that adaptive routing's choices alone cause in readings
    of its moment, from two healthy surveys that differ in nothing measurable."""
    squares = np.bincount(moment, weights=(nudged - healthy) ** 2) / np.bincount(moment)
    # A difference of two has twice the variance of one.
    return np.asarray(np.sqrt(squares / 2)[moment], np.float64)


def crossing_rows(crossings: Crossings, planted: Planted) -> Ints:
    """The readings whose path set holds the planted component."""
    readings, network = crossings.readings, crossings.fabric
    nodes = {ends[0] for part, ends in planted.things if part == "node"}
    if nodes and len(network.hcas_of[min(nodes)]) > 1:
        host = [name in nodes for name in crossings.hosts]
        of_endpoint = np.array(host)[crossings.host_number]
        return np.flatnonzero(of_endpoint[readings.a] | of_endpoint[readings.b])
    cables = {thing for thing in planted.all_things if thing[0] == "cable"}
    if not cables:
        (node,) = nodes
        port = int(network.port_of_hca[network.hcas.index(network.hcas_of[node][0])])
        cables = {("cable", network.cables[port >> 1])}
    return _rows_over(crossings, network, cables)


def _rows_over(crossings: Crossings, network: Network, cables: set[Thing]) -> Ints:
    ports = [network.port_id[end] for _, ends in sorted(cables) for end in ends]
    share = np.asarray(crossings.by_stage @ crossings.by_port[:, ports].sum(axis=1)).reshape(-1)
    return np.flatnonzero(share > 0)


def seen_of(
    crossings: Crossings, planted: Sequence[Planted], errors: Floats, outliers: float = 0.0
) -> list[Seen]:
    """How far each fault shows. `errors`: by reading, how many standard errors the faulty fabric is
    slower than the healthy one, without noise. Of several faults each counts by the readings that
    cross no other. `outliers`: the share of readings that are slow by noise. One that shows in none
    by three standard errors is located by the readings that it slows by two."""
    rows = [crossing_rows(crossings, one) for one in planted]
    found = []
    for i, (one, mine) in enumerate(zip(planted, rows, strict=True)):
        others = np.concatenate([np.zeros(0, np.int64), *rows[:i], *rows[i + 1 :]])
        own = np.setdiff1d(mine, others)
        most = float(errors[own].max()) if own.size else 0.0
        least = STANDARD_ERRORS if most > STANDARD_ERRORS else LEAST_ERRORS
        slow = np.setdiff1d(np.flatnonzero(errors > least), others)
        beyond = np.intersect1d(own, slow)
        n_beyond = int((errors[own] > STANDARD_ERRORS).sum())
        alike = alike_of(crossings, one, np.unique(crossings.readings.metric[beyond]))
        is_located = True
        if one.is_sporadic:
            common = common_to(crossings, beyond)
            others_too = {thing for thing in common - alike - one.things if thing[0] != "switch"}
            is_located = not others_too and _is_beyond_outliers(crossings, own, beyond, outliers)
            alike |= common
        if one.swapped is not None:
            is_located = _point_at(crossings, own, beyond, slow)
        if one.is_dead:
            alike |= met_by(crossings, beyond, np.setdiff1d(slow, beyond))
        parts = _parts_shown(crossings, one, beyond)
        if not one.things:
            is_located = bool(parts)
        pairs = pairs_of(crossings, mine if one.is_sporadic else slow)
        seen = Seen(most, n_beyond, int(mine.size), alike, parts, pairs, is_located)
        found.append(seen)
    return found


def _is_beyond_outliers(crossings: Crossings, own: Ints, beyond: Ints, outliers: float) -> bool:
    """Whether so many readings of a metric are slow over a component that comes and goes as noise
    makes slow over none: by a chance of 3 standard errors, for all components together."""
    chances = []
    for metric in np.unique(crossings.readings.metric[beyond]):
        n, n_slow = ((crossings.readings.metric[rows] == metric).sum() for rows in (own, beyond))
        chances.append(float(binom.sf(n_slow - 1, n, outliers)))
    least = float(norm.sf(STANDARD_ERRORS))
    return bool(chances) and min(chances) * len(crossings.candidates) <= least


def _point_at(crossings: Crossings, own: Ints, beyond: Ints, slow: Ints) -> bool:
    """Whether the readings point at exchanged cables. No component is slow then: messages take
    other paths than the tables say, and some meet. Where most of the messages over the cables by
    the tables are as fast as ever, or most slow ones should cross others, the readings speak for
    these cables and against others. In metrics that show it."""
    shown = np.isin(crossings.readings.metric[own], crossings.readings.metric[beyond])
    return bool(2 * beyond.size >= max(int(shown.sum()), slow.size, 1))


def pairs_of(crossings: Crossings, rows: Ints) -> frozenset[Thing]:
    """The pairs of readings."""
    return frozenset(
        ("pair", tuple(sorted(crossings.readings.unordered(row)))) for row in rows.tolist()
    )


def _parts_shown(crossings: Crossings, planted: Planted, beyond: Ints) -> frozenset[Thing]:
    """Cables of a fault of several that are alone in slowing some reading."""
    cables = sorted(thing for thing in planted.parts if thing[0] == "cable")
    rows = [_rows_over(crossings, crossings.fabric, {one}) for one in cables]
    n = np.bincount(np.concatenate([np.zeros(0, np.int64), *rows]), minlength=1)
    alone = np.flatnonzero(n == 1)
    return frozenset(
        one
        for one, of in zip(cables, rows, strict=True)
        if np.intersect1d(np.intersect1d(of, alone), beyond).size
    )


def common_to(crossings: Crossings, slow: Ints) -> frozenset[Thing]:
    """The things that all slow readings cross; none where none is slow."""
    found: set[Thing] = set()
    for number, members in enumerate(crossings.candidates.members if slow.size else ()):
        if np.isin(slow, crossings.candidates.rows(number)).all():
            found |= {crossings.component(member).thing for member in members}
    return frozenset(found)


def met_by(crossings: Crossings, slow: Ints, elsewhere: Ints) -> frozenset[Thing]:
    """Cables that a dead one cannot be told from: its messages are `slow` only where they meet
    those of another cable, which are then as slow `elsewhere`. Where each is slow at the very
    moments at which the other is, either may be dead and have sent its messages over the other."""
    moment = crossings.readings.moment
    moments = set(moment[slow].tolist())
    if not elsewhere.size or set(moment[elsewhere].tolist()) != moments:
        return frozenset()
    found: set[Thing] = set()
    for number, members in enumerate(crossings.candidates.members):
        if np.isin(elsewhere, crossings.candidates.rows(number)).all():
            found |= {crossings.component(member).thing for member in members}
    return frozenset(thing for thing in found if thing[0] == "cable")


def alike_of(crossings: Crossings, planted: Planted, metrics: Ints) -> frozenset[Thing]:
    """The things that exactly the same readings cross as the planted component, of the metrics
    that it shows in (all of them where it shows in none)."""
    judged = np.isin(crossings.readings.metric, metrics) if metrics.size else slice(None)
    columns = crossings.candidates.columns[judged]
    sizes = np.diff(columns.indptr)
    found: set[Thing] = set()
    parts = ONE_WAY if planted.when is When.ONE_WAY else WHOLE
    for number, members in enumerate(crossings.candidates.members):
        mine = {c.thing for c in map(crossings.component, members) if c.part in parts}
        if mine & planted.all_things and sizes[number]:
            shared = np.asarray((columns.T @ columns[:, number]).todense()).reshape(-1)
            equal = np.flatnonzero((shared == sizes[number]) & (sizes == sizes[number]))
            alike = (m for c in equal for m in crossings.candidates.members[c])
            found |= {crossings.component(member).thing for member in alike}
    return frozenset(found)
