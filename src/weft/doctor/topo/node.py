"""A node that a topology file is made of: processors, and devices as a tree."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from weft.catalog.machine.node_map import NodeMap, NumaNode
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.doctor.machine.sysroot import numbers_of_list
from weft.doctor.topo.affinity import mask_of_cpus, mask_text
from weft.doctor.topo.xml import MOST_CHARACTERS

CLASS_GPU, CLASS_HCA, CLASS_BRIDGE = "0x030200", "0x020700", "0x060400"
MADE_UP_BUS = "ffff:ff:{:02x}.0"
MOST_MADE_UP = 0xFF
_PLAIN = re.compile(r"[ -!#-;=?-~]*")
"""The characters that may stand between double quotes: NCCL knows no escapes."""


@dataclass(frozen=True, slots=True)
class TopologyDevice:
    """A PCI device. `facts` are attributes in the words of the file; NCCL asks /sys for those that
    it lacks."""

    bus_id: str
    class_: str
    facts: Mapping[str, str] = field(default_factory=dict)
    inside: "tuple[TopologyDevice, ...]" = ()

    @property
    def is_gpu(self) -> bool:
        """Whether NCCL takes it for a GPU."""
        return self.class_.startswith("0x03")

    @property
    def is_bridge(self) -> bool:
        """Whether it is a bridge."""
        return self.class_ == CLASS_BRIDGE


@dataclass(frozen=True, slots=True)
class Numa:
    """A NUMA node with its CPUs as bits, 0 where they are not known, and its devices."""

    number: int
    cpus: int
    devices: tuple[TopologyDevice, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """`processor` holds arch, vendor, familyid and modelid as far as they are known."""

    processor: Mapping[str, str]
    numas: tuple[Numa, ...]

    def devices(self) -> Iterator[tuple[TopologyDevice, int]]:
        """GPUs and adapters, each with the number of its NUMA node."""
        todo = [(device, numa.number) for numa in self.numas for device in numa.devices]
        while todo:
            device, numa = todo.pop()
            if not device.is_bridge:
                yield device, numa
            todo.extend((one, numa) for one in device.inside)


def node_of_platform(platform: Platform) -> Node:
    """The node of a platform. Raises InputError where the platform does not know it."""
    known = platform.node_map
    if known is None:
        raise InputError(
            f"platform '{platform.name}' does not know where its devices hang",
            expected="a platform with [node_map], or a file that lspci or lstopo wrote there",
        )
    processor = {"arch": known.architecture, "vendor": known.vendor}
    processor |= {"familyid": str(known.family), "modelid": str(known.model)}
    bridges = iter(range(1, MOST_MADE_UP))
    return Node(processor, tuple(_numa_of(known, numa, bridges) for numa in known.numa))


def _numa_of(known: NodeMap, numa: NumaNode, bridges: Iterator[int]) -> Numa:
    link = {"link_speed": known.link_speed, "link_width": str(known.link_width)}
    devices: list[TopologyDevice] = []
    for group in numa.groups:
        gpus = [TopologyDevice(bus, CLASS_GPU, link) for bus in group.gpus]
        hcas = [TopologyDevice(bus, CLASS_HCA, link) for bus in group.hcas]
        together = (*gpus, *hcas)
        if len(gpus) == len(hcas):
            together = tuple(device for pair in zip(gpus, hcas, strict=True) for device in pair)
        if known.bridged:
            bus = MADE_UP_BUS.format(next(bridges))
            together = (TopologyDevice(bus, CLASS_BRIDGE, link, together),)
        devices += together
    return Numa(numa.id, mask_of_cpus(numbers_of_list(numa.cpus)), tuple(devices))


def with_bridges(node: Node) -> Node:
    """The node with a made-up bridge above each GPU and its adapter, where the machine shows none:
    those of a NUMA node in the order of bus ids, or all of them where numbers differ.

    Raises InputError where there are too many, or the link of a GPU is not known: /sys has no
    bridge to ask, and NCCL would count 12 GB/s for it.
    """
    numbers = iter(range(1, MOST_MADE_UP + 1))
    return replace(node, numas=tuple(_bridged(numa, numbers) for numa in node.numas))


def _bridged(numa: Numa, numbers: Iterator[int]) -> Numa:
    loose = sorted((one for one in numa.devices if not one.is_bridge), key=lambda one: one.bus_id)
    gpus = [one for one in loose if one.is_gpu]
    hcas = [one for one in loose if not one.is_gpu]
    if not gpus or not hcas:
        return numa
    groups = [*zip(gpus, hcas, strict=True)] if len(gpus) == len(hcas) else [loose]
    own = tuple(one for one in numa.devices if one.is_bridge)
    return replace(numa, devices=(*own, *(_bridge(group, numbers) for group in groups)))


def _bridge(group: Sequence[TopologyDevice], numbers: Iterator[int]) -> TopologyDevice:
    number = next(numbers, None)
    if number is None:
        raise InputError("too many pairs of GPUs and adapters", expected=f"up to {MOST_MADE_UP}")
    first = group[0]
    link = {key: first.facts[key] for key in ("link_speed", "link_width") if key in first.facts}
    if not link:
        raise InputError(
            f"the link of {first.bus_id} is not known",
            expected="speed and lanes, for bridges that are made up",
            hint="run lspci -Dvvnn as root: its LnkCap lines tell them",
        )
    return TopologyDevice(MADE_UP_BUS.format(number), CLASS_BRIDGE, link, tuple(group))


def topology_text(node: Node) -> str:
    """The topology file of a node, in the form that NCCL reads."""
    n_cpus = max((numa.cpus.bit_length() for numa in node.numas), default=0)
    lines = ['<system version="1">']
    for numa in node.numas:
        attributes = {"numaid": str(numa.number)}
        if numa.cpus:
            attributes["affinity"] = mask_text(numa.cpus, n_cpus)
        lines.append(f"  <cpu{attributes_text(attributes | dict(node.processor))}>")
        lines += [line for device in numa.devices for line in _device_lines(device, " " * 4)]
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>", ""])


def _device_lines(device: TopologyDevice, indent: str) -> Iterator[str]:
    tag = attributes_text({"busid": device.bus_id, "class": device.class_, **device.facts})
    yield f"{indent}<pci{tag}{'>' if device.inside else '/>'}"
    for one in device.inside:
        yield from _device_lines(one, f"{indent}  ")
    if device.inside:
        yield f"{indent}</pci>"


def attributes_text(values: Mapping[str, str]) -> str:
    """The attributes of an element as NCCL reads them. Raises InputError for a value that it does
    not."""
    for key, value in values.items():
        if not _PLAIN.fullmatch(value) or len(value) > MOST_CHARACTERS:
            raise InputError(
                f"{key} {value[:40]!r} cannot stand in a topology file",
                expected=f"up to {MOST_CHARACTERS} characters of ASCII without quotes",
            )
    return "".join(f' {key}="{value}"' for key, value in values.items())
