"""The nodes that a library is asked about: a platform's, or those of a topology file."""

from dataclasses import dataclass, replace
from pathlib import Path

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.core.words import counted
from weft.doctor.machine.detection.document import platform_named
from weft.doctor.nccl_plan.job_topology import JobTopology, job_topology
from weft.doctor.topo.judge import known_of
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.doctor.topo.xml import read_topology, topology_file
from weft.expect.nccl.topology import is_of_amd


@dataclass(frozen=True, slots=True)
class NodesOf:
    """Where nodes come from: a platform, a topology file or both ('' for none), and how the nodes
    of the file differ from the platform's ('' where they do not)."""

    platform: str
    file: str = ""
    differs: str = ""


def topology_of(platform: str | None, file: Path | None) -> JobTopology:
    """Of a topology file, with what the platform's driver would add; without a file, of the
    platform. Raises InputError."""
    document = None if platform is None else platform_named(platform)
    if document is not None and is_of_amd(document):
        raise InputError(
            f"the GPUs of platform '{document.name}' are AMD's: NCCL does not run there",
            expected="a platform with GPUs of NVIDIA",
            hint="RCCL runs there, which weft cannot ask; weft's own model for it:"
            f" weft expect {document.name} allreduce",
        )
    if file is not None:
        return replace(job_topology(topology_file(file), known_of(document)), file=str(file))
    assert document is not None
    if document.node_map is None:
        raise _without_devices(document)
    text = topology_text(node_of_platform(document))
    return job_topology(read_topology(f"platform {platform}", text), known_of(document))


def _without_devices(document: Platform) -> InputError:
    with_platform = f" --platform {document.name}" if document.gpus is not None else ""
    return InputError(
        f"platform '{document.name}' does not state the PCIe devices of a node",
        expected="a platform with [node_map], or a topology file of a node",
        hint=f"run a job of NCCL on a GPU node with NCCL_TOPO_DUMP_FILE=topo.xml, then add"
        f" --topo topo.xml{with_platform}",
    )


def difference_from(platform: str, job: JobTopology, *, adapters: bool = True) -> str:
    """How the nodes of a topology file differ from those of the platform named with it, as
    'the file has 4 GPUs and 1 adapter a node, azure-ndv5 has 8 GPUs and 8 adapters'; '' where they
    are alike. `adapters`: whether those count. Raises InputError for an unknown platform."""
    document = platform_named(platform)
    in_file = [counted(len(job.bus_ids), "GPU")]
    of_platform = ["no GPUs"]
    if document.gpus is not None:
        of_platform = [counted(document.gpus.per_node.whole, "GPU")]
    if adapters and document.links is not None:
        in_file.append(counted(len(job.nets), "adapter"))
        of_platform.append(counted(document.hcas_per_node, "adapter"))
    sm = known_of(document).sm
    if sm and job.sm != sm:
        in_file.append(f"compute capability {job.sm / 10:.1f}")
        of_platform.append(f"compute capability {sm / 10:.1f}")
    if in_file == of_platform:
        return ""
    return f"the file has {_list(in_file)} a node, {document.name} has {_list(of_platform)}"


def _list(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
