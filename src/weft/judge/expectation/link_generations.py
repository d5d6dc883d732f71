"""Link generations: how many adapters of each a row takes, and what share of one a test reaches."""

from collections.abc import Sequence

from weft.catalog.machine.generic import PREFIX
from weft.catalog.machine.platform import Platform
from weft.catalog.paths.path_class import path_classes
from weft.judge.expectation.adapter_count import through_adapters
from weft.judge.expectation.conditions import Given, conditions_of, setting_of
from weft.judge.path_class.fit import FILLED
from weft.judge.rules import Rules
from weft.results.model import Row, Table


def adapters_taken(
    tables: Sequence[Table], given: Given, links: Sequence[Platform], rules: Rules
) -> tuple[str, ...]:
    """A line a table and generation of links, where NCCL's traffic passes between nodes."""
    one = links[0] if len(links) == 1 else None
    lines: list[str] = []
    for table in tables:
        largest = _largest(table)
        conditions = setting_of(table, given, one, link_class=one is not None).conditions
        if largest is not None and conditions is not None:
            of_row = conditions_of(largest, conditions)
            lines += through_adapters(table, largest, of_row, links, rules)
    return tuple(dict.fromkeys(lines))


def least_share_of(platform: Platform) -> float:
    """The share of a link's rate that its tests reach at least: what fills it, or less where the
    catalogue says that one pair of ranks does not."""
    name = platform.name.removeprefix(PREFIX)
    for family in path_classes().of_transport("rdma", "sockets"):
        if family.takes_several_pairs and any(one.name == name for one in family.classes):
            return family.share.low
    return FILLED


def _largest(table: Table) -> Row | None:
    sized = [row for row in table.rows if row.size_bytes]
    return max(sized, key=lambda row: row.size_bytes or 0, default=None)
