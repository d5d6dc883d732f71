"""Paths among which switches choose, and that deliver less than others of their kind.

A missing or slow path among many slows some messages much and others not at all, by where the
switches happened to send them. No component is slow by a common amount then, so paths are
compared with paths. Some moments fill little but one leaf's paths; in full rounds messages of all
leaves delay one another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags

from weft.check.readings.candidates import Member, cable_ports
from weft.check.readings.components import PARTS, Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Bools, Floats, Ints, Metric
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.queueing import waiting
from weft.stats.summary import robust_sigma

MEDIAN_ERROR = float(np.sqrt(np.pi / 2))
"""Standard error of a median in those of a mean, of normal noise."""


class Look(StrEnum):
    """The evidence that a path is crowded: the median of its rates in moments in which no other
    path is filled, or in full rounds."""

    ALONE = "filled by itself"
    ALL = "median of full rounds"


@dataclass(frozen=True)
class CrowdedPath:
    """Crowded paths, and the kind of rounds that shows it. `number`: of their stage, where they
    were filled alone, else of their candidate."""

    suspect: Suspect
    look: Look
    number: int

    @property
    def slower(self) -> float:
        """By how much, as a natural logarithm."""
        return self.suspect.slower[Metric.BANDWIDTH]


@dataclass(frozen=True)
class Delivered:
    """By path (number `paths`, of kind `kind`): how slow it is, and the standard error of that.
    `climbs`: messages that go down meet others from everywhere and are slower than those that go
    up."""

    paths: Ints
    kind: Ints
    climbs: Ints
    slower: Floats
    error: Floats


class SharedPaths:
    """The rates of the paths that messages share, by readings that no suspect explains."""

    def __init__(self, crossings: Crossings, against: Normed, predicted: Floats) -> None:
        self._crossings = crossings
        self._network = crossings.fabric
        self._against = against
        self._limits = crossings.limits
        self._explained = predicted > 0
        judged = (against.norm >= 0) & ~self._explained
        self._judged = judged & (crossings.readings.metric == Metric.BANDWIDTH.code)
        self._slower = against.slower

    def crowded(self, rows: Bools, *, surely_slow: bool) -> tuple[CrowdedPath, ...]:
        """Paths out of their kind by readings `rows`; by full rounds none where something else is
        `surely_slow`: a slow receiver holds up what never crosses it."""
        looks = (Look.ALONE,) if surely_slow else tuple(Look)
        found: dict[frozenset[int], CrowdedPath] = {}
        for look in looks:
            for path in self._found(look, rows):
                found.setdefault(self.cables_of(path), path)
        return tuple(found.values())

    def shows_again(self, path: CrowdedPath, found: Sequence[CrowdedPath], rows: Bools) -> bool:
        """Whether other readings `rows` show at least half of what a path was found by. In full
        rounds some path is always slow by chance: it must then be slower than any of its kind that
        was not `found`, by a margin."""
        delivered = self._delivered(path.look, rows)
        # Filled by themselves others are measured in the survey only.
        others = self._delivered(path.look, ~rows) if path.look is Look.ALONE else delivered
        if delivered is None or others is None or path.number not in delivered.paths:
            return False
        place = int(np.flatnonzero(delivered.paths == path.number)[0])
        slower = float(delivered.slower[place])
        known = [other.number for other in found if other.look is path.look]
        alike = others.kind == delivered.kind[place]
        alike &= others.climbs == delivered.climbs[place]
        peers = others.slower[alike & ~np.isin(others.paths, known)]
        if not peers.size or slower - float(np.median(peers)) < path.slower / 2:
            return False
        margin = self._limits.crowded_margin
        return path.look is Look.ALONE or slower >= margin * float(peers.max())

    def is_slow_for_some(self, rows: Ints, slower: float) -> bool:
        """Whether, of the readings `rows` of a path accused of being `slower`, those that do not
        cross some other path are surely less than half as slow: that path slows the others."""
        mine = rows[self._judged[rows]]
        inner = [self._network.between_switches[list(of)].all() for of in self._crossings.stages]
        crossed = (self._crossings.by_stage[mine][:, np.flatnonzero(inner)] > 0).toarray()
        for with_other in crossed.T:
            left = mine[~with_other]
            if left.size < self._limits.crowded_readings:
                continue
            error = MEDIAN_ERROR * float(np.median(self._against.sigma[left])) / np.sqrt(left.size)
            sure = float(np.median(self._slower[left])) + self._limits.noise_sigma * error
            if sure < slower / 2:
                return True
        return False

    def is_measured(self, path: CrowdedPath, rows: Bools) -> bool:
        """Whether readings `rows` are enough to judge a path."""
        delivered = self._delivered(path.look, rows)
        return delivered is not None and path.number in delivered.paths

    def cables_of(self, path: CrowdedPath) -> frozenset[int]:
        """The cables that a path is made of, whatever it was found by."""
        members = self._crossings.candidates.members
        ports = (cable_ports(m) for c in path.suspect.candidates for m in members[c])
        return frozenset(port >> 1 for of_member in ports for port in of_member)

    def can_tell(self, candidate: int) -> bool:
        """Whether paths are better held against one another than accused by what is common to their
        readings: switches among which messages choose are, others where enough are alike."""
        members = self._crossings.candidates.members
        part, size = members[candidate][0][0], len(members[candidate])
        if part == PARTS.index(Part.SWITCH):
            return True
        alike = sum(members[w][0][0] == part and len(members[w]) == size for w in self._shared[0])
        return bool(alike >= self._limits.crowded_peers)

    def rows_of(self, path: CrowdedPath) -> Ints:
        """The readings by which a path is judged."""
        where, stage = self.by_itself
        if path.look is Look.ALONE:
            return np.asarray(where[stage == path.number], np.int64)
        return np.setdiff1d(self._crossings.candidates.rows(path.number), where)

    def judged_rows_of(self, path: CrowdedPath) -> Ints:
        """Those of the same that no suspect slows."""
        rows = self.rows_of(path)
        return np.asarray(rows[self._judged[rows]], np.int64)

    @cached_property
    def by_itself(self) -> tuple[Ints, Ints]:
        """Rows in whose moment one stage between switches was filled as far as it ever was, and no
        other of their path half as far; and these stages."""
        crossings, network = self._crossings, self._network
        inner = [network.between_switches[list(of)].all() for of in crossings.stages]
        load = csr_matrix(crossings.load @ diags(np.array(inner, np.float64)))
        load.eliminate_zeros()
        fullest = np.asarray(load.max(axis=0).todense()).reshape(-1)
        rows = np.flatnonzero(np.diff(load.indptr))
        most, second, stage = _two_largest(load, rows)
        filled = most >= self._limits.filled_share * np.minimum(1.0, fullest[stage])
        chosen = filled & (second <= self._limits.second_share * most)
        return rows[chosen], stage[chosen]

    def _found(self, look: Look, rows: Bools) -> Iterator[CrowdedPath]:
        """The clearest, then the next without its readings: these count against nothing else."""
        limits = self._limits
        left = rows.copy()
        while (delivered := self._delivered(look, left)) is not None:
            clear = self._out_of_kind(delivered)
            if look is Look.ALONE:
                clear = self._in_both_directions(delivered.paths, clear)
            else:
                clear[delivered.slower < limits.bandwidth_least] = 0.0
            place = int(np.argmax(clear))
            if clear[place] < self._limits.peer_sigma:
                return
            number, slower = int(delivered.paths[place]), float(delivered.slower[place])
            evidence = float(clear[place]) ** 2 / 2
            suspect = Suspect(self._candidates(look, number), {Metric.BANDWIDTH: slower}, evidence)
            path = CrowdedPath(suspect, look, number)
            yield path
            left[self.rows_of(path)] = False

    def _candidates(self, look: Look, number: int) -> tuple[int, ...]:
        """The candidates that stand for a path; several for a stage whose ports not the same
        readings cross."""
        if look is not Look.ALONE:
            return (number,)
        of_port = self._crossings.candidates.of_part(Part.DIRECTION)
        return tuple(dict.fromkeys(of_port[port] for port in self._crossings.stages[number]))

    def _delivered(self, look: Look, rows: Bools) -> Delivered | None:
        if look is Look.ALONE:
            return self._filled_alone(rows)
        full: Bools = self._judged & rows
        full[self.by_itself[0]] = False
        full[self._behind] = False
        return self._medians(full)

    def _filled_alone(self, rows: Bools) -> Delivered | None:
        """How slow paths are that are filled by themselves, without moments that a slow
        component shares."""
        where, stage = self.by_itself
        group = self._crossings.readings.moment[where] * len(self._crossings.stages) + stage
        spoiled = np.isin(group, self._groups_with_suspects())
        chosen = (self._judged & rows)[where] & ~spoiled
        where, stage = where[chosen], stage[chosen]
        least = self._limits.crowded_readings
        numbers, n = np.unique(stage, return_counts=True)
        numbers, n = numbers[n >= least], n[n >= least]
        if not numbers.size:
            return None
        of_stage = [where[stage == number] for number in numbers.tolist()]
        medians = np.array([float(np.median(self._slower[of])) for of in of_stage])
        sigma = np.array([float(np.median(self._against.sigma[of])) for of in of_stage])
        stages = [self._crossings.stages[number] for number in numbers.tolist()]
        kind = np.array([len(stage) for stage in stages], np.int64)
        climbs = self._network.climbs[[stage[0] for stage in stages]]
        return Delivered(numbers, kind, climbs, medians, MEDIAN_ERROR * sigma / np.sqrt(n))

    def _groups_with_suspects(self) -> Ints:
        """Moments and stages (a number for both) that something crossed which a suspect slows."""
        crossed = self._crossings.by_stage[np.flatnonzero(self._explained)].tocoo()
        moment = self._crossings.readings.moment[self._explained][crossed.row]
        return np.unique(moment * len(self._crossings.stages) + crossed.col)

    def _medians(self, full: Bools) -> Delivered | None:
        """How slow paths are in full rounds."""
        paths, columns = self._shared
        chosen = csc_matrix(diags(full.astype(np.float64)) @ columns)
        chosen.eliminate_zeros()
        n = np.diff(chosen.indptr)
        path = np.repeat(np.arange(paths.size), n)
        slower = self._slower[chosen.indices]
        ordered = slower[np.lexsort((slower, path))]
        at = chosen.indptr[:-1] + np.maximum(0, n - 1) // 2
        kept = np.flatnonzero(n >= self._limits.crowded_readings)
        if not kept.size:
            return None
        members = [self._crossings.candidates.members[path] for path in paths[kept].tolist()]
        kinds = np.array([(len(of) << 8) + of[0][0] for of in members], np.int64)
        # A cable climbs in one direction and descends in the other: 0 together.
        climbs = np.array([self._network.climbs[[*cable_ports(of[0])]].sum() for of in members])
        return Delivered(paths[kept], kinds, climbs, ordered[at[kept]], np.zeros(kept.size))

    def _in_both_directions(self, stages: Ints, clear: Floats) -> Floats:
        """A fault of a cable shows in both of its directions: where both are slower than
        their kinds, the two together are stronger evidence than the slower one."""
        place = {frozenset(self._crossings.stages[s]): i for i, s in enumerate(stages.tolist())}
        both = clear.copy()
        for ports, here in place.items():
            back = place.get(frozenset(port ^ 1 for port in ports))
            if back is not None and clear[here] >= clear[back] > 0:
                both[here] = max(clear[here], (clear[here] + clear[back]) / np.sqrt(2))
        return both

    @cached_property
    def _behind(self) -> Ints:
        """Rows that may have waited behind something that a suspect slows."""
        return waiting(self._crossings, np.flatnonzero(self._explained))

    @cached_property
    def _shared(self) -> tuple[Ints, csc_matrix]:
        """Candidates of several cables or directions between switches, and what crosses them."""
        candidates = self._crossings.candidates
        inner = {PARTS.index(Part.CABLE), PARTS.index(Part.DIRECTION)}
        n_rows = np.diff(candidates.columns.indptr)
        widest: dict[frozenset[Member], int] = {}
        for number in np.flatnonzero(self._crossings.shared_paths).tolist():
            members = frozenset(candidates.members[number])
            if len(members) < 2 or not {part for part, _ in members} <= inner:
                continue
            # The same paths once more, by what filled them only, are a part of these readings.
            if members not in widest or n_rows[number] > n_rows[widest[members]]:
                widest[members] = number
        paths = np.array(sorted(widest.values()), np.int64)
        return paths, candidates.columns[:, paths]

    def _out_of_kind(self, delivered: Delivered) -> Floats:
        """By path: standard deviations that it is slower than others of its kind; 0 where these are
        too few."""
        clear = np.zeros(delivered.paths.size)
        for kind in np.unique(delivered.kind):
            peers = np.flatnonzero(delivered.kind == kind)
            if peers.size < self._limits.crowded_peers:
                continue
            values, climbs = delivered.slower[peers].copy(), delivered.climbs[peers]
            for path in np.unique(climbs):
                values[climbs == path] -= np.median(values[climbs == path])
            least = np.maximum(delivered.error[peers], self._limits.scale_floor / 2)
            clear[peers] = values / np.maximum(robust_sigma(values), least)
        return clear


def _two_largest(load: csr_matrix, rows: Ints) -> tuple[Floats, Floats, Ints]:
    """Of rows that are not empty: the largest value, the next one (0 without), and the column of
    the largest."""
    row = np.repeat(np.arange(load.shape[0]), np.diff(load.indptr))
    order = np.lexsort((-load.data, row))
    first = load.indptr[rows]
    has_next = np.diff(load.indptr)[rows] > 1
    following = np.minimum(first + 1, max(0, load.data.size - 1))
    largest, column = load.data[order][first], load.indices[order][first]
    second = np.where(has_next, load.data[order][following], 0.0)
    return largest, second, column.astype(np.int64)
