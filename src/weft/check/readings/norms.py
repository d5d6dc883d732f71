"""The normal figures of hop classes. A reading is compared only with readings over the same kind of
path with as much other traffic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from weft.check.readings.crossing import Crossings
from weft.check.readings.fast_nodes import among_fast_nodes
from weft.check.readings.readings import METRICS, Bools, Floats, Ints, Metric
from weft.check.thresholds import CheckThresholds
from weft.check.trials import ALONE
from weft.stats.summary import robust_sigma


@dataclass(frozen=True, slots=True)
class HopClass:
    """Readings that should be equal. `n_links` and `most_links`: cables on the shorter and on the
    longer one of the paths there and back, if a reading crosses both. `bits_per_s`: the lowest rate
    on the paths (0 within one HCA, -1 without a fabric). `load`: the traffic of the same moment on
    its fullest cable, in percent of the cable's rate (100: full; more: each message gets less).
    `longer_ns`: of a latency, the delay of its cables beyond that of the shortest such path, the
    median of the class."""

    metric: Metric
    size_bytes: int
    n_links: int
    most_links: int
    bits_per_s: int
    load: int
    same_host: bool
    longer_ns: int = 0

    @property
    def words(self) -> str:
        """As written in a sentence."""
        if self.n_links < 0:
            return "on one host" if self.same_host else "between hosts"
        if not self.n_links:
            return "within one HCA"
        links = f"{self.n_links}"
        if self.most_links > self.n_links:
            links = f"{self.n_links} and {self.most_links}"
        words = f"{links} links apart at {self.bits_per_s / 1e9:g} Gb/s"
        words += f", cables {self.longer_ns} ns longer" if self.longer_ns else ""
        return words if self.load <= 100 else f"{words}, sharing cables {self.load / 100:g} : 1"


@dataclass(frozen=True, slots=True)
class Norm:
    """The normal figure of a hop class. `sigma`: the scatter of one reading around it (natural
    logarithm). `n_fast` of its `n` readings give both figures."""

    hop_class: HopClass
    n: int
    n_fast: int
    expected: float
    sigma: float

    @property
    def log_expected(self) -> float:
        """The expected value as a natural logarithm of slowness: a rate has its sign turned."""
        sign = 1.0 if self.hop_class.metric is Metric.LATENCY else -1.0
        return sign * float(np.log(self.expected))


@dataclass(frozen=True)
class Normed:
    """By reading: its `norm` (a place in `norms`, -1 for a class too small to judge). `slower`:
    than expected, as a natural logarithm (0.1: 10 % slower)."""

    norms: tuple[Norm, ...]
    norm: Ints
    slower: Floats
    sigma: Floats


@lru_cache(maxsize=2)
def hop_classes(crossings: Crossings) -> tuple[tuple[HopClass, ...], Ints]:
    """The hop classes, and the place of each reading's: the same for all norms of a survey."""
    readings = crossings.readings
    host = crossings.host_number
    columns = (
        readings.metric,
        readings.size_bytes,
        *crossings.n_links,
        crossings.lowest_rate,
        load_percent(crossings),
        (host[readings.a] == host[readings.b]).astype(np.int64),
        longer_ns(crossings),
    )
    key = np.zeros(len(readings), np.int64)
    for column in columns:
        values, number = np.unique(column, return_inverse=True)
        key = key * values.size + number.reshape(-1)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    classes = tuple(
        HopClass(METRICS[metric], size, links, most_links, rate, load, bool(same), longer)
        for metric, size, links, most_links, rate, load, same, longer in np.stack(columns)[
            :, first
        ].T.tolist()
    )
    return classes, place.reshape(-1).astype(np.int64)


@lru_cache(maxsize=2)
def of_one_node(crossings: Crossings) -> Mapping[HopClass, str]:
    """Classes whose readings in rounds all have one node (the first of two) that other classes
    lack: their own readings cannot separate a slow node from its kind of path."""
    classes, place = hop_classes(crossings)
    readings = crossings.readings
    in_rounds = ~np.isin(np.arange(len(readings)), readings.of_trial(ALONE))
    nodes = crossings.host_number[np.stack([readings.a, readings.b])]
    found: dict[HopClass, str] = {}
    for i, hop_class in enumerate(classes):
        inside = nodes[:, in_rounds & (place == i)]
        for node in np.unique(inside[:, :1]):
            if (inside == node).any(axis=0).all() and not (nodes == node).any(axis=0).all():
                found.setdefault(hop_class, crossings.hosts[node])
    return found


def medians(crossings: Crossings) -> tuple[Norm, ...]:
    """The median of the readings of each hop class in place of a norm, however few they are."""
    classes, place = hop_classes(crossings)
    found = []
    for number, hop_class in enumerate(classes):
        values = crossings.readings.value[place == number]
        found.append(Norm(hop_class, values.size, values.size, float(np.median(values)), 0.0))
    return tuple(found)


def load_percent(crossings: Crossings) -> Ints:
    """By reading: the load of the fullest stage of its path in percent, 100 where none is more than
    full. A doubling of the load has `load_steps` classes."""
    if crossings.network is None or not len(crossings.readings):
        return np.full(len(crossings.readings), 100, np.int64)
    fullest = np.asarray(crossings.load.max(axis=1).todense()).reshape(-1)
    a_doubling = crossings.limits.load_steps
    steps = np.rint(a_doubling * np.log2(np.maximum(fullest, 1.0)))
    return np.asarray(np.rint(100 * 2 ** (steps / a_doubling)), np.int64)


def longer_ns(crossings: Crossings) -> Ints:
    """By reading: of a latency, how much longer (ns) the cables of its path are than those of the
    shortest path of as many, by the fabric document; else 0. Lengths within a step that the least
    scatter of a class hides share their median. On a dragonfly one link is a cable of a group or
    one between groups."""
    readings = crossings.readings
    found = np.zeros(len(readings), np.int64)
    rows = np.flatnonzero(readings.metric == Metric.LATENCY.code)
    if crossings.network is None or not rows.size:
        return found
    shortest, longest = crossings.n_links
    kind = np.stack([readings.size_bytes, shortest, longest])[:, rows]
    _, of = np.unique(kind, axis=1, return_inverse=True)
    of = of.reshape(-1)
    delay = crossings.delay_ps[rows]
    least = np.full(int(of.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, of, delay)
    step_ns = 1e3 * crossings.limits.scale_floor * float(np.median(readings.value[rows]))
    more_ns = (delay - least[of]) / 1e3
    steps = np.rint(more_ns / step_ns)
    _, group = np.unique(np.stack([of, steps]), axis=1, return_inverse=True)
    group = group.reshape(-1)
    for number in np.unique(group[steps > 0]).tolist():
        alike = group == number
        found[rows[alike]] = round(float(np.median(more_ns[alike])))
    return found


def normed(
    crossings: Crossings, limits: CheckThresholds, *, but: Sequence[int] | Ints = ()
) -> Normed:
    """Every reading against the norm of its class; readings `but` support no norm."""
    readings = crossings.readings
    classes, place = hop_classes(crossings)
    sound = np.ones(len(readings), np.bool_)
    sound[np.asarray(but, np.int64)] = False
    sign = np.where(readings.metric == Metric.LATENCY.code, 1.0, -1.0)
    logs = sign * np.log(readings.value)
    norms: list[Norm] = []
    number = np.full(len(classes), -1, np.int64)
    for i, hop_class in enumerate(classes):
        judged = _pool(crossings, i, sound, limits)
        if judged is None:
            continue
        number[i] = len(norms)
        fast = _fast(crossings, hop_class, logs, judged, limits)
        norms.append(_norm(hop_class, fast, int((place == i).sum()), limits))
    norm = number[place] if classes else place
    median = np.array([n.log_expected for n in norms] or [0.0])
    sigma = np.array([n.sigma for n in norms] or [1.0])
    slower = np.where(norm >= 0, logs - median[norm], 0.0)
    return Normed(tuple(norms), norm, slower, sigma[norm])


def _pool(crossings: Crossings, i: int, sound: Bools, limits: CheckThresholds) -> Bools | None:
    """The readings that a class is judged by: its own. Where these are too few, or all of one node,
    those of all classes of its rate and load, if the metric hardly depends on the number of
    hops."""
    classes, place = hop_classes(crossings)
    own = classes[i]
    rows: Bools = sound & (place == i)
    if rows.sum() >= limits.smallest_class and own not in of_one_node(crossings):
        return rows
    if own.metric is Metric.LATENCY or own.n_links < 0:
        return None
    alike = [
        j
        for j, other in enumerate(classes)
        if (other.metric, other.size_bytes, other.bits_per_s, other.load)
        == (own.metric, own.size_bytes, own.bits_per_s, own.load)
    ]
    owners = {of_one_node(crossings).get(classes[j]) for j in alike}
    if len(owners) == 1 and None not in owners:
        return None
    pooled: Bools = np.isin(place, alike) & sound
    return pooled if pooled.sum() >= limits.smallest_class else None


def _norm(hop_class: HopClass, fast: Floats, n: int, limits: CheckThresholds) -> Norm:
    median = float(np.median(fast))
    sign = 1.0 if hop_class.metric is Metric.LATENCY else -1.0
    sigma = max(robust_sigma(fast), limits.scale_floor)
    return Norm(hop_class, n, int(fast.size), float(np.exp(sign * median)), sigma)


def _fast(
    crossings: Crossings, hop_class: HopClass, logs: Floats, rows: Bools, limits: CheckThresholds
) -> Floats:
    """The values of a class that give its norm: the faster of two populations. Without a fabric
    near and far pairs share a class, so only populations that nodes explain are two."""
    guard = limits.guard(hop_class.metric, with_fabric=hop_class.n_links >= 0)
    if hop_class.n_links >= 0:
        return faster_population(np.sort(logs[rows]), guard, limits)
    readings, host = crossings.readings, crossings.host_number
    ends = readings.a[rows], readings.b[rows]
    if len(crossings.hosts) > 1:
        ends = host[ends[0]], host[ends[1]]
    return among_fast_nodes(logs[rows], ends, guard, limits)


def faster_population(slow: Floats, guard: float, limits: CheckThresholds) -> Floats:
    """The values to take the norm from: all, or the faster of two clearly separate populations.

    `slow` are logarithms of slowness, ascending. One slow spine of two slows half of the pairs: a
    median of all would then call anything normal. Two populations are believed only when their
    medians lie further apart than the guard and than `populations_sigma` of either.
    """
    n = slow.size
    first = max(int(np.ceil(n * (1 - limits.largest_slow_share))), 2)
    if n - first < first:
        return slow
    cut = _best_cut(slow, first)
    fast, others = slow[:cut], slow[cut:]
    apart = float(np.median(others) - np.median(fast))
    enough = limits.populations_sigma
    if apart <= max(guard, enough * max(robust_sigma(fast), robust_sigma(others))):
        return slow
    # The cut need not fall between the two: take back what belongs to the faster one.
    return slow[slow < np.median(fast) + max(guard, enough * robust_sigma(fast))]


def _best_cut(values: Floats, first: int) -> int:
    """Where to cut an ascending series in two so that each part is closest to its own mean."""
    n = values.size
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values**2)))
    cuts = np.arange(first, n - first + 1)
    left = squares[cuts] - sums[cuts] ** 2 / cuts
    right = (squares[n] - squares[cuts]) - (sums[n] - sums[cuts]) ** 2 / (n - cuts)
    return int(cuts[np.argmin(left + right)])
