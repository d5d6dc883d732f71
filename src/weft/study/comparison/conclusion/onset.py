"""Where an effect begins and ends along each axis of the matrix, and how certain that is."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Any, TypeVar

from weft.core.units import format_size
from weft.core.words import counted
from weft.study.comparison.cells import StudyCell
from weft.study.comparison.rows import ComparisonRow, RowOutcome

_Key = TypeVar("_Key")


class Axis(StrEnum):
    """A dimension of the matrix of cells."""

    NODES = "nodes"
    SIZE = "size"
    TASKS = "ranks a node"

    def of(self, cell: StudyCell) -> int:
        """The place of a cell on it."""
        return {
            Axis.NODES: cell.n_nodes,
            Axis.SIZE: cell.size_bytes,
            Axis.TASKS: cell.tasks_per_node,
        }[self]

    def text(self, value: int) -> str:
        """'64 nodes', '4 KiB', '14 ranks a node'."""
        if self is Axis.SIZE:
            return format_size(value)
        return counted(value, "node") if self is Axis.NODES else f"{counted(value, 'rank')} a node"

    def values_text(self, values: Sequence[int]) -> str:
        """'8 B to 2 KiB': values next to one another on the axis."""
        first, last = self.text(values[0]), self.text(values[-1])
        if len(values) == 1:
            return first
        return f"{first} to {last}" if self is Axis.SIZE else f"{values[0]} to {last}"


@dataclass(frozen=True, slots=True)
class EffectRange:
    """From `first` to `last` on `axis`, `second` helps (or hurts) by the best estimate; it is
    certain from `certain_first` to `certain_last`. `none_below` and `none_above` are the nearest
    values at which the effect is ruled out; None where the matrix, or certainty, ends before, or
    another range of the effect comes first."""

    axis: Axis
    effect: RowOutcome
    first: int
    last: int
    certain_first: int
    certain_last: int
    none_below: int | None
    none_above: int | None
    axis_first: int
    axis_last: int

    @property
    def is_partial(self) -> bool:
        """Whether it begins or ends inside the matrix."""
        return (self.first, self.last) != (self.axis_first, self.axis_last)

    @property
    def text(self) -> str:
        """'helps from 64 nodes on (begins between 32 and 128 nodes)'."""
        axis, one = self.axis, self.first == self.last
        is_first, is_last = self.first == self.axis_first, self.last == self.axis_last
        if is_first and is_last:
            where = f"at all of {axis.values_text((self.first, self.last))}"
        elif one and not is_last:
            where = f"at {axis.text(self.first)}"
        elif is_last:
            where = f"from {axis.text(self.first)} on"
        elif is_first:
            where = f"up to {axis.text(self.last)}"
        else:
            where = f"from {axis.values_text((self.first, self.last))}"
        verb = "helps" if self.effect is RowOutcome.FASTER else "hurts"
        notes = [note for note in self._notes() if note]
        return f"{verb} {where}" + (f" ({', '.join(notes)})" if notes else "")

    def _notes(self) -> tuple[str, str]:
        """Where the effect begins and ends; nothing at an end of the axis."""
        return (
            self._note("begins", self.none_below, self.certain_first, self.axis_first),
            self._note("ends", self.none_above, self.certain_last, self.axis_last),
        )

    def _note(self, verb: str, none: int | None, certain: int, edge: int) -> str:
        if none is None:
            return "" if certain == edge else f"where it {verb} is not decided"
        low, high = sorted((none, certain))
        first = self.axis.text(low) if self.axis is Axis.SIZE else str(low)
        return f"{verb} between {first} and {self.axis.text(high)}"


@dataclass(frozen=True, slots=True)
class Onset:
    """A range that holds for some `values` of a second axis, at one value of the third."""

    benchmark: str
    second: str
    range_: EffectRange
    along: Axis
    values: tuple[int, ...]
    at: tuple[Axis, int]
    condition: str = ""

    @property
    def where(self) -> str:
        """'allreduce 8 B to 2 KiB, 1 rank a node'."""
        axis, value = self.at
        parts = {self.along: self.along.values_text(self.values), axis: axis.text(value)}
        size = parts.pop(Axis.SIZE, "")
        named = size if any(self._sizes) else ""
        under = [self.condition] if self.condition else []
        return ", ".join([f"{self.benchmark} {named}".rstrip(), *parts.values(), *under])

    @property
    def _sizes(self) -> tuple[int, ...]:
        return self.values if self.along is Axis.SIZE else (self.at[1],)

    @property
    def text(self) -> str:
        """The sentence without its arm."""
        return f"{self.where}: {self.range_.text}"

    def to_record(self) -> dict[str, Any]:
        """The onset as plain JSON values."""
        range_ = asdict(self.range_)
        return {
            "benchmark": self.benchmark,
            "second": self.second,
            "condition": self.condition,
            **{key: str(value) if key == "axis" else value for key, value in range_.items()},
            "effect": "helps" if self.range_.effect is RowOutcome.FASTER else "hurts",
            "along": str(self.along),
            "values": list(self.values),
            "at": {str(self.at[0]): self.at[1]},
        }


_PLANES = (
    (Axis.NODES, Axis.SIZE, Axis.TASKS),
    (Axis.SIZE, Axis.NODES, Axis.TASKS),
    (Axis.TASKS, Axis.SIZE, Axis.NODES),
)
"""An axis of ranges, the axis along which alike ones join, and the axis that is fixed."""


def onsets_of(rows: Sequence[ComparisonRow], tolerance: float) -> tuple[Onset, ...]:
    """Every range of help and harm along axes with two values or more; alike neighbours share one.

    A range is bounded by verdicts, which err in 5 of 100 studies at most over the whole matrix: a
    value is inside for certain if its verdict is the effect, and outside if its verdict is another
    decided one. Undecided values belong to it by their estimate, if that differs by `tolerance`.
    """
    found: list[Onset] = []
    for (second, benchmark, condition), group in _grouped(
        rows, lambda row: (row.second, row.cell.benchmark, row.cell.condition)
    ):
        for axis, along, at in _PLANES:
            if len({axis.of(row.cell) for row in group}) < 2:
                continue
            planes: dict[int, list[ComparisonRow]] = defaultdict(list)
            for row in group:
                planes[at.of(row.cell)].append(row)
            found += [
                Onset(benchmark, second, range_, along, values, (at, place), condition)
                for place, plane in sorted(planes.items())
                for range_, values in _alike(plane, axis, along, tolerance)
            ]
    return tuple(found)


def _grouped(
    rows: Sequence[ComparisonRow], key: Callable[[ComparisonRow], _Key]
) -> list[tuple[_Key, list[ComparisonRow]]]:
    groups: dict[_Key, list[ComparisonRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def _alike(
    rows: list[ComparisonRow], axis: Axis, along: Axis, tolerance: float
) -> list[tuple[EffectRange, tuple[int, ...]]]:
    """Ranges of the lines of a plane, each with the neighbouring lines that have it."""
    lines = sorted(_grouped(rows, lambda row: along.of(row.cell)))
    ranges = [
        (place, range_)
        for place, (_, line) in enumerate(lines)
        for effect in (RowOutcome.FASTER, RowOutcome.SLOWER)
        for range_ in ranges_of(line, axis, effect, tolerance)
    ]
    found = []
    for range_ in dict.fromkeys(range_ for _, range_ in ranges):
        places = enumerate(place for place, one in ranges if one == range_)
        for _, run in groupby(places, key=lambda pair: pair[1] - pair[0]):
            found.append((range_, tuple(lines[place][0] for _, place in run)))
    return found


def ranges_of(
    line: Sequence[ComparisonRow], axis: Axis, effect: RowOutcome, tolerance: float
) -> list[EffectRange]:
    """The ranges of an effect in cells that differ on `axis` only."""
    ordered = sorted(line, key=lambda row: axis.of(row.cell))
    places = [axis.of(row.cell) for row in ordered]
    other = {RowOutcome.FASTER, RowOutcome.SLOWER, RowOutcome.EQUIVALENT} - {effect}
    walls = [-1, *(i for i, row in enumerate(ordered) if row.outcome in other), len(ordered)]
    found = []
    for low, high in pairwise(walls):
        is_inside = [
            row.outcome is effect or _leans(row, effect, tolerance)
            for row in ordered[low + 1 : high]
        ]
        runs = [
            [place for place, _ in run]
            for inside, run in groupby(enumerate(is_inside, low + 1), key=lambda pair: pair[1])
            if inside
        ]
        runs = [run for run in runs if any(ordered[i].outcome is effect for i in run)]
        for run in runs:
            certain = [i for i in run if ordered[i].outcome is effect]
            found.append(
                EffectRange(
                    axis,
                    effect,
                    first=places[run[0]],
                    last=places[run[-1]],
                    certain_first=places[certain[0]],
                    certain_last=places[certain[-1]],
                    none_below=places[low] if low >= 0 and run is runs[0] else None,
                    none_above=places[high] if high < len(places) and run is runs[-1] else None,
                    axis_first=places[0],
                    axis_last=places[-1],
                )
            )
    return found


def _leans(row: ComparisonRow, effect: RowOutcome, tolerance: float) -> bool:
    """Whether the estimate of an undecided cell shows the effect."""
    change = row.slowdown if effect is RowOutcome.SLOWER else 1 / row.slowdown
    return change >= 1 + tolerance
