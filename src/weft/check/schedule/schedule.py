"""The pairs that measure at the same time: rounds of disjoint pairs of ranks, by a scheme."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest

import numpy as np

from weft.check.readings.readings import Ints
from weft.check.schedule.node_group import Group
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.reach import PairReach, reach_of
from weft.check.schedule.rounds.bursts import burst_rounds
from weft.check.schedule.rounds.cable_cover import cover_rounds, leaf_rounds, leaves_of_rails
from weft.check.schedule.rounds.cpu_seats import within_cpus
from weft.check.schedule.rounds.matchings import (
    Round,
    between,
    in_either_direction,
    in_order,
    random_matchings,
    reflection,
    reflections,
    spread_order,
)
from weft.check.schedule.rounds.split import overloads, without_overload
from weft.check.schedule.rounds_file import read_rounds
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.check.thresholds import thresholds
from weft.core.errors import InputError
from weft.core.nodeset import expand
from weft.core.words import counted, times

MOST_PAIRS = 10_000_000
"""4,472 nodes, each with every other."""


class TooManyPairsError(InputError):
    """A schedule has more pairs than one check takes."""


@dataclass(frozen=True)
class Schedule:
    """Rounds, one after the other; the disjoint pairs (of ranks) of a round run at the same time.
    `words` describe them. `is_as_given`: they are a file's and may load a cable above its rate.
    `fills_leaves`: some fill the paths of single leaves, among which switches choose."""

    words: str
    rounds: tuple[Round, ...]
    is_as_given: bool = False
    fills_leaves: bool = False

    def __len__(self) -> int:
        return len(self.rounds)

    @property
    def n_pairs(self) -> int:
        """Pairs of all rounds; one that meets twice counts twice."""
        return sum(len(pairs) for pairs in self.rounds)

    @property
    def option(self) -> list[list[list[int]]]:
        """As the option `rounds` of a trial wants them."""
        return [pairs.tolist() for pairs in self.rounds]


@dataclass(frozen=True)
class Field:
    """The place of a schedule. `paths`: of its ranks through a fabric (None: not known). `only`: a
    group that every pair must touch (None: any). `n_cpus`: by host, where known; each active rank
    needs one. `machine_of`: the first host on the machine of hosts that share one."""

    ranks: ScheduleRanks
    paths: FlowPaths | None
    only: Group | None
    seed: int
    n_cpus: Mapping[int, int] = field(default_factory=dict)
    machine_of: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def reach(self) -> PairReach | None:
        """The ports that pairs (of the group) can cross."""
        return None if self.paths is None else reach_of(self.ranks, self.paths, self.only)


def schedule_of(scheme: Scheme, field: Field) -> Schedule:
    """The rounds of a scheme; none but a file's loads a cable above its rate.

    Raises InputError where the scheme needs a fabric that is not known, names nodes that are not
    there, leaves no pair or more than a check takes.
    """
    if scheme.needs_fabric and field.ranks.host is not None:
        raise InputError(
            f"--schedule {scheme.kind} on one host: its ranks cross no cable",
            expected="two nodes or more, or another schedule such as full",
        )
    if scheme.needs_fabric and field.paths is None:
        raise InputError(
            f"--schedule {scheme.kind} without a fabric",
            expected="the fabric's own files, or a twin",
            hint="add --fabric FILE, or take full or random:6",
        )
    words, rounds = _asked(scheme, field)
    adaptive = (
        field.paths is not None and field.paths.adaptive and scheme.kind is not SchemeKind.FILE
    )
    if adaptive:
        rounds = without_overload(rounds, field.ranks, field.paths, thresholds().asked_of_shared)
        rounds = in_either_direction(rounds, field.seed)
    if field.only is not None and scheme.kind is not SchemeKind.FILE and rounds:
        others = _others(field.only, field, sum(len(pairs) for pairs in rounds))
        rounds += others
        words += ", and as many others to compare them with" if others else ""
    bursts: list[Round] = []
    if adaptive and scheme.kind in (SchemeKind.COVER, SchemeKind.FULL):
        only = None if field.only is None else field.only.inside
        assert field.paths is not None
        bursts = burst_rounds(field.ranks, field.paths, seed=field.seed, only=only)
        rounds += bursts
        words += f"; then each leaf by itself, in {counted(len(bursts), 'round')}" if bursts else ""
    if scheme.kind is not SchemeKind.FILE:
        rounds = _seated(without_overload(rounds, field.ranks, field.paths), field)
    rounds = [pairs for pairs in rounds if len(pairs)]
    if not rounds:
        raise InputError("no pair is left to measure", where="--schedule", expected="two nodes")
    return Schedule(words, tuple(rounds), scheme.kind is SchemeKind.FILE, fills_leaves=bool(bursts))


def _asked(scheme: Scheme, field: Field) -> tuple[str, list[Round]]:
    """The pairs of a scheme (that touch the group), in its rounds. Raises TooManyPairsError."""
    words, made = _RECIPES[scheme.kind](scheme, field)
    only = field.only
    if only is not None:
        made = (pairs[only.touched(pairs, field.ranks, field.paths)] for pairs in made)
        words = f"{words}; {only.words}"
    rounds: list[Round] = []
    n_pairs = 0
    for pairs in made:
        n_pairs += len(pairs)
        if n_pairs > MOST_PAIRS:
            raise TooManyPairsError(
                f"more than {MOST_PAIRS:,} pairs in one check",
                where=f"--schedule {scheme.kind}",
                expected=f"{MOST_PAIRS:,} pairs at most",
                hint="without --schedule, some pairs fill every cable; --only NODES takes fewer",
            )
        if len(pairs):
            rounds.append(pairs)
    return words, rounds


def n_overloaded(schedule: Schedule, field: Field) -> int:
    """Rounds of a file in which a cable is asked for more than its rate."""
    if field.paths is None or not schedule.is_as_given:
        return 0
    return sum(overloads(pairs, field.ranks, field.paths) for pairs in schedule.rounds)


def _seated(rounds: list[Round], field: Field) -> list[Round]:
    """Rounds in which every active rank finds a CPU of its own."""
    if not field.n_cpus and not field.machine_of:
        return rounds
    listed = [[(a, b) for a, b in pairs.tolist()] for pairs in rounds]
    parts = within_cpus(listed, field.ranks.per_host, field.n_cpus, field.machine_of)
    return [np.array(pairs, np.int64) for pairs in parts]


def _others(group: Group, field: Field, n: int) -> list[Round]:
    """Rounds of about `n` pairs that do not touch a group: a component that is slow in all
    of its pairs seems normal where no other pair is measured."""
    units = np.unique(field.ranks.unit[~group.inside])
    units = np.setdiff1d(units, field.ranks.unit[group.inside])
    kept = _among(units, field, n, but=group)
    return without_overload(kept, field.ranks, field.paths)


def _among(units: Ints, field: Field, n: int, but: Group | None = None) -> list[Round]:
    """Rounds of about `n` pairs of some units, each with another every time, `but` for pairs that
    touch a group."""
    if units.size < 2:
        return []
    rounds: list[Round] = []
    # Nearly all pairs may touch a group between the leaves.
    most = 4 * -(-n // (units.size // 2 * field.ranks.n_rails))
    for matching in random_matchings(units.size, most, field.seed):
        (pairs,) = on_all_rails([units[matching]], field.ranks)
        if but is not None:
            pairs = pairs[~but.touched(pairs, field.ranks, field.paths)]
        rounds.append(pairs[: max(1, n)])
        n -= len(pairs)
        if n <= 0:
            break
    return [pairs for pairs in rounds if len(pairs)]


_Recipe = tuple[str, Iterable[Round]]
"""What the rounds are, and the rounds, made one by one where they may be too many."""


def _full(scheme: Scheme, field: Field) -> _Recipe:  # noqa: ARG001
    return ("all pairs", on_all_rails(reflections(len(field.ranks.units)), field.ranks))


def _reflections(scheme: Scheme, field: Field) -> _Recipe:
    n = len(field.ranks.units)
    # Of two units, every other reflection makes each meet itself.
    order = [r for r in spread_order(n) if n > 2 or reflection(r, n).size][: scheme.times]
    rounds = on_all_rails((reflection(r, n) for r in order), field.ranks)
    return (counted(len(order), "round") + " of reflections", rounds)


def _random(scheme: Scheme, field: Field) -> _Recipe:
    rounds = random_matchings(len(field.ranks.units), scheme.times, field.seed)
    return (counted(scheme.times, "random matching"), on_all_rails(rounds, field.ranks))


def _cover(scheme: Scheme, field: Field) -> _Recipe:
    assert field.paths is not None
    assert field.reach is not None
    ranks, paths = field.ranks, field.paths
    rounds = cover_rounds(ranks, paths, field.reach, scheme.times, seed=field.seed, only=field.only)
    local = leaf_rounds(ranks, paths, scheme.times)
    how_often = f"every cable {times(scheme.times)}"
    if paths.adaptive:
        how_often = f"messages enough to fill {how_often}"
    return (f"{how_often}, and pairs under each leaf", [*local, *rounds])


def _leaf(scheme: Scheme, field: Field) -> _Recipe:  # noqa: ARG001
    assert field.paths is not None
    local = leaf_rounds(field.ranks, field.paths)
    of_rails = [_leaf_to_leaf(leaves) for leaves in leaves_of_rails(field.ranks, field.paths)]
    longest = max((len(rounds) for rounds in of_rails), default=0)
    far = [
        in_order(np.concatenate([rounds[r] for rounds in of_rails if r < len(rounds)]))
        for r in range(longest)
    ]
    return ("all pairs under each leaf, then leaf to leaf", [*local, *far])


def _leaf_to_leaf(leaves: Sequence[Sequence[int]]) -> list[Round]:
    """Leaf by leaf: every two leaves meet once, each rank of the smaller with one of the other."""
    rounds = []
    for shift, pairs in enumerate(reflections(len(leaves)) if len(leaves) > 1 else []):
        met = [p for a, b in pairs.tolist() for p in between(leaves[a], leaves[b], shift)]
        rounds.append(in_order(np.array(met, np.int64)))
    return rounds


def _rails(scheme: Scheme, field: Field) -> _Recipe:  # noqa: ARG001
    ranks = field.ranks
    # In turn: a rail that is slow as a whole is then no stretch of time.
    rounds = (
        with_rails(pairs * ranks.n_rails + rail, ranks)
        for pairs in reflections(len(ranks.units))
        for rail in range(ranks.n_rails)
    )
    return ("all pairs, one rail at a time", rounds)


def _bisect(scheme: Scheme, field: Field) -> _Recipe:
    ranks = field.ranks
    suspects, good = _sides(scheme, ranks)
    halves = _halves(suspects)
    # Each suspect is in all of them once, and in one half of each digit.
    n_partners = 1 + len(halves) // 2
    halves += [suspects] * (min(thresholds().least_partners, len(good)) - n_partners)
    rounds = []
    known: set[tuple[int, int]] = set()
    for half in halves:
        for first in range(0, len(half), len(good)):
            met = _with_others(half[first : first + len(good)], good, known)
            known.update(met)
            rounds.append(in_order(np.array(met, np.int64)))
    words = "1 suspect" if len(suspects) == 1 else f"{len(suspects)} suspects in halves, each"
    words += f" with several of {len(good)} known-good nodes, and as many pairs of these"
    with_good = list(on_all_rails(rounds, ranks))
    n = max(sum(len(pairs) for pairs in with_good), 2 * thresholds().smallest_class)
    # In turn, so that the first rounds, where no more fit, hold some of both.
    turns = zip_longest(with_good, _among(np.array(good, np.int64), field, n))
    return (words, [pairs for turn in turns for pairs in turn if pairs is not None])


def _sides(scheme: Scheme, ranks: ScheduleRanks) -> tuple[list[int], list[int]]:
    """Suspects and known-good units. Raises InputError where these are too few, or on both
    sides."""
    suspects = _units(scheme.suspects, ranks)
    others = [unit for unit in range(len(ranks.units)) if unit not in set(suspects)]
    good = _units(scheme.good, ranks) if scheme.good else others
    both = set(suspects) & set(good)
    if both or not good:
        name = ranks.units[min(both)] if both else "no node"
        raise InputError(
            f"{name} is left to be known-good" if not both else f"{name} is on both sides",
            where="--schedule bisect",
            expected="suspects | known-good nodes, none of them twice",
        )
    n_pairs = len(suspects) * len(good) + len(good) * (len(good) - 1) // 2
    least = thresholds().smallest_class
    if n_pairs * ranks.n_rails < least:
        raise InputError(
            f"{counted(len(suspects), 'suspect')} and {counted(len(good), 'known-good node')} make"
            f" {counted(n_pairs, 'pair')}: too few to know the normal figure",
            where="--schedule bisect",
            expected=f"nodes that make {least} pairs or more, such as one suspect and four others",
            hint="name more known-good nodes, or none: all other nodes then count as good"
            if scheme.good
            else "measure among more nodes",
        )
    return suspects, good


def _with_others(
    suspects: Sequence[int], good: Sequence[int], known: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Each suspect with a good node that it has not met, while there is one to spare."""
    free = list(good)
    met = []
    for suspect in suspects:
        partner = next((one for one in free if (suspect, one) not in known), free[0])
        free.remove(partner)
        met.append((suspect, partner))
    return met


def _halves(suspects: Sequence[int]) -> list[list[int]]:
    """All of them, then by each binary digit of their place the one half and the other: what slows
    all of a half, but not the other, has that digit. SOURCE: halving of suspect groups as in
    Azure's run-book for slow jobs, done in advance so that it needs one launch."""
    halves = [list(suspects)]
    for digit in range((len(suspects) - 1).bit_length()):
        for value in (0, 1):
            halves.append([s for i, s in enumerate(suspects) if (i >> digit) & 1 == value])
    return halves


def _units(text: str, ranks: ScheduleRanks) -> list[int]:
    number = {unit: i for i, unit in enumerate(ranks.units)}
    names = (text,) if text in number else expand(text)
    for name in names:
        if name not in number:
            raise InputError(
                f"no node '{name}' in this check",
                where="--schedule bisect",
                expected=f"nodes such as {ranks.units[0]}",
            )
    return [number[name] for name in names]


def _file(scheme: Scheme, field: Field) -> _Recipe:
    rounds = read_rounds(scheme.file, field.ranks)
    if field.paths is not None:
        _refuse_no_path(scheme, rounds, field.ranks.hca, field.paths)
    return (f"the rounds of {scheme.file}", rounds)


def _refuse_no_path(scheme: Scheme, rounds: Sequence[Round], hca: Ints, paths: FlowPaths) -> None:
    """Raise InputError for a pair whose planes never meet, naming the file that asks for it."""
    for pairs in rounds:
        a, b = hca[pairs].T
        try:
            paths.cross(np.concatenate([a, b]), np.concatenate([b, a]))
        except InputError as error:
            raise InputError(
                error.what, where=f"--schedule {scheme.file}", expected=error.expected
            ) from error


_RECIPES: dict[SchemeKind, Callable[[Scheme, Field], _Recipe]] = {
    SchemeKind.FULL: _full,
    SchemeKind.REFLECTIONS: _reflections,
    SchemeKind.RANDOM: _random,
    SchemeKind.COVER: _cover,
    SchemeKind.LEAF: _leaf,
    SchemeKind.RAILS: _rails,
    SchemeKind.BISECT: _bisect,
    SchemeKind.FILE: _file,
}


def on_all_rails(rounds: Iterable[Round], ranks: ScheduleRanks) -> Iterator[Round]:
    """Rounds of units as rounds of ranks: each rail meets its own kind, all at the same time."""
    rail = np.arange(ranks.n_rails)[None, :, None]
    for pairs in rounds:
        yield with_rails((pairs[:, None, :] * ranks.n_rails + rail).reshape(-1, 2), ranks)


def with_rails(pairs: Round, ranks: ScheduleRanks) -> Round:
    """Those pairs of ranks whose nodes both have that rail."""
    return np.asarray(pairs[ranks.has_rail[pairs].all(axis=1)], np.int64)
