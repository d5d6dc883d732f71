"""The detour of messages whose cable is out of use.

They meet other messages. Both are slow in that moment, by the cost of sharing a cable, and neither
is slow without the other. No component is then slow by a common amount, so weft looks for such
cables separately. Static routes only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.check.readings.components import Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Floats, Ints, Metric
from weft.check.suspects.explanation import Suspect, log_likelihood
from weft.check.trials import TOGETHER
from weft.core.units import ROUNDING


@dataclass(frozen=True)
class Detour:
    """`cables` (numbers; several where no reading separates them) carry nothing: `rows` should have
    crossed the first, and may have met `met`, all slow by about `slower`. `expected`: readings that
    the first should slow, `rows` among them. `is_slower`: whether `rows` are slower than sharing
    other cables makes them by the routing: traffic of others is there."""

    cables: tuple[int, ...]
    rows: Ints
    met: Ints
    expected: Ints
    slower: float
    evidence: float
    is_slower: bool = False

    def is_sure(self, crossings: Crossings) -> bool:
        """Whether the evidence names a fault that showed again when the rounds came again: a link
        that is slow now and then looks like messages that met."""
        limits = crossings.limits
        again = np.isin(self.rows, crossings.readings.of_trial(TOGETHER)).sum()
        return bool(self.evidence >= limits.named_evidence and again >= limits.detour_again)

    @property
    def normal_share(self) -> float:
        """The share of `expected` that is not slow."""
        return 1 - self.rows.size / max(1, self.expected.size)

    def keeps_some(self, crossings: Crossings) -> bool:
        """Whether more of its messages are normal than of a dead cable: exchanged cables leave some
        of them on paths of their own."""
        return self.normal_share > crossings.limits.detour_normal

    def suspect(self, crossings: Crossings) -> Suspect:
        """The cables as something to accuse."""
        slower = {Metric.BANDWIDTH: self.slower}
        return Suspect(candidates_of(crossings, self.cables), slower, self.evidence)


def candidates_of(crossings: Crossings, cables: Sequence[int]) -> tuple[int, ...]:
    """The candidates that stand for cables."""
    of_cable = crossings.candidates.of_part(Part.CABLE)
    return tuple(sorted({of_cable[cable] for cable in cables if cable in of_cable}))


def that_may_have_met(crossings: Crossings, against: Normed, pool: Ints) -> Ints:
    """The rows of a pool that are as slow as sharing a cable makes them, one direction."""
    limits = crossings.limits
    sending = crossings.readings.metric[pool] == Metric.BANDWIDTH.code
    slower, sigma = against.slower[pool], against.sigma[pool]
    slow = (slower > limits.meeting_least) & (slower > limits.meeting_sigma * sigma)
    slow &= against.norm[pool] >= 0
    chosen: Ints = pool[sending & slow]
    return chosen


def gains_of_sharing(crossings: Crossings, against: Normed, rows: Ints) -> Floats:
    """By row: the gain in log-likelihood if it shared a cable, not if it was disturbed."""
    limits = crossings.limits
    given = (limits, against.slower[rows], against.sigma[rows])
    room = _room(crossings, rows)
    shared = [np.log((room + guests) / room) for guests in range(1, limits.meeting_guests + 1)]
    best: Floats = np.max([log_likelihood(*given, one) for one in shared], axis=0)
    return best - log_likelihood(*given, np.zeros(rows.size))


def _room(crossings: Crossings, rows: Ints) -> Floats:
    """By row: flows like it that fit the narrowest cable between switches on its path."""
    network = crossings.fabric
    by_stage = crossings.by_stage[rows].tocoo()
    ports = np.array([stage[0] for stage in crossings.stages], np.int64)[by_stage.col]
    inner = network.between_switches[ports]
    rate = crossings.lowest_rate[rows].astype(np.float64)
    narrowest = np.full(rows.size, np.inf)
    np.minimum.at(narrowest, by_stage.row[inner], network.rate[ports[inner]])
    narrowest = np.where(np.isfinite(narrowest), narrowest, rate)
    room: Floats = np.maximum(1.0, np.floor(narrowest / rate + ROUNDING))
    return room
