"""A topology file compared with the machine that it is for."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.doctor.case import Found, mistake
from weft.doctor.topo.affinity import cpu_list, mask_of
from weft.doctor.topo.check import device, elements_of, kind_of, number
from weft.doctor.topo.distance import Distances
from weft.doctor.topo.element import Element
from weft.doctor.topo.graph import Known, PathType, graph_of
from weft.doctor.topo.node import Node, Numa, TopologyDevice, topology_text
from weft.doctor.topo.xml import TopologyFile, read_topology


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a device of the machine hangs."""

    device: TopologyDevice
    numa: Numa


def differences_from(file: TopologyFile, node: Node, there: str) -> Iterator[Found]:
    """In what the file differs from the machine; `there` is what the machine is called."""
    if file.system is None:
        return
    elements = elements_of(file)
    own = {one.get("busid") or "": one for one in elements if _is_device(one)}
    places = {place.device.bus_id: place for place in _places(node)}
    yield from _missing(file.system, own, places, there)
    both = [(element, places[bus]) for bus, element in own.items() if bus in places]
    yield from _devices(both, there)
    cpus = [one for one in elements if one.name == "cpu"]
    yield from _processor(cpus, node, there)
    for cpu in cpus:
        yield from _cpus(cpu, node, there)
    yield from _neighbours(file.system, own, node, there)


def _is_device(element: Element) -> bool:
    return element.name == "pci" and kind_of(element) in ("GPU", "NIC")


def _places(node: Node) -> Iterator[_Place]:
    for numa in node.numas:
        todo = list(numa.devices)
        while todo:
            one = todo.pop()
            if not one.is_bridge:
                yield _Place(one, numa)
            todo.extend(one.inside)


def _missing(
    system: Element, own: dict[str, Element], places: dict[str, _Place], there: str
) -> Iterator[Found]:
    extra = [element for bus, element in own.items() if bus not in places]
    if extra:
        words = {"devices": _listed(map(device, extra)), "there": there}
        yield mistake("topo-not-there", extra[0].place("busid"), **words)
    lost = [place.device for bus, place in sorted(places.items()) if bus not in own]
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


def _devices(pairs: list[tuple[Element, _Place]], there: str) -> Iterator[Found]:
    """Devices of both, by what differs; those that differ alike together."""
    numas: dict[tuple[str, str], list[Element]] = {}
    links: dict[tuple[str, str], list[Element]] = {}
    for element, place in pairs:
        numa = _numa_of(element)
        if number(numa) != place.numa.number:
            numas.setdefault((numa, str(place.numa.number)), []).append(element)
        if (kind_of(element) == "GPU") != place.device.is_gpu:
            words = {"device": device(element), "there": there, "right": place.device.class_}
            words["value"] = element.get("class") or ""
            yield mistake("topo-other-class", element.place("class"), **words)
        rates = _rates(element, place.device)
        if rates is not None:
            links.setdefault(rates, []).append(element)
    for (numa, right), found in numas.items():
        words = {"devices": _listed(map(device, found)), "numa": numa, "right": right}
        yield mistake("topo-other-numa", found[0].at, **words, there=there)
    for (gb_s, right), found in links.items():
        words = {"devices": _listed(map(device, found)), "gb_s": gb_s, "right": right}
        yield mistake("topo-other-link", found[0].place("link_speed"), **words, there=there)


def _numa_of(element: Element) -> str:
    while element.parent is not None and element.name != "cpu":
        element = element.parent
    return element.get("numaid") or ""


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


def _cpus(cpu: Element, node: Node, there: str) -> Iterator[Found]:
    numas = {numa.number: numa for numa in node.numas}
    numa, affinity = numas.get(number(cpu.get("numaid"))), cpu.get("affinity")
    if numa is None or not numa.cpus or affinity is None:
        return
    right_mask = sum(1 << one for one in numa.cpus)
    if mask_of(affinity) != right_mask:
        words = {"numa": str(numa.number), "there": there, "right": cpu_list(right_mask)}
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
