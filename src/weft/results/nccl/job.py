"""What the device list and the columns of nccl-tests say about the job."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from weft.results.model import Row

_ONE = 0.999
"""Above it a ratio of bandwidths is 1 but for rounding; (n - 1) / n is below, up to 1,000 ranks."""


_FACTOR_TIMES = {
    "all_reduce_perf": 2,
    "all_gather_perf": 1,
    "reduce_scatter_perf": 1,
    "alltoall_perf": 1,
}
"""Bus over algorithm bandwidth is so many times (n - 1) / n."""
_MOST_RANKS = 2048
_FINE_GB_S = 0.5
RANKS_FROM_BANDWIDTHS = "bus over algorithm bandwidth"
RANKS_FROM_COUNTS = "size over count x bytes of the type"
RANKS_FROM_LIST = "the highest rank of a device list that was cut"
RANKS_FROM_COMMAND = "-g and -t of the command, which starts one process"
NODES_FROM_COMMAND = "one process drives all GPUs (-g, -t)"


class Device(NamedTuple):
    """One line of the device list."""

    rank: int
    group: int
    pid: str
    host: str
    name: str


@dataclass(frozen=True, slots=True)
class JobFacts:
    """Ranks, nodes and devices of the communicator that the rows are about."""

    n_ranks: int | None = None
    n_nodes: int | None = None
    tasks_per_node: int | None = None
    hosts: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)

    @property
    def of_table(self) -> dict[str, Any]:
        """The facts that are fields of a table, by name."""
        names = ("n_ranks", "n_nodes", "tasks_per_node", "hosts", "devices")
        return {name: getattr(self, name) for name in names}


def facts_of_devices(devices: Sequence[Device]) -> JobFacts:
    """The job as the device list has it.

    Where NCCL_TESTS_SPLIT made several groups, the rows are those of the first rank's group. Where
    rank 0 is listed more than once, the tests were built without MPI: each process was one run.
    """
    if not devices:
        return JobFacts()
    conditions: dict[str, str] = {}
    groups = {device.group for device in devices}
    own = [device for device in devices if device.group == devices[0].group]
    if len(groups) > 1:
        conditions["groups"] = str(len(groups))
        conditions["ranks_of_all_groups"] = str(len(devices))
    first_rank = own[0].rank
    n_runs = sum(device.rank == first_rank for device in own)
    ranks = {device.rank for device in own}
    if n_runs > 1:
        conditions["separate_runs"] = str(n_runs)
        own = own[: len(ranks)]
    hosts = [device.host for device in own if device.host]
    n_ranks, n_nodes = len(ranks), len(set(hosts)) or None
    if len(groups) == 1 and min(ranks) > 0 and max(ranks) - min(ranks) + 1 == n_ranks:
        conditions |= {"ranks_from": RANKS_FROM_LIST, "ranks_listed": str(n_ranks)}
        n_ranks = max(ranks) + 1
        most = max(Counter(hosts).values(), default=0)
        n_nodes = n_nodes if n_nodes and n_ranks == most * n_nodes else None
    even = n_nodes is not None and n_ranks % n_nodes == 0
    return JobFacts(
        n_ranks=n_ranks,
        n_nodes=n_nodes,
        tasks_per_node=n_ranks // n_nodes if n_nodes is not None and even else None,
        hosts=tuple(hosts),
        devices=tuple(device.name for device in own if device.name),
        conditions=conditions,
    )


def completed(
    facts: JobFacts,
    n_ranks: int | None,
    ranks_from: str = RANKS_FROM_BANDWIDTHS,
    *,
    is_guessed: bool,
) -> JobFacts:
    """The facts, with the ranks that the columns prove where the device list is missing or was
    cut out of the output. A test that was itself guessed does not overrule the list."""
    if n_ranks is None or n_ranks == facts.n_ranks or (facts.n_ranks is not None and is_guessed):
        return facts
    conditions = {**facts.conditions, "ranks_from": ranks_from}
    if facts.n_ranks is not None:
        conditions["ranks_listed"] = str(facts.n_ranks)
    return replace(facts, n_ranks=n_ranks, n_nodes=None, tasks_per_node=None, conditions=conditions)


def of_one_process(
    facts: JobFacts, n_gpus: int | None, test: str, rows: Sequence[Row], *, is_launched: bool
) -> JobFacts:
    """The facts, where one process drives so many GPUs. Without a launcher those are all ranks, if
    the bandwidths allow it; where they are all ranks, there is one node."""
    if n_gpus is None or n_gpus < 2:
        return facts
    conditions = dict(facts.conditions)
    n_ranks = facts.n_ranks
    if n_ranks is None and not is_launched and _allow(test, rows, n_gpus):
        n_ranks = n_gpus
        conditions["ranks_from"] = RANKS_FROM_COMMAND
    if n_ranks != n_gpus or facts.n_nodes is not None:
        return replace(facts, n_ranks=n_ranks, conditions=conditions)
    conditions["nodes_from"] = NODES_FROM_COMMAND
    return replace(facts, n_ranks=n_ranks, n_nodes=1, tasks_per_node=n_ranks, conditions=conditions)


def _allow(test: str, rows: Sequence[Row], n_ranks: int) -> bool:
    """Whether every row with enough digits has the ratio of bandwidths of so many ranks."""
    times = _FACTOR_TIMES.get(test)
    ranges = [_ratio_range(row) for row in rows if row.metrics.get("algbw_gb_s", 0.0) >= _FINE_GB_S]
    if times is None or not ranges:
        return False
    factor = times * (n_ranks - 1) / n_ranks
    return all(low <= factor <= high for low, high in ranges)


def guessed_test(rows: Sequence[Row], n_ranks: int | None) -> tuple[str, str]:
    """The test that prints such columns, and why it must be that one; ("", "") where several do.

    In-place results that are not validated are those of an alltoall or a send-receive. A reduction
    without root is an allreduce where the bus bandwidth is at least the algorithm bandwidth, else a
    reduce-scatter; with a root it is a reduce. Allgather, gather and scatter look alike.
    """
    best = max(rows, key=lambda row: row.metrics.get("algbw_gb_s", 0.0))
    ratio = _ratio(best)
    if n_ranks == 1 or not ratio:
        return "", ""
    if _is_never_validated_in_place(rows):
        if ratio > _ONE:
            return "sendrecv_perf", "in-place not validated, bus = algorithm bandwidth"
        return "alltoall_perf", "in-place not validated, bus below algorithm bandwidth"
    if best.labels.get("redop", "none") != "none":
        return _reduction(ratio, _is_rooted(best))
    if _is_rooted(best) and ratio > _ONE:
        return "broadcast_perf", "a root and no reduction, bus = algorithm bandwidth"
    return "", ""


def guessed_gather(
    rows: Sequence[Row], n_ranks: int | None, *, is_old: bool
) -> tuple[str, str, str] | None:
    """(test, why, other tests it could be) where size and count prove blocks of so many ranks; None
    where they do not, or the columns say a root or an operation."""
    if n_ranks is None or any(map(_is_rooted, rows)):
        return None
    reduces = any(row.labels.get("redop", "none") != "none" for row in rows)
    if reduces:
        return "reduce_scatter_perf", "a reduction of blocks", ""
    if is_old:
        return "all_gather_perf", "algorithm bandwidth counts n - 1 of n blocks", ""
    if _is_never_validated_in_place(rows):
        return None
    if any("n_wrong" in row.metrics for row in rows):
        return "all_gather_perf", "blocks of all ranks, no root, validated in place", ""
    return "", "", "all_gather_perf, alltoall_perf"


def _is_never_validated_in_place(rows: Sequence[Row]) -> bool:
    """Alltoall and send-receive have no in-place result to validate, and say N/A there only."""
    marks = {(row.labels.get("placement"), row.labels.get("validation") == "N/A") for row in rows}
    return marks == {("out-of-place", False), ("in-place", True)}


def _is_rooted(row: Row) -> bool:
    return row.labels.get("root", "-1") != "-1"


def _reduction(ratio: float, rooted: bool) -> tuple[str, str]:
    if rooted:
        return "reduce_perf", "a reduction with a root"
    if ratio >= 0.99:
        return "all_reduce_perf", "a reduction without root, bus not below algorithm bandwidth"
    return "reduce_scatter_perf", "a reduction without root, bus below algorithm bandwidth"


def _ratio(row: Row) -> float | None:
    algbw, busbw = row.metrics.get("algbw_gb_s"), row.metrics.get("busbw_gb_s")
    return None if not algbw or busbw is None else busbw / algbw


def ranks_of_bandwidths(test: str, rows: Sequence[Row]) -> int | None:
    """The only number of ranks that gives the ratio of bus to algorithm bandwidth in every row, or
    None where there are several. SOURCE: nccl-tests, doc/PERFORMANCE.md."""
    times = _FACTOR_TIMES.get(test)
    ratios = [
        _ratio_range(row)
        for row in rows
        if row.metrics.get("algbw_gb_s", 0.0) >= 1.0 and "busbw_gb_s" in row.metrics
    ]
    if times is None or not ratios:
        return None
    low, high = max(r[0] for r in ratios), min(r[1] for r in ratios)
    if not 0 < low <= high < times:
        return None
    # times * (n - 1) / n grows with n, so the ranks that fit lie between its two inverses.
    fewest = max(math.ceil(times / (times - low)), 2)
    most = math.floor(times / (times - high))
    return fewest if fewest == most <= _MOST_RANKS else None


def _ratio_range(row: Row) -> tuple[float, float]:
    algbw, busbw = row.metrics["algbw_gb_s"], row.metrics["busbw_gb_s"]
    return (busbw - _slack(busbw)) / (algbw + _slack(algbw)), (busbw + _slack(busbw)) / (
        algbw - _slack(algbw)
    )


def _slack(bandwidth: float) -> float:
    """Half of the last place that six characters leave: two decimals below 1,000, else one."""
    return 0.0051 if bandwidth < 1000 else 0.051
