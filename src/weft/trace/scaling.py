"""A program on more ranks than it was recorded with, by its own pattern.

Ranks are laid out on the grid on which all their messages go to neighbours. The larger grid is made
of copies of that one: a rank does what the recorded rank at its place in the copy did, and a
message to the neighbour over the edge of a copy goes to the next copy. Collectives grow with their
groups. Only iterations are scaled: what a program does before the first and after the last is
often of one rank.

Weak: each rank has as much to do as before. Strong: the whole has, so computing is divided by the
factor, and a message is a face of a smaller part.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.core.errors import InputError
from weft.trace.grid import Grid, grids, larger
from weft.trace.program import CollectivePart, RankProgram

MOST_FACTOR = 4096
OF_PAIRS = ("alltoall", "alltoallv")
"""Collectives whose blocks become smaller with more ranks: a rank's data stay as they are."""

Step = tuple[str, tuple[Any, ...]]


def scaled(
    ranks: Sequence[RankProgram], factor: int, *, strong: bool
) -> tuple[list[RankProgram], Grid, Grid]:
    """The programs of `factor` times as many ranks, the grid of the recorded ones, and the larger
    one. `ranks` have marks. Raises InputError where no grid explains the messages, or a group."""
    if not 1 <= factor <= MOST_FACTOR:
        raise InputError(f"scaled {factor} times", expected=f"from 1 to {MOST_FACTOR}")
    inner = iterations_of_ranks(ranks)
    small = grid_of(inner)
    large = larger(small, factor)
    found = []
    for number in range(large.n):
        own = _Copy(small, large, number, factor, strong=strong)
        found.append(RankProgram([own.step(*step) for step in inner[own.template]]))
    return found, small, large


def grid_of(ranks: Sequence[Sequence[Step]]) -> Grid:
    """The grid on which all messages go to neighbours, the nearest to a cube where several are.
    Raises InputError."""
    pairs = Counter(
        (number, numbers[0])
        for number, steps in enumerate(ranks)
        for kind, numbers in steps
        if kind == "send"
    )
    worst: tuple[int, int, int] | None = None
    for grid in grids(len(ranks)):
        odd = [(n, pair) for pair, n in pairs.items() if not grid.is_neighbour(*pair)]
        if not odd:
            _refuse_ends(grid, pairs)
            return grid
        _, (src, dst) = max(odd)
        if worst is None or len(odd) < worst[0]:
            worst = (len(odd), src, dst)
    assert worst is not None
    raise InputError(
        f"messages between ranks that are neighbours on no grid: rank {worst[1]} to {worst[2]}",
        expected="a program of neighbours and collectives, to be scaled by its pattern",
        hint="replay it as recorded: without --scale",
    )


def _refuse_ends(grid: Grid, pairs: Mapping[tuple[int, int], int]) -> None:
    """Raises InputError where messages along a dimension do not go round its ends: copies side by
    side would not talk to one another. Of two ranks that cannot be seen."""
    for axis, size in enumerate(grid.dims):
        along = [(src, dst) for src, dst in pairs if grid.step(src, dst)[axis]]
        ends = [
            {grid.place(src)[axis], grid.place(dst)[axis]} == {0, size - 1} for src, dst in along
        ]
        if size > 2 and along and not any(ends):
            raise InputError(
                f"messages along {size} ranks of the grid {grid.words} that do not go round its "
                "ends",
                expected="a program with periodic ends, to be scaled by its pattern",
                hint="replay it as recorded: without --scale",
            )


def iterations_of_ranks(ranks: Sequence[RankProgram]) -> list[list[Step]]:
    """What each rank does from the first mark to the last. Raises InputError without marks."""
    return [_iterations(rank) for rank in ranks]


def _iterations(rank: RankProgram) -> list[Step]:
    """From the first mark to the last."""
    marks = [at for at, (kind, _) in enumerate(rank.steps) if kind == "mark"]
    if len(marks) < 2:
        raise InputError(
            "no iterations to scale",
            expected="a call of all ranks that comes again: --iteration CALL",
        )
    return rank.steps[marks[0] : marks[-1] + 1]


class _Copy:
    """A rank of the larger grid: the recorded rank that it repeats, and its own partners."""

    def __init__(self, small: Grid, large: Grid, number: int, factor: int, *, strong: bool) -> None:
        self.small, self.large, self.number = small, large, number
        self.place = large.place(number)
        self.template = small.rank(self.place)
        self.factor = factor
        n_long = sum(size > 1 for size in large.dims)
        # A face of a part whose volume is divided by the factor.
        self.face = factor ** (-(n_long - 1) / n_long) if strong and n_long > 1 else 1.0
        self.computing = 1 / factor if strong else 1.0
        self.strong = strong
        self.n_between: Counter[tuple[str, int, int]] = Counter()
        self.groups: dict[tuple[int, ...], tuple[int, ...]] = {}

    def step(self, kind: str, numbers: tuple[Any, ...]) -> Step:
        """A step of the recorded rank as this rank does it."""
        if kind == "calc":
            return kind, (max(1, round(numbers[0] * self.computing)),)
        if kind == "send":
            peer, size, *others = numbers
            size = round(size * self.face)
            return kind, (self._partner(kind, peer, others[-1]), size, *others)
        if kind == "recv":
            peer, *others = numbers
            return kind, (self._partner(kind, peer, others[-1]), *others)
        if kind == "collective":
            return kind, (self._part(numbers[0]),)
        return kind, numbers

    def _partner(self, kind: str, peer: int, channel: int) -> int:
        """Two ranks along a dimension are each other's neighbours on both sides. There the first
        message goes one way and the next the other, and is received from the other."""
        step = list(self.small.step(self.template, peer))
        for at, size in enumerate(self.small.dims):
            if size == 2 and step[at] and self.large.dims[at] > 2:
                n = self.n_between[kind, peer, channel]
                self.n_between[kind, peer, channel] += 1
                step[at] = 1 if (n % 2 == 0) == (kind == "send") else -1
        return self.large.rank([a + b for a, b in zip(self.place, step, strict=True)])

    def _part(self, part: CollectivePart) -> CollectivePart:
        if part.members not in self.groups:
            self.groups[part.members] = self._members(part)
        members = self.groups[part.members]
        grown = len(members) / len(part.members)
        share = 1.0
        if part.name in OF_PAIRS:
            share = 1 / grown / (self.factor if self.strong else 1)
        blocks = part.blocks
        if part.name in ("scatterv", "allgatherv", "alltoallv") and blocks:
            n = len(blocks)
            blocks = tuple(round(blocks[at % n] * share) for at in range(len(members)))
        return replace(part, members=members, size=round(part.size * share), blocks=blocks)

    def _members(self, part: CollectivePart) -> tuple[int, ...]:
        """Those of the group along the same dimensions of the larger grid."""
        places = [self.small.place(member) for member in part.members]
        free = [
            at for at in range(len(self.small.dims)) if len({place[at] for place in places}) > 1
        ]
        whole = 1
        for at in free:
            whole *= self.small.dims[at]
        if whole != len(part.members):
            raise InputError(
                f"a {part.name} of {len(part.members)} ranks that are no line, plane or all of "
                f"the grid {self.small.words}",
                expected="groups along dimensions of the grid",
                hint="replay it as recorded: without --scale",
            )
        return tuple(
            number
            for number in range(self.large.n)
            if all(
                at in free or own == other
                for at, (own, other) in enumerate(
                    zip(self.place, self.large.place(number), strict=True)
                )
            )
        )
