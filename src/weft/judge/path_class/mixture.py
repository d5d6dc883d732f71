"""Tables of several machines in one file, and units that contradict each other."""

from collections.abc import Sequence

from weft.results.lines.unit_conflict import UNIT_CONFLICT
from weft.results.model import Table

MOST_NAMED = 3
"""So many hosts or devices of a machine are named."""
MEMORIES = {"host": "host memory", "gpu": "GPU memory"}


def mixture_of(tables: Sequence[Table]) -> str:
    """'devices mlx5_0 and hfi1_0', where tables differ in devices, hosts or memory; else ""."""
    memories = dict.fromkeys(MEMORIES[table.memory] for table in tables if table.memory)
    parts = [" and ".join(memories)] if len(memories) > 1 else []
    for word, groups in (
        ("devices", [table.devices for table in tables]),
        ("hosts", [table.hosts for table in tables]),
    ):
        apart = _apart(groups)
        if apart:
            parts.append(f"{word} {_named(apart[0])} and {word} {_named(apart[1])}")
    return "; ".join(parts)


def _apart(groups: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[str]] | None:
    """The first group, and the first one that shares no name with it."""
    named = [group for group in groups if group]
    other = next((group for group in named if set(group).isdisjoint(named[0])), None)
    return None if other is None else (named[0], other)


def _named(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    more = len(different) - MOST_NAMED
    return ", ".join(different[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def unit_conflict_of(tables: Sequence[Table]) -> str:
    """The first contradiction of units in the tables, with the line of its table; else ""."""
    for table in tables:
        text = table.conditions.get(UNIT_CONFLICT)
        if text:
            return f"line {table.first_line}: {text}"
    return ""
