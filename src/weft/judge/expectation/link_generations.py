"""On an unknown machine: the normal values of a row on each generation of links."""

from collections.abc import Sequence

from weft.catalog.machine.platform import Platform
from weft.core.units import format_significant, format_size
from weft.expect.model import Conditions, Expectation
from weft.judge.expectation.adapter_count import through_adapters
from weft.judge.expectation.conditions import Given, conditions_of, setting_of
from weft.judge.expectation.expected_value import expected_of, predictor
from weft.judge.expectation.platform_choice import link_classes
from weft.judge.model import RowState
from weft.judge.rows import state_of
from weft.judge.rules import Rules
from weft.results.model import Row, Table

WORDS = {
    RowState.NORMAL: "normal for",
    RowState.LOW: "slower than",
    RowState.HIGH: "faster than",
    RowState.IMPOSSIBLE: "beyond the limit of",
}
"""The relation of a row to generations of links, in the order of print."""


def normal_elsewhere(tables: Sequence[Table], given: Given, rules: Rules) -> tuple[str, ...]:
    """For each table its largest row, and for which generations of links it is normal; for NCCL
    between nodes, how many of their adapters it takes."""
    lines = []
    for table in tables:
        largest = _largest(table)
        setting = setting_of(table, given)
        if largest is None or setting.conditions is None:
            continue
        found = _on_each(largest, conditions_of(largest, setting.conditions), rules)
        if found:
            lines.append(f"{table.test or table.tool} {_line(largest, found, rules)}")
        else:
            lines += through_adapters(table, largest, setting.conditions, link_classes(), rules)
    return tuple(dict.fromkeys(lines))


def adapters_taken(
    tables: Sequence[Table], given: Given, platform: Platform, rules: Rules
) -> tuple[str, ...]:
    """On one generation of links: how many adapters a node the largest row of each table takes."""
    lines: list[str] = []
    for table in tables:
        largest = _largest(table)
        conditions = setting_of(table, given, platform, link_class=True).conditions
        if largest is not None and conditions is not None:
            lines += through_adapters(table, largest, conditions, (platform,), rules)
    return tuple(dict.fromkeys(lines))


def _on_each(row: Row, conditions: Conditions, rules: Rules) -> dict[str, Expectation]:
    """What each generation of links gives, by its name, slowest link first."""
    found = {
        platform.name: expected_of(row, conditions, platform, predictor(platform), rules)
        for platform in link_classes()
    }
    return {name: one.expectation for name, one in found.items() if one.expectation is not None}


def _line(row: Row, found: dict[str, Expectation], rules: Rules) -> str:
    first = next(iter(found.values()))
    measured = row.metrics[first.metric]
    stands: dict[RowState, list[str]] = {state: [] for state in WORDS}
    for name, expectation in found.items():
        state = state_of(row.metrics[expectation.metric], expectation, rules)
        stands[state].append(f"{name} ({_range(expectation)})")
    text = "; ".join(f"{WORDS[state]} {', '.join(here)}" for state, here in stands.items() if here)
    if len(found) > 1 and len(stands[RowState.NORMAL]) == len(found):
        low, high = (min(e.low for e in found.values()), max(e.high for e in found.values()))
        span = f"{format_significant(low, 3)} to {format_significant(high, 3)}"
        text = f"normal for every link generation ({span}): no evidence for one of them"
    size = format_size(row.size_bytes or 0)
    return f"at {size}: measured {format_significant(measured, 4)} {first.unit}; {text}"


def _range(found: Expectation) -> str:
    return f"{format_significant(found.low, 3)} to {format_significant(found.high, 3)}"


def _largest(table: Table) -> Row | None:
    sized = [row for row in table.rows if row.size_bytes]
    return max(sized, key=lambda row: row.size_bytes or 0, default=None)
