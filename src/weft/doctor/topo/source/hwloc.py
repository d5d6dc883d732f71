"""Output of `lstopo --of xml`, of hwloc 1 and 2, with its PCI devices and NUMA nodes.

The engine reads the same files for `weft fabric` (crates/weft-fabric, read/host/hwloc.rs): counts
and device names of a host, without the PCI tree, CPU sets and processor that a topology file needs.

SOURCE: hwloc 2.9, hwloc2.dtd. Rates of links are of now and in GB/s there, which does not separate
lanes from speed: NCCL asks /sys for them.
"""

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from weft.core.errors import InputError
from weft.doctor.topo.node import Node
from weft.doctor.topo.source.facts import PciFact, bus_id_of, node_of

EXPECTED = "the output of 'lstopo --of xml'"
_TYPE = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?"
)
_MOST_CPUS = 8192
_PROCESSOR = {"CPUVendor": "vendor", "CPUFamilyNumber": "familyid", "CPUModelNumber": "modelid"}
_ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "arm64", "ppc64le": "ppc64"}


def node_of_hwloc(text: str, where: str) -> Node:
    """The node of a file. Raises InputError where it is none, or has no device or too many."""
    objects = list(_objects(_parsed(text, where)))
    cpus: dict[int, int] = {}
    processor: dict[str, str] = {}
    for element, _, _ in objects:
        number = element.get("os_index", "")
        if element.get("type") == "NUMANode" and number.isdecimal() and len(number) <= 4:
            cpus[int(number)] = _mask_of_set(element.get("cpuset", ""))
        for one in element.findall("info"):
            name, value = one.get("name", ""), one.get("value", "")
            if name in _PROCESSOR:
                processor.setdefault(_PROCESSOR[name], value)
            elif name == "Architecture" and value in _ARCHITECTURES:
                processor.setdefault("arch", _ARCHITECTURES[value])
    facts = []
    for element, above, numas in objects:
        # Near several nodes but not all: a socket of several, of which it takes the first.
        is_near = numas.bit_count() == 1 or 0 < numas.bit_count() < len(cpus)
        first = (numas & -numas).bit_length() - 1
        if element.get("type") in ("PCIDev", "Bridge"):
            facts.append(_fact(element.attrib, above, first if is_near else None))
    return node_of((one for one in facts if one is not None), cpus, processor, where=where)


def _parsed(text: str, where: str) -> ElementTree.Element:
    # INVARIANT: no entity is ever expanded: a file that declares one is refused.
    if "<!ENTITY" in text:
        raise InputError("it declares entities", where=where, expected=EXPECTED)
    try:
        root = ElementTree.fromstring(text)  # noqa: S314
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"not XML ({error})", where=where, expected=EXPECTED) from error
    if root.tag != "topology":
        raise InputError(f"<{root.tag}> instead of <topology>", where=where, expected=EXPECTED)
    return root


def _objects(root: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, str | None, int]]:
    """Objects, each with the PCI bridge above it and the NUMA nodes that are local to it, as
    bits."""
    todo: list[tuple[ElementTree.Element, str | None, int]] = [(root, None, 0)]
    while todo:
        element, above, numas = todo.pop()
        if element.tag == "object":
            yield element, above, numas
        own = element.get("nodeset")
        if own is not None:
            numas = _mask_of_set(own)
        if element.get("type") == "Bridge":
            above = bus_id_of(element.get("pci_busid", "")) or above
        todo.extend((child, above, numas) for child in reversed(element.findall("object")))


def _fact(attributes: Mapping[str, str], above: str | None, numa: int | None) -> PciFact | None:
    bus_id = bus_id_of(attributes.get("pci_busid", ""))
    found = _TYPE.match(attributes.get("pci_type", ""))
    if bus_id is None or found is None:
        return None
    class_, *numbers = (int(one, 16) if one is not None else 0 for one in found.groups())
    subsystem = (numbers[2], numbers[3]) if found[4] is not None and numbers[2] else None
    return PciFact(bus_id, class_ << 8, numbers[0], numbers[1], subsystem, numa, above)


def _mask_of_set(text: str) -> int:
    """The bits of a set such as 0x000000ff,0xffffffff; endless ones (0xf...f) are empty."""
    groups = text.split(",")
    if len(groups) * 32 > _MOST_CPUS:
        return 0
    mask = 0
    for group in groups:
        found = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{0,8})", group)
        if found is None:
            return 0
        mask = mask << 32 | int(found[1] or "0", 16)
    return mask
