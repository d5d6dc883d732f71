"""What `weft doctor topo` says on a terminal."""

from collections.abc import Sequence

from weft.cli.doctor.complaints import complaint_lines, counts_of
from weft.cli.output import table_text
from weft.core.finding import verdict_of
from weft.doctor.lint import Complaint
from weft.doctor.topo.distance import Distances
from weft.doctor.topo.graph import PathType, Vertex
from weft.doctor.topo.xml import MOST_ELEMENTS, TopologyFile

WORDS = {
    PathType.NVL: "NVLink",
    PathType.NVB: "two NVLinks, through a GPU",
    PathType.C2C: "NVLink-C2C",
    PathType.PIX: "one bridge",
    PathType.PXB: "several bridges",
    PathType.P2C: "C2C and the processor's PCI Express",
    PathType.PXN: "NVLink to the GPU next to the adapter",
    PathType.PHB: "through the processor",
    PathType.SYS: "between NUMA nodes",
}
"""Each type of path in words."""


def shown(lines: Sequence[str]) -> str:
    """The lines as one text, in which what a file holds colours nothing."""
    return "\n".join(lines).replace("\x1b", "\\x1b")


def verdict_line(topology: TopologyFile, complaints: Sequence[Complaint]) -> str:
    """The verdict first: what NCCL does with the file."""
    name = topology.name
    worst = verdict_of(complaints).value
    mistakes, warnings = counts_of(complaints)
    if topology.is_refused:
        return f"BAD   {name}: NCCL refuses it; {mistakes}, {warnings}"
    if worst == "bad":
        return f"BAD   {name}: {mistakes}, {warnings}"
    if worst == "warning":
        return f"WARN  {name}: NCCL takes it, {warnings}"
    room = f"{topology.n_elements} of {MOST_ELEMENTS} elements"
    return f"GOOD  {name}: NCCL reads it as intended, {room}"


def finding_lines(
    topology: TopologyFile, complaints: Sequence[Complaint], *, notes: bool
) -> list[str]:
    """The complaints, each at its line and column."""

    def place_of(one: Complaint) -> str:
        return f"{topology.name}:{one.found.at.line}:{one.found.at.column}"

    return complaint_lines(complaints, place_of, notes=notes, n_more=topology.n_unsaid)


def distance_lines(distances: Distances, platform: str | None, width: int | None) -> list[str]:
    """Tables of paths: GPUs to adapters and to each other; each GPU's nearest where they are wider
    than the terminal. `platform` is the one that was asked for what the file does not say."""
    gpus, nets = distances.graph.gpus, distances.graph.nets
    names = [f"G{i} {gpu.name}" for i, gpu in enumerate(gpus)]
    lines = []
    if nets:
        rows = [[name, *_net_cells(distances, gpu)] for name, gpu in zip(names, gpus, strict=True)]
        table = table_text(["", *(f"N{j}" for j in range(len(nets)))], rows)
        level = distances.gdr_level.name
        lines += ["", f"GPUs to adapters; * GPUDirect RDMA (NCCL_NET_GDR_LEVEL {level})"]
        lines += _fitting(table, width) or [_nearest(distances, gpu) for gpu in gpus]
        lines += ["adapters: " + ", ".join(f"N{j} {net.name}" for j, net in enumerate(nets))]
    if len(gpus) > 1:
        rows = [[name, *_gpu_cells(distances, gpu)] for name, gpu in zip(names, gpus, strict=True)]
        table = table_text(["", *(f"G{j}" for j in range(len(gpus)))], rows)
        too_wide = ["wider than this terminal: --format json"]
        lines += ["", "GPUs to GPUs", *(_fitting(table, width) or too_wide)]
    if not distances.graph.has_nvlinks and len(gpus) > 1:
        asked = " (--platform)" if platform is None else f"; its answer on {platform} is unknown"
        lines.append(f"without NVLink: the file names none, and NCCL asks the driver{asked}")
    return [*lines, _legend(distances)]


def _legend(distances: Distances) -> str:
    """What the words of the tables mean, the nearest first."""
    gpus, nets = distances.graph.gpus, distances.graph.nets
    cells = [distances.gpu_gpu(one, other) for one in gpus for other in gpus if one is not other]
    cells += [distances.gpu_net(gpu, net) for gpu in gpus for net in nets]
    types = sorted({cell.type for cell in cells} & set(WORDS))
    return "\n" + ", ".join(f"{one.name} {WORDS[one]}" for one in types) if types else ""


def _net_cells(distances: Distances, gpu: Vertex) -> list[str]:
    cells = [distances.gpu_net(gpu, net) for net in distances.graph.nets]
    return [f"{cell.type.name}{'*' if cell.gdr else ' '}" for cell in cells]


def _gpu_cells(distances: Distances, gpu: Vertex) -> list[str]:
    return [distances.gpu_gpu(gpu, other).type.name for other in distances.graph.gpus]


def _nearest(distances: Distances, gpu: Vertex) -> str:
    nets = distances.nearest_nets(gpu)
    cells = [f"{net.name} {distances.path(gpu, net).type.name}" for net in nets]
    return f"GPU {gpu.name}: nearest {', '.join(cells) or 'none'}"


def _fitting(table: str, width: int | None) -> list[str]:
    lines = table.split("\n")
    return lines if width is None or max(map(len, lines)) <= width else []
