"""Cables that carry nothing: what should cross them takes other ways and meets other messages."""

from collections.abc import Sequence

import numpy as np

from weft.diagnose.check.measured.crossing import Crossings
from weft.diagnose.check.measured.norms import Normed
from weft.diagnose.check.measured.readings import Bools, Ints
from weft.diagnose.check.suspects.meetings import (
    Detour,
    detours_of,
    gains_of_sharing,
    that_may_have_met,
)
from weft.diagnose.check.suspects.rerouted import Rerouted
from weft.diagnose.check.suspects.waiting import waiting
from weft.diagnose.check.trials import TOGETHER


def out_of_use(crossings: Crossings, against: Normed, pool: Ints, but: Ints) -> tuple[Detour, ...]:
    """Detours that explain slow readings of `pool`, the strongest first; rows `but` were measured
    alone or are slow for something else.

    Where the routing engine is known it says how messages meet without a cable; else where they
    may have met.
    """
    if crossings.network is None or crossings.adaptive:
        return ()
    rows = that_may_have_met(crossings, against, pool)
    rerouted = Rerouted(crossings, against, but)
    if not rows.size or not rerouted.is_known:
        return detours_of(crossings, against, rows)
    return _ByRouting(crossings, against, rows, rerouted).found()


class _ByRouting:
    """Looks for the cables without which the routing engine would send messages so that they met
    as they did: one after another, each with those before it out of use."""

    def __init__(
        self, crossings: Crossings, against: Normed, rows: Ints, rerouted: Rerouted
    ) -> None:
        self._crossings = crossings
        self._limits = crossings.limits
        self._slower = against.slower
        self._rows = rows
        self._rerouted = rerouted
        self._gain = gains_of_sharing(crossings, against, rows)
        self._cables = rerouted.cables_of(rows)
        self._is_survey = ~np.isin(rows, crossings.readings.of_trial(TOGETHER))

    def found(self) -> tuple[Detour, ...]:
        """The strongest detour first."""
        found: list[Detour] = []
        while (best := self._beside(found)) is not None:
            found.append(best)
        for place in range(len(found)):
            # The first may have been taken for messages that a later one moves.
            others = [detour for i, detour in enumerate(found) if i != place]
            found[place] = self._beside(others) or found[place]
        return tuple(found)

    def _beside(self, known: Sequence[Detour]) -> Detour | None:
        before = [detour.cables[0] for detour in known]
        scored = sorted(
            (-self._rerouted.evidence(cable, before), cable) for cable in self._likely(before)
        )
        if not scored or -scored[0][0] < self._limits.suspect_evidence:
            return None
        score, cable = -scored[0][0], scored[0][1]
        expected = self._rerouted.slowed([*before, cable], before)
        slowed = np.isin(self._rows, expected)
        if not self._is_told(slowed) or slowed.sum() < self._limits.least_slowed * expected.size:
            return None
        alike = tuple(c for minus, c in scored if -minus >= score - self._limits.near_evidence)
        mine = self._rows[slowed]
        met = np.intersect1d(waiting(self._crossings, mine), self._rows)
        slower = float(np.median(self._slower[mine]))
        return Detour(alike, mine, np.setdiff1d(met, mine), slower, score, by_engine=True)

    def _likely(self, known: Sequence[int]) -> set[int]:
        """Cables that most of what is slow should cross, and those beside them."""
        limits = self._limits
        left = ~np.isin(self._rows, self._rerouted.slowed(known, ()))
        gain = np.asarray(self._cables[left].T @ np.maximum(0.0, self._gain[left]))
        order = np.argsort(-gain, kind="stable")[: limits.rerouted_most]
        least = max(limits.rerouted_share * gain.max(), limits.clear_gain)
        chosen = {int(cable) for cable in order.tolist() if gain[cable] >= least}
        beside = {int(b) for cable in chosen for b in self._rerouted.beside(cable)}
        return (chosen | beside) - set(known)

    def _is_told(self, slowed: Bools) -> bool:
        """Whether it shows more than once."""
        moment = self._crossings.readings.moment[self._rows[slowed & self._is_survey]]
        return bool(np.unique(moment).size >= self._limits.meeting_moments)
