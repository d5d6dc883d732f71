"""What rounds cross before anybody measures them: pairs of all pairs, and how often each cable
is filled."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weft.core.words import counted, times
from weft.diagnose.check.measured.readings import Bools, Floats, Ints
from weft.diagnose.check.rounds.matchings import Round
from weft.diagnose.check.rounds.ranks import Ranks
from weft.diagnose.check.rounds.reach import Reach
from weft.diagnose.check.rounds.split import crossed_both_ways
from weft.diagnose.check.rounds.ways import Ways


def fillings(pairs: Round, ranks: Ranks, ways: Ways, full: Floats) -> Floats:
    """By port: how often a round fills it, 0 or 1. A port is filled while the messages of one
    direction of the pairs that cross it add up to what any could fill of it (`full`, bit/s). Under
    adaptive routing, where nobody knows the port, its expected share of a filling."""
    there, back, rate_there, rate_back = crossed_both_ways(pairs, ranks, ways)
    loads = (ways.load(there, rate_there), ways.load(back, rate_back))
    if ways.adaptive:
        return np.asarray(ways.port_share(loads[0]) + ways.port_share(loads[1]), np.float64)
    most = np.maximum(*loads)[:-1]
    return np.asarray((most >= 0.999 * full) & (most > 0), np.float64)


@dataclass(frozen=True)
class PlannedCoverage:
    """`filled`: by port, how often the schedule fills it; `reachable`: by port between switches,
    whether any pair of these ranks crosses it. Both None without a fabric. `n_in_part`: cables of
    which these ranks cannot send as much through one direction as it bears."""

    ranks: Ranks
    n_rounds: int
    n_pairs: int
    n_pairs_possible: int
    filled: Floats | None
    reachable: Bools | None
    n_in_part: int = 0

    @cached_property
    def by_cable(self) -> Floats:
        """By cable between switches that a pair can cross: how often it is filled in the direction
        it is filled less."""
        assert self.filled is not None
        assert self.reachable is not None
        both = np.where(self.reachable, self.filled, np.inf).reshape(-1, 2).min(axis=1)
        return np.asarray(both[np.isfinite(both)], np.float64)

    @property
    def fills_all(self) -> bool:
        """Whether every cable that a pair can cross is filled once at least."""
        return bool((self.by_cable >= 1 - 1e-6).all())

    @property
    def n_beyond_reach(self) -> int:
        """Cables between switches that no pair of these ranks crosses."""
        assert self.reachable is not None
        network = self.ranks.network
        assert network is not None
        inner = network.between_switches.reshape(-1, 2)[:, 0]
        return int((inner & ~self.reachable.reshape(-1, 2).any(axis=1)).sum())

    @property
    def pairs_text(self) -> str:
        """'2,610 of 139,128 pairs of 528 nodes in 13 rounds'."""
        kind = "rank" if self.ranks.n_rails > 1 or self.ranks.host is not None else "node"
        return (
            f"{self.n_pairs:,} of {counted(self.n_pairs_possible, 'pair')}"
            f" of {counted(len(self.ranks), kind)} in {counted(self.n_rounds, 'round')}"
        )

    @property
    def cables_text(self) -> str:
        """How often each cable is filled."""
        if self.filled is None:
            return "which cables they cross is not known without a fabric"
        n = self.by_cable.size
        beyond = self.n_beyond_reach
        rest = f"; no pair can cross {beyond:,} more" if beyond else ""
        if not n:
            return f"no cable between switches can be crossed by these nodes{rest}"
        least = int(self.by_cable.min() + 1e-6)
        how = f"each filled {times(least)} or more each way that pairs can take"
        if least == 0:
            never = int((self.by_cable < 1 - 1e-6).sum())
            how = f"{n - never:,} filled each way that pairs can take, {never:,} not"
        if self.n_in_part:
            how += f", {self.n_in_part:,} of them in part: these nodes can send no more"
        return f"{counted(n, 'cable')} between switches: {how}{rest}"

    def to_record(self) -> dict[str, Any]:
        """The planned coverage as plain JSON values."""
        record: dict[str, Any] = {
            "rounds": self.n_rounds,
            "pairs": self.n_pairs,
            "pairs_possible": self.n_pairs_possible,
        }
        if self.filled is not None:
            n = self.by_cable.size
            record |= {
                "cables_between_switches": n,
                "cables_filled_at_least": int(self.by_cable.min() + 1e-6) if n else 0,
                "cables_not_filled": int((self.by_cable < 1 - 1e-6).sum()),
                "cables_filled_in_part": self.n_in_part,
                "cables_beyond_reach": self.n_beyond_reach,
            }
        return record


def planned_coverage(
    rounds: Sequence[Round], ranks: Ranks, ways: Ways | None, reach: "Reach | None"
) -> PlannedCoverage:
    """What the rounds cover."""
    keys = [pairs.min(axis=1) * len(ranks) + pairs.max(axis=1) for pairs in rounds]
    met: Ints = np.unique(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
    works = ranks.has_rail.reshape(len(ranks.units), ranks.n_rails).sum(axis=0)
    possible = int((works * (works - 1) // 2).sum())
    cross_rail = ranks.rail[met // len(ranks)] != ranks.rail[met % len(ranks)]
    filled, reachable, n_in_part = None, None, 0
    if ways is not None and reach is not None:
        filled = np.zeros(len(ways.network.ports))
        for pairs in rounds:
            filled += fillings(pairs, ranks, ways, reach.full)
        reachable = reach.ports
        room = reachable & (reach.full < ways.network.rate)
        n_in_part = int(room.reshape(-1, 2).any(axis=1).sum())
    n_same = int((~cross_rail).sum())
    return PlannedCoverage(ranks, len(rounds), n_same, possible, filled, reachable, n_in_part)
