"""The answer of a study with one arm on several scales: how much its figures change from the
smallest to the largest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from weft.catalog.benchmark import Benchmark
from weft.core.units import format_size
from weft.core.words import counted
from weft.stats.ratio import Ratio, paired_ratio
from weft.study.comparison.cells import HeadlineOf, StudyCell, Value
from weft.study.comparison.replication import Unit, units_of_values

_NAMED = 4
"""Benchmarks that the sentence names; the others follow as evidence."""


@dataclass(frozen=True, slots=True)
class ScalingAnswer:
    """`sentence` and `evidence` in words; `valid_for` is the range of both."""

    sentence: str
    evidence: tuple[str, ...]
    valid_for: str


@dataclass(frozen=True, slots=True)
class _Axis:
    of: Callable[[StudyCell], int]
    words: str


_TASKS = _Axis(lambda cell: cell.tasks_per_node, "ranks a node")
_NODES = _Axis(lambda cell: cell.n_nodes, "nodes")


def scaling_answer(
    values: Sequence[Value], headline: HeadlineOf, *, simulated: bool
) -> ScalingAnswer | None:
    """From the fewest ranks a node to the most (else from the fewest nodes), on the largest number
    of nodes: the change of each benchmark and size; None of a run on one scale."""
    for axis, other in ((_TASKS, _NODES), (_NODES, _TASKS)):
        most = max((other.of(value.cell) for value in values), default=0)
        own = [value for value in values if other.of(value.cell) == most]
        scales = sorted({axis.of(value.cell) for value in own})
        if len(scales) > 1:
            return _answer(own, axis, (scales[0], scales[-1]), headline, simulated=simulated)
    return None


def _answer(
    values: Sequence[Value],
    axis: _Axis,
    ends: tuple[int, int],
    headline: HeadlineOf,
    *,
    simulated: bool,
) -> ScalingAnswer | None:
    places = sorted({(value.cell.benchmark, value.cell.size_bytes) for value in values})
    changes = []
    for name, size in places:
        here = [
            value
            for value in values
            if (value.cell.benchmark, value.cell.size_bytes) == (name, size)
        ]
        sides = [[value for value in here if axis.of(value.cell) == end] for end in ends]
        if all(sides):
            changes.append((size, _change(sides, headline(name), size, simulated=simulated)))
    if not changes:
        return None
    # The smallest size of each benchmark first: the sentence has room for few.
    words = [text for _, text in sorted(changes, key=lambda one: one[0])]
    first = values[0].cell
    if axis is _TASKS:
        fixed, joint = counted(first.n_nodes, "node"), "on"
    else:
        fixed, joint = f"{counted(first.tasks_per_node, 'rank')} a node", "with"
    n_sets = len({value.node_set for value in values})
    return ScalingAnswer(
        f"From {ends[0]} to {ends[1]} {axis.words} {joint} {fixed}: {', '.join(words[:_NAMED])}.",
        tuple(words[_NAMED:]),
        f"{fixed}, {ends[0]} to {ends[1]} {axis.words}, {counted(n_sets, 'node set')}",
    )


def _change(
    sides: Sequence[Sequence[Value]], benchmark: Benchmark, size: int, *, simulated: bool
) -> str:
    """'allreduce 8 B takes 1.54 times as long (1.50 to 1.58)'."""
    units = [units_of_values(side, simulated=simulated) for side in sides]
    by_key = [
        {
            value.node_set if unit is Unit.NODE_SET else value.pairs_with: value.value
            for value in own
        }
        for own, unit in units
    ]
    shared = [key for key in by_key[0] if key in by_key[1]]
    first, second = ([one[key] for key in shared] for one in by_key)
    found = paired_ratio(first, second) if shared else None
    ratio = (
        found.ratio
        if found is not None
        else median(value.value for value in sides[1]) / median(value.value for value in sides[0])
    )
    name = benchmark.name.replace("_", " ") + (f" {format_size(size)}" if size else "")
    verb = (
        f"takes {ratio:.3g} times as long"
        if benchmark.better == "lower"
        else f"is {ratio:.3g} times as high"
    )
    if isinstance(found, Ratio):
        return f"{name} {verb} ({found.low:.3g} to {found.high:.3g})"
    return f"{name} {verb}"
