"""The planned coverage of rounds: pairs of all pairs, and how often each cable is filled."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weft.check.readings.readings import Bools, Floats, Ints
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.reach import PairReach
from weft.check.schedule.rounds.admission import FULL
from weft.check.schedule.rounds.matchings import Round
from weft.check.schedule.rounds.split import crossed_in_both_directions
from weft.check.thresholds import thresholds
from weft.core.units import SUMMED
from weft.core.words import counted, times


def fillings(pairs: Round, ranks: ScheduleRanks, paths: FlowPaths, full: Floats) -> Floats:
    """By port: how often a round fills it, 0 or 1. A port is filled while the messages of one
    direction of the pairs that cross it add up to what any could fill of it (`full`, bit/s). Under
    adaptive routing, where the port is unknown, its share of those that may take it counts, and
    is enough as far as it is for the diagnosis (`filled_share`)."""
    least = thresholds().filled_share if paths.adaptive else 1 / FULL
    most = np.maximum(*_carried(pairs, ranks, paths))
    return np.asarray((most >= least * full) & (most > 0), np.float64)


def worth(pairs: Round, ranks: ScheduleRanks, paths: FlowPaths, full: Floats) -> Floats:
    """By port: the worth of a round, in fillings. Under adaptive routing, where rounds fill no path
    on purpose (`asked_of_shared`), the messages that the port may get."""
    if not paths.adaptive:
        return fillings(pairs, ranks, paths, full)
    there, back = _carried(pairs, ranks, paths)
    return np.asarray((there + back) / paths.network.rate, np.float64)


def _carried(pairs: Round, ranks: ScheduleRanks, paths: FlowPaths) -> tuple[Floats, Floats]:
    """By port: its load (bit/s) while the first of each pair sends, and while the second
    does; of a stage's ports each its share."""
    there, back, rate_there, rate_back = crossed_in_both_directions(pairs, ranks, paths)
    loads = (paths.load(there, rate_there), paths.load(back, rate_back))
    if not paths.adaptive:
        return loads[0][:-1], loads[1][:-1]
    rate = paths.network.rate
    return paths.port_share(loads[0]) * rate, paths.port_share(loads[1]) * rate


@dataclass(frozen=True)
class PlannedCoverage:
    """`filled`: by port, how often the schedule fills it. `worth`: the fillings that its messages
    there add up to. `reachable`: by port between switches, whether any pair of these ranks crosses
    it. All empty without a fabric. `n_in_part`: cables of which these ranks cannot send as much
    through one direction as it bears. `n_across`: pairs of unlike rails, which are no part of the
    others."""

    ranks: ScheduleRanks
    n_rounds: int
    n_pairs: int
    n_pairs_possible: int
    filled: Floats
    worth: Floats
    reachable: Bools
    n_in_part: int = 0
    n_across: int = 0

    @cached_property
    def by_cable(self) -> Floats:
        """By cable between switches that a pair can cross: how often it is filled in the direction
        it is filled less."""
        return self._less_of_both(self.filled)

    @property
    def covers_all(self) -> bool:
        """Whether all messages together fill each cable that a pair can cross at least once."""
        return bool((self._less_of_both(self.worth) >= 1 - SUMMED).all())

    def unfilled(self, switches: Ints) -> Ints:
        """Which of some switches (vertices) have a cable to another switch that a pair can cross
        and no round fills both directions."""
        network = self.ranks.network
        assert network is not None
        empty = (self.reachable & (self.filled < 1 - SUMMED)).reshape(-1, 2).any(axis=1)
        return np.intersect1d(switches, network.vertex[np.repeat(empty, 2)])

    def _less_of_both(self, by_port: Floats) -> Floats:
        both = np.where(self.reachable, by_port, np.inf).reshape(-1, 2).min(axis=1)
        return np.asarray(both[np.isfinite(both)], np.float64)

    @property
    def n_beyond_reach(self) -> int:
        """Cables between switches that no pair of these ranks crosses."""
        network = self.ranks.network
        assert network is not None
        inner = network.between_switches.reshape(-1, 2)[:, 0]
        return int((inner & ~self.reachable.reshape(-1, 2).any(axis=1)).sum())

    @property
    def pairs_text(self) -> str:
        """'2,610 of 139,128 pairs of 528 nodes in 13 rounds'; and pairs of unlike rails apart."""
        kind = "rank" if self.ranks.n_rails > 1 or self.ranks.host is not None else "node"
        across = f" and {self.n_across:,} of unlike rails" if self.n_across else ""
        return (
            f"{self.n_pairs:,} of {counted(self.n_pairs_possible, 'pair')}{across}"
            f" of {counted(len(self.ranks), kind)} in {counted(self.n_rounds, 'round')}"
        )

    @property
    def cables_text(self) -> str:
        """How often each cable is filled."""
        if not self.filled.size:
            return "their cables are unknown (--fabric names them)"
        n = self.by_cable.size
        beyond = self.n_beyond_reach
        more = f"; no pair can cross {beyond:,} more" if beyond else ""
        if not n:
            return f"no cable between switches can be crossed by these nodes{more}"
        least = int(self.by_cable.min() + SUMMED)
        how = f"each filled {times(least)} or more in each direction that pairs cross"
        if least == 0:
            never = int((self.by_cable < 1 - SUMMED).sum())
            how = f"{n - never:,} filled in each direction that pairs cross, {never:,} not"
        if self.n_in_part:
            how += f", {self.n_in_part:,} of them only in part: these nodes cannot send more"
        return f"{counted(n, 'cable')} between switches: {how}{more}"

    def to_record(self) -> dict[str, Any]:
        """The planned coverage as plain JSON values."""
        record: dict[str, Any] = {
            "rounds": self.n_rounds,
            "pairs": self.n_pairs,
            "pairs_possible": self.n_pairs_possible,
        }
        if self.filled.size:
            n = self.by_cable.size
            record |= {
                "cables_between_switches": n,
                "cables_filled_at_least": int(self.by_cable.min() + SUMMED) if n else 0,
                "cables_not_filled": int((self.by_cable < 1 - SUMMED).sum()),
                "cables_filled_in_part": self.n_in_part,
                "cables_beyond_reach": self.n_beyond_reach,
            }
        return record


def planned_coverage(
    rounds: Sequence[Round],
    ranks: ScheduleRanks,
    paths: FlowPaths | None,
    reach: "PairReach | None",
) -> PlannedCoverage:
    """The pairs and cables that the rounds cover."""
    keys = [pairs.min(axis=1) * len(ranks) + pairs.max(axis=1) for pairs in rounds]
    met: Ints = np.unique(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
    works = ranks.has_rail.reshape(len(ranks.units), ranks.n_rails).sum(axis=0)
    possible = int((works * (works - 1) // 2).sum())
    cross_rail = ranks.rail[met // len(ranks)] != ranks.rail[met % len(ranks)]
    filled, worths, reachable, n_in_part = np.zeros(0), np.zeros(0), np.zeros(0, np.bool_), 0
    if paths is not None and reach is not None:
        filled, worths = np.zeros(reach.ports.size), np.zeros(reach.ports.size)
        for pairs in rounds:
            done = fillings(pairs, ranks, paths, reach.full)
            filled += done
            worths += worth(pairs, ranks, paths, reach.full) if paths.adaptive else done
        reachable = reach.ports
        room = reachable & (reach.full < paths.network.rate)
        n_in_part = int(room.reshape(-1, 2).any(axis=1).sum())
    n_same = int((~cross_rail).sum())
    n_rounds = len(rounds)
    of_cables = (filled, worths, reachable, n_in_part)
    return PlannedCoverage(ranks, n_rounds, n_same, possible, *of_cables, int(cross_rail.sum()))
