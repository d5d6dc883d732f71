"""NCCL's tuner: rate and latency of each algorithm and protocol, and which of them it takes.

SOURCE of the formulas: NVIDIA/nccl, src/graph/tuning.cc, 2.20 and 2.28 to 2.30 (see
catalog/nccl/*.toml); of what NVLink SHARP moves, NVIDIA/nccl-tests issue 212: each GPU sends and
receives S (1 + 1/n) for an allreduce of S over n GPUs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from weft.catalog.libraries.nccl import (
    ALGORITHMS,
    PROTOCOLS,
    Algorithm,
    ByProtocol,
    NcclConstants,
    Protocol,
)
from weft.expect.nccl.topology import GpuTopology

ARITY_US = 0.4
"""What each further GPU adds to CollNetDirect's fan, in us (tuning.cc)."""
PAT_STEP_US, PAT_LOG_SHARE = 2.8, 3.5
"""PAT's linear part in us a rank, and what its logarithmic part is divided by (tuning.cc)."""

USES: dict[str, tuple[Algorithm, ...]] = {
    "allreduce": ("ring", "tree", "nvls", "nvlstree", "collnetdirect", "collnetchain"),
    "allgather": ("ring", "nvls", "collnetdirect", "pat"),
    "reduce_scatter": ("ring", "nvls", "collnetdirect", "pat"),
    "broadcast": ("ring",),
    "reduce": ("ring",),
}
"""Which algorithms NCCL has for a collective."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes a microsecond / 1000 = GB/s of a whole collective, and what sets it."""

    gb_s: float
    bound: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An algorithm with a protocol: `latency_us` and the rate at which its buffer passes."""

    algorithm: Algorithm
    protocol: Protocol
    latency_us: float
    rate: Rate

    def transfer_us(self, size_bytes: int, constants: NcclConstants, coll: str) -> float:
        """The part of the time that grows with the buffer; trees are slower at middle sizes."""
        share = 1.0
        if self.algorithm == "tree" and coll == "allreduce" and size_bytes >= 64:
            table = constants.tree_correction[self.protocol]
            place = (size_bytes >> 6).bit_length() - 1
            share = table[place] if place < len(table) else 1.0
        return size_bytes / 1e3 / (self.rate.gb_s * share)


def candidates(
    topology: GpuTopology, constants: NcclConstants, coll: str, *, collnet: bool = False
) -> list[Candidate]:
    """Every algorithm and protocol NCCL could take, in its own order. CollNet only where it is."""
    found = []
    for algorithm in ALGORITHMS:
        if algorithm not in USES[coll] or not _available(topology, algorithm, collnet):
            continue
        for protocol in PROTOCOLS:
            if protocol != "simple" and algorithm not in ("ring", "tree"):
                continue
            if protocol == "ll128" and not topology.ll128:
                continue
            rate = _rate(topology, constants, coll, algorithm, protocol)
            if rate.gb_s > 0:
                latency_us = _latency_us(topology, constants, coll, algorithm, protocol)
                found.append(Candidate(algorithm, protocol, latency_us, rate))
    return found


def plateau(
    candidate: Candidate, topology: GpuTopology, constants: NcclConstants, coll: str, size: int
) -> float:
    """Factor on the latency of a ring over several nodes once its slices are full (tuning.cc)."""
    is_ring = candidate.algorithm == "ring" and candidate.protocol == "simple"
    full = size / (channels(topology) * topology.n_gpus) >= 64
    if not (is_ring and topology.n_nodes > 1 and coll == "allreduce" and full):
        return 1.0
    if topology.architecture == "volta":
        return constants.plateau_before_ampere
    return constants.plateau


def steps_of(coll: str, n_gpus: int) -> int:
    """Steps of a ring."""
    if coll == "allreduce":
        return 2 * (n_gpus - 1)
    if coll in ("allgather", "reduce_scatter"):
        return n_gpus - 1
    return n_gpus


def channels(topology: GpuTopology) -> int:
    """Channels of ring and tree: one an adapter between nodes, one an NVLink inside one."""
    if topology.n_nodes > 1 or topology.loopback:
        return max(2, topology.n_nets)
    return topology.n_links


def _available(topology: GpuTopology, algorithm: Algorithm, collnet: bool) -> bool:
    many, group = topology.n_nodes > 1, topology.gpus_per_node
    if topology.loopback:
        return algorithm == "ring"
    rules = {
        "ring": True,
        "tree": True,
        "nvls": topology.nvls and group > 2 and (not many or collnet),
        "nvlstree": topology.nvls and many and group > 1 and topology.n_nets > 1,
        "collnetdirect": collnet and many and topology.switched and group > 1,
        "collnetchain": collnet and many,
        "pat": group == 1 and many,
    }
    return rules[algorithm]


def _ring_bus(topology: GpuTopology) -> Rate:
    """Bus bandwidth of rings with full packets: NVLink, or the adapters that close them."""
    if topology.loopback:
        return Rate(
            topology.net / topology.gpus_per_node, f"{topology.net_bound}: every hop uses one"
        )
    inside = topology.nvlink or topology.pcie
    name = "NVLink" if topology.nvlink else "PCIe between GPUs"
    if topology.n_nodes == 1:
        return Rate(inside, f"{name} of {inside:.4g} GB/s")
    if topology.gpus_per_node > 1:
        if topology.nvlink and not topology.pcie_switch:
            # Without a switch below the processor the last GPU reaches its adapter over NVLink:
            # one hop more than the ring has.
            share = (topology.gpus_per_node - 1) / topology.gpus_per_node
            inside, name = inside * share, f"NVLink x {share:.3g} (it also closes the ring)"
        if inside < topology.net:
            return Rate(inside, f"{name}, {inside:.4g} GB/s")
    return Rate(topology.net, topology.net_bound)


def _tree_bus(topology: GpuTopology) -> Rate:
    ring = _ring_bus(topology)
    if topology.n_nodes != 2:
        return ring
    inside = topology.nvlink if topology.gpus_per_node > 1 else math.inf
    twice = 2 * topology.net
    if inside and inside < twice:
        return Rate(inside, f"NVLink of {inside:.4g} GB/s")
    return Rate(twice, f"2 x ({topology.net_bound})")


def _least(rate: Rate, limit: float, bound: str) -> Rate:
    return rate if rate.gb_s <= limit else Rate(limit, bound)


def _share(rate: Rate, share: float) -> Rate:
    return Rate(rate.gb_s * share, rate.bound)


def _rate(
    topology: GpuTopology,
    constants: NcclConstants,
    coll: str,
    algorithm: Algorithm,
    protocol: Protocol,
) -> Rate:
    """Rate of the whole buffer ("algorithm bandwidth") in GB/s."""
    if algorithm == "ring":
        bus = _ring_rate(topology, constants, protocol)
        return _share(bus, topology.n_gpus / steps_of(coll, topology.n_gpus))
    if algorithm == "tree":
        return _share(_tree_rate(topology, constants, protocol), 0.5)
    if algorithm in ("nvls", "nvlstree"):
        return _nvls_rate(topology, constants, coll, algorithm)
    if algorithm == "pat":
        return _share(_ring_bus(topology), constants.pat_share)
    return _collnet_rate(topology, constants, coll, algorithm)


def _low_latency_limit(topology: GpuTopology, constants: NcclConstants) -> float:
    rates = constants.ll_gb_s
    if topology.n_nodes == 1:
        return rates.one_node.get(topology.architecture, math.inf)
    return (rates.two_nodes if topology.n_nodes == 2 else rates.more)[topology.cpu]


def _ring_rate(topology: GpuTopology, constants: NcclConstants, protocol: Protocol) -> Rate:
    bus = _ring_bus(topology)
    if protocol == "ll":
        limit = _low_latency_limit(topology, constants)
        return _least(_share(bus, constants.ring_ll_share), limit, "protocol LL")
    if protocol == "ll128":
        caps = constants.ring_ll128_channel_gb_s.get(topology.architecture)
        limit = caps[topology.row] * channels(topology) if caps else math.inf
        return _least(_share(bus, constants.ll128_share), limit, "protocol LL128")
    return bus


def _tree_rate(topology: GpuTopology, constants: NcclConstants, protocol: Protocol) -> Rate:
    n_channels = channels(topology)
    caps = constants.tree_channel_gb_s.get(topology.architecture)
    limit = caps[topology.row] * n_channels if caps else math.inf
    bound = f"{n_channels} channels of a tree"
    bus = _least(_share(_tree_bus(topology), constants.tree_share), limit, bound)
    if protocol == "ll":
        low = _low_latency_limit(topology, constants)
        return _least(_share(bus, constants.tree_ll_share), low, "protocol LL")
    if protocol == "ll128":
        caps = constants.tree_ll128_channel_gb_s.get(topology.architecture)
        limit = caps[topology.row] * n_channels if caps else math.inf
        share = 7 / 9 if topology.n_nodes == 1 else 120 / 128
        return _least(_share(bus, share), limit, "protocol LL128")
    return bus


def _nvls_rate(
    topology: GpuTopology, constants: NcclConstants, coll: str, algorithm: Algorithm
) -> Rate:
    efficiency = constants.nvls_efficiency.get(topology.architecture, 0.0)
    n, group = topology.n_gpus, topology.gpus_per_node
    wire = topology.nvlink * efficiency
    name = f"NVLink SHARP: {wire:.4g} GB/s of NVLink"
    if coll != "allreduce":
        return Rate(wire * (group - 1) / group, name)
    inside = Rate(wire * group / (group + 1), name)
    if topology.n_nodes == 1:
        return inside
    ratio = n / (2 * (n - 1))
    n_channels = topology.n_nets
    net = topology.net * (2 if topology.n_nodes == 2 and algorithm == "nvlstree" else 1)
    outside = Rate(net * ratio, topology.net_bound)
    if algorithm == "nvlstree":
        outside = _nvls_tree_cap(topology, constants, outside, n_channels)
    return inside if inside.gb_s < outside.gb_s else outside


def _nvls_tree_cap(
    topology: GpuTopology, constants: NcclConstants, outside: Rate, n_channels: int
) -> Rate:
    if constants.nvls_rule == "half_of_network":
        share = 1.0 if topology.n_nodes == 2 else 0.5
        return Rate(topology.net * share * 5 / 6, topology.net_bound)
    caps = constants.nvls_tree_channel_gb_s.get(topology.architecture)
    if caps is None:
        return Rate(0.0, "")
    per_channel = caps[topology.row]
    n = topology.n_gpus
    limit = per_channel * n_channels * n / (2 * (n - 1))
    bound = f"{n_channels} NVLSTree channels of {per_channel:g} GB/s"
    return _least(outside, limit, bound)


def _collnet_rate(
    topology: GpuTopology, constants: NcclConstants, coll: str, algorithm: Algorithm
) -> Rate:
    """Switches reduce: the network carries the buffer once."""
    group = topology.gpus_per_node
    inside = topology.nvlink if group > 1 and topology.nvlink else 2 * topology.net
    bus = _least(Rate(inside, f"NVLink of {inside:.4g} GB/s"), 2 * topology.net, topology.net_bound)
    if algorithm == "collnetchain":
        return _share(bus, 0.5)
    if coll != "allreduce":
        return Rate(min(inside, 0.9 * topology.net), topology.net_bound)
    ratio = group / topology.n_nets
    factor = ratio - (ratio - 1) / 2
    share = constants.collnet_direct_share if topology.architecture in NEWER else 1.0
    return _share(bus, share / factor / 2)


NEWER = ("hopper", "blackwell")
"""Architectures that CollNetDirect's share applies to."""


def _hop_us(
    topology: GpuTopology, constants: NcclConstants, algorithm: Algorithm, protocol: Protocol
) -> tuple[float, float]:
    """(inside a node, between nodes) in us."""
    column = PROTOCOLS.index(protocol)
    local: dict[Algorithm, ByProtocol] = constants.nvlink_latency_us
    if not topology.nvlink:
        local = constants.pci_latency_us
    # With one GPU a node nothing hides the network's latency: a tree's is taken.
    alone = topology.gpus_per_node == 1
    between = constants.net_latency_us["tree" if alone else algorithm][column]
    if topology.loopback:
        return between, between
    return local[algorithm][column], between


def _latency_us(
    topology: GpuTopology,
    constants: NcclConstants,
    coll: str,
    algorithm: Algorithm,
    protocol: Protocol,
) -> float:
    hops = _hop_us(topology, constants, algorithm, protocol)
    inside, between = hops
    levels = topology.n_nodes.bit_length() - 1
    peers = math.ceil(topology.gpus_per_node) - 1
    latencies: dict[Algorithm, Callable[[], float]] = {
        "ring": lambda: _ring_steps_us(topology, constants, coll, protocol, hops),
        "tree": lambda: 2 * (peers * inside + levels * between),
        "nvls": lambda: inside + (between if topology.n_nodes > 1 else 0.0),
        "nvlstree": lambda: inside + 2 * levels * between,
        "collnetdirect": lambda: 2 * (min(1, peers) * inside + peers * ARITY_US) + between,
        "collnetchain": lambda: 2 * peers * inside + between,
        "pat": lambda: levels * between / PAT_LOG_SHARE + topology.n_gpus * PAT_STEP_US,
    }
    return constants.base_latency_us[algorithm][PROTOCOLS.index(protocol)] + latencies[algorithm]()


def _ring_steps_us(
    topology: GpuTopology,
    constants: NcclConstants,
    coll: str,
    protocol: Protocol,
    hops_us: tuple[float, float],
) -> float:
    inside, between = hops_us
    n_steps = steps_of(coll, topology.n_gpus)
    if coll in ("broadcast", "reduce"):
        # Channels of one node are alike, so that a chain is one pipeline.
        return between if topology.n_nodes > 1 else inside
    n_between = steps_of(coll, topology.n_nodes) if topology.n_nodes > 1 else 0
    if topology.n_nodes > 1:
        post = constants.net_overhead_us[topology.cpu] * (3 if protocol == "simple" else 1)
        inside = max(inside, post)
    return (n_steps - n_between) * inside + n_between * between
