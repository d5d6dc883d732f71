"""From a table of some tool to the conditions an expectation depends on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from weft.catalog.machine.generic import PREFIX
from weft.catalog.machine.platform import Platform
from weft.catalog.paths.path_class import path_classes
from weft.catalog.tools import NCCL_TOOLS
from weft.expect.fit.tables import MIN_ROWS
from weft.expect.model import Conditions, Library, Memory, Transport
from weft.results.model import INTERFACE, Row, Table

NO_LAYOUT = "the file does not say on how many nodes and ranks: --nodes N --tasks-per-node T"
PAIR_BENCHMARKS = ("latency", "bandwidth", "bidirectional")
"""Benchmarks of two ranks; the others need to know how many there are."""
OSU_WINDOW = 64
"""SOURCE: OSU micro-benchmarks, osu_bw and osu_bibw: 64 messages a window by default."""

BOTH_WAYS = ("osu_bibw", "Biband", "both directions", "a put, get")
"""Tests in both directions, as readers name them among those that a table without title may be."""
RING_WINDOWS = {"hpcc": 1, "gpcnet": 8}
"""Messages to each neighbour of a ring. SOURCE: HPC Challenge 1.5, bench_lat_bw; GPCNeT 1.3."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the user says about a file, None or "" where they do not; the NCCL variables that the
    file's own log or environment sets; and the most ranks of any table of the same test."""

    n_nodes: int | None = None
    tasks_per_node: int | None = None
    memory: str = ""
    nccl_version: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    ranks_of_run: int | None = None


@dataclass(frozen=True, slots=True)
class TableConditions:
    """The conditions of a whole table. `why_not`: the reason that no row of it can be judged;
    `lacks_layout`: the reason is an unknown number of nodes and ranks; `remarks`: assumptions;
    `twice`: why a rate may be twice what one link carries in one direction, "" where it may not."""

    conditions: Conditions | None
    why_not: str = ""
    remarks: tuple[str, ...] = ()
    lacks_layout: bool = False
    twice: str = ""


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the ranks of a table lie on nodes. `why_not`: they do not lie as a closed form takes."""

    n_nodes: int
    tasks_per_node: int
    remarks: tuple[str, ...] = ()
    why_not: str = ""


def setting_of(
    table: Table, given: Given, platform: Platform | None = None, *, link_class: bool = False
) -> TableConditions:
    """The conditions of a table, all but the size. On a generation of links, which has no GPUs,
    buffers in GPU memory are judged as any others: the link carries both alike."""
    if not table.benchmark:
        return TableConditions(None, f"weft does not model {table.test or 'this test'}")
    layout = _layout(table, given, platform)
    if layout is None:
        return TableConditions(None, NO_LAYOUT, lacks_layout=True)
    if layout.why_not:
        return TableConditions(None, layout.why_not, layout.remarks)
    conditions = Conditions(
        benchmark=benchmark_of(table),
        size_bytes=0,
        n_nodes=layout.n_nodes,
        tasks_per_node=layout.tasks_per_node,
        memory="host" if link_class and _gpus(platform) is None else _memory(table, given),
        library=_library(table),
        library_version=given.nccl_version or table.conditions.get("nccl_version", ""),
        algorithm=_forced(table, given, "algorithm", "NCCL_ALGO"),
        protocol=_forced(table, given, "protocol", "NCCL_PROTO"),
        transport=_transport(table, given, platform),
        window=_whole(table.conditions.get("window")) or _default_window(table),
        both_directions=table.conditions.get("directions") == "2",
    )
    return TableConditions(conditions, remarks=layout.remarks, twice=_twice(table))


def _twice(table: Table) -> str:
    """A rate that adds two ports, or both directions as far as the file says."""
    could_be = table.conditions.get("test_could_be", "")
    untold = table.tool == "perftest" and not table.test
    one_way = table.benchmark in ("bandwidth", "message_rate")
    if table.conditions.get("dual_port", "").upper() == "ON":
        return "two ports"
    if one_way and (untold or any(name in could_be for name in BOTH_WAYS)):
        return "both directions, as the file has no title"
    return ""


def benchmark_of(table: Table) -> str:
    """What a table measures: a matrix of pairs is a bandwidth or a latency, many times over."""
    both = table.conditions.get("directions") == "2"
    if table.benchmark == "bandwidth" and both:
        return "bidirectional"
    if table.benchmark != "pairs":
        return table.benchmark
    if any("latency_us" in row.metrics for row in table.rows):
        return "latency"
    return "bidirectional" if both else "bandwidth"


def conditions_of(row: Row, setting: Conditions) -> Conditions:
    """The conditions of one row. A test without sizes has size 0."""
    size_bytes = row.size_bytes or 0
    return replace(
        setting,
        size_bytes=size_bytes,
        algorithm=row.labels.get("algorithm", setting.algorithm),
        protocol=row.labels.get("protocol", setting.protocol),
    )


def can_be_fitted(tables: Iterable[Table]) -> bool:
    """Whether `weft platform fit` takes a file: a latency of enough sizes between two ranks in host
    memory, and no other table of pairs that it refuses."""
    pairs = [table for table in tables if table.benchmark in PAIR_BENCHMARKS]
    usual = all(
        table.tool not in NCCL_TOOLS and table.memory != "gpu" and table.n_ranks in (None, 2)
        for table in pairs
    )
    return usual and any(
        table.benchmark == "latency" and len({row.size_bytes for row in table.rows}) >= MIN_ROWS
        for table in pairs
    )


def n_ranks_of(table: Table, given: Given) -> int | None:
    """Ranks of a table; None where neither it nor the user says."""
    if table.n_ranks is not None:
        return table.n_ranks
    nodes = given.n_nodes or table.n_nodes or (len(set(table.hosts)) or None)
    tasks = given.tasks_per_node or table.tasks_per_node
    return nodes * tasks if nodes is not None and tasks is not None else None


def _layout(table: Table, given: Given, platform: Platform | None) -> _Layout | None:
    """Nodes and tasks a node, None where they are unknown."""
    n_ranks = table.n_ranks
    n_nodes = given.n_nodes or table.n_nodes or (len(set(table.hosts)) or None)
    if table.benchmark == "pairs":
        return _Layout(max(2, n_nodes or 2), 1)
    if table.tool == "imb" and n_ranks is not None:
        total = max(_ranks_of_run(table, n_ranks), given.ranks_of_run or 0)
        tasks = given.tasks_per_node or table.tasks_per_node
        if total > n_ranks:
            return _part_of_run(n_ranks, tasks or (-(-total // n_nodes) if n_nodes else None))
    if table.benchmark in PAIR_BENCHMARKS and table.tool not in NCCL_TOOLS:
        return _pair_layout(n_ranks, n_nodes)
    tasks = given.tasks_per_node or (None if given.n_nodes else table.tasks_per_node)
    if tasks is None and n_ranks is not None and n_nodes is not None:
        tasks = max(1, n_ranks // n_nodes)
    if n_nodes is None and n_ranks is not None and tasks is not None:
        n_nodes = max(1, n_ranks // tasks)
    if n_nodes is not None and tasks is None:
        tasks = _gpus(platform) if table.tool in NCCL_TOOLS else None
    if n_nodes is None and n_ranks is not None and table.tool in NCCL_TOOLS:
        n_nodes, tasks = _nodes_of_gpus(n_ranks, platform)
    if n_nodes is None and table.benchmark == "message_rate" and n_ranks:
        remark = f"assumed: {n_ranks} ranks, half of them on each of two nodes (--nodes 1 for one)"
        return _Layout(2, max(1, n_ranks // 2), (remark,))
    if n_nodes is None or tasks is None:
        return None
    if n_ranks is not None and n_nodes <= n_ranks < n_nodes * tasks:
        tasks = n_ranks // n_nodes if table.tool not in NCCL_TOOLS else tasks
    return _Layout(n_nodes, tasks)


def _ranks_of_run(table: Table, n_ranks: int) -> int:
    """Ranks of the whole run, of which a sub-table of IMB has the first ones."""
    waiting = _whole(table.conditions.get("waiting")) or 0
    groups = _whole(table.conditions.get("groups")) or 1
    return n_ranks * groups + waiting


def _part_of_run(n_ranks: int, tasks: int | None) -> _Layout | None:
    """The first ranks of a run that has more. Launchers fill a node before the next one, so that
    few of them share one node, and an adapter carries nothing."""
    if tasks is None:
        return None
    remark = "assumed: ranks fill one node after the other, also in tables of a part of them"
    if n_ranks <= tasks:
        return _Layout(1, n_ranks, (remark,))
    if n_ranks % tasks:
        why = f"{n_ranks} ranks do not fill whole nodes of {tasks}"
        return _Layout(n_ranks // tasks, tasks, (remark,), why)
    return _Layout(n_ranks // tasks, tasks, (remark,))


def _pair_layout(n_ranks: int | None, n_nodes: int | None) -> _Layout:
    if n_nodes is None:
        remark = "assumed: two nodes; the file does not name them (--nodes 1 for one)"
        return _Layout(2, 1, (remark,))
    if n_nodes == 1:
        return _Layout(1, 2)
    return _Layout(n_nodes, max(1, (n_ranks or n_nodes) // n_nodes))


def _gpus(platform: Platform | None) -> int | None:
    return platform.gpus.per_node.whole if platform and platform.gpus else None


def _nodes_of_gpus(n_ranks: int, platform: Platform | None) -> tuple[int | None, int | None]:
    per_node = _gpus(platform)
    if per_node is None:
        return None, None
    if n_ranks <= per_node:
        return 1, n_ranks
    return (n_ranks // per_node, per_node) if n_ranks % per_node == 0 else (None, None)


def _memory(table: Table, given: Given) -> Memory:
    if table.tool in NCCL_TOOLS:
        return "gpu"
    word = given.memory or table.memory
    return cast(Memory, word) if word in ("host", "gpu") else "host"


def _library(table: Table) -> Library:
    if table.tool in NCCL_TOOLS:
        return "nccl"
    is_verbs = table.tool == "perftest" or table.conditions.get(INTERFACE) == "verbs"
    return "verbs" if is_verbs else "mpi"


def _forced(table: Table, given: Given, condition: str, variable: str) -> str:
    """What is forced, where it is one word: NCCL also takes lists of what may be chosen from."""
    word = table.conditions.get(condition, "")
    if not word and table.tool in NCCL_TOOLS:
        word = given.variables.get(variable, "")
    return word if word.isalnum() else ""


def _transport(table: Table, given: Given, platform: Platform | None) -> Transport:
    """Sockets over a link of RDMA; a class of TCP has them in its figures. Ranks of a node whose
    peer-to-peer and shared memory are off talk through their adapters."""
    if table.conditions.get(INTERFACE) == "sockets":
        name = platform.name.removeprefix(PREFIX) if platform is not None else ""
        of_tcp = {one.name for f in path_classes().of_transport("sockets") for one in f.classes}
        return "" if name in of_tcp else "sockets"
    off = [given.variables.get(name) == "1" for name in ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE")]
    return "network" if table.tool in NCCL_TOOLS and all(off) else ""


def _default_window(table: Table) -> int:
    depth = _whole(table.conditions.get("tx_depth"))
    if depth:
        return depth
    ring = table.benchmark.endswith("_ring_bandwidth")
    return RING_WINDOWS.get(table.tool, OSU_WINDOW) if ring else OSU_WINDOW


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() else None
