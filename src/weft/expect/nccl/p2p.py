"""Sends and receives of NCCL: sendrecv, alltoall, gather and scatter, as nccl-tests count them."""

from weft.catalog.document import SourceClass
from weft.catalog.libraries.nccl import PROTOCOLS, nccl_constants
from weft.catalog.machine.platform import Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import unknown_name
from weft.expect.model import Conditions, Expectation, Term
from weft.expect.nccl.topology import GpuTopology, topology
from weft.expect.nccl.tuner import USES


def nccl_p2p(platform: Platform, conditions: Conditions) -> Expectation:
    """Bus bandwidth in GB/s of a benchmark of sends. Raises InputError.

    `size_bytes` is what one rank sends in all: to its neighbour for sendrecv, S/n to each rank for
    alltoall; the whole buffer of the root for gather and scatter.
    """
    from weft.expect.nccl.collectives import as_busbw

    known = ["sendrecv", "alltoall", "alltoallv", "gather", "scatter", *USES]
    if conditions.benchmark not in known:
        raise unknown_name(f"NCCL has no '{conditions.benchmark}'", conditions.benchmark, known)
    found = topology(platform, conditions)
    inside, between = _bytes(found, conditions)
    transfer = max(_transfers(found, inside, between), key=lambda term: term.time_ns)
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
        formula="bytes / (messages + bytes through the fullest of NVLink and adapters)",
        limit=limit,
        limit_name=limit_name,
        algorithm="sends",
    )


def _bytes(found: GpuTopology, conditions: Conditions) -> tuple[float, float]:
    """(bytes one GPU moves inside its node, bytes the adapters of a node carry), one direction."""
    size, n, group = conditions.size_bytes, found.n_gpus, found.gpus_per_node
    many = found.n_nodes > 1
    if conditions.benchmark == "sendrecv":
        # Ranks send to the next one: one GPU of a node sends over the network, by one adapter.
        return (size if group > 1 else 0.0), (size * found.n_nets if many else 0.0)
    if conditions.benchmark in ("gather", "scatter"):
        outside = size * (n - group) / n
        own = size / n * max(0.0, group - 1)
        # The root's adapters and its own NVLink, over which the others' adapters are reached.
        return own + (outside if group > 1 else 0.0), outside
    outside = group * size * (n - group) / n
    return size * (group - 1) / n, outside


def _transfers(found: GpuTopology, inside: float, between: float) -> list[Term]:
    from weft.expect.nccl.collectives import slower

    sockets = found.sockets
    rate = practice("nccl-rate-sockets" if sockets else "nccl-rate")
    transfers = []
    if found.loopback:
        inside, between = 0.0, between + inside * found.gpus_per_node
    link, name = found.nvlink or found.pcie, "NVLink" if found.nvlink else "PCIe between GPUs"
    if inside and link:
        transfers.append((f"{name} of {link:.4g} GB/s", inside / link, rate))
    if between and found.net:
        transfers.append((found.net_bound, between / found.net, rate))
    if not transfers:
        transfers.append(("nothing to move", 0.0, rate))
    return [
        Term(
            name,
            time_ns,
            SourceClass.PUBLISHED,
            slower(figure.inverse_spread, found),
            figure.source,
        )
        for name, time_ns, figure in transfers
    ]


def _limit(found: GpuTopology, conditions: Conditions) -> tuple[float, str]:
    from weft.expect.nccl.collectives import busbw_factor

    inside, between = _bytes(found, conditions)
    if found.loopback:
        inside, between = 0.0, between + inside * found.gpus_per_node
    bus = conditions.size_bytes * busbw_factor(conditions.benchmark, found.n_gpus)
    links = found.nvlink_raw or found.pcie_raw
    limits = []
    if inside:
        limits.append((bus / (inside / links), f"NVLink, {links:.4g} GB/s of one GPU at most"))
    if between and found.net_raw:
        limits.append((bus / (between / found.net_raw), found.net_limit))
    return min(limits, default=(links, "NVLink"))
