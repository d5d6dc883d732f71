"""The processors beside each GPU of a topology file."""

from weft.doctor.topo.affinity import mask_of
from weft.doctor.topo.graph import Known, Vertex, graph_of
from weft.doctor.topo.xml import TopologyFile


def cpus_of_gpus(file: TopologyFile) -> tuple[int, ...]:
    """Bits of the processors of each GPU's NUMA node, GPUs in NCCL's order; 0 where nobody says."""
    if file.system is None:
        return ()
    masks = {
        cpu.get("numaid") or "": mask_of(cpu.get("affinity") or "")
        for cpu in file.system.inside("cpu")
    }
    gpus = sorted(graph_of(file.system, Known()).gpus, key=lambda one: one.number)
    return tuple(masks.get(_node(gpu), 0) for gpu in gpus)


def _node(vertex: Vertex) -> str:
    while vertex.above is not None:
        vertex = vertex.above
    return vertex.name
