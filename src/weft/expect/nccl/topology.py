"""What NCCL's search finds on a platform: GPUs, NVLink, adapters, and what each can carry.

The search itself is reduced to what it ends in on the nodes of the catalogue: as many channels as
adapters between nodes, and all of NVLink inside one.
"""

from dataclasses import dataclass

from weft.catalog.libraries.nccl import Architecture, Cpu, has_alternating_rings, nccl_hardware
from weft.catalog.machine.platform import GpuNode, Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import InputError
from weft.expect.model import Conditions
from weft.expect.wire import line_ceiling


@dataclass(frozen=True, slots=True)
class GpuTopology:
    """GPUs in `n_nodes` groups joined by NVLink; rates in GB/s, one direction.

    `nvlink` and `nvlink_raw` are of one GPU, as NCCL counts and at most. `net` is all adapters of a
    group as NCCL counts them (line rate or PCIe, the lesser), `net_raw` at most; `net_bound` and
    `net_limit` name them. `net_reduces`: switches of such a network can add up (SHARP).
    `loopback`: GPUs of one node talk through their adapters too; `gpudirect` off: between nodes
    through host memory. `net_seen_share`: what the
    machine's operators see of an adapter's rate, where that is less for an unknown reason; else 1.
    `alternating_rings`: rings leave a node by another adapter than they enter by. `closing_hop`:
    they do not, and without a switch below the processor the last GPU reaches the adapter over
    NVLink: a hop more than the ring has.
    """

    n_gpus: int
    n_nodes: int
    architecture: Architecture
    cpu: Cpu
    nvlink: float
    nvlink_raw: float
    pcie: float
    pcie_raw: float
    net: float
    net_raw: float
    n_nets: int
    net_bound: str
    net_limit: str
    net_reduces: bool
    switched: bool
    nvls: bool
    ll128: bool
    loopback: bool
    sockets: bool
    gpudirect: bool
    net_seen_share: float
    alternating_rings: bool
    closing_hop: bool

    @property
    def gpus_per_node(self) -> float:
        """GPUs of one group."""
        return self.n_gpus / self.n_nodes

    @property
    def link_name(self) -> str:
        """What joins the GPUs of a group."""
        return "xGMI" if self.architecture.startswith("cdna") else "NVLink"

    @property
    def row(self) -> int:
        """Which column of NCCL's tables: one node, two, more."""
        return min(self.n_nodes, 3) - 1

    @property
    def n_links(self) -> int:
        """NVLinks of one GPU: the channels a ring inside a node has."""
        per_link = nccl_hardware().nvlink_link_gb_s.get(self.architecture, 0.0)
        return max(1, round(self.nvlink / per_link)) if per_link else 1


def topology(platform: Platform, conditions: Conditions) -> GpuTopology:
    """The groups of GPUs that take part. Raises InputError where the platform has none."""
    gpus = _gpus(platform, conditions)
    loopback = conditions.transport == "network"
    domain = gpus.nvlink_domain.whole if gpus.nvlink_domain is not None else gpus.per_node.whole
    ppn, n_gpus = conditions.tasks_per_node, conditions.n_ranks
    per_group = ppn
    if conditions.transport == "" and domain > gpus.per_node.whole:
        per_group = min(n_gpus, max(ppn, domain // gpus.per_node.whole * ppn))
    n_nodes = -(-n_gpus // per_group)
    n_hosts = max(1, round(per_group / ppn))
    nvlink = gpus.nvlink.value if gpus.nvlink is not None and not loopback else 0.0
    hardware = nccl_hardware()
    counted = hardware.nvlink_link_gb_s.get(gpus.architecture)
    raw = nvlink * hardware.nvlink_link_raw_gb_s[gpus.architecture] / counted if counted else nvlink
    one, one_raw, bound = _one_net(platform, gpus, conditions)
    n_nets = _nets_in_use(platform, gpus, conditions)
    pcie = gpus.pcie.value if gpus.pcie is not None else one
    alternating = n_nets > 1 and has_alternating_rings(conditions.library_version)
    return GpuTopology(
        n_gpus=n_gpus,
        n_nodes=n_nodes,
        architecture=gpus.architecture,
        cpu=gpus.cpu,
        nvlink=nvlink,
        nvlink_raw=raw,
        pcie=pcie,
        pcie_raw=pcie * hardware.pcie_raw_share,
        net=one * n_nets * n_hosts,
        net_raw=one_raw * n_nets * n_hosts,
        n_nets=n_nets * n_hosts,
        net_bound=f"{n_nets} x {bound}" if n_nets > 1 else bound,
        net_limit=f"{n_nets} x {one_raw:.4g} GB/s of an adapter, headers taken off",
        net_reduces=platform.packets is not None and platform.packets.headers == "infiniband",
        switched=gpus.switched,
        nvls=gpus.nvls and not loopback and ppn > 1,
        ll128=n_nodes == 1 or (gpus.ll128 and conditions.transport != "sockets"),
        loopback=loopback,
        sockets=conditions.transport == "sockets",
        gpudirect=conditions.gpudirect,
        net_seen_share=_seen_share(gpus, conditions, one),
        alternating_rings=alternating,
        closing_hop=not alternating and not gpus.pcie_switch,
    )


def is_of_amd(platform: Platform) -> bool:
    """Whether its GPUs are AMD's, on which RCCL runs in place of NCCL."""
    return platform.gpus is not None and platform.gpus.architecture.startswith("cdna")


def _seen_share(gpus: GpuNode, conditions: Conditions, one: float) -> float:
    if gpus.net_seen is None or conditions.n_nodes == 1 or one <= 0:
        return 1.0
    return min(1.0, gpus.net_seen.value / one)


def _gpus(platform: Platform, conditions: Conditions) -> GpuNode:
    gpus = platform.gpus
    if gpus is None:
        raise InputError(
            f"platform '{platform.name}' has no GPUs, and NCCL runs on nothing else",
            expected="a platform with [gpus], or library mpi",
        )
    per_node = gpus.per_node.whole
    if conditions.tasks_per_node > per_node:
        raise InputError(
            f"{conditions.tasks_per_node} ranks on a node of platform '{platform.name}'",
            expected=f"at most {per_node}, one a GPU",
        )
    if conditions.n_ranks < 2:
        raise InputError("one GPU alone sends nothing", expected="2 GPUs or more")
    return gpus


def _one_net(platform: Platform, gpus: GpuNode, conditions: Conditions) -> tuple[float, float, str]:
    """(as NCCL counts it, at most, name) of one adapter, in GB/s."""
    if platform.links is None:
        if conditions.n_nodes > 1 or conditions.transport:
            raise InputError(
                f"platform '{platform.name}' has no network figures",
                expected="one with [links], or --nodes 1",
            )
        return 0.0, 0.0, ""
    line = platform.links.host.rate.value / 8
    raw = platform.links.host.most_gbps / 8 * line_ceiling(platform)
    if conditions.transport == "sockets":
        stream = practice("tcp-stream").value
        return min(stream, line), raw, f"TCP stream of {stream:.3g} GB/s"
    counted, name = line, f"adapter of {line:g} GB/s"
    if gpus.pcie is not None and gpus.pcie.value < line:
        counted, name = gpus.pcie.value, f"PCIe of {gpus.pcie.value:g} GB/s (adapter {line:g})"
    slot = platform.node.get("hca_pcie")
    if slot is not None:
        carried = slot.value * practice("pcie-efficiency").value
        raw = min(raw, slot.value)
        if carried < counted:
            counted, name = carried, f"PCIe slot of {slot.value:g} GB/s (adapter {line:g})"
    if not conditions.gpudirect:
        figure = "nccl-without-gpudirect-grace" if gpus.cpu == "arm" else "without-gpudirect"
        counted, name = counted * practice(figure).value, f"{name}, without GPUDirect"
    return counted, raw, name


def _nets_in_use(platform: Platform, gpus: GpuNode, conditions: Conditions) -> int:
    n_hcas = max(1, platform.hcas_per_node)
    if conditions.n_hcas is not None:
        return max(1, min(conditions.n_hcas, n_hcas))
    # Each GPU takes the adapters next to it, so that a part of the GPUs reaches a part of them.
    return max(1, min(n_hcas, -(-n_hcas * conditions.tasks_per_node // gpus.per_node.whole)))
