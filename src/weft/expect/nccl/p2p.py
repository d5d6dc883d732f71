"""Sends and receives of NCCL: sendrecv, alltoall, gather and scatter, as nccl-tests count them."""

from weft.catalog.document import SourceClass
from weft.catalog.libraries.nccl import PROTOCOLS, nccl_constants
from weft.catalog.machine.platform import Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import unknown_name
from weft.expect.model import Conditions, Expectation, Term, largest
from weft.expect.nccl.topology import GpuTopology, topology
from weft.expect.nccl.tuner import USES

SENDS = ("sendrecv", "alltoall", "alltoallv", "gather", "scatter")
"""Benchmarks of sends."""


def nccl_p2p(platform: Platform, conditions: Conditions) -> Expectation:
    """Bus bandwidth in GB/s of a benchmark of sends. Raises InputError.

    `size_bytes` is what one rank sends in all: to its neighbour for sendrecv, S/n to each rank for
    alltoall; the whole buffer of the root for gather and scatter.
    """
    from weft.expect.nccl.collectives import as_busbw

    known = [*SENDS, *USES]
    if conditions.benchmark not in known:
        raise unknown_name(f"NCCL has no '{conditions.benchmark}'", conditions.benchmark, known)
    found = topology(platform, conditions)
    transfer = largest(_transfers(found, conditions))
    n_peers = 1 if conditions.benchmark == "sendrecv" else found.n_gpus - 1
    message = practice("nccl-message")
    constants = nccl_constants()
    hops = constants.net_latency_us if found.n_nodes > 1 else constants.nvlink_latency_us
    hop_us = hops["tree"][PROTOCOLS.index("simple")]
    latency = Term(
        f"latency, and {n_peers} message{'s' if n_peers > 1 else ''} a GPU",
        (hop_us + n_peers * message.value) * 1e3,
        SourceClass.ASSUMED,
        message.spread,
        message.source,
    )
    limit, limit_name = _limit(found, conditions)
    return as_busbw(
        platform,
        conditions,
        (latency, transfer),
        formula=f"bytes / (messages + bytes through the fullest of {found.link_name} and adapters)",
        limit=limit,
        limit_name=limit_name,
        algorithm="sends",
    )


def _bytes(found: GpuTopology, conditions: Conditions) -> tuple[float, float]:
    """(bytes one GPU moves inside its node, bytes the adapters of a node carry), one direction."""
    size, n, group = conditions.size_bytes, found.n_gpus, found.gpus_per_node
    outside = size * (n - group) / n
    if conditions.benchmark == "sendrecv":
        # Ranks send to the next one: one GPU of a node sends over the network, by one adapter.
        inside = size if group > 1 else 0.0
        outside = size * found.n_nets if found.n_nodes > 1 else 0.0
    elif conditions.benchmark in ("gather", "scatter"):
        # The root's adapters and its own NVLink, over which the others' adapters are reached.
        inside = size / n * max(0.0, group - 1) + (outside if group > 1 else 0.0)
    else:
        inside, outside = size * (group - 1) / n, group * size * (n - group) / n
    return (0.0, outside + inside * group) if found.loopback else (inside, outside)


def _transfers(found: GpuTopology, conditions: Conditions) -> list[Term]:
    from weft.expect.nccl.collectives import rate_range, slower

    inside, between = _bytes(found, conditions)
    rate = practice(rate_range(found))
    link, name = (
        found.nvlink or found.pcie,
        found.link_name if found.nvlink else "PCIe between GPUs",
    )
    transfers = []
    if inside and link:
        transfers.append((f"{name} of {link:.4g} GB/s", inside / link))
    if between and found.net:
        transfers.append((found.net_bound, between / found.net))
    spread = slower(rate.inverse_spread, found)
    return [
        Term(name, time_ns, SourceClass.PUBLISHED, spread, rate.source)
        for name, time_ns in transfers or [("nothing to move", 0.0)]
    ]


def _limit(found: GpuTopology, conditions: Conditions) -> tuple[float, str]:
    from weft.expect.nccl.collectives import busbw_factor

    inside, between = _bytes(found, conditions)
    bus = conditions.size_bytes * busbw_factor(conditions.benchmark, found.n_gpus)
    links = found.nvlink_raw or found.pcie_raw
    limits = []
    if inside:
        limits.append(
            (bus / (inside / links), f"{found.link_name}, {links:.4g} GB/s of one GPU at most")
        )
    if between and found.net_raw:
        limits.append((bus / (between / found.net_raw), found.net_limit))
    return min(limits, default=(links, found.link_name))
