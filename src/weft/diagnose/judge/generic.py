"""Where nobody knows the machine: what the same row would be on each generation of links."""

from collections.abc import Sequence

from weft.bench.parse.model import Row, Table
from weft.core.units import format_significant, format_size
from weft.diagnose.judge.conditions import Given, conditions_of, setting_of
from weft.diagnose.judge.expected import expected_of, predictor
from weft.diagnose.judge.place import link_classes
from weft.diagnose.judge.rules import Rules


def normal_elsewhere(tables: Sequence[Table], given: Given, rules: Rules) -> tuple[str, ...]:
    """One line for each table and generation of links: the largest row, and what is normal."""
    lines = []
    for table in tables:
        largest = _largest(table)
        setting = setting_of(table, given)
        if largest is None or setting.conditions is None:
            continue
        conditions = conditions_of(largest, setting.conditions)
        for platform in link_classes():
            found = expected_of(largest, conditions, platform, predictor(platform), rules)
            expectation = found.expectation
            if expectation is None:
                continue
            low, high = (format_significant(v, 3) for v in (expectation.low, expectation.high))
            lines.append(
                f"{table.test or table.tool} at {format_size(largest.size_bytes or 0)}: measured"
                f" {format_significant(largest.metrics[expectation.metric], 4)}"
                f" {expectation.unit}; {platform.name} gives {low} to {high}"
            )
    return tuple(lines)


def _largest(table: Table) -> Row | None:
    sized = [row for row in table.rows if row.size_bytes]
    return max(sized, key=lambda row: row.size_bytes or 0, default=None)
