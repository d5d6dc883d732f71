"""The nodes that a library is asked about: a platform's, or those of a topology file."""

from pathlib import Path

from weft.doctor.machine.detection.document import platform_named
from weft.doctor.nccl_plan.job_topology import JobTopology, job_topology
from weft.doctor.topo.judge import known_of
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.doctor.topo.xml import read_topology, topology_file


def topology_of(platform: str | None, file: Path | None) -> JobTopology:
    """Of a topology file, with what the platform's driver would add; without a file, of the
    platform. Raises InputError."""
    document = None if platform is None else platform_named(platform)
    if file is not None:
        return job_topology(topology_file(file), known_of(document))
    assert document is not None
    text = topology_text(node_of_platform(document))
    return job_topology(read_topology(f"platform {platform}", text), known_of(document))
