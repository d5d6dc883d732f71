"""The hardware of one host, as read: rails, processors, memory, GPUs, each with its source."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.catalog.paths.gpu_product import GpuProduct
from weft.doctor.machine.pci import PciLink

NO_LINK = PciLink(0, 0)
"""The link of a device that shows none."""
SOCKETS = ("tcp",)
"""Families of links that carry no RDMA."""
ETHERNET = ("roce", "iwarp", "tcp")
"""Families whose packets have Ethernet's headers."""


@dataclass(frozen=True, slots=True)
class RailSlot:
    """The PCI Express link of an adapter, now and at most, and its NUMA node; lanes are 0 and the
    node None where nothing tells them. `folder` is where they were read."""

    link: PciLink = NO_LINK
    most: PciLink = NO_LINK
    numa_node: int | None = None
    folder: str = ""
    source: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the rate of the slot is known."""
        return self.link.rate_gbps > 0


@dataclass(frozen=True, slots=True)
class RailFacts:
    """An adapter of the network. `family` and `link` name its path class, or `link` is a rate;
    `gbps` is the data rate of its best port in Gb/s, 0 where nothing tells it."""

    name: str
    family: str
    link: str
    title: str
    gbps: float
    source: str
    state: str
    is_active: bool
    n_active_ports: int = 1
    slot: RailSlot = RailSlot()
    mtu: int | None = None
    mtu_source: str = ""
    conditions: str = ""


@dataclass(frozen=True, slots=True)
class ProcessorFacts:
    """Processors and memory; 0, None and "" where nothing tells them. `cores` are physical,
    `sources` has the file of each figure."""

    cores: int = 0
    cpus: int = 0
    sockets: int = 0
    numa_nodes: int = 0
    memory_gb: float | None = None
    vendor: str = ""
    model: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """The GPUs of one product; `product` is None where the catalogue has none of this `title`.
    `nvlinks` are the active NVLinks of a GPU, None where nothing tells them."""

    title: str
    product: GpuProduct | None
    count: int
    source: str
    slot: PciLink = NO_LINK
    slot_source: str = ""
    nvlinks: int | None = None
    nvlinks_source: str = ""


@dataclass(frozen=True, slots=True)
class HostHardware:
    """A host. `rails` are the adapters of its network that carry data now, `idle` those of the same
    network that do not, `others` adapters that were not counted."""

    name: str
    rails: tuple[RailFacts, ...]
    idle: tuple[RailFacts, ...]
    others: tuple[RailFacts, ...]
    processors: ProcessorFacts
    gpus: GpuFacts | None
    notes: tuple[str, ...]
    unread: Mapping[str, str]

    @property
    def has_platform(self) -> bool:
        """Whether verbs take it by themselves: an RDMA adapter carries data, or a GPU is known."""
        has_gpus = self.gpus is not None and self.gpus.product is not None
        return has_gpus or any(rail.family not in SOCKETS for rail in self.rails)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        here = self.processors
        found = (*self.rails, *self.idle, here.cores, here.cpus, here.memory_gb, self.gpus)
        return not any(found)

    @property
    def slot(self) -> RailSlot | None:
        """The slot that most rails have, the slower one among equals; None where it is unknown."""
        known = [rail.slot for rail in self.rails if rail.slot.is_known]
        if not known:
            return None
        counts = Counter(slot.link for slot in known)
        return max(known, key=lambda slot: (counts[slot.link], -slot.link.rate_gbps))
