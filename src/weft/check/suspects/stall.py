"""Messages that stood still: a lost packet is sent again only after a time-out, a hundred times as
long as the message takes, and most messages lose none."""

from dataclasses import dataclass

import numpy as np

from weft.check.facts import NamedPair
from weft.check.readings.readings import METRICS, Bools, Floats, Metric
from weft.check.suspects.survey import Survey


@dataclass(frozen=True, slots=True)
class Stall:
    """A pair of which a message stood still, its `slowest` reading so many times slower than the
    median. Measured again alone, `n_again` readings, `n_stalled` of them likewise."""

    pair: NamedPair
    slowest: float
    n_again: int
    n_stalled: int

    @property
    def is_rare(self) -> bool:
        """Whether most readings of it are not such ones: else it is slow, and no message stalls."""
        return 2 * self.n_stalled <= self.n_again


def stalls(survey: Survey) -> tuple[Stall, ...]:
    """The stalls of a survey that no suspect explains, the longest first."""
    times_slower = _times_slower(survey)
    stalled = (times_slower >= np.exp(survey.limits.slowest_fitted)) & ~survey.explained
    found: dict[NamedPair, Stall] = {}
    for row in np.flatnonzero(stalled & survey.in_rounds).tolist():
        again = np.isfinite(times_slower) & ~survey.in_rounds
        again &= survey.readings.pair == survey.readings.pair[row]
        slowest = float(times_slower[row])
        pair = survey.readings.unordered(row)
        if pair not in found or found[pair].slowest < slowest:
            n_stalled = int((again & stalled).sum())
            found[pair] = Stall(pair, slowest, int(again.sum()), n_stalled)
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
