"""Anomalies: single launches (on a twin: node sets) that lie far off the others of their cells."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.nodeset import fold
from weft.core.units import format_size
from weft.core.words import counted
from weft.stats.outlier import FarthestValue, farthest
from weft.study.comparison.cells import StudyCell, Value
from weft.study.comparison.replication import Unit, units_of_values
from weft.study.comparison.rows import SIGNIFICANT, ComparisonRow

MOST_TRIED = 10
"""So many anomalies, the farthest first, are left out in turn to see what changes."""
_SIZES_NAMED = 4
_NODES_NAMED = 60
"""Characters."""

RowsWithout = Callable[[Sequence[Value], frozenset[StudyCell]], Sequence[ComparisonRow]]
"""The rows of these cells, judged without these values."""


@dataclass(frozen=True, slots=True)
class AnomalyFacts(FindingFacts):
    """A launch (or node set) of `arm`: by size its ratio to the median of the `n_others` launches
    that it is compared with. `changes`: verdicts that differ without it; None where not tried."""

    benchmark: str
    arm: str
    n_nodes: int
    tasks_per_node: int
    node_set: int
    repeat: int
    nodes: str
    sizes_bytes: tuple[int, ...]
    ratios: tuple[float, ...]
    n_others: int
    unit: Unit
    changes: tuple[str, ...] | None
    condition: str = ""


_Place = tuple[str, str, int, int, str, int, int]
"""Arm, benchmark, number of nodes, ranks a node, node set, repeat: one launch."""


@dataclass(frozen=True, slots=True)
class _Odd:
    value: Value
    farthest: FarthestValue
    unit: Unit
    n_units: int


def anomaly_findings(
    values: Sequence[Value],
    rows: Sequence[ComparisonRow],
    rows_without: RowsWithout,
    *,
    simulated: bool,
    margin: float,
) -> list[Finding]:
    """A warning a launch that lies off, the farthest first.

    In 5 of 100 studies at most, one without any such launch gets such a warning, if launches
    scatter log-normally: p is multiplied by the number of values tried. A distance below `margin`
    counts for none.
    """
    launches: dict[_Place, list[_Odd]] = defaultdict(list)
    for odd in _odd_values(values, simulated=simulated, margin=margin):
        launches[_place(odd.value)].append(odd)
    groups = sorted(launches.values(), key=lambda odd: -max(_distance(one) for one in odd))
    before = {(row.cell, row.second): row for row in rows}
    return [
        _finding(odd, _changes(odd, values, before, rows_without) if i < MOST_TRIED else None)
        for i, odd in enumerate(groups)
    ]


def _odd_values(values: Sequence[Value], *, simulated: bool, margin: float) -> list[_Odd]:
    groups: dict[tuple[str, StudyCell], list[Value]] = defaultdict(list)
    for value in values:
        groups[value.arm, value.cell].append(value)
    tried, n_tried = [], 0
    for group in groups.values():
        units, unit = units_of_values(group, simulated=simulated)
        n_tried += len(units)
        found = farthest([one.value for one in units], [one.nodes for one in units])
        if found is not None and max(found.ratio, 1 / found.ratio) >= 1 + margin:
            tried.append(_Odd(units[found.index], found, unit, len(units)))
    return [odd for odd in tried if odd.farthest.p * n_tried < SIGNIFICANT]


def _place(value: Value) -> _Place:
    cell = value.cell
    scale = (cell.n_nodes, cell.tasks_per_node, cell.condition)
    return (value.arm, cell.benchmark, *scale, *value.pairs_with)


def _distance(odd: _Odd) -> float:
    return max(odd.farthest.ratio, 1 / odd.farthest.ratio)


def _changes(
    odd: Sequence[_Odd],
    values: Sequence[Value],
    before: Mapping[tuple[StudyCell, str], ComparisonRow],
    rows_without: RowsWithout,
) -> tuple[str, ...]:
    """'allreduce 8 B: not decided, then faster' for each verdict that differs without them."""
    left_out = odd[0].value
    is_set = odd[0].unit is Unit.NODE_SET
    kept = [
        value
        for value in values
        if (value.nodes != left_out.nodes if is_set else value.pairs_with != left_out.pairs_with)
        or _place(value)[:5] != _place(left_out)[:5]
    ]
    cells = frozenset(one.value.cell for one in odd)
    found = []
    for row in rows_without(kept, cells):
        was = before.get((row.cell, row.second))
        if was is not None and was.outcome is not row.outcome:
            found.append(f"{row.cell.text}: {was.outcome.value}, without it {row.outcome.value}")
    return tuple(found)


def _finding(odd: list[_Odd], changes: tuple[str, ...] | None) -> Finding:
    odd.sort(key=lambda one: one.value.cell)
    worst = max(odd, key=_distance)
    value, cell, unit = worst.value, worst.value.cell, worst.unit
    nodes = fold(sorted(value.nodes))
    facts = AnomalyFacts(
        benchmark=cell.benchmark,
        arm=value.arm,
        n_nodes=cell.n_nodes,
        tasks_per_node=cell.tasks_per_node,
        node_set=value.node_set,
        repeat=value.repeat,
        nodes=nodes,
        sizes_bytes=tuple(one.value.cell.size_bytes for one in odd),
        ratios=tuple(one.farthest.ratio for one in odd),
        n_others=worst.farthest.n_others,
        unit=unit,
        changes=changes,
        condition=cell.condition,
    )
    shown = nodes if len(nodes) <= _NODES_NAMED else f"{nodes[: _NODES_NAMED - 4]} ..."
    which = f"repeat {value.repeat} on {shown}" if unit is Unit.LAUNCH else f"on {shown}"
    others = f"the other {unit.one if worst.farthest.n_others == 1 else unit.value}"
    head = f"1 of {worst.n_units} {unit.value}" if worst.n_units > 1 else f"1 {unit.one}"
    sentence = (
        f"{head} lies off: {cell.benchmark} with {value.arm} on {cell.scale}, {which}: "
        f"{worst.farthest.ratio:.2f}x the median of {others}{_at(odd)}."
    )
    return Finding(
        FindingKind.ANOMALY, Severity.WARNING, sentence, evidence=_evidence(facts), facts=facts
    )


def _at(odd: Sequence[_Odd]) -> str:
    """' at 64 KiB'; of several sizes the one that is farthest off, and how many there are."""
    sizes = [one.value.cell.size_bytes for one in odd]
    if not sizes[0]:
        return ""
    if len(sizes) <= _SIZES_NAMED:
        return f" at {', '.join(format_size(size) for size in sizes)}"
    return (
        f" at {counted(len(sizes), 'size')} ({format_size(sizes[0])} to {format_size(sizes[-1])})"
    )


def _evidence(facts: AnomalyFacts) -> tuple[str, ...]:
    if facts.changes is None:
        return ()
    if not facts.changes:
        return (f"without this {facts.unit.one}, the verdicts stay",)
    n_more = len(facts.changes) - _SIZES_NAMED
    more = (f"{n_more} more verdicts change without it",) if n_more > 0 else ()
    return (*facts.changes[:_SIZES_NAMED], *more)


def changed_verdicts(findings: Sequence[Finding]) -> int:
    """How many verdicts rest on one launch: they differ if it is left out."""
    known = [one.facts for one in findings if isinstance(one.facts, AnomalyFacts)]
    return len(Counter(change for facts in known for change in facts.changes or ()))
