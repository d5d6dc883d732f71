"""What NCCL makes of single elements: numbers, kinds and names of devices."""

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.doctor.numbers import strtoll
from weft.doctor.topo.element import Element
from weft.doctor.topo.xml import TopologyFile

MADE_UP = "ffff:ff:"
"""The beginning of bus ids of made-up bridges."""


def number(text: str | None) -> int:
    """A number as NCCL reads it: 0 where none begins."""
    return (strtoll(text)[0] or 0) if text is not None else 0


def kind_of(pci: Element) -> str:
    """The kind that a <pci> is for NCCL: GPU, NIC, PCI, NVS or CPU."""
    if next(pci.inside("gpu"), None) is not None:
        return "GPU"
    if next(pci.inside("nic"), None) is not None:
        return "NIC"
    return nccl_topology().kind(pci.get("class") or "") or "PCI"


def bus_id(element: Element) -> str:
    """The bus id of a <pci>, of an element inside of one that of the <pci>; "" without one."""
    pci = element.within("pci")
    return (pci.get("busid") or "") if pci is not None else ""


def device(element: Element) -> str:
    """A device in words: 'GPU 0001:00:00.0'."""
    pci = element.within("pci")
    if pci is None:
        return f"<{element.name}>"
    words = {"GPU": "GPU", "NIC": "adapter", "PCI": "bridge", "NVS": "NVSwitch", "CPU": "processor"}
    # Without class and devices below, /sys decides.
    is_unsaid = pci.get("class") is None and next(pci.inside("pci", "gpu", "nic"), None) is None
    word = "device" if is_unsaid else words[kind_of(pci)]
    return f"{word} {pci.get('busid') or 'without a busid'}"


def elements_of(file: TopologyFile) -> list[Element]:
    """All elements of the system that NCCL uses, in the order of the file."""
    return list(file.system.walk()) if file.system is not None else []
