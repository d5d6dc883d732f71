"""Readers of what a machine's topology is written in: what they are fed, and what must hold."""

from collections.abc import Iterator
from pathlib import Path

from weft.catalog.load import platform
from weft.cli.doctor.topo_text import distance_lines, finding_lines, shown, verdict_line
from weft.cli.output import printable
from weft.doctor.lint import Complaint
from weft.doctor.topo.drawing import tree_lines
from weft.doctor.topo.gpu_paths import near
from weft.doctor.topo.graph import Known
from weft.doctor.topo.judge import complaints_of, distances_of
from weft.doctor.topo.node import node_of_platform, topology_text
from weft.doctor.topo.source.file import node_of_text
from weft.doctor.topo.xml import TopologyFile, read_topology

SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
_SAMPLED = 64
_PLATFORMS = ("azure-ndv2", "azure-ndv4", "azure-ndv5")
_NVLINK = Known(nvlink_gb_s=240, net_gb_s=25, sm=80)


def topology_pieces() -> tuple[str, ...]:
    """Files of platforms, and a dump."""
    made = (topology_text(node_of_platform(platform(name))) for name in _PLATFORMS)
    return (*made, (SAMPLES / "topology" / "dump.xml").read_text())


def description_pieces() -> tuple[str, ...]:
    """What lspci and lstopo wrote."""
    names = ("topology/lspci.txt", "topology/lspci-vmm.txt", "fabric/hwloc/two_packages.v1.xml")
    return tuple(
        (SAMPLES / name).read_text() for name in (*names, "fabric/hwloc/two_packages.v2.xml")
    )


def topology_outcome(data: bytes, i: int) -> tuple[bool, str]:
    """(whether devices were found, what is wrong with the answer)."""
    text = data.decode("utf-8", "replace")
    file = read_topology("input", text)
    distances = distances_of(file, _NVLINK if i % 2 else Known(), None)
    complaints = complaints_of(file, near(distances) if distances is not None else ())
    lines = [verdict_line(file, complaints), *finding_lines(file, complaints, notes=True)]
    if file.system is not None:
        lines += tree_lines(file.system, 80)
    if distances is not None:
        lines += distance_lines(distances, None, 80)
    if "\x1b" in printable(shown(lines)):
        return distances is not None, "an escape reaches the terminal"
    reason = next(_wrong(file, complaints, text), "")
    if not reason and i % _SAMPLED == 0 and read_topology("input", text).found != file.found:
        reason = "a second reading differs"
    return distances is not None, reason


def _wrong(file: TopologyFile, complaints: list[Complaint], text: str) -> Iterator[str]:
    for one in complaints:
        at = one.found.at
        if not 0 <= at.start <= at.end <= len(text) or at.line < 1 or at.column < 1:
            yield f"{one.rule.id} at {at} of {len(text)} characters"
        if not one.happens or not one.fix:
            yield f"{one.rule.id} says nothing"
    if file.is_refused and not any(one.rule.severity == "bad" for one in complaints):
        yield "refused without a reason"


def description_outcome(data: bytes, _: int) -> tuple[bool, str]:
    """Whatever is generated, NCCL takes. Raises InputError where no machine is described."""
    text = topology_text(node_of_text(data.decode("utf-8", "replace"), "input"))
    file = read_topology("generated", text)
    if file.is_refused and file.n_elements <= 255:
        return True, f"NCCL refuses what is generated: {file.found[0].rule}"
    return True, ""
