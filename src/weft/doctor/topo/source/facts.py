"""PCI devices as tools list them, and the tree that they are."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weft.core.errors import InputError
from weft.doctor.machine.pci import EFA, Vendor, is_gpu
from weft.doctor.topo.node import CLASS_BRIDGE, Node, Numa, TopologyDevice

ADDRESS = re.compile(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")
NO_NUMA = -1
"""The kernel's number where there are no NUMA nodes; NCCL makes a processor of it."""
MOST_DEVICES = 4096
MOST_DEPTH = 32
_INFINIBAND = 0x0207
_SPEEDS = {2.5: "2.5 GT/s PCIe", 5.0: "5.0 GT/s PCIe", 8.0: "8.0 GT/s PCIe"}
_SPEEDS |= {16.0: "16.0 GT/s PCIe", 32.0: "32.0 GT/s PCIe", 64.0: "64.0 GT/s PCIe"}
"""As kernels from 5.7 on write them, and NCCL reads them."""


@dataclass(frozen=True, slots=True)
class PciFact:
    """One device: `class_code` of 24 bits, its ids, the NUMA node that it names, the bridge above
    it (None at the root), and the most that its link can do, None where it is not known."""

    bus_id: str
    class_code: int
    vendor: int
    device: int
    subsystem: tuple[int, int] | None = None
    numa: int | None = None
    above: str | None = None
    gt_s: float | None = None
    lanes: int | None = None

    @property
    def is_hca(self) -> bool:
        """Whether it is an adapter of a fabric: InfiniBand, RoCE, Slingshot, EFA."""
        if self.class_code >> 8 == _INFINIBAND:
            return True
        is_maker = self.vendor in (Vendor.MELLANOX, Vendor.CRAY)
        is_efa = self.vendor == Vendor.AMAZON and self.device in EFA
        return self.class_code >> 16 == 0x02 and (is_maker or is_efa)

    @property
    def is_ethernet_of_mellanox(self) -> bool:
        """Whether it may be there for RoCE, or for the machine's own traffic."""
        return self.class_code >> 8 == 0x0200 and self.vendor == Vendor.MELLANOX


def bus_id_of(text: str) -> str | None:
    """'0000:1a:00.0' of '1A:00.0' or '0000:1a:00.0'; None where it is no address."""
    found = ADDRESS.fullmatch(text)
    if found is None:
        return None
    domain, bus, slot, function = found.groups()
    return f"{domain or '0000'}:{bus}:{slot}.{function}".lower()


def node_of(
    facts: Iterable[PciFact],
    cpus: Mapping[int, int],
    processor: Mapping[str, str],
    *,
    where: str,
) -> Node:
    """The node with the branches that lead to GPUs and adapters, in the order of bus ids.

    Raises InputError where there is neither a GPU nor an adapter, there are too many devices, or
    devices are above themselves.
    """
    listed = list(facts)
    by_id = {fact.bus_id: fact for fact in listed}
    if len(listed) > MOST_DEVICES:
        what = f"more than {MOST_DEVICES} devices"
        raise InputError(what, where=where, expected="the PCI devices of one node")
    used = [fact for fact in by_id.values() if fact.is_hca or is_gpu(fact.vendor, fact.class_code)]
    if any(fact.class_code >> 8 == _INFINIBAND for fact in used):
        # With InfiniBand, an Ethernet adapter of the same maker carries the machine's own traffic.
        used = [fact for fact in used if not fact.is_ethernet_of_mellanox]
    if not used:
        raise InputError("no GPU and no adapter of a fabric in it", where=where)
    below: dict[str | None, set[str]] = defaultdict(set)
    numa_of_root: dict[str, int] = {}
    for fact in used:
        root = _note_path_up(fact, by_id, below, where)
        numbers = (fact.numa, by_id[root].numa, NO_NUMA)
        numa_of_root.setdefault(root, next(one for one in numbers if one is not None))
    numas: dict[int, list[TopologyDevice]] = defaultdict(list)
    for root in sorted(below[None]):
        numas[numa_of_root[root]].append(_device(by_id, below, root))
    return Node(
        processor,
        tuple(Numa(n, cpus.get(n, 0), tuple(found)) for n, found in sorted(numas.items())),
    )


def _note_path_up(
    fact: PciFact, by_id: Mapping[str, PciFact], below: dict[str | None, set[str]], where: str
) -> str:
    """Enter a device and all bridges above it; the bus id of the highest."""
    here = fact
    for _ in range(MOST_DEPTH):
        above = here.above if here.above in by_id else None
        below[above].add(here.bus_id)
        if above is None:
            return here.bus_id
        here = by_id[above]
    raise InputError(
        f"{fact.bus_id} is below more than {MOST_DEPTH} bridges, or below itself",
        where=where,
        expected="a tree of PCI devices",
    )


def _device(
    by_id: Mapping[str, PciFact], below: Mapping[str | None, set[str]], bus: str
) -> TopologyDevice:
    fact = by_id[bus]
    inside = tuple(_device(by_id, below, one) for one in sorted(below.get(bus, ())))
    class_ = CLASS_BRIDGE if inside else f"{fact.class_code:#08x}"
    return TopologyDevice(bus, class_, _facts_of(fact, by_id), inside)


def _facts_of(fact: PciFact, by_id: Mapping[str, PciFact]) -> dict[str, str]:
    """The ids, and the link: the slower of the device and the port above, as NCCL takes it."""
    values = {"vendor": f"{fact.vendor:#06x}", "device": f"{fact.device:#06x}"}
    if fact.subsystem is not None:
        values["subsystem_vendor"] = f"{fact.subsystem[0]:#06x}"
        values["subsystem_device"] = f"{fact.subsystem[1]:#06x}"
    port = by_id.get(fact.above or "")
    speeds = [one.gt_s or 0.0 for one in (fact, port) if one is not None and one.gt_s in _SPEEDS]
    lanes = [one.lanes for one in (fact, port) if one is not None and one.lanes]
    if fact.gt_s in _SPEEDS and fact.lanes:
        values["link_speed"] = _SPEEDS[min(speeds)]
        values["link_width"] = str(min(lanes))
    return values
