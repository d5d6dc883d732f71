"""Paths among which switches choose, and that deliver less than others of their kind.

A missing or slow path among many slows some messages much and others not at all, by where the
switches happened to send them. No component is slow by a common amount then, so paths are
compared with paths. Some moments fill little but one leaf's paths; in full rounds messages of all
leaves delay one another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from scipy.sparse import csc_matrix, diags

from weft.check.readings.candidates import Member, cable_ports
from weft.check.readings.components import PARTS, Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Bools, Floats, Ints, Metric
from weft.check.suspects.crowding.filled_stages import filled_by_itself, in_series
from weft.check.suspects.crowding.path_kinds import (
    Delivered,
    apart,
    beyond,
    out_of_kind,
)
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.queueing import waiting
from weft.stats.summary import robust_sigma

MEDIAN_ERROR = float(np.sqrt(np.pi / 2))
"""Standard error of a median in those of a mean, of normal noise."""


class Look(StrEnum):
    """The evidence that a path is crowded: the median of its rates in moments in which no other
    path is filled, or in full rounds, or in the slower half of the former."""

    ALONE = "filled by itself"
    ALL = "median of full rounds"
    AT_TIMES = "filled by itself, at times"

    @property
    def is_alone(self) -> bool:
        """Whether no other path is filled."""
        return self is not Look.ALL


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


class SharedPaths:
    """The rates of the paths that messages share, by readings that no suspect has `slowed`. Others
    may have waited for those `holding` them up."""

    def __init__(
        self, crossings: Crossings, against: Normed, slowed: Bools, holding: Bools
    ) -> None:
        self._crossings = crossings
        self._network = crossings.fabric
        self._against = against
        self._limits = crossings.limits
        self._explained = slowed
        self._holding = holding
        judged = (against.norm >= 0) & ~self._explained
        self._judged = judged & (crossings.readings.metric == Metric.BANDWIDTH.code)
        self._slower = against.slower

    def crowded(self, rows: Bools, *, surely_slow: bool) -> tuple[CrowdedPath, ...]:
        """Paths out of their kind by readings `rows`; by full rounds none where something else is
        `surely_slow`: a slow receiver holds up what never crosses it."""
        found: dict[frozenset[int], CrowdedPath] = {}
        looks = (Look.ALONE, Look.AT_TIMES) if surely_slow else tuple(Look)
        for look in looks:
            for path in self._found(look, rows):
                cables = self.cables_of(path)
                first = found.setdefault(cables, path)
                if first is not path and look is first.look and look.is_alone:
                    found[cables] = self._in_cables(first)
        return tuple(found.values())

    def shows_again(self, path: CrowdedPath, found: Sequence[CrowdedPath], rows: Bools) -> bool:
        """Whether other readings `rows` show at least half of what a path was found by; of one that
        is slow at times, two of their moments. In full rounds some path is always slow by chance:
        it must then be slower than any of its kind that was not `found`, by a margin."""
        delivered = self._delivered(path.look, rows)
        # Filled by themselves others are measured in the survey only.
        others = self._delivered(path.look, ~rows) if path.look.is_alone else delivered
        if delivered is None or others is None or path.number not in delivered.paths:
            return False
        place = int(np.flatnonzero(delivered.paths == path.number)[0])
        slower = float(delivered.slower[place])
        if path.look is Look.AT_TIMES:
            mine = self.judged_rows_of(path)
            _, medians = self._by_moment(mine[rows[mine]])
            slower = float(medians[-2]) if medians.size > 1 else 0.0
        known = [other.number for other in found if other.look is path.look]
        alike = others.kind == delivered.kind[place]
        alike &= others.climbs == delivered.climbs[place]
        peers = others.slower[alike & ~np.isin(others.paths, known)]
        if not peers.size or slower - float(np.median(peers)) < path.slower / 2:
            return False
        margin = self._limits.crowded_margin
        return path.look.is_alone or slower >= margin * float(peers.max())

    def is_slow_for_some(self, rows: Ints, slower: float) -> bool:
        """Whether, of the readings `rows` of a path accused of being `slower`, those that do not
        cross some other path are normal, and surely less than half as slow: that path slows the
        others."""
        mine = rows[self._judged[rows]]
        crossed = self._crossings.by_stage[mine].tocsc()
        for directions in self._directions:
            with_other = (crossed[:, directions].sum(axis=1) > 0).A1
            left = mine[~with_other]
            if left.size < self._limits.crowded_readings:
                continue
            error = MEDIAN_ERROR * float(np.median(self._against.sigma[left])) / np.sqrt(left.size)
            median = float(np.median(self._slower[left]))
            clear = max(self._limits.bandwidth_least, self._limits.meeting_sigma * error)
            if median + self._limits.noise_sigma * error < slower / 2 and median < clear:
                return True
        return False

    def is_usual(self, candidate: int, slower: float, rows: Bools) -> bool:
        """Whether paths accused of being `slower` are, filled by themselves in both directions,
        less than half as much slower than the fastest of their kind by readings `rows`."""
        delivered, mine, of_kind = self._kind_of(candidate, rows)
        if delivered is None or mine.sum() < 2:
            return False
        least = max(slower / 2, self._limits.bandwidth_least)
        return bool((beyond(delivered, mine, of_kind, 0.0) < least).all())

    def is_mixed(self, candidate: int, slower: float, rows: Bools) -> bool:
        """Whether paths of the kind of a candidate, filled by themselves, differ so much that one
        that is `slower` is not out of its kind, and is far from the fastest quarter of it: several
        of few are faulty."""
        delivered, mine, of_kind = self._kind_of(candidate, rows)
        if delivered is None or not mine.any():
            return False
        _, usual = apart(delivered, of_kind, self._limits)
        sound = 1 - self._limits.largest_slow_share
        far = beyond(delivered, mine, of_kind, sound) >= self._limits.bandwidth_guard
        of_all = robust_sigma(np.concatenate(usual))
        return self._limits.peer_sigma * of_all > slower and bool(far.any())

    def _kind_of(self, candidate: int, rows: Bools) -> tuple[Delivered | None, Bools, Bools]:
        """What paths that are filled by themselves deliver, which of them are those of a candidate,
        and which of their kind; None where the latter are too few."""
        nothing = np.zeros(0, np.bool_)
        delivered = self._delivered(Look.ALONE, rows)
        if delivered is None:
            return None, nothing, nothing
        members = self._crossings.candidates.members[candidate]
        cables = frozenset(port >> 1 for member in members for port in cable_ports(member))
        mine = np.array([self._cables(number) == cables for number in delivered.paths.tolist()])
        of_kind = delivered.kind == delivered.kind[mine].max(initial=0)
        enough = of_kind.sum() >= self._limits.crowded_peers
        return (delivered, mine, of_kind) if enough else (None, nothing, nothing)

    def _cables(self, number: int) -> frozenset[int]:
        """The cables of a path that is filled by itself."""
        return frozenset(port >> 1 for port in self._in_series[number])

    def slow_at_times(self, rows: Ints, slower: float) -> Ints:
        """Those of the readings `rows` of a path that were measured in moments whose median is at
        least half as slow."""
        mine = rows[self._judged[rows]]
        moments, medians = self._by_moment(mine)
        slow = np.isin(self._crossings.readings.moment[mine], moments[medians >= slower / 2])
        return np.asarray(mine[slow], np.int64)

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
        if path.look.is_alone:
            return np.asarray(where[stage == path.number], np.int64)
        return np.setdiff1d(self._crossings.candidates.rows(path.number), where)

    def judged_rows_of(self, path: CrowdedPath) -> Ints:
        """Those of the same that no suspect slows or holds up."""
        rows = self.rows_of(path)
        rows = rows[self._judged[rows]]
        if path.look.is_alone:
            group = self._crossings.readings.moment[rows] * len(self._crossings.stages)
            rows = rows[~np.isin(group + path.number, self._groups_with_suspects)]
        return np.asarray(rows, np.int64)

    @cached_property
    def by_itself(self) -> tuple[Ints, Ints]:
        """Rows in whose moment only one stage between switches was filled; and these stages."""
        return filled_by_itself(self._crossings, self._in_series)

    @cached_property
    def _directions(self) -> list[list[int]]:
        """The stages between switches, those of the same cables together."""
        by_cables: dict[frozenset[int], list[int]] = {}
        for number, ports in enumerate(self._crossings.stages):
            if self._network.between_switches[list(ports)].all():
                by_cables.setdefault(frozenset(port >> 1 for port in ports), []).append(number)
        return list(by_cables.values())

    @cached_property
    def _in_series(self) -> dict[int, tuple[int, ...]]:
        return in_series(self._crossings)

    def _found(self, look: Look, rows: Bools) -> Iterator[CrowdedPath]:
        """The clearest, then the next without its readings: these count against nothing else."""
        limits = self._limits
        left = rows.copy()
        while (delivered := self._delivered(look, left)) is not None:
            clear = out_of_kind(delivered, self._limits)
            if look.is_alone:
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

    def _in_cables(self, path: CrowdedPath) -> CrowdedPath:
        """A path that is slow in both directions: its cables, and switches that no reading
        separates from them."""
        of_cable = self._crossings.candidates.of_part(Part.CABLE)
        found = dict.fromkeys(of_cable[cable] for cable in sorted(self.cables_of(path)))
        return replace(path, suspect=replace(path.suspect, candidates=tuple(found)))

    def _candidates(self, look: Look, number: int) -> tuple[int, ...]:
        """The candidates that stand for a path; several for a stage whose ports different
        readings cross."""
        if not look.is_alone:
            return (number,)
        of_port = self._crossings.candidates.of_part(Part.DIRECTION)
        return tuple(dict.fromkeys(of_port[port] for port in self._in_series[number]))

    def _delivered(self, look: Look, rows: Bools) -> Delivered | None:
        if look.is_alone:
            return self._filled_alone(rows, at_times=look is Look.AT_TIMES)
        full: Bools = self._judged & rows
        full[self.by_itself[0]] = False
        full[self._behind] = False
        return self._medians(full)

    def _filled_alone(self, rows: Bools, *, at_times: bool) -> Delivered | None:
        """How slow paths are that are filled by themselves, without moments that a slow
        component shares; `at_times`: in the slower half of their moments."""
        where, stage = self.by_itself
        group = self._crossings.readings.moment[where] * len(self._crossings.stages) + stage
        spoiled = np.isin(group, self._groups_with_suspects)
        chosen = (self._judged & rows)[where] & ~spoiled
        where, stage = where[chosen], stage[chosen]
        least = self._limits.alone_readings
        numbers, n = np.unique(stage, return_counts=True)
        numbers, n = numbers[n >= least], n[n >= least]
        if not numbers.size:
            return None
        of_stage = [where[stage == number] for number in numbers.tolist()]
        if at_times:
            of_stage = [self._slower_half(of) for of in of_stage]
            n = np.array([of.size for of in of_stage])
        medians = np.array([float(np.median(self._slower[of])) for of in of_stage])
        sigma = np.array([float(np.median(self._against.sigma[of])) for of in of_stage])
        paths = [self._in_series[number] for number in numbers.tolist()]
        kind = np.array([len(ports) for ports in paths], np.int64)
        climbs = self._network.climbs[[ports[0] for ports in paths]]
        return Delivered(numbers, kind, climbs, medians, MEDIAN_ERROR * sigma / np.sqrt(n))

    def _slower_half(self, rows: Ints) -> Ints:
        """Those rows of a path that were measured in the slower half of its moments."""
        moments, _ = self._by_moment(rows)
        slower = np.isin(self._crossings.readings.moment[rows], moments[moments.size // 2 :])
        return np.asarray(rows[slower], np.int64)

    def _by_moment(self, rows: Ints) -> tuple[Ints, Floats]:
        """The moments of rows and the median of each, the fastest first."""
        moment = self._crossings.readings.moment[rows]
        moments = np.unique(moment)
        medians = np.array([float(np.median(self._slower[rows[moment == m]])) for m in moments])
        order = np.argsort(medians)
        return moments[order], medians[order]

    @cached_property
    def _groups_with_suspects(self) -> Ints:
        """Moments and stages (a number for both) that something crossed for which others wait."""
        crossed = self._crossings.by_stage[np.flatnonzero(self._holding)].tocoo()
        moment = self._crossings.readings.moment[self._holding][crossed.row]
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
        place = {frozenset(self._in_series[s]): i for i, s in enumerate(stages.tolist())}
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
