"""Ranks and nodes of tables whose tool does not print them, from the launch line above them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from weft.launch.command_words import RANK_LAUNCHERS
from weft.results.lines.cursor import Line
from weft.results.lines.launch_line import launch_of, shown
from weft.results.model import Table

LAUNCHERS = tuple(f"{name} " for name in sorted(RANK_LAUNCHERS))
_PROGRAMS = {"imb": "IMB-", "mpi4py": "mpi4py.bench"}
MAX_LAUNCHES = 1000
"""So many launch lines of a file are remembered: the last ones."""


def is_launch(text: str) -> bool:
    """Whether a line looks like a command that starts ranks."""
    return any(launcher in text for launcher in LAUNCHERS) and " -" in text


def with_launches(tables: Iterable[Table], launches: Sequence[Line]) -> list[Table]:
    """The tables; those of MPI tools with what the last launch line of their program above them
    says of ranks and nodes. What a table says itself stands."""
    return [_with_launch(table, launches) if launches else table for table in tables]


def _with_launch(table: Table, launches: Sequence[Line]) -> Table:
    program = table.test if table.tool == "osu" else _PROGRAMS.get(table.tool)
    if not program or table.n_nodes is not None:
        return table
    above = [
        line.text for line in launches if line.number < table.first_line and program in line.text
    ]
    if not above:
        return table
    command = above[-1].partition(program)[0]
    found = launch_of(command)
    n_ranks = table.n_ranks or found.n_ranks
    fits = found.n_ranks in (None, n_ranks)
    return replace(
        table,
        n_ranks=n_ranks,
        n_nodes=found.n_nodes if fits else None,
        tasks_per_node=found.tasks_per_node if fits else None,
        conditions={"launch": shown(above[-1])} | dict(table.conditions),
    )
