"""The graph that NCCL makes of a topology file: processors, bridges, GPUs, adapters, links.

SOURCE: NVIDIA/nccl v2.30.7, src/graph/topo.cc. Every GPU and adapter of the file is taken to be in
the job, as in a job of whole nodes.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from weft.catalog.libraries.nccl_topology import NcclTopology, nccl_topology
from weft.doctor.job import NOWHERE, TextPlace
from weft.doctor.topo.affinity import mask_of
from weft.doctor.topo.element import Element
from weft.doctor.topo.elements import bus_id, kind_of, number
from weft.doctor.topo.xml import TopologyFile

_INTEL, _ZHAOXIN = "GenuineIntel", ("CentaurHauls", "  Shanghai  ")
_YONGFENG = (7, 0x5B)
_BROADCOM_MASK = ~0xFFF
_BROADCOM_GEN4 = 0x1000C0101000A000
_BROADCOM_GEN5 = 0x1000C03010000000
"""Vendor, device and their subsystem's, 16 bits each, of switches that show as two levels."""


class PathType(IntEnum):
    """The distance of two devices; the nearer the smaller."""

    LOC = 0
    NVL = 1
    NVB = 2
    C2C = 3
    PIX = 4
    PXB = 5
    P2C = 6
    PXN = 7
    PHB = 8
    SYS = 9
    NET = 10
    DIS = 11


@dataclass(slots=True, eq=False)
class Link:
    """One direction. `type` is PIX for PCI Express."""

    type: PathType
    to: "Vertex"
    gb_s: float


@dataclass(slots=True, eq=False)
class Vertex:
    """`kind` is CPU, PCI, GPU, NIC, NET or NVS. `name` is a bus id, a NUMA node, or an adapter's
    name; `number` counts GPUs and networks (NCCL's dev). Networks of one `port` share its rate.
    `above` is where it hangs; `at` the place in the file of a GPU or a network."""

    kind: str
    name: str
    number: int = 0
    sm: int = 0
    has_gdr: bool = True
    port: tuple[str, int] = ("", 0)
    above: "Vertex | None" = None
    at: TextPlace = NOWHERE
    links: list[Link] = field(default_factory=list)

    def link(self, to: "Vertex", path_type: PathType, gb_s: float) -> None:
        """Add a link, or its rate to one that is there; the fastest first."""
        found = next((one for one in self.links if one.to is to and one.type is path_type), None)
        if found is None:
            found = Link(path_type, to, 0.0)
        else:
            self.links.remove(found)
        found.gb_s += gb_s
        self.links.append(found)
        self.links.sort(key=lambda one: -one.gb_s)


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that the driver would report to NCCL and that the file lacks: GB/s of all NVLinks of a
    GPU to NVSwitches, GB/s of an adapter, compute capability; 0 where it is not known."""

    nvlink_gb_s: float = 0.0
    net_gb_s: float = 0.0
    sm: int = 0


@dataclass(slots=True)
class Graph:
    """All vertices, by kind in the order of the file. `is_amd`: the first processor is of AMD."""

    cpus: list[Vertex] = field(default_factory=list)
    bridges: list[Vertex] = field(default_factory=list)
    gpus: list[Vertex] = field(default_factory=list)
    nics: list[Vertex] = field(default_factory=list)
    nets: list[Vertex] = field(default_factory=list)
    nvswitch: Vertex = field(default_factory=lambda: Vertex("NVS", "NVSwitch"))
    is_amd: bool = False

    @property
    def has_nvlinks(self) -> bool:
        """Whether any GPU has one."""
        return any(link.type is PathType.NVL for gpu in self.gpus for link in gpu.links)


def graph_of(system: Element, known: Known, tables: NcclTopology | None = None) -> Graph:
    """The graph of a file, by the tables of the last version or of another."""
    tables = nccl_topology() if tables is None else tables
    graph = Graph()
    of_element: dict[Element, Vertex] = {}
    for cpu in system.inside("cpu"):
        vertex = Vertex("CPU", cpu.get("numaid") or "")
        graph.cpus.append(vertex)
        of_element[cpu] = vertex
        _add_devices(graph, cpu, of_element, known)
    graph.is_amd = _is_amd(system)
    _number_gpus(graph, system, of_element)
    _add_nvlinks(graph, of_element, known, tables)
    for element, vertex in of_element.items():
        _add_other_links(graph, element, vertex)
    for cpu, vertex in zip(system.inside("cpu"), graph.cpus, strict=True):
        for other in (one for one in graph.cpus if one is not vertex):
            vertex.link(other, PathType.SYS, _socket_gb_s(cpu, tables))
    _up_last(graph)
    return graph


def cpus_of_gpus(file: TopologyFile) -> tuple[int, ...]:
    """Bits of the processors of each GPU's NUMA node, GPUs in NCCL's order; 0 for none."""
    if file.system is None:
        return ()
    masks = {
        cpu.get("numaid") or "": cpu.get("affinity") or "" for cpu in file.system.inside("cpu")
    }
    gpus = sorted(graph_of(file.system, Known()).gpus, key=lambda one: one.number)
    return tuple(mask_of(masks[local_cpu(gpu).name]) for gpu in gpus)


def _is_amd(system: Element) -> bool:
    first = next(system.inside("cpu"), system)
    is_x86 = (first.get("arch") or "x86_64").startswith("x86_64")
    return is_x86 and (first.get("vendor") or "").startswith("AuthenticAMD")


def _socket_gb_s(cpu: Element, tables: NcclTopology) -> float:
    """GB/s that NCCL counts from a processor to another."""
    architecture, vendor = cpu.get("arch") or "x86_64", cpu.get("vendor") or ""
    model = (number(cpu.get("familyid")), number(cpu.get("modelid")))
    for name in ("arm64", "ppc64"):
        if architecture.startswith(name):
            return tables.sockets[name]
    if not architecture.startswith("x86_64"):
        return tables.local_gb_s
    if vendor.startswith("AuthenticAMD"):
        return tables.amd_gb_s(model[0])
    if vendor.startswith(_ZHAOXIN):
        return tables.sockets["zhaoxin_yongfeng" if model == _YONGFENG else "zhaoxin"]
    if vendor.startswith(_INTEL):
        return tables.intel_gb_s(*model)
    return tables.local_gb_s


# --- devices


def _add_devices(
    graph: Graph, cpu: Element, of_element: dict[Element, Vertex], known: Known
) -> None:
    """The devices under a processor, parents first, in the order of the file."""
    todo = list(reversed(cpu.children))
    while todo:
        element = todo.pop()
        parent = element.parent
        above = of_element.get(parent) if parent is not None else None
        if above is None:
            continue
        if element.name == "nic":
            nic = Vertex("NIC", f"cpu {cpu.get('numaid')}")
            graph.nics.append(nic)
            _hang(nic, above, nccl_topology().local_gb_s)
            _add_nets(graph, nic, element, known)
        elif element.name == "pci":
            vertex = _add_pci(graph, element, above, known)
            if vertex is not None:
                of_element[element] = vertex
            if vertex is not None and vertex.kind == "PCI":
                todo.extend(reversed(list(element.inside("pci"))))


def _add_pci(graph: Graph, pci: Element, above: Vertex, known: Known) -> Vertex | None:
    kind = kind_of(pci)
    if kind == "PCI" and _is_second_level(pci):
        return above
    if kind == "GPU":
        gpu = next(pci.inside("gpu"), None)
        sm = number(gpu.get("sm")) if gpu is not None else 0
        model = nccl_topology().gpu(pci.get("device") or "")
        vertex = Vertex("GPU", bus_id(pci), sm=sm or (model.sm if model else 0) or known.sm)
        vertex.at = pci.at
        vertex.has_gdr = gpu is None or _has_gdr(gpu)
        graph.gpus.append(vertex)
    elif kind == "NIC":
        vertex = Vertex("NIC", bus_id(pci))
        graph.nics.append(vertex)
        nic = next(pci.inside("nic"), None)
        _add_nets(graph, vertex, nic if nic is not None else pci, known)
    elif kind == "PCI":
        vertex = Vertex("PCI", bus_id(pci))
        graph.bridges.append(vertex)
    else:
        return None
    # A link that the file does not describe counts as 16 lanes of Gen3.
    lanes = number(pci.get("link_width"))
    _hang(vertex, above, nccl_topology().pci_gb_s(pci.get("link_speed") or "", lanes))
    return vertex


def _add_nets(graph: Graph, nic: Vertex, element: Element, known: Known) -> None:
    """The networks of an adapter, which NCCL adds itself where the file has none."""
    tables = nccl_topology()
    nets = [*element.inside("net")]
    for net in nets or [Element("net", {}, element.at)]:
        speed, gb_s = number(net.get("speed")), known.net_gb_s or tables.local_gb_s
        if net.get("speed"):
            gb_s = (speed if speed > 0 else tables.unsaid_net_mb_s) / 8000
        place = number(net.get("dev")) if net.get("dev") else len(graph.nets)
        vertex = Vertex("NET", net.get("name") or nic.name, number=place)
        vertex.port = (net.get("guid") or f"dev {place}", number(net.get("port")))
        vertex.at = net.at
        vertex.has_gdr = _has_gdr(net)
        graph.nets.append(vertex)
        _join(vertex, nic, PathType.NET, gb_s)


def _has_gdr(element: Element) -> bool:
    return element.get("gdr") is None or number(element.get("gdr")) != 0


def _hang(vertex: Vertex, above: Vertex, gb_s: float) -> None:
    vertex.above = above
    _join(vertex, above, PathType.PIX, gb_s)


def _join(one: Vertex, other: Vertex, path_type: PathType, gb_s: float) -> None:
    one.link(other, path_type, gb_s)
    other.link(one, path_type, gb_s)


def _ids(pci: Element) -> int:
    keys = ("vendor", "device", "subsystem_vendor", "subsystem_device")
    return sum(number(pci.get(key)) << 48 - 16 * i for i, key in enumerate(keys))


def _is_second_level(pci: Element) -> bool:
    """Whether a bridge is the second level of a Broadcom switch, which NCCL takes for the first."""
    above = pci.parent
    if above is None or above.name != "pci" or _is_second_level(above):
        return False
    upper = _ids(above) & _BROADCOM_MASK
    lower = upper if upper == _BROADCOM_GEN4 else upper | 0x1000
    return upper in (_BROADCOM_GEN4, _BROADCOM_GEN5) and _ids(pci) & _BROADCOM_MASK == lower


def _number_gpus(graph: Graph, system: Element, of_element: dict[Element, Vertex]) -> None:
    """NCCL's dev: as the file says, else in the order of bus ids, as the driver counts."""
    for i, vertex in enumerate(sorted(graph.gpus, key=lambda one: one.name)):
        vertex.number = i
    for element in system.walk():
        if element.name == "gpu" and element.get("dev") and element.parent in of_element:
            of_element[element.parent].number = number(element.get("dev"))


# --- other links


def _add_nvlinks(
    graph: Graph, of_element: dict[Element, Vertex], known: Known, tables: NcclTopology
) -> None:
    by_name = {vertex.name: vertex for vertex in graph.gpus}
    links = [
        (vertex, link)
        for element, vertex in of_element.items()
        for gpu in element.inside("gpu")
        for link in gpu.inside("nvlink")
    ]
    for vertex, link in links:
        gb_s = number(link.get("count")) * tables.nvlink_gb_s(vertex.sm)
        target = by_name.get(link.get("target") or "")
        kind = tables.kind(link.get("tclass") or "") or ("GPU" if target is not None else "NVS")
        if kind == "GPU":
            if target is not None and target is not vertex:
                vertex.link(target, PathType.NVL, gb_s)
        elif kind == "CPU":
            _join(vertex, local_cpu(vertex), PathType.NVL, gb_s)
        else:
            _join(vertex, graph.nvswitch, PathType.NVL, gb_s)
    if not links and known.nvlink_gb_s > 0 and len(graph.gpus) > 1:
        for vertex in graph.gpus:
            _join(vertex, graph.nvswitch, PathType.NVL, known.nvlink_gb_s)


def local_cpu(vertex: Vertex) -> Vertex:
    """The processor above a device."""
    while vertex.above is not None:
        vertex = vertex.above
    return vertex


def _add_other_links(graph: Graph, element: Element, vertex: Vertex) -> None:
    for gpu in element.inside("gpu"):
        for c2c in gpu.inside("c2c"):
            gb_s = number(c2c.get("bw")) * number(c2c.get("count")) / 1000
            _join(vertex, local_cpu(vertex), PathType.C2C, gb_s)
    bridges = {one.name: one for one in graph.bridges}
    for link in element.inside("pcilink"):
        target = bridges.get(link.get("target") or "")
        if target is not None and vertex.kind == "PCI":
            vertex.link(target, PathType.LOC, nccl_topology().local_gb_s)


def _up_last(graph: Graph) -> None:
    """NCCL follows links to devices below before the link to the one above."""
    for vertex in (*graph.bridges, *graph.gpus, *graph.nics):
        up = [one for one in vertex.links if one.to is vertex.above and one.type is PathType.PIX]
        vertex.links = [one for one in vertex.links if one not in up] + up
