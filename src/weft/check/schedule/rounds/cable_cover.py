"""Rounds that fill every cable between switches so many times in each direction."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from weft.check.readings.readings import Bools, Floats, Ints
from weft.check.schedule.coverage_plan import worth
from weft.check.schedule.node_group import Group
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.reach import PairReach
from weft.check.schedule.rounds.admission import admitted
from weft.check.schedule.rounds.matchings import Round, circle, in_order
from weft.core.units import SUMMED

_TRIES = 3
"""Bundles tried for each port that still wants filling, each pass."""

_PATIENCE = 3
"""Rounds without a gain before a port is asked to be filled less, or given up."""

_PASSES = 4

_MANY_PORTS_PER_RANK = 4
"""With more ports that want filling for each rank, a pass tries as many as there are ranks. Trees
have at most so many (two a level), and are planned with all: tried with as many as ranks, 300 nodes
take 9 rounds instead of 8. A mesh of 765 switches with 2 nodes each has 127: tried with four for
each rank it takes 448 rounds, with one 465 in six tenths of the time."""


def leaf_rounds(ranks: ScheduleRanks, paths: FlowPaths, times: int | None = None) -> list[Round]:
    """Pairs under one leaf, on one rail, each rank with another one each round: `times` rounds,
    fewer where a leaf has no more; without `times` all pairs."""
    rails = leaves_of_rails(ranks, paths)
    groups = [np.array(leaf, np.int64) for rail in rails for leaf in rail if len(leaf) > 1]
    longest = max((_n_circle(group.size) for group in groups), default=0)
    rounds = []
    for r in range(longest if times is None else min(times, longest)):
        parts = [group[circle(r, group.size)] for group in groups if r < _n_circle(group.size)]
        rounds.append(in_order(np.concatenate(parts)))
    return rounds


def leaves_of_rails(ranks: ScheduleRanks, paths: FlowPaths) -> list[list[list[int]]]:
    """By rail: the ranks under each leaf that has any."""
    works = np.flatnonzero(ranks.has_rail)
    leaf = paths.leaf_of(ranks.hca[works])
    rails = []
    for rail in range(ranks.n_rails):
        of_rail = ranks.rail[works] == rail
        leaves = np.unique(leaf[of_rail])
        rails.append([works[of_rail & (leaf == number)].tolist() for number in leaves])
    return rails


def cover_rounds(
    ranks: ScheduleRanks,
    paths: FlowPaths,
    reach: PairReach,
    times: int,
    *,
    seed: int,
    only: Group | None = None,
) -> list[Round]:
    """Rounds in which every port between switches that a pair can cross is filled `times` times,
    and no port carries more than its rate. Ranks that no such pair wants meet at random.

    Greedy: each round takes the pairs that fill most ports still wanted. Pairs stay on one rail
    unless only others cross a port. With `only` the ports that pairs of the group can cross.
    """
    cover = _Cover(ranks, paths, reach, np.random.default_rng(seed), only)
    rounds: list[Round] = []
    want = np.where(reach.ports, float(times), 0.0)
    n_flows = reach.n_flows.copy()
    idle = 0
    while (want > SUMMED).any() and idle < _PATIENCE * int(n_flows.max() + 1):
        pairs = cover.round(want, n_flows)
        full = np.minimum(reach.full, n_flows * cover.fastest)
        gained = worth(pairs, ranks, paths, full) if pairs.size else np.zeros(want.size)
        before = float(want.sum())
        want = np.maximum(0.0, want - gained)
        if want.sum() < before - SUMMED:
            rounds.append(pairs)
            idle = 0
            continue
        idle += 1
        if idle % _PATIENCE == 0:
            n_flows = np.where(want > 0, np.maximum(1, n_flows - 1), n_flows)
    return rounds


@dataclass
class _Cover:
    """Draws the pairs of a round."""

    ranks: ScheduleRanks
    paths: FlowPaths
    reach: PairReach
    draws: np.random.Generator
    only: Group | None
    fastest: float = field(init=False)

    def __post_init__(self) -> None:
        ranks, paths = self.ranks, self.paths
        network = paths.network
        works = np.flatnonzero(ranks.has_rail)
        self.fastest = float(network.rate[network.port_of_hca[ranks.hca[works]]].max())
        self._rank_of = np.full(len(network.hcas), -1, np.int64)
        self._rank_of[ranks.hca[works]] = works
        key = paths.leaf_of(ranks.hca[works]) * ranks.n_rails + ranks.rail[works]
        order = np.argsort(key, kind="stable")
        self._sources = works[order]
        n_keys = paths.leaves.size * ranks.n_rails
        self._first = np.searchsorted(key[order], np.arange(n_keys + 1))
        self._on_rail = self._can_stay_on_rail()

    def round(self, want: Floats, n_flows: Ints) -> Round:
        """The pairs of one round."""
        ranks, paths = self.ranks, self.paths
        free = ranks.has_rail.copy()
        # Places: those of the paths, then the ranks, each for one pair; at the end nowhere.
        room = np.concatenate([paths.room[:-1], np.ones(len(ranks)), [np.inf]])
        chosen: list[Ints] = []
        filled = np.zeros(want.size)
        n_passes = _PASSES if not paths.adaptive else 0
        for n_left in reversed(range(n_passes)):
            wanted = np.flatnonzero((want > 0) & (filled == 0))
            if wanted.size > _MANY_PORTS_PER_RANK * len(ranks):
                wanted = np.sort(self.draws.choice(wanted, len(ranks), replace=False))
            before = len(chosen)
            for k in np.unique(n_flows[wanted])[::-1].tolist():
                flows, valid = self._bundles(wanted[n_flows[wanted] == k], k, free)
                chosen += self._admit(flows, valid, want, room, free)
            if len(chosen) == before or not n_left:
                break
            filled = worth(in_order(np.concatenate(chosen)), ranks, paths, self.reach.full)
        for _ in range(2):
            flows = self._drawn(free)
            valid = np.ones((len(flows), 1), np.bool_)
            chosen += self._admit(flows[:, None, :], valid, want, room, free)
        return in_order(np.concatenate(chosen)) if chosen else np.zeros((0, 2), np.int64)

    def _can_stay_on_rail(self) -> Bools:
        """By port: whether a pair on one rail crosses it; True where nothing crosses it."""
        reach, ranks = self.reach, self.ranks
        can = np.ones(reach.ports.size, np.bool_)
        if ranks.n_rails == 1 or not reach.leaf.size:
            return can
        rail = ranks.rail[self._rank_of[self.paths.hcas[reach.column]]]
        n_sources = np.diff(self._first)[reach.leaf * ranks.n_rails + rail]
        port = np.repeat(np.arange(reach.ports.size), np.diff(reach.first))
        found = np.bincount(port, weights=n_sources > 0, minlength=reach.ports.size)
        return np.asarray((found > 0) | (np.diff(reach.first) == 0), np.bool_)

    def _bundles(self, ports: Ints, k: int, free: Bools) -> tuple[Ints, Bools]:
        """Bundles x flows x (from, to): k flows over each port; and which flows of a bundle are
        meant. All of a bundle send to a higher rank, or all to a lower one, since the two
        directions of pairs are measured in turn."""
        reach, ranks, draws = self.reach, self.ranks, self.draws
        ports = np.repeat(ports, _TRIES * (1 if k == 1 else 4))
        n_drawn = 1 if k == 1 else 4 * k
        span = np.diff(reach.first)[ports]
        at = reach.first[ports][:, None] + (draws.random((ports.size, n_drawn)) * span[:, None])
        at = at.astype(np.int64)
        to = self._rank_of[self.paths.hcas[reach.column[at]]]
        leaf = reach.leaf[at]
        low = np.where(self._on_rail[ports][:, None], ranks.rail[to], 0)
        high = np.where(self._on_rail[ports][:, None], ranks.rail[to], ranks.n_rails - 1)
        first = self._first[leaf * ranks.n_rails + low]
        last = self._first[leaf * ranks.n_rails + high + 1]
        chosen = first + (draws.random(first.shape) * (last - first)).astype(np.int64)
        start = self._sources[np.minimum(chosen, self._sources.size - 1)]
        valid = (last > first) & free[start] & free[to] & (ranks.unit[start] != ranks.unit[to])
        flows = np.stack([start, to], axis=2)
        if self.only is not None:
            touched = self.only.touched(flows.reshape(-1, 2), ranks, self.paths)
            valid &= touched.reshape(valid.shape)
        if k > 1:
            upward = (start < to) == (draws.random(ports.size) < 0.5)[:, None]
            valid = first_of_each(valid & upward, start, to, k)
        complete = valid.sum(axis=1) == k
        return flows[complete], valid[complete]

    def _drawn(self, free: Bools) -> Ints:
        """Pairs x 2 of ranks that are free, on one rail, drawn at random."""
        ranks, draws = self.ranks, self.draws
        left = draws.permutation(np.flatnonzero(free))
        left = left[np.argsort(ranks.rail[left], kind="stable")]
        starts = np.searchsorted(ranks.rail[left], np.arange(ranks.n_rails + 1))
        parts = [
            left[a : a + (b - a) // 2 * 2].reshape(-1, 2) for a, b in pairwise(starts.tolist())
        ]
        flows = np.concatenate(parts)
        if self.only is not None and flows.size:
            flows = flows[self.only.touched(flows, ranks, self.paths)]
        return np.asarray(flows, np.int64)

    def _admit(
        self, flows: Ints, valid: Bools, want: Floats, room: Floats, free: Bools
    ) -> list[Ints]:
        """The flows (pairs x 2) of the bundles that fit, those that gain most first; their ranks
        are `free` no longer."""
        if not len(flows):
            return []
        ranks, paths = self.ranks, self.paths
        n, k = valid.shape
        start, to = flows[..., 0].reshape(-1), flows[..., 1].reshape(-1)
        there, back = (
            paths.cross(ranks.hca[start], ranks.hca[to]),
            paths.cross(ranks.hca[to], ranks.hca[start]),
        )
        load = np.repeat(
            np.stack([paths.rate(there), paths.rate(back)], axis=1), there.shape[1], axis=1
        )
        ends = paths.nowhere + flows.reshape(-1, 2)
        uses = np.concatenate([there, back], axis=1)
        gain = np.concatenate([want, np.zeros(paths.nowhere + 1 - want.size)])[uses].sum(axis=1)
        nowhere = room.size - 1
        uses = np.where(uses == paths.nowhere, nowhere, uses)
        uses = np.concatenate([uses, ends], axis=1)
        load = np.concatenate([load, np.ones((load.shape[0], 2))], axis=1)
        uses[~valid.reshape(-1)] = nowhere
        gain = np.where(valid.reshape(-1), gain, 0.0).reshape(n, k).sum(axis=1)
        uses, load = uses.reshape(n, -1), load.reshape(n, -1)
        if k > 1:
            uses, load = once_each(uses, load, nowhere)
        order = np.argsort(-(gain + self.draws.random(n)), kind="stable")
        fit = order[admitted(uses[order], load[order], room)]
        taken = [flows[i][valid[i]] for i in fit.tolist()]
        for flow in taken:
            free[flow] = False
        return taken


def first_of_each(valid: Bools, start: Ints, to: Ints, k: int) -> Bools:
    """The first k valid flows of a bundle whose ends are not in one before."""
    kept = valid.copy()
    for j in range(1, valid.shape[1]):
        for i in range(j):
            twice = (start[:, i] == start[:, j]) | (to[:, i] == to[:, j])
            twice |= (start[:, i] == to[:, j]) | (to[:, i] == start[:, j])
            kept[:, j] &= ~(kept[:, i] & twice)
    return np.asarray(kept & (np.cumsum(kept, axis=1) <= k), np.bool_)


def once_each(uses: Ints, load: Floats, nowhere: int) -> tuple[Ints, Floats]:
    """Rows in which a place stands once, with all of its load."""
    order = np.argsort(uses, axis=1, kind="stable")
    uses = np.take_along_axis(uses, order, axis=1)
    load = np.take_along_axis(load, order, axis=1)
    for j in range(uses.shape[1] - 1):
        same = uses[:, j] == uses[:, j + 1]
        load[:, j + 1] += np.where(same, load[:, j], 0.0)
        uses[:, j] = np.where(same, nowhere, uses[:, j])
    return uses, np.where(uses == nowhere, 0.0, load)


def _n_circle(n: int) -> int:
    """Rounds of a round robin of n."""
    return n - 1 + n % 2
