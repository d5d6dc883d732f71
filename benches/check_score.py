"""Right or wrong: what was accused in a case, against what was planted and could be seen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benches.check_case import Planted, Thing

from weft.check.readings.components import Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.readings import METRICS, Floats, Ints, Metric

STANDARD_ERRORS = 3.0
"""A fault counts when it slows a reading by more than these (the scoreboard's terms)."""


WHOLE = (Part.CABLE, Part.HCA, Part.NODE)
"""Planted parts: never one direction of a part."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How far a planted fault shows: its largest effect on a reading that crosses it, in standard
    errors; on how many readings it exceeds three; how many cross it. `alike`: the things that no
    reading of the schedule tells from it."""

    errors: float
    n_beyond: int
    n_crossing: int
    alike: frozenset[Thing]

    @property
    def identifiable(self) -> bool:
        """Whether it counts."""
        return self.errors > STANDARD_ERRORS


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """The outcome of one planted fault. `errors`: its largest effect, in standard errors. `named`
    by an answer no wider than the things that cannot be told apart from it (`alike`); `too_wide`:
    in an answer with more than that."""

    kind: str
    text: str
    errors: float
    n_beyond: int
    n_crossing: int
    identifiable: bool
    named: bool
    too_wide: bool
    alike: str


@dataclass(frozen=True, slots=True)
class Score:
    """Of one case. `wrong`: accusations that hold nothing planted."""

    outcomes: tuple[FaultRecord, ...]
    wrong: tuple[str, ...]


def score(
    planted: Sequence[Planted],
    seen: Sequence[Seen],
    accused: Sequence[frozenset[Thing]],
) -> Score:
    """Each accusation is the set of things of one finding that makes the verdict bad."""
    outcomes = []
    for one, how in zip(planted, seen, strict=True):
        right = [things for things in accused if things & one.things]
        narrow = [things for things in right if things <= how.alike | one.things]
        seen_in = (how.errors, how.n_beyond, how.n_crossing, how.identifiable)
        answer = (bool(narrow), bool(right) > bool(narrow), words(how.alike))
        outcomes.append(FaultRecord(one.kind, one.text, *seen_in, *answer))
    every = frozenset().union(*(one.things for one in planted)) if planted else frozenset()
    wrong = tuple(words(things) for things in accused if not things & every)
    return Score(tuple(outcomes), wrong)


def words(things: frozenset[Thing]) -> str:
    """An accusation in few words."""
    listed = [f"{part} {' - '.join(ends)}" for part, ends in sorted(things)]
    return " | ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")


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
    readings = crossings.readings
    network = crossings.network
    assert network is not None
    nodes = {ends[0] for part, ends in planted.things if part == "node"}
    if nodes and len(network.hcas_of[min(nodes)]) > 1:
        host = [name in nodes for name in crossings.hosts]
        of_endpoint = np.array(host)[crossings.host_number]
        return np.flatnonzero(of_endpoint[readings.a] | of_endpoint[readings.b])
    ends = next((ends for part, ends in planted.things if part == "cable"), None)
    if ends is None:
        (node,) = nodes
        port = int(network.port_of_hca[network.hcas.index(network.hcas_of[node][0])])
        ports = [port, port ^ 1]
    else:
        ports = [network.port_id[end] for end in ends]
    share = np.asarray(crossings.by_stage @ crossings.by_port[:, ports].sum(axis=1)).reshape(-1)
    return np.flatnonzero(share > 0)


def seen_of(crossings: Crossings, planted: Sequence[Planted], errors: Floats) -> list[Seen]:
    """How far each fault shows. `errors`: by reading, how many standard errors the faulty fabric is
    slower than the healthy one, without noise. Of two faults each counts by the readings that do
    not cross the other."""
    rows = [crossing_rows(crossings, one) for one in planted]
    found = []
    for i, (one, mine) in enumerate(zip(planted, rows, strict=True)):
        others = np.concatenate([np.zeros(0, np.int64), *rows[:i], *rows[i + 1 :]])
        own = np.setdiff1d(mine, others)
        slow = np.setdiff1d(np.flatnonzero(errors > STANDARD_ERRORS), others)
        beyond = np.intersect1d(own, slow)
        most = float(errors[own].max()) if own.size else 0.0
        alike = alike_of(crossings, one, np.unique(crossings.readings.metric[beyond]))
        if one.fault is not None and one.fault.kind == "down":
            alike |= met_by(crossings, beyond, np.setdiff1d(slow, beyond))
        found.append(Seen(most, int(beyond.size), int(mine.size), alike))
    return found


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
    for number, members in enumerate(crossings.candidates.members):
        mine = {c.thing for c in map(crossings.component, members) if c.part in WHOLE}
        if mine & planted.things and sizes[number]:
            shared = np.asarray((columns.T @ columns[:, number]).todense()).reshape(-1)
            equal = np.flatnonzero((shared == sizes[number]) & (sizes == sizes[number]))
            alike = (m for c in equal for m in crossings.candidates.members[c])
            found |= {crossings.component(member).thing for member in alike}
    return frozenset(found)
