"""The processors near each GPU of a topology file."""

from weft.doctor.topo.affinity import mask_of
from weft.doctor.topo.graph import Known, graph_of, local_cpu
from weft.doctor.topo.xml import TopologyFile


def cpus_of_gpus(file: TopologyFile) -> tuple[int, ...]:
    """Bits of the processors of each GPU's NUMA node, GPUs in NCCL's order; 0 for none."""
    if file.system is None:
        return ()
    cpus = {cpu.get("numaid") or "": cpu for cpu in file.system.inside("cpu")}
    gpus = sorted(graph_of(file.system, Known()).gpus, key=lambda one: one.number)
    above = (cpus.get(local_cpu(gpu).name) for gpu in gpus)
    return tuple(mask_of(cpu.get("affinity") or "") if cpu is not None else 0 for cpu in above)
