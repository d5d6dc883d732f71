"""A topology file compared with the machine that it is for."""

from collections.abc import Iterable, Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.doctor.case import Found, mistake
from weft.doctor.topo.affinity import cpu_list, mask_of
from weft.doctor.topo.distance import Distances
from weft.doctor.topo.element import Element
from weft.doctor.topo.elements import device, elements_of, kind_of, number
from weft.doctor.topo.graph import Known, PathType, graph_of
from weft.doctor.topo.node import Node, TopologyDevice, topology_text
from weft.doctor.topo.xml import TopologyFile, read_topology

_Places = dict[str, tuple[TopologyDevice, int]]
"""Devices of the machine by bus id, each with its NUMA node."""


def differences_from(file: TopologyFile, node: Node, there: str) -> Iterator[Found]:
    """Differences of the file from the machine, which sentences call `there`."""
    if file.system is None:
        return
    elements = elements_of(file)
    own = {one.get("busid") or "": one for one in elements if _is_device(one)}
    places = {device.bus_id: (device, numa) for device, numa in node.devices()}
    yield from _missing(file.system, own, places, there)
    yield from _devices(own, places, there)
    cpus = [one for one in elements if one.name == "cpu"]
    yield from _processor(cpus, node, there)
    yield from _cpus(cpus, node, there)
    yield from _neighbours(file.system, own, node, there)


def _is_device(element: Element) -> bool:
    return element.name == "pci" and kind_of(element) in ("GPU", "NIC")


def _missing(
    system: Element, own: dict[str, Element], places: _Places, there: str
) -> Iterator[Found]:
    extra = [element for bus, element in own.items() if bus not in places]
    if extra:
        words = {"devices": _listed(map(device, extra)), "there": there}
        yield mistake("topo-not-there", extra[0].place("busid"), **words)
    lost = [places[bus][0] for bus in sorted(places) if bus not in own]
    if lost:
        named = (f"{'GPU' if one.is_gpu else 'adapter'} {one.bus_id}" for one in lost)
        yield mistake("topo-not-in-file", system.at, devices=_listed(named), there=there)


def _listed(devices: Iterable[str]) -> str:
    """'GPU A B C, adapter D'."""
    by_kind: dict[str, list[str]] = {}
    for one in devices:
        kind, _, bus = one.partition(" ")
        by_kind.setdefault(kind, []).append(bus)
    return ", ".join(f"{kind} {' '.join(found)}" for kind, found in by_kind.items())


def _devices(own: dict[str, Element], places: _Places, there: str) -> Iterator[Found]:
    """Devices of both that differ; those that differ alike together."""
    numas: dict[tuple[str, str], list[Element]] = {}
    links: dict[tuple[str, str], list[Element]] = {}
    for bus in (one for one in own if one in places):
        element, (right, right_numa) = own[bus], places[bus]
        cpu = element.within("cpu")
        numa = (cpu.get("numaid") or "") if cpu is not None else ""
        if number(numa) != right_numa:
            numas.setdefault((numa, str(right_numa)), []).append(element)
        if (kind_of(element) == "GPU") != right.is_gpu:
            words = {"device": device(element), "there": there, "right": right.class_}
            words["value"] = element.get("class") or ""
            yield mistake("topo-other-class", element.place("class"), **words)
        rates = _rates(element, right)
        if rates is not None:
            links.setdefault(rates, []).append(element)
    for (numa, there_numa), found in numas.items():
        words = {"devices": _listed(map(device, found)), "numa": numa, "right": there_numa}
        yield mistake("topo-other-numa", found[0].at, **words, there=there)
    for (gb_s, there_gb_s), found in links.items():
        words = {"devices": _listed(map(device, found)), "gb_s": gb_s, "right": there_gb_s}
        yield mistake("topo-other-link", found[0].place("link_speed"), **words, there=there)


def _rates(element: Element, right: TopologyDevice) -> tuple[str, str] | None:
    """GB/s by the file and by the machine where both say them and they differ."""
    tables = nccl_topology()
    speed, facts = element.get("link_speed"), right.facts
    if speed is None or "link_speed" not in facts:
        return None
    by_file = tables.pci_gb_s(speed, number(element.get("link_width")))
    by_machine = tables.pci_gb_s(facts["link_speed"], number(facts.get("link_width")))
    return None if by_file == by_machine else (f"{by_file:g}", f"{by_machine:g}")


def _processor(cpus: list[Element], node: Node, there: str) -> Iterator[Found]:
    """The first difference: processors of a machine are alike."""
    for cpu in cpus:
        for key in ("arch", "vendor", "familyid", "modelid"):
            value, right = cpu.get(key), node.processor.get(key)
            if value is not None and right is not None and value != right:
                words = {"attribute": key, "value": value, "right": right, "there": there}
                yield mistake("topo-other-processor", cpu.place(key), **words)
                return


def _cpus(cpus: list[Element], node: Node, there: str) -> Iterator[Found]:
    masks = {numa.number: numa.cpus for numa in node.numas}
    for cpu in cpus:
        numa, affinity = number(cpu.get("numaid")), cpu.get("affinity")
        right = masks.get(numa, 0)
        if right and affinity is not None and mask_of(affinity) != right:
            words = {"numa": str(numa), "there": there, "right": cpu_list(right)}
            words["value"] = cpu_list(mask_of(affinity)) or "none"
            yield mistake("topo-other-cpus", cpu.place("affinity"), **words)


def _neighbours(
    system: Element, own: dict[str, Element], node: Node, there: str
) -> Iterator[Found]:
    """GPUs that have other adapters under their bridges than on the machine, where that has any."""
    right_system = read_topology(there, topology_text(node)).system
    if right_system is None:
        return
    near, right = _near(system), _near(right_system)
    for bus, adapters in near.items():
        wanted = right.get(bus, frozenset())
        if wanted and adapters != wanted and all(one in own for one in wanted):
            words = {"device": device(own[bus]), "there": there}
            words["value"] = ", ".join(sorted(adapters)) or "none"
            words["right"] = ", ".join(sorted(wanted))
            yield mistake("topo-other-neighbours", own[bus].at, **words)


def _near(system: Element) -> dict[str, frozenset[str]]:
    """The adapters that share a bridge with each GPU."""
    distances = Distances(graph_of(system, Known()), gdr_level=PathType.SYS)
    return {
        gpu.name: frozenset(
            net.links[0].to.name
            for net in distances.graph.nets
            if distances.path(gpu, net).type <= PathType.PXB
        )
        for gpu in distances.graph.gpus
    }
