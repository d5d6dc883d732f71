"""What the device list and the columns of nccl-tests say about the job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.bench.parse.model import Row


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


def facts_of_devices(devices: Sequence[Device]) -> JobFacts:
    """The job as the device list has it.

    Where NCCL_TESTS_SPLIT made several groups, the rows are those of the first rank's group. Where
    rank 0 is listed more than once, the tests were built without MPI and each process ran alone.
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


def test_of_columns(rows: Sequence[Row], n_ranks: int | None) -> tuple[str, str]:
    """The test that prints such columns, and why it must be that one; ("", "") where several do.

    A reduction without root is an allreduce where the bus bandwidth is at least the algorithm
    bandwidth, else a reduce-scatter; with a root it is a reduce. Without reduction, a root means
    broadcast, gather or scatter, and none means allgather, alltoall or a send-receive.
    """
    best = max(rows, key=lambda row: row.metrics.get("algbw_gb_s", 0.0))
    ratio = _ratio(best)
    if n_ranks == 1 or not ratio:
        return "", ""
    if best.labels.get("redop", "none") != "none":
        return _reduction(ratio, _is_rooted(best))
    if _is_rooted(best):
        return (
            ("broadcast_perf", "a root, bus = algorithm bandwidth") if ratio > 0.999 else ("", "")
        )
    if any(row.labels.get("validation") == "N/A" for row in rows):
        return "alltoall_perf", "no reduction, no root, in-place results not validated"
    return "", ""


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
