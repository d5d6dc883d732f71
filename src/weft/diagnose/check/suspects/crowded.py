"""Ways that share a load and lack one of them, or have a slow one: adaptive routing only.

What is missing slows some messages much and others not at all, by where the switches happened to
send them. So no component is slow by a common amount, and this is looked for by the mean: a leaf's
ways against those of all leaves.
"""

import numpy as np

from weft.diagnose.check.measured.components import PARTS, Part
from weft.diagnose.check.measured.crossing import Crossings
from weft.diagnose.check.measured.norms import Normed
from weft.diagnose.check.measured.readings import Floats, Ints, Metric
from weft.diagnose.check.suspects.explain import Suspect
from weft.diagnose.check.thresholds import Thresholds
from weft.stats.spread import robust_sigma

MOST_SLOWER = 0.7
"""No reading counts for more (a half): a mean must not hang on disturbances."""

LEAST_PEERS = 6
"""Fewer of a kind tell nothing about what is usual."""

LEAST_READINGS = 12
"""Fewer readings of a way make no mean."""


def crowded_of(
    crossings: Crossings, against: Normed, predicted: Floats, rows: Ints, limits: Thresholds
) -> tuple[Suspect, ...]:
    """Suspects among the ways that readings `rows` share, by the mean of what no other suspect
    explains; the clearest first, each without the readings of those before it."""
    if crossings.network is None or not crossings.adaptive:
        return ()
    found: list[Suspect] = []
    while (clearest := _clearest(crossings, against, predicted, rows, limits)) is not None:
        found.append(clearest)
        # What it slows counts against nothing else.
        rows = np.setdiff1d(rows, crossings.candidates.rows(clearest.best))
    return tuple(found)


def _clearest(
    crossings: Crossings, against: Normed, predicted: Floats, rows: Ints, limits: Thresholds
) -> Suspect | None:
    means = _means(crossings, against, predicted, rows)
    found: list[tuple[float, int]] = []
    for part in (Part.CABLE, Part.DIRECTION):
        for size in {len(crossings.candidates.members[c]) for c in means}:
            peers = [c for c in means if _is_of(crossings, c, part, size)]
            if len(peers) < LEAST_PEERS:
                continue
            values = np.array([means[c] for c in peers])
            scale = max(robust_sigma(values), limits.scale_floor / 2)
            clear = (values - np.median(values)) / scale
            found += [(float(z), -c) for z, c in zip(clear, peers, strict=True)]
    clear_ones = [
        (z, -c)
        for z, c in sorted(found, reverse=True)
        if z >= limits.peer_sigma and means[-c] >= limits.crowded_least
    ]
    if not clear_ones:
        return None
    z, candidate = clear_ones[0]
    return Suspect((candidate,), {Metric.BANDWIDTH: means[candidate]}, z**2 / 2)


def mean_of(
    crossings: Crossings, against: Normed, predicted: Floats, candidate: int, rows: Ints
) -> float | None:
    """The mean slowness of a candidate's readings among `rows`; None without any."""
    of = np.intersect1d(crossings.candidates.rows(candidate), rows)
    of = of[(crossings.readings.metric[of] == Metric.BANDWIDTH.code) & (against.norm[of] >= 0)]
    of = of[predicted[of] == 0]
    if not of.size:
        return None
    return float(np.clip(against.slower[of], -MOST_SLOWER, MOST_SLOWER).mean())


def waiting(crossings: Crossings, faulty: Ints) -> Ints:
    """Rows that shared a stage, in their moment, with one of `faulty`: what waits behind something
    slow is nobody's fault.

    A slow receiver fills the buffers on the ways to it; under adaptive routing these are many.
    """
    moment = crossings.readings.moment
    by_stage = crossings.by_stage
    found = [faulty]
    for number in np.unique(moment[faulty]):
        beside = np.flatnonzero(moment == number)
        stages = np.unique(by_stage[faulty[moment[faulty] == number]].indices)
        found.append(beside[np.diff(by_stage[beside][:, stages].indptr) > 0])
    return np.unique(np.concatenate(found))


def _means(
    crossings: Crossings, against: Normed, predicted: Floats, rows: Ints
) -> dict[int, float]:
    """By candidate of several components between switches: the mean of its readings."""
    inner = {PARTS.index(Part.CABLE), PARTS.index(Part.DIRECTION)}
    found: dict[int, float] = {}
    for candidate, members in enumerate(crossings.candidates.members):
        if len(members) < 2 or not {part for part, _ in members} <= inner:
            continue
        if np.isin(crossings.candidates.rows(candidate), rows).sum() < LEAST_READINGS:
            continue
        mean = mean_of(crossings, against, predicted, candidate, rows)
        if mean is not None:
            found[candidate] = mean
    return found


def _is_of(crossings: Crossings, candidate: int, part: Part, size: int) -> bool:
    members = crossings.candidates.members[candidate]
    return members[0][0] == PARTS.index(part) and len(members) == size
