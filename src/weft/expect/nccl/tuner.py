"""NCCL's tuner: rate and latency of each algorithm and protocol, and which of them it takes.

SOURCE of the formulas: NVIDIA/nccl, src/graph/tuning.cc, 2.20 to 2.30 (see
catalog/nccl/*.toml); of what NVLink SHARP moves, NVIDIA/nccl-tests issue 212: each GPU sends and
receives S (1 + 1/n) for an allreduce of S over n GPUs.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from weft.catalog.libraries.nccl import (
    ALGORITHMS,
    PAYLOAD_SHARES,
    PROTOCOLS,
    Algorithm,
    Architecture,
    ByNodes,
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

    def times(self, share: float) -> "Rate":
        """A share of it, or a multiple, by the same bound."""
        return Rate(self.gb_s * share, self.bound)

    def capped(self, limit_gb_s: float, bound: str) -> "Rate":
        """The same, or the limit where that is less."""
        return self if self.gb_s <= limit_gb_s else Rate(limit_gb_s, bound)

    def within(self, limit_gb_s: float, what: str) -> "Rate":
        """The same, or the limit of a protocol or algorithm on the same link."""
        return self.capped(limit_gb_s, f"{what} over {self.bound}")


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
    found, tables = [], _Tables(topology, constants, coll)
    for algorithm in ALGORITHMS:
        if algorithm not in USES[coll] or not _available(topology, algorithm, collnet):
            continue
        for protocol in PROTOCOLS:
            if protocol != "simple" and algorithm not in ("ring", "tree"):
                continue
            if protocol == "ll128" and not topology.ll128:
                continue
            rate = tables.rate(algorithm, protocol)
            if rate.gb_s > 0:
                latency_us = tables.latency_us(algorithm, protocol)
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
        share = (topology.gpus_per_node - 1) / topology.gpus_per_node
        if topology.nvlink and topology.alternating_rings:
            # Of the GPUs of a ring all but the last send over NVLink.
            inside /= share
        elif topology.nvlink and topology.closing_hop:
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


@dataclass(frozen=True, slots=True)
class _Tables:
    """Rates and latencies of one collective on these GPUs, by a version's constants."""

    topology: GpuTopology
    constants: NcclConstants
    coll: str

    def rate(self, algorithm: Algorithm, protocol: Protocol) -> Rate:
        """Rate of the whole buffer ("algorithm bandwidth") in GB/s."""
        n_gpus = self.topology.n_gpus
        if algorithm == "ring":
            return self._ring_rate(protocol).times(n_gpus / steps_of(self.coll, n_gpus))
        if algorithm == "tree":
            return self._tree_rate(protocol).times(0.5)
        if algorithm in ("nvls", "nvlstree"):
            return self._nvls_rate(algorithm)
        if algorithm == "pat":
            return _ring_bus(self.topology).times(self.constants.pat_share)
        return self._collnet_rate(algorithm)

    def latency_us(self, algorithm: Algorithm, protocol: Protocol) -> float:
        """Time of a buffer of nothing, in us."""
        topology = self.topology
        inside, between = self._hop_us(algorithm, protocol)
        levels = topology.n_nodes.bit_length() - 1
        peers = math.ceil(topology.gpus_per_node) - 1
        latencies: dict[Algorithm, Callable[[], float]] = {
            "ring": lambda: self._ring_steps_us(protocol, inside, between),
            "tree": lambda: 2 * (peers * inside + levels * between),
            "nvls": lambda: inside + (between if topology.n_nodes > 1 else 0.0),
            "nvlstree": lambda: inside + 2 * levels * between,
            "collnetdirect": lambda: 2 * (min(1, peers) * inside + peers * ARITY_US) + between,
            "collnetchain": lambda: 2 * peers * inside + between,
            "pat": lambda: levels * between / PAT_LOG_SHARE + topology.n_gpus * PAT_STEP_US,
        }
        base_us = self.constants.base_latency_us[algorithm][PROTOCOLS.index(protocol)]
        return base_us + latencies[algorithm]()

    def _low_latency_limit(self) -> float:
        rates, topology = self.constants.ll_gb_s, self.topology
        if topology.n_nodes == 1:
            return rates.one_node.get(topology.architecture, math.inf)
        return (rates.two_nodes if topology.n_nodes == 2 else rates.more)[topology.cpu]

    def _channel_limit(self, table: Mapping[Architecture, ByNodes]) -> float:
        """GB/s of all channels of ring or tree by a table of one; infinite where it has none."""
        caps = table.get(self.topology.architecture)
        return caps[self.topology.row] * channels(self.topology) if caps else math.inf

    def _ring_rate(self, protocol: Protocol) -> Rate:
        bus, constants = _ring_bus(self.topology), self.constants
        if protocol == "ll":
            bus = bus.times(constants.ring_ll_share)
            return bus.within(self._low_latency_limit(), "protocol LL")
        if protocol == "ll128":
            limit = self._channel_limit(constants.ring_ll128_channel_gb_s)
            return bus.times(constants.ll128_share).within(limit, "protocol LL128")
        return bus

    def _tree_rate(self, protocol: Protocol) -> Rate:
        constants = self.constants
        limit = self._channel_limit(constants.tree_channel_gb_s)
        bound = f"{channels(self.topology)} channels of a tree"
        bus = _tree_bus(self.topology).times(constants.tree_share).within(limit, bound)
        if protocol == "ll":
            bus = bus.times(constants.tree_ll_share)
            return bus.within(self._low_latency_limit(), "protocol LL")
        if protocol == "ll128":
            limit = self._channel_limit(constants.tree_ll128_channel_gb_s)
            share = 7 / 9 if self.topology.n_nodes == 1 else PAYLOAD_SHARES["ll128"]
            return bus.times(share).within(limit, "protocol LL128")
        return bus

    def _nvls_rate(self, algorithm: Algorithm) -> Rate:
        topology = self.topology
        efficiency = self.constants.nvls_efficiency.get(topology.architecture, 0.0)
        n, group = topology.n_gpus, topology.gpus_per_node
        wire = topology.nvlink * efficiency
        name = f"NVLink SHARP: {wire:.4g} GB/s of NVLink"
        if self.coll != "allreduce":
            return Rate(wire * (group - 1) / group, name)
        inside = Rate(wire * group / (group + 1), name)
        if topology.n_nodes == 1:
            return inside
        ratio = n / (2 * (n - 1))
        net = topology.net * (2 if topology.n_nodes == 2 and algorithm == "nvlstree" else 1)
        outside = Rate(net * ratio, topology.net_bound)
        if algorithm == "nvlstree":
            outside = self._nvls_tree_cap(outside)
        return inside if inside.gb_s < outside.gb_s else outside

    def _nvls_tree_cap(self, outside: Rate) -> Rate:
        topology, n_channels = self.topology, self.topology.n_nets
        if self.constants.nvls_rule == "half_of_network":
            share = 1.0 if topology.n_nodes == 2 else 0.5
            return Rate(topology.net * share * 5 / 6, topology.net_bound)
        caps = self.constants.nvls_tree_channel_gb_s.get(topology.architecture)
        if caps is None:
            return Rate(0.0, "")
        per_channel, n = caps[topology.row], topology.n_gpus
        limit = per_channel * n_channels * n / (2 * (n - 1))
        return outside.within(limit, f"{n_channels} NVLSTree channels of {per_channel:g} GB/s")

    def _collnet_rate(self, algorithm: Algorithm) -> Rate:
        """Switches reduce: the network carries the buffer once."""
        topology, group = self.topology, self.topology.gpus_per_node
        inside = topology.nvlink if group > 1 and topology.nvlink else 2 * topology.net
        bus = Rate(inside, f"NVLink of {inside:.4g} GB/s")
        bus = bus.capped(2 * topology.net, topology.net_bound)
        if algorithm == "collnetchain":
            return bus.times(0.5)
        if self.coll != "allreduce":
            return Rate(min(inside, 0.9 * topology.net), topology.net_bound)
        ratio = group / topology.n_nets
        factor = ratio - (ratio - 1) / 2
        share = self.constants.collnet_direct_share if topology.architecture in NEWER else 1.0
        return bus.times(share / factor / 2)

    def _hop_us(self, algorithm: Algorithm, protocol: Protocol) -> tuple[float, float]:
        """(inside a node, between nodes) in us."""
        column, constants = PROTOCOLS.index(protocol), self.constants
        local: dict[Algorithm, ByProtocol] = constants.nvlink_latency_us
        if not self.topology.nvlink:
            local = constants.pci_latency_us
        # With one GPU a node nothing hides the network's latency: a tree's is taken.
        is_one = self.topology.gpus_per_node == 1
        between = constants.net_latency_us["tree" if is_one else algorithm][column]
        return between if self.topology.loopback else local[algorithm][column], between

    def _ring_steps_us(self, protocol: Protocol, inside: float, between: float) -> float:
        topology, several = self.topology, self.topology.n_nodes > 1
        if self.coll in ("broadcast", "reduce"):
            # Channels of one node are alike, so that a chain is one pipeline.
            return between if several else inside
        n_steps = steps_of(self.coll, topology.n_gpus)
        if not several:
            return n_steps * inside
        n_between = steps_of(self.coll, topology.n_nodes)
        post = self.constants.net_overhead_us[topology.cpu] * (3 if protocol == "simple" else 1)
        return (n_steps - n_between) * max(inside, post) + n_between * between


NEWER = ("hopper", "blackwell")
"""Architectures that CollNetDirect's share applies to."""
