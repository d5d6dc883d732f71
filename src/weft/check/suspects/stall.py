"""Messages that stood still: a lost packet is sent again only after a time-out, a hundred times as
long as the message takes, and most messages lose none."""

from dataclasses import dataclass

import numpy as np

from weft.check.facts import NamedPair
from weft.check.readings.components import Component
from weft.check.readings.readings import METRICS, Bools, Floats, Metric
from weft.check.suspects.accusation import components_of
from weft.check.suspects.survey import Survey


@dataclass(frozen=True, slots=True)
class Stall:
    """A pair of which a message stood still, its `slowest` reading (`row`) so many times slower
    than the median. Measured again alone, `n_again` readings, `n_stalled` of them likewise."""

    pair: NamedPair
    row: int
    slowest: float
    n_again: int
    n_stalled: int

    @property
    def is_rare(self) -> bool:
        """Whether most readings of it are not such ones: else it is slow, and no message stalls."""
        return 2 * self.n_stalled <= self.n_again


@dataclass(frozen=True, slots=True)
class StallPlace:
    """The `components` that all of `n_pairs` stalled pairs cross, as do `n` of all `n_all`
    bandwidth readings of rounds. `evidence`: a natural logarithm."""

    components: tuple[Component, ...]
    n_pairs: int
    n: int
    n_all: int
    evidence: float


def stall_place(survey: Survey) -> StallPlace | None:
    """The component that several stalled pairs have in common, by more than chance; None without
    one.

    The evidence is the logarithm of how much rarer it is that all of them cross the component than
    that they stall anywhere, less that of the number of components. Others that all of them cross,
    and nearly as few others, are named with it.
    """
    rows = [stall.row for stall in stalls(survey)]
    if len(rows) < 2 or not len(survey.candidates):
        return None
    readings = survey.readings
    # Stalled readings need no norm, so those that they are held against need none either.
    measured = survey.in_rounds & (readings.metric != Metric.LATENCY.code)
    crossed = survey.candidates.columns > 0
    n = np.asarray(crossed[np.flatnonzero(measured)].sum(axis=0)).reshape(-1)
    n_stalled = np.asarray(crossed[rows].sum(axis=0)).reshape(-1)
    n_all = int(measured.sum())
    in_all = (n_stalled == len(rows)) & (n > 0) & (n < n_all)
    if not in_all.any():
        return None
    evidence = np.full(n.size, -np.inf)
    evidence[in_all] = -len(rows) * np.log(n[in_all] / n_all) - np.log(len(survey.candidates))
    best = int(np.argmax(evidence))
    if evidence[best] < survey.limits.suspect_evidence:
        return None
    near = np.flatnonzero(evidence >= evidence[best] - survey.limits.near_evidence)
    components = components_of(survey, near.tolist())
    return StallPlace(components, len(rows), int(n[best]), n_all, float(evidence[best]))


def stalls(survey: Survey) -> tuple[Stall, ...]:
    """The stalls of a survey that no suspect explains, the longest first."""
    times_slower = _times_slower(survey)
    stalled = (times_slower >= np.exp(survey.limits.slowest_fitted)) & ~survey.explained
    found: dict[NamedPair, Stall] = {}
    for row in np.flatnonzero(stalled & survey.in_rounds).tolist():
        again = np.isfinite(times_slower) & survey.is_alone
        again &= survey.readings.pair == survey.readings.pair[row]
        slowest = float(times_slower[row])
        pair = survey.readings.unordered(row)
        if pair not in found or found[pair].slowest < slowest:
            n_stalled = int((again & stalled).sum())
            found[pair] = Stall(pair, row, slowest, int(again.sum()), n_stalled)
    longest = sorted(found.values(), key=lambda stall: -stall.slowest)
    return tuple(stall for stall in longest if stall.is_rare)


def _times_slower(survey: Survey) -> Floats:
    """By bandwidth reading: how many times slower than the median of its metric and size; -inf for
    others. A class of paths may be too small for a norm."""
    readings = survey.readings
    found = np.full(len(readings), -np.inf)
    for metric in METRICS:
        if metric is Metric.LATENCY:
            continue
        for size in np.unique(readings.size_bytes):
            rows: Bools = (readings.metric == metric.code) & (readings.size_bytes == size)
            if rows.any():
                found[rows] = np.median(readings.value[rows]) / readings.value[rows]
    return found
