"""All that is found in a topology file, as complaints with their rules."""

from collections.abc import Iterable

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.libraries.setting_rules import topology_rules
from weft.catalog.machine.platform import Platform
from weft.core.finding import severity_rank
from weft.doctor.case import Found
from weft.doctor.lint import Complaint
from weft.doctor.topo.check import check
from weft.doctor.topo.distance import Distances
from weft.doctor.topo.graph import Known, PathType, graph_of
from weft.doctor.topo.xml import TopologyFile

MOST_PROCESSORS = 64
"""With distances: each is joined to each."""


def complaints_of(file: TopologyFile, *more: Iterable[Found]) -> list[Complaint]:
    """What is wrong with a file, and `more` found outside it; in the order of the file."""
    rules = topology_rules()
    found = [*file.found, *check(file), *(one for part in more for one in part)]
    complaints = [Complaint(rules[one.rule], one) for one in found]
    return sorted(complaints, key=lambda one: (one.found.at.start, severity_rank(one)))


def known_of(platform: Platform | None) -> Known:
    """What a machine of a platform would report to NCCL that the file does not."""
    if platform is None:
        return Known()
    gpus = platform.gpus
    is_switched = gpus is not None and gpus.switched and gpus.nvlink is not None
    return Known(
        nvlink_gb_s=gpus.nvlink.value if is_switched and gpus and gpus.nvlink else 0.0,
        net_gb_s=platform.links.host.rate.value / 8 if platform.links is not None else 0.0,
        sm=nccl_topology().sm.get(gpus.architecture, 0) if gpus is not None else 0,
    )


def distances_of(file: TopologyFile, known: Known, gdr_level: PathType | None) -> Distances | None:
    """The paths between the devices of a file, None where it has no GPU or too many processors."""
    if file.system is None:
        return None
    graph = graph_of(file.system, known)
    if not graph.gpus or len(graph.cpus) > MOST_PROCESSORS:
        return None
    return Distances(graph) if gdr_level is None else Distances(graph, gdr_level=gdr_level)
