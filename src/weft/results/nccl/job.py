"""What the device list and the columns of nccl-tests say about the job."""

import math
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
    n_nodes = len(set(hosts)) or None
    even = n_nodes is not None and len(ranks) % n_nodes == 0
    return JobFacts(
        n_ranks=len(ranks),
        n_nodes=n_nodes,
        tasks_per_node=len(ranks) // n_nodes if n_nodes is not None and even else None,
        hosts=tuple(hosts),
        devices=tuple(device.name for device in own if device.name),
        conditions=conditions,
    )


def completed(facts: JobFacts, n_ranks: int | None, *, is_guessed: bool) -> JobFacts:
    """The facts, with the ranks that the bandwidths prove where the device list is missing or was
    cut out of the output. A test that was itself guessed does not overrule the list."""
    if n_ranks is None or n_ranks == facts.n_ranks or (facts.n_ranks is not None and is_guessed):
        return facts
    conditions = {**facts.conditions, "ranks_from": "bus over algorithm bandwidth"}
    if facts.n_ranks is not None:
        conditions["ranks_listed"] = str(facts.n_ranks)
    return replace(facts, n_ranks=n_ranks, n_nodes=None, tasks_per_node=None, conditions=conditions)


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
