"""What is wrong with the paths between GPUs and adapters of a topology file."""

from collections.abc import Iterator

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.core.words import counted
from weft.doctor.case import Found, mistake
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
        yield mistake("topo-gpus-per-adapter", _place(graph.gpus[0]), **words)
    yield from _waiting(graph.nets)


def _far(distances: Distances) -> Iterator[Found]:
    """GPUs without GPUDirect to any adapter; those of one path type together."""
    far: dict[tuple[PathType, str], list[Vertex]] = {}
    graph = distances.graph
    for gpu in graph.gpus:
        if any(distances.uses_gdr(gpu, net, sends=False) for net in graph.nets):
            continue
        nets = distances.nearest_nets(gpu)
        if gpu.has_gdr and nets and nets[0].has_gdr:
            path_type = distances.path(gpu, nets[0]).type
            far.setdefault((path_type, nets[0].name), []).append(gpu)
    for (path_type, net), gpus in far.items():
        words = {"way": path_type.name, "level": distances.gdr_level.name}
        names = " ".join(["GPU", *(gpu.name for gpu in gpus)])
        yield mistake("topo-gpu-far", _place(gpus[0]), **words, gpus=names, net=net)


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
        yield mistake("topo-adapter-waits", _place(found[0]), **words, pci_gb_s=f"{pci_gb_s:g}")


def _place(vertex: Vertex) -> TextPlace:
    return vertex.element.at if vertex.element is not None else _NOWHERE
