"""All that is found in a topology file, as complaints with their rules."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.libraries.setting_rules import topology_rules
from weft.catalog.machine.platform import Platform
from weft.core.finding import severity_rank
from weft.core.words import counted
from weft.doctor.case import Found, mistake
from weft.doctor.lint import Complaint
from weft.doctor.topo.check import check
from weft.doctor.topo.dialect import NCCL_DIALECT, rule_for
from weft.doctor.topo.distance import GDR_DEFAULT, Distances
from weft.doctor.topo.graph import Known, PathType, Vertex, graph_of
from weft.doctor.topo.xml import TopologyFile

MOST_NAMES = 4
"""Bus ids of equal devices that a sentence names."""
_PLURALS = {
    "GPU": "GPUs",
    "adapter": "adapters",
    "bridge": "bridges",
    "device": "devices",
    "NVSwitch": "NVSwitches",
    "processor": "processors",
}
MOST_PROCESSORS = 64
"""With distances: each is joined to each."""


def complaints_of(
    file: TopologyFile, distances: Distances | None, differences: Iterable[Found] = ()
) -> list[Complaint]:
    """All faults of a file and of the distances in it, and its differences from a machine; in the
    order of the file."""
    rules = {name: rule_for(rule, file.dialect) for name, rule in topology_rules().items()}
    of_paths = _near(distances) if distances is not None else ()
    found = _merged([*file.found, *check(file), *of_paths, *differences])
    complaints = [Complaint(rules[one.rule], one) for one in found]
    return sorted(complaints, key=lambda one: (one.found.at.start, severity_rank(one)))


def _merged(found: Iterable[Found]) -> list[Found]:
    """Faults of equal devices as one, which names all of them; equal faults without a device as
    one, with the lines of the others."""
    groups: dict[tuple[object, ...], list[Found]] = {}
    for one in found:
        kind = one.words.get("device", "").split(" ")[0]
        alike = sorted((key, value) for key, value in one.words.items() if key != "device")
        groups.setdefault((one.rule, kind, *alike), []).append(one)
    return [_one_of(same) for same in groups.values()]


def _one_of(same: list[Found]) -> Found:
    first = min(same, key=lambda one: one.at.start)
    others = tuple(sorted({one.at.line for one in same} - {first.at.line}))
    names = list(dict.fromkeys(one.words.get("device", "") for one in same))
    kind, _, _ = names[0].partition(" ")
    if len(names) == 1:
        return replace(first, also=others)
    buses = [name.partition(" ")[2] or name for name in names]
    more = f" and {len(buses) - MOST_NAMES + 1} more" if len(buses) > MOST_NAMES else ""
    shown = buses[: MOST_NAMES - 1] if more else buses
    words = {**first.words, "device": f"{len(buses)} {_PLURALS.get(kind, kind)} "}
    words["device"] += f"({', '.join(shown)}{more})"
    return replace(first, words=words)


def known_of(platform: Platform | None) -> Known:
    """Facts that a machine of a platform would report to NCCL and that the file lacks."""
    if platform is None:
        return Known()
    gpus = platform.gpus
    return Known(
        nvlink_gb_s=gpus.nvlink.value if gpus and gpus.switched and gpus.nvlink else 0.0,
        net_gb_s=platform.links.host.rate.value / 8 if platform.links is not None else 0.0,
        sm=nccl_topology().sm.get(gpus.architecture, 0) if gpus is not None else 0,
    )


def distances_of(
    file: TopologyFile, known: Known, gdr_level: PathType = GDR_DEFAULT
) -> Distances | None:
    """The paths between the devices of a file as NCCL computes them; None for other libraries, and
    where it has no GPU or too many processors."""
    if file.system is None or file.dialect is not NCCL_DIALECT:
        return None
    graph = graph_of(file.system, known)
    if not graph.gpus or len(graph.cpus) > MOST_PROCESSORS:
        return None
    return Distances(graph, gdr_level=gdr_level)


def _near(distances: Distances) -> Iterator[Found]:
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
        yield mistake("topo-gpus-per-adapter", graph.gpus[0].at, **words)
    yield from _waiting(graph.nets)


def _far(distances: Distances) -> Iterator[Found]:
    """GPUs without GPUDirect to any adapter; those of one path type together."""
    far: dict[tuple[PathType, str], list[Vertex]] = {}
    graph = distances.graph
    for gpu in graph.gpus:
        if any(distances.uses_gdr(gpu, net) for net in graph.nets):
            continue
        nets = distances.nearest(gpu, graph.nets)
        if gpu.has_gdr and nets and nets[0].has_gdr:
            path_type = distances.path(gpu, nets[0]).type
            far.setdefault((path_type, nets[0].name), []).append(gpu)
    for (path_type, net), gpus in far.items():
        words = {"distance": path_type.name, "level": distances.gdr_level.name}
        names = " ".join(["GPU", *(gpu.name for gpu in gpus)])
        yield mistake("topo-gpu-far", gpus[0].at, **words, gpus=names, net=net)


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
        yield mistake("topo-adapter-waits", found[0].at, **words, pci_gb_s=f"{pci_gb_s:g}")
