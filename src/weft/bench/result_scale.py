"""On how many nodes and ranks a table was measured: stated, derived or assumed."""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.core.errors import InputError
from weft.core.nodeset import MOST_NODES
from weft.results.model import Table

COMMAND_BACKEND = "command"
"""Of a bisect: the backend is the user's own command."""
BACKEND_NAME = "imported"
"""Name of the backend of a run that was read from files."""


class ContradictionError(InputError):
    """File and user contradict each other about one table."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Nodes and ranks on each. `assumed` names an assumption, or is empty."""

    n_nodes: int
    tasks_per_node: int
    assumed: str = ""


@dataclass(frozen=True, slots=True)
class StatedScale:
    """The user's statement about files that do not state it; None for no statement."""

    n_nodes: int | None = None
    tasks_per_node: int | None = None


def test_name(table: Table) -> str:
    """The tool's own name of the test, or the tool's where the file does not name the test."""
    return table.test or table.tool


def scale_of(table: Table, kind: str, asked: StatedScale, path: str) -> Scale:
    """The scale of a table; `kind` is that of its benchmark ("pt2pt", "collective", "pairs").

    Raises ContradictionError where table and user disagree, InputError where neither states the
    number of ranks of a collective, or for more nodes than any machine has.
    """
    scale = _scale_of(table, kind, asked, path)
    if scale.n_nodes > MOST_NODES:
        raise InputError(
            f"{test_name(table)} ran on {scale.n_nodes:,} nodes",
            where=f"{path}:{table.first_line}",
            expected=f"at most {MOST_NODES:,} nodes",
            hint="--tasks-per-node T says how many ranks share a node",
        )
    return scale


def _scale_of(table: Table, kind: str, asked: StatedScale, path: str) -> Scale:
    where = f"{path}:{table.first_line}"
    n_hosts = len(set(table.hosts)) or None
    n_nodes = _agreed(test_name(table), "nodes", table.n_nodes or n_hosts, asked.n_nodes, where)
    tasks = _agreed(
        test_name(table), "ranks on a node", table.tasks_per_node, asked.tasks_per_node, where
    )
    if kind == "pt2pt" and table.n_ranks in (None, 2):
        return _two_ranks(test_name(table), n_nodes, tasks)
    if table.n_ranks is not None:
        return _divided(test_name(table), table.n_ranks, n_nodes, tasks, where)
    if n_nodes is None:
        raise InputError(
            f"{test_name(table)} does not say on how many ranks it ran",
            where=where,
            expected="--nodes N and --tasks-per-node T with the file",
        )
    if tasks is None:
        return Scale(n_nodes, 1, f"1 rank on each node is assumed for {test_name(table)}")
    return Scale(n_nodes, tasks)


def _agreed(test: str, what: str, stated: int | None, asked: int | None, where: str) -> int | None:
    if stated is not None and asked is not None and stated != asked:
        raise ContradictionError(
            f"{test} ran on {stated} {what}, and the command line says {asked}",
            where=where,
            expected="options that agree with the file, or none where the file says it",
        )
    return stated if stated is not None else asked


def _two_ranks(test: str, n_nodes: int | None, tasks: int | None) -> Scale:
    """Two ranks of a job of any size: on one node where there is but one, else on two."""
    if n_nodes == 1:
        return Scale(1, 2)
    if n_nodes is None and tasks == 2:
        return Scale(1, 2, f"1 node x 2 ranks is assumed for {test}")
    assumed = "" if n_nodes is not None else f"2 nodes x 1 rank is assumed for {test}"
    return Scale(2, 1, assumed)


def _divided(test: str, n_ranks: int, n_nodes: int | None, tasks: int | None, where: str) -> Scale:
    """`n_ranks` over nodes; blocks of `tasks` where only those are known."""
    if n_nodes is None and tasks is None:
        n_nodes, tasks = n_ranks, 1
        return Scale(n_nodes, tasks, f"{n_ranks} nodes x 1 rank is assumed for {test}")
    if n_nodes is not None and tasks is None:
        tasks = n_ranks // n_nodes
    elif n_nodes is None and tasks is not None:
        tasks = min(tasks, n_ranks)
        n_nodes = n_ranks // tasks
    assert n_nodes is not None
    assert tasks is not None
    if n_nodes * tasks != n_ranks:
        raise ContradictionError(
            f"{test} ran on {n_ranks} ranks, which are not {n_nodes} nodes x {tasks}",
            where=where,
            expected="--nodes and --tasks-per-node whose product is the number of ranks",
        )
    return Scale(n_nodes, tasks)


def is_imported(meta: Mapping[str, object]) -> bool:
    """Whether run.toml is that of a run read from files."""
    backend = meta.get("backend")
    return isinstance(backend, Mapping) and backend.get("name") == BACKEND_NAME


def has_own_benchmarks(meta: Mapping[str, object]) -> bool:
    """Whether the benchmarks of a run need not be of the catalogue: read from files, or a command
    of the user's."""
    backend = meta.get("backend")
    is_command = isinstance(backend, Mapping) and backend.get("name") == COMMAND_BACKEND
    return is_command or is_imported(meta)
