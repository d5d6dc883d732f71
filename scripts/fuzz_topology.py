"""Readers of topology files and of descriptions of machines: their input, and laws of output."""

from collections.abc import Iterator
from pathlib import Path

from fuzz_mutations import Reader, mutated_sample
from fuzz_settings import is_inside

from weft.catalog.load import platform
from weft.cli.doctor.topo_text import topology_report
from weft.cli.output import printable
from weft.doctor.lint import Complaint
from weft.doctor.topo.graph import Known
from weft.doctor.topo.judge import complaints_of, distances_of
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.doctor.topo.source.file import node_of_text
from weft.doctor.topo.xml import TopologyFile, read_topology

SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
_SAMPLED = 64
_PLATFORMS = ("azure-ndv2", "azure-ndv4", "azure-ndv5")
_NVLINK = Known(nvlink_gb_s=240, net_gb_s=25, sm=80)


def topology_readers() -> list[Reader]:
    """Of topology files, and of descriptions of a machine."""
    return [
        Reader("topology file", topology_pieces(), mutated_sample, topology_outcome),
        Reader("lspci, lstopo", description_pieces(), mutated_sample, description_outcome),
    ]


def topology_pieces() -> tuple[str, ...]:
    """Files of platforms, and a dump."""
    made = (topology_text(node_of_platform(platform(name))) for name in _PLATFORMS)
    return (*made, (SAMPLES / "topology" / "dump.xml").read_text())


def description_pieces() -> tuple[str, ...]:
    """Output of lspci and lstopo."""
    names = ("topology/lspci.txt", "topology/lspci-vmm.txt")
    names += ("fabric/hwloc/two_packages.v1.xml", "fabric/hwloc/two_packages.v2.xml")
    return tuple((SAMPLES / name).read_text() for name in names)


def topology_outcome(data: bytes, i: int) -> tuple[bool, str]:
    """(whether it found devices, the fault of the answer)."""
    text = data.decode("utf-8", "replace")
    file = read_topology("input", text)
    distances = distances_of(file, _NVLINK if i % 2 else Known())
    complaints = complaints_of(file, distances)
    if "\x1b" in printable(topology_report(file, complaints, distances, None, 80, notes=True)):
        return distances is not None, "an escape reaches the terminal"
    reason = next(_wrong(file, complaints, text), "")
    if not reason and i % _SAMPLED == 0 and read_topology("input", text).found != file.found:
        reason = "a second reading differs"
    return distances is not None, reason


def _wrong(file: TopologyFile, complaints: list[Complaint], text: str) -> Iterator[str]:
    for one in complaints:
        if not is_inside(one.found.at, text):
            yield f"{one.rule.id} at {one.found.at} of {len(text)} characters"
        if not one.happens or not one.fix:
            yield f"{one.rule.id} says nothing"
    if file.is_refused and not any(one.rule.severity == "bad" for one in complaints):
        yield "refused without a reason"


def description_outcome(data: bytes, _: int) -> tuple[bool, str]:
    """NCCL takes every generated file. Raises InputError where no machine is described."""
    text = topology_text(node_of_text(data.decode("utf-8", "replace"), "input"))
    file = read_topology("generated", text)
    if file.is_refused and file.n_elements <= 255:
        return True, f"NCCL refuses the generated file: {file.found[0].rule}"
    return True, ""
