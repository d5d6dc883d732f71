"""A node as weft's own search of NCCL wants it: vertices, links, and the paths of a version."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.catalog.libraries.nccl_topology import NcclTopology, nccl_topology
from weft.doctor.nccl_plan.job_topology import JobTopology
from weft.doctor.topo.distance import Distances, PathRules
from weft.doctor.topo.element import Element
from weft.doctor.topo.graph import Graph, Known, PathType, Vertex, graph_of
from weft.doctor.topo.xml import read_topology

Version = tuple[int, int, int]
_KINDS = {PathType.NVL: "nvlink", PathType.PIX: "pci"}


def path_types(version: Version) -> list[str]:
    """The path types that a version knows, the nearest first. SOURCE: NVIDIA/nccl,
    src/graph/topo.cc: topoPathTypeStr."""
    return [one.name for one in PathType if one is not PathType.P2C or version >= (2, 27, 0)]


@dataclass(frozen=True, slots=True)
class _Places:
    vertices: dict[Vertex, int]
    links: dict[int, int]


def node_document(topology: JobTopology, version: Version, n_nodes: int) -> dict[str, Any]:
    """The node of a job on so many: NCCL drops the networks of a job on one."""
    system = read_topology("job", topology.text).system
    assert system is not None
    tables = nccl_topology().of_version(version)
    graph = graph_of(system, Known(), tables)
    _round_nvlinks(graph, tables)
    rules = PathRules.of_version(version)
    ranks = _ranks(graph, topology)
    has_all = _keep_first_domain(graph, Distances(graph, rules=rules, is_job=True), ranks)
    if n_nodes == 1 and has_all:
        _drop_nets(graph)
    distances = Distances(graph, rules=rules, is_job=True)
    has_switch = bool(graph.nvswitch.links)
    vertices = [*graph.cpus, *graph.bridges, *graph.gpus, *graph.nics, *graph.nets]
    vertices += [graph.nvswitch] if has_switch else []
    links = [(vertex, link) for vertex in vertices for link in vertex.links]
    places = _Places(
        {vertex: i for i, vertex in enumerate(vertices)},
        {id(link): i for i, (_, link) in enumerate(links)},
    )
    processors = dict(zip(graph.cpus, system.inside("cpu"), strict=True))
    return {
        "version": version,
        "path_types": path_types(version),
        "is_amd": graph.is_amd,
        "vertices": [_vertex_word(one, processors.get(one)) for one in vertices],
        "links": [
            {
                "from": places.vertices[vertex],
                "to": places.vertices[link.to],
                "kind": _KINDS.get(link.type, "other"),
                "gb_s": link.gb_s,
            }
            for vertex, link in links
        ],
        "paths": list(_paths(graph, distances, places, version)),
        "gpus": _gpus(graph, distances, places, ranks),
        "nets": _nets(graph, distances, places),
        "nvswitch": places.vertices[graph.nvswitch] if has_switch else None,
    }


def _ranks(graph: Graph, topology: JobTopology) -> dict[Vertex, int]:
    ranks = {bus: rank for rank, bus in enumerate(topology.bus_ids)}
    numbers = {gpu: int(gpu.name.replace(":", "").replace(".", ""), 16) for gpu in graph.gpus}
    return {gpu: ranks[number] for gpu, number in numbers.items()}


def _keep_first_domain(graph: Graph, distances: Distances, ranks: Mapping[Vertex, int]) -> bool:
    """Drop the GPUs that rank 0 reaches over the network alone; whether none was dropped."""
    domains: list[int] = []
    for i, gpu in enumerate(graph.gpus):
        joined = [
            domains[j]
            for j, other in enumerate(graph.gpus[:i])
            if distances.path(gpu, other).type < PathType.NET
        ]
        domains.append(min([i, *joined]))
    first = next(domain for gpu, domain in zip(graph.gpus, domains, strict=True) if not ranks[gpu])
    kept = [gpu for gpu, domain in zip(graph.gpus, domains, strict=True) if domain == first]
    dropped = set(graph.gpus) - set(kept)
    for vertex in (*graph.cpus, *graph.bridges, *graph.gpus, graph.nvswitch):
        vertex.links = [link for link in vertex.links if link.to not in dropped]
    graph.gpus = kept
    return not dropped


def _drop_nets(graph: Graph) -> None:
    for nic in graph.nics:
        nic.links = [link for link in nic.links if link.to.kind != "NET"]
    graph.nets = []


def _vertex_word(vertex: Vertex, processor: Element | None) -> str:
    if processor is None:
        return "gpu" if vertex.kind == "GPU" else "other"
    architecture = processor.get("arch") or ""
    if architecture.startswith("ppc64"):
        return "power"
    is_intel = (processor.get("vendor") or "").startswith("GenuineIntel")
    return "intel" if architecture.startswith("x86_64") and is_intel else "other"


def _round_nvlinks(graph: Graph, tables: NcclTopology) -> None:
    """NCCL counts NVLinks in single precision."""
    for gpu in graph.gpus:
        of_one = tables.nvlink_gb_s(gpu.sm)
        back = (link for link in graph.nvswitch.links if link.to is gpu)
        for link in (*(one for one in gpu.links if one.type is PathType.NVL), *back):
            link.gb_s = round(link.gb_s / of_one) * float(np.float32(of_one))


def _paths(
    graph: Graph, distances: Distances, places: _Places, version: Version
) -> Iterator[dict[str, Any]]:
    types = path_types(version)
    others = [*graph.nets, graph.nvswitch] if graph.nvswitch.links else graph.nets
    pairs = [(a, b) for a in graph.gpus for b in graph.gpus]
    pairs += [(a, b) for gpu in graph.gpus for net in others for a, b in ((gpu, net), (net, gpu))]
    for start, end in pairs:
        path = distances.path(start, end)
        known = path.type.name in types
        yield {
            "from": places.vertices[start],
            "to": places.vertices[end],
            "path_type": types.index(path.type.name if known else "DIS"),
            "gb_s": path.gb_s,
            "links": [places.links[id(link)] for link in path.links],
        }


def _gpus(
    graph: Graph, distances: Distances, places: _Places, ranks: Mapping[Vertex, int]
) -> list[dict[str, Any]]:
    nets = {net: i for i, net in enumerate(graph.nets)}
    return [
        {
            "vertex": places.vertices[gpu],
            "rank": ranks[gpu],
            "sm": gpu.sm,
            "own_nets": [nets[net] for net in distances.own_nets(gpu)],
        }
        for gpu in graph.gpus
    ]


def _nets(graph: Graph, distances: Distances, places: _Places) -> list[dict[str, Any]]:
    gpus = {gpu: i for i, gpu in enumerate(graph.gpus)}
    ports = {port: i for i, port in enumerate(dict.fromkeys(net.port for net in graph.nets))}
    return [
        {
            "vertex": places.vertices[net],
            "number": net.number,
            "port": ports[net.port],
            "gb_s": next(link.gb_s for link in net.links),
            "local_gpu": gpus[local] if (local := distances.local_gpu(net)) else None,
        }
        for net in graph.nets
    ]
