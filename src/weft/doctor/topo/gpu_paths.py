"""What is wrong with the ways between GPUs and adapters of a topology file."""

from collections.abc import Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.core.words import counted
from weft.doctor.case import Found
from weft.doctor.job import TextPlace
from weft.doctor.topo.distance import Distances
from weft.doctor.topo.graph import PathType, Vertex

_NOWHERE = TextPlace(0, 0, 1, 1)


def near(distances: Distances) -> Iterator[Found]:
    """GPUs that no adapter is near to, adapters a GPU, and adapters faster than their link."""
    graph = distances.graph
    if not graph.nets:
        return
    yield from _far(distances)
    if len(graph.nets) != len(graph.gpus):
        words = {
            "gpus": counted(len(graph.gpus), "GPU"),
            "nets": counted(len(graph.nets), "adapter"),
        }
        yield Found("topo-gpus-per-adapter", words, _place(graph.gpus[0]))
    yield from _waiting(graph.nets)


def _far(distances: Distances) -> Iterator[Found]:
    """GPUs without GPUDirect to any adapter; those of one way together."""
    far: dict[tuple[PathType, str], list[Vertex]] = {}
    graph = distances.graph
    for gpu in graph.gpus:
        if any(distances.uses_gdr(gpu, net, sends=False) for net in graph.nets):
            continue
        nets = distances.nearest_nets(gpu)
        if gpu.has_gdr and nets and nets[0].has_gdr:
            way = distances.path(gpu, nets[0]).way
            far.setdefault((way, nets[0].name), []).append(gpu)
    for (way, net), gpus in far.items():
        words = {"gpus": " ".join(["GPU", *(gpu.name for gpu in gpus)]), "net": net}
        words |= {"way": way.name, "level": distances.gdr_level.name}
        yield Found("topo-gpu-far", words, _place(gpus[0]))


def _waiting(nets: list[Vertex]) -> Iterator[Found]:
    """Networks that are faster than the PCI Express link of their adapter."""
    slower: dict[tuple[float, float], list[Vertex]] = {}
    for net in nets:
        own = net.links[0]
        up = next((one for one in own.to.links if one.to is own.to.above), None)
        is_known = own.gb_s != nccl_topology().local_gb_s
        if up is not None and is_known and up.gb_s < own.gb_s:
            slower.setdefault((own.gb_s, up.gb_s), []).append(net)
    for (net_gb_s, pci_gb_s), found in slower.items():
        words = {"nets": counted(len(found), "adapter"), "net_gb_s": f"{net_gb_s:g}"}
        yield Found("topo-adapter-waits", words | {"pci_gb_s": f"{pci_gb_s:g}"}, _place(found[0]))


def _place(vertex: Vertex) -> TextPlace:
    return vertex.element.at if vertex.element is not None else _NOWHERE
