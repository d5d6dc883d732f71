"""What the tables of one run say of their path: the smallest latency, the plateau, who talked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from weft.catalog.tools import NCCL_TOOLS
from weft.judge.path_class.mixture import mixture_of, unit_conflict_of
from weft.judge.path_class.proof import FoundProof
from weft.launch.command_words import RANK_LAUNCHERS
from weft.results.model import INTERFACE, ONE_A_RUN, ROWS, Row, Table

SMALL_BYTES = 256
"""Messages up to this size count as small: their time is latency, whatever the rate of the link."""
LARGE_BYTES = 65536
"""From this size on, a rate stands for the plateau."""
PING_PONG_BYTES = 1 << 20
"""From this size on, the time of one message stands for a rate: below, latency is a large part."""
RISES = 1.1
"""A last row this much above the one before still rises: its value is no plateau.
SOURCE: arithmetic: rate = size / (latency + size / plateau) gains 10 % by a doubling at 82 % of its
plateau."""
NEXT_SIZE = 4
"""Rows more than this factor apart show no rise."""
FLAT = 1.02
"""The rows of a link's plateau lie within this factor; memory falls off beyond its caches."""
FLAT_BYTES = 262144
"""From this size on, a stream over a link has reached its plateau."""
PAIR_TESTS = ("latency", "bandwidth", "bidirectional", "message_rate")
ONE_DIRECTION_OF_TWO = ("bidirectional", "sendrecv", "exchange")
"""Benchmarks whose rate adds what goes out and what comes in."""
GPUS_OF_A_NODE = {"nccl-tests": 8, "rccl-tests": 16}
"""More GPUs than this are commonly two nodes or more: an MI250X counts as two."""
MPI_STREAMS = ("osu", "imb")
"""Tools whose streams send each message by itself: others may join small ones."""
NO_HOST_RATE = ("startup", "fan_in", "fan_out", "")


@dataclass(frozen=True, slots=True)
class Plateau:
    """The best rate of large messages in one direction, GB/s, and the row that shows it.

    `is_weak`: from single messages, or from both directions at once, which often reach less than a
    stream in one direction does. `n_pairs`: so many pairs shared the path. `rises`: the last row
    still gains. `last_share`: what is left of the rate at the last size. `single_share`: what the
    largest messages reach one at a time, where another table has them.
    """

    gb_s: float
    size_bytes: int
    line: int
    test: str
    is_weak: bool = False
    n_pairs: int = 1
    rises: bool = False
    is_flat: bool = False
    last_share: float = 1.0
    single_share: float = 1.0


@dataclass(frozen=True, slots=True)
class PathEvidence:
    """What the rows of one run say. None where no row says it.

    `latency_us` is the least one-way time of a small message, `message_us` that of the smallest
    message, whatever its size, `step_us` the least time of a small
    collective, which takes at least one message. `rate_mps` is the best message rate (M/s),
    `pair_rate_mps` that of one pair's small messages, in whatever column it stands.
    `stall`: (peak, average, line) of a bandwidth row in which the two differ, GB/s.
    `n_other_files` of the same run were read too: the latency may be theirs, and `link_plateau` is
    the best of all, by which the link is known. `n_rows` counts the directions of one size once.
    `mixture` names the machines of a file that holds several, `unit_conflict` what contradicts.
    `library` is "mpi", "nccl", "verbs" or "sockets"; `tool` that of the first table, and
    `prints_one_row` whether it prints no more in a run. `protocol`: of the sockets, as the file
    says: "TCP", "UDP", "TCP and UDP", or "".
    """

    latency_us: float | None = None
    latency_bytes: int = 0
    message_us: float | None = None
    message_bytes: int = 0
    step_us: float | None = None
    step_test: str = ""
    plateau: Plateau | None = None
    rate_mps: float | None = None
    rate_bytes: int = 0
    pair_rate_mps: float | None = None
    stall: tuple[float, float, int] | None = None
    tool: str = ""
    prints_one_row: bool = False
    protocol: str = ""
    library: str = "mpi"
    memory: str = "host"
    n_ranks: int | None = None
    n_nodes: int | None = None
    devices: tuple[str, ...] = ()
    test: str = ""
    proofs: tuple[FoundProof, ...] = ()
    n_rows: int = 0
    gpus_of_a_node: int = 8
    n_other_files: int = 0
    link_plateau: Plateau | None = None
    mixture: str = ""
    unit_conflict: str = ""

    @property
    def link_shown(self) -> Plateau | None:
        """The plateau by which the link is known: the run's, else the file's own."""
        return self.link_plateau or self.plateau


STALLS = 1.5
"""Peak over average from which a queue pair stalled.
SOURCE: chosen: a healthy ib_write_bw prints a peak within some per cent of its average."""


def evidence_of(tables: Sequence[Table], proofs: Iterable[FoundProof] = ()) -> PathEvidence:
    """The evidence in the tables of one run, all of one library and memory: those of the first."""
    of = [table for table in tables if table.rows and table.benchmark not in NO_HOST_RATE]
    if not of:
        library = _library(tables[0]) if tables else "mpi"
        conflict = unit_conflict_of(tables)
        return PathEvidence(
            library=library,
            protocol=_protocol(tables),
            proofs=tuple(proofs),
            unit_conflict=conflict,
        )
    first = of[0]
    is_nccl = first.tool in NCCL_TOOLS
    alike = [table for table in of if (table.tool in NCCL_TOOLS) == is_nccl]
    if not is_nccl:
        alike = [table for table in alike if (table.memory or "host") == (first.memory or "host")]
    if is_nccl:
        # Tables of several scales: the largest says most of the fabric.
        most = max(table.n_ranks or 0 for table in alike)
        alike = [table for table in alike if (table.n_ranks or 0) == most]
    latency = min(_latencies(alike, SMALL_BYTES), default=None)
    message = min(_latencies(alike, LARGE_BYTES), key=lambda pair: pair[::-1], default=None)
    step = min(_steps(alike), default=None)
    plateau = _best_plateau(alike)
    rate = max(_rates(alike), default=None)
    nodes = {n for table in alike if (n := _nodes(table)) is not None}
    ranks = {table.n_ranks for table in alike if table.n_ranks is not None}
    return PathEvidence(
        latency_us=latency[0] if latency else None,
        latency_bytes=latency[1] if latency else 0,
        message_us=message[0] if message else None,
        message_bytes=message[1] if message else 0,
        step_us=step[0] if step else None,
        step_test=step[1] if step else "",
        plateau=plateau,
        rate_mps=rate[0] if rate else None,
        rate_bytes=rate[1] if rate else 0,
        pair_rate_mps=max(_pair_rates(alike), default=None),
        stall=max(_stalls(alike), default=None),
        tool=first.tool,
        prints_one_row=first.conditions.get(ROWS) == ONE_A_RUN,
        protocol=_protocol(alike),
        library=_library(first),
        memory="gpu" if any(table.memory == "gpu" for table in alike) else "host",
        n_ranks=max(ranks, default=None),
        n_nodes=next(iter(nodes)) if len(nodes) == 1 else None,
        devices=tuple(dict.fromkeys(name for table in alike for name in table.devices)),
        test=first.test,
        proofs=tuple(proofs),
        gpus_of_a_node=GPUS_OF_A_NODE.get(first.tool, 8),
        n_rows=len({(row.line, row.size_bytes) for table in alike for row in table.rows}),
        mixture=mixture_of(of),
        unit_conflict=unit_conflict_of(of),
    )


def _library(table: Table) -> str:
    if table.tool in NCCL_TOOLS:
        return "nccl"
    return "verbs" if table.tool == "perftest" else table.conditions.get(INTERFACE, "mpi")


def _protocol(tables: Sequence[Table]) -> str:
    of = [one.conditions for one in tables if one.conditions.get(INTERFACE) == "sockets"]
    return " and ".join(sorted({one.get("transport", "") for one in of} - {""}))


def with_run(own: PathEvidence, run: PathEvidence, n_other_files: int) -> PathEvidence:
    """The evidence of one file, completed by what all files of its run say."""
    return replace(
        own,
        latency_us=run.latency_us,
        latency_bytes=run.latency_bytes,
        proofs=run.proofs,
        n_nodes=own.n_nodes or run.n_nodes,
        n_other_files=n_other_files,
        link_plateau=run.plateau,
    )


def _nodes(table: Table) -> int | None:
    # One host name alone may be that of rank 0.
    known = table.n_nodes or (len(set(table.hosts)) if len(table.hosts) > 1 else None)
    if known is None and table.tool in NCCL_TOOLS and _is_one_process(table):
        return 1
    return known


def _is_one_process(table: Table) -> bool:
    """Whether a launch line without a launcher drove all GPUs: one process, so one node."""
    launch = table.conditions.get("launch", "")
    return bool(launch) and not any(word in launch for word in RANK_LAUNCHERS)


def _latencies(tables: Sequence[Table], most_bytes: int) -> Iterable[tuple[float, int]]:
    """(us, bytes) of messages up to a size between two ranks."""
    for table in tables:
        if table.benchmark != "latency" or table.tool in NCCL_TOOLS:
            continue
        for row in table.rows:
            size = row.size_bytes or 0
            value = row.metrics.get("latency_us", 0.0)
            if not value and (rate := row.metrics.get("bandwidth_mb_s", 0.0)) > 0:
                # The rate of a ping-pong is size over time.
                value = size / rate
            # A message of no bytes touches no GPU's memory.
            moves = size > 0 or table.memory != "gpu"
            if size <= most_bytes and value > 0 and moves:
                yield value, size


def _steps(tables: Sequence[Table]) -> Iterable[tuple[float, str]]:
    for table in tables:
        if table.benchmark in PAIR_TESTS or table.tool in NCCL_TOOLS:
            continue
        for row in table.rows:
            value = row.metrics.get("latency_us", 0.0)
            moves = (row.size_bytes or 0) > 0 or table.benchmark == "barrier"
            if moves and (row.size_bytes or 0) <= SMALL_BYTES and value > 0:
                yield value, table.test or table.benchmark


def _rates(tables: Sequence[Table]) -> Iterable[tuple[float, int]]:
    for table in tables:
        if table.benchmark != "message_rate":
            continue
        for row in table.rows:
            value = row.metrics.get("msg_rate_mps", 0.0)
            if value > 0:
                yield value, row.size_bytes or 0


def _pair_rates(tables: Sequence[Table]) -> Iterable[float]:
    """Million small messages a second of one pair that streams them in one direction."""
    for table in tables:
        if table.benchmark not in ("bandwidth", "message_rate") or table.tool not in MPI_STREAMS:
            continue
        both = 2 if table.conditions.get("directions") == "2" else 1
        for row in table.rows:
            if row.size_bytes and row.size_bytes <= SMALL_BYTES:
                rate = row.metrics.get("bandwidth_mb_s", 0.0) / row.size_bytes
                yield rate / both / (_pairs(table) if table.benchmark == "message_rate" else 1)


def _stalls(tables: Sequence[Table]) -> Iterable[tuple[float, float, int]]:
    for table in tables:
        for row in table.rows:
            peak = row.metrics.get("bandwidth_peak_mb_s", 0.0)
            mean = row.metrics.get("bandwidth_mb_s", 0.0)
            if (row.size_bytes or 0) >= LARGE_BYTES and mean > 0 and peak >= STALLS * mean:
                yield peak / 1e3, mean / 1e3, row.line


def _best_plateau(tables: Sequence[Table]) -> Plateau | None:
    """The plateau of streams; where no table streams, that of single messages."""
    alone = [found for table in tables if (found := _ping_pong(table)) is not None]
    single = max(alone, key=lambda found: found.gb_s, default=None)
    streams = [found for table in tables if (found := _stream(table)) is not None]
    if streams:
        best = max(streams, key=lambda found: (not found.rises, not found.is_weak, found.gb_s))
        alike = [one for one in streams if (one.test, one.n_pairs) == (best.test, best.n_pairs)]
        least = min(one.last_share * one.gb_s for one in alike)
        return replace(
            best,
            last_share=min(best.last_share, least / best.gb_s),
            single_share=1.0 if single is None or best.n_pairs > 1 else single.gb_s / best.gb_s,
        )
    return single


def _stream(table: Table) -> Plateau | None:
    if table.tool in NCCL_TOOLS:
        return _plateau(table, "busbw_gb_s", 1.0)
    both = table.conditions.get("directions") == "2" or table.benchmark in ONE_DIRECTION_OF_TWO
    unit = 2e3 if both else 1e3
    if table.benchmark in ("bandwidth", "pairs", "bidirectional"):
        return _plateau(table, "bandwidth_mb_s", unit, is_weak=both)
    if table.benchmark == "message_rate":
        return _plateau(table, "bandwidth_mb_s", unit, n_pairs=_pairs(table), is_weak=both)
    if table.benchmark in ONE_DIRECTION_OF_TWO and (table.n_ranks or 2) == 2:
        return _plateau(table, "bandwidth_mb_s", unit, is_weak=True)
    return None


def _pairs(table: Table) -> int:
    pairs = table.conditions.get("pairs", "")
    if pairs.isdigit():
        return max(1, int(pairs))
    return max(1, (table.n_ranks or 2) // 2)


def _plateau(
    table: Table, metric: str, unit: float, n_pairs: int = 1, *, is_weak: bool = False
) -> Plateau | None:
    """The best of the large rows of a column, in GB/s after division by `unit`."""
    rows = sorted(
        (row for row in table.rows if row.metrics.get(metric, 0.0) > 0 and row.size_bytes),
        key=lambda row: row.size_bytes or 0,
    )
    if not rows:
        return None
    large = [row for row in rows if (row.size_bytes or 0) >= LARGE_BYTES] or rows[-1:]
    if table.benchmark == "pairs":
        middle = median(row.metrics[metric] for row in large)
        return Plateau(middle / unit, large[-1].size_bytes or 0, large[0].line, table.test)
    best = max(large, key=lambda row: row.metrics[metric])
    return Plateau(
        gb_s=best.metrics[metric] / unit,
        size_bytes=best.size_bytes or 0,
        line=best.line,
        test=table.test,
        is_weak=is_weak,
        n_pairs=n_pairs,
        rises=not _is_of_sockets(table) and _still_rises(rows, metric),
        is_flat=_is_flat(large, metric),
        last_share=min(
            row.metrics[metric] for row in large if row.size_bytes == large[-1].size_bytes
        )
        / best.metrics[metric],
    )


def _is_of_sockets(table: Table) -> bool:
    """Whether the rows are streams of sockets: the kernel joins their messages, so that a block's
    size says little of the rate."""
    return table.conditions.get(INTERFACE) == "sockets" and len(table.rows) <= 2


def _still_rises(rows: Sequence[Row], metric: str) -> bool:
    """Whether the last size gains on the one before: by size, the best row of each."""
    best: dict[int, float] = {}
    for row in rows:
        size = row.size_bytes or 0
        best[size] = max(best.get(size, 0.0), row.metrics[metric])
    sizes, values = list(best), list(best.values())
    if len(values) == 1 or sizes[-1] > NEXT_SIZE * sizes[-2]:
        return sizes[-1] < LARGE_BYTES
    return values[-1] >= max(values) and values[-1] > RISES * values[-2]


def _is_flat(rows: Sequence[Row], metric: str) -> bool:
    values = [row.metrics[metric] for row in rows if (row.size_bytes or 0) >= FLAT_BYTES]
    return len(values) >= 3 and max(values) <= FLAT * min(values)


def _ping_pong(table: Table) -> Plateau | None:
    """The rate of the largest single message: size / one-way time."""
    if table.benchmark != "latency" or table.tool in NCCL_TOOLS:
        return None
    timed = [
        (row.size_bytes / (row.metrics["latency_us"] * 1e3), row)
        for row in table.rows
        if row.size_bytes
        and row.size_bytes >= PING_PONG_BYTES
        and row.metrics.get("latency_us", 0.0) > 0
    ]
    if not timed:
        return None
    rate, row = max(timed, key=lambda pair: pair[0])
    return Plateau(rate, row.size_bytes or 0, row.line, table.test, is_weak=True)
