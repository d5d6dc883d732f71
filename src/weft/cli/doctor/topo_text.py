"""The output of `weft doctor topo` for a file: its faults, its tree and its distances."""

from collections.abc import Iterable, Sequence
from typing import Any

from weft.catalog.libraries.nccl_topology import nccl_topology
from weft.catalog.load import platform
from weft.cli.doctor.complaints import complaint_lines, head_line, print_complaints
from weft.cli.output import table_text, terminal_width, would_show_lines
from weft.core.finding import Severity, cannot_tell, verdict_of
from weft.core.shell_line import quoted
from weft.core.words import counted
from weft.doctor.case import Found
from weft.doctor.lint import Complaint, as_finding
from weft.doctor.topo.distance import GDR_DEFAULT, Distances
from weft.doctor.topo.drawing import tree_lines
from weft.doctor.topo.elements import elements_of
from weft.doctor.topo.graph import PathType, Vertex
from weft.doctor.topo.judge import complaints_of, distances_of, known_of
from weft.doctor.topo.xml import TopologyFile

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


COLUMNS = ("file", "line", "column", "severity", "rule", "happens", "fix", "source")


def print_judgement(
    topology: TopologyFile,
    differences: Iterable[Found],
    machine: str | None,
    gdr_level: str | None,
    *,
    is_compared: bool,
    notes: bool,
    format_: str,
) -> int:
    """Judge a file and print that. `machine` is the platform for facts that the file lacks.
    Returns the exit code; raises InputError for an unknown platform."""
    known = known_of(platform(machine) if machine is not None else None)
    distances = distances_of(topology, known, _level(gdr_level))
    differences = list(differences)
    complaints = complaints_of(topology, distances, differences)
    gaps = () if is_compared else unstated(topology)
    verdict = topology_verdict(complaints, gaps)
    width = terminal_width()
    return print_complaints(
        format_,
        [(topology.name, complaints)],
        COLUMNS,
        text=lambda: topology_report(
            topology, complaints, distances, machine, width, gaps=gaps, notes=notes
        ),
        record={
            "schema": "weft.doctor-topo/1",
            "name": topology.name,
            "library": topology.dialect.library,
            "verdict": verdict.value,
            "would_show": list(_would_show(topology)),
            "unknown": list(gaps),
            "is_refused": topology.is_refused,
            "n_elements": topology.n_elements,
            "n_unsaid": topology.n_unsaid,
            "findings": [as_finding(one, topology.name).to_record() for one in complaints],
            "distances": _distances(distances) if distances is not None else None,
        },
        verdict=verdict,
    )


def _level(text: str | None) -> PathType:
    if text is None:
        return GDR_DEFAULT
    return PathType[nccl_topology().level(int(text)) if text.isdecimal() else text]


def _distances(distances: Distances) -> dict[str, Any]:
    gpus, nets = distances.graph.gpus, distances.graph.nets

    def path(one: Vertex, other: Vertex) -> dict[str, Any]:
        found = distances.path(one, other)
        return {"way": found.type.name, "gb_s": found.gb_s}

    return {
        "gdr_level": distances.gdr_level.name,
        "gpus": [{"bus_id": gpu.name, "dev": gpu.number} for gpu in gpus],
        "nets": [{"name": net.name} for net in nets],
        "gpu_net": [
            [{**path(gpu, net), "gdr": distances.uses_gdr(gpu, net)} for net in nets]
            for gpu in gpus
        ],
        "gpu_gpu": [[path(gpu, other) for other in gpus] for gpu in gpus],
    }


def topology_report(
    topology: TopologyFile,
    complaints: Sequence[Complaint],
    distances: Distances | None,
    machine: str | None,
    width: int | None,
    *,
    gaps: Sequence[str] = (),
    notes: bool,
) -> str:
    """The whole text, in which no name of a file can colour the terminal."""

    def place_of(one: Complaint) -> str:
        return f"{topology.name}:{one.found.at.line}:{one.found.at.column}"

    lines = _head_lines(topology, complaints, gaps)
    lines += complaint_lines(complaints, place_of, notes=notes, n_more=topology.n_unsaid)
    if topology.system is not None:
        lines += ["", *tree_lines(topology.system, width)]
    if distances is not None:
        lines += _distance_lines(distances, machine, width)
    elif topology.dialect.library == "RCCL":
        lines += ["", "RCCL's distances are not computed: it has rings of its own for known models"]
    return "\n".join(lines).replace("\x1b", "\\x1b")


def topology_verdict(complaints: Sequence[Complaint], gaps: Sequence[str]) -> Severity:
    """BAD with a fault; else UNKNOWN where the file leaves devices undescribed."""
    worst = verdict_of(complaints)
    return Severity.UNKNOWN if gaps and worst is not Severity.BAD else worst


def unstated(topology: TopologyFile) -> tuple[str, ...]:
    """Devices of which the file states no class or no link: the library asks /sys for them."""
    devices = [one for one in elements_of(topology) if one.name == "pci"]
    found = []
    for name, words in (("class", "class"), ("link_speed", "link")):
        n_without = sum(one.get(name) is None for one in devices)
        if n_without or not devices:
            found.append(f"the {words} of {n_without} of {counted(len(devices), 'device')}")
    return tuple(found)


def _would_show(topology: TopologyFile) -> tuple[str, ...]:
    n = sum(one.name == "pci" for one in elements_of(topology))
    return (
        f"an element that the library refuses or ignores among {topology.n_elements}",
        f"a slow link, a wrong class or a bridge without speed among {counted(n, 'device')}",
    )


def _head_lines(
    topology: TopologyFile, complaints: Sequence[Complaint], gaps: Sequence[str]
) -> list[str]:
    head = _head(topology, complaints)
    verdict = topology_verdict(complaints, gaps)
    if verdict is Severity.UNKNOWN:
        asked = f"{' and '.join(gaps)} in {topology.name}"
        telling = f"weft doctor topo {quoted(topology.name)} --against this-machine"
        return [
            f"UNKNOWN  {cannot_tell(asked, telling)}",
            f"apart from that: {head.partition('  ')[2].strip()}",
        ]
    return [head, *(would_show_lines(_would_show(topology)) if verdict is Severity.GOOD else [])]


def _head(topology: TopologyFile, complaints: Sequence[Complaint]) -> str:
    library = topology.dialect.library
    rules = {one.rule.id for one in complaints}
    if "topo-graph-file" in rules:
        return head_line(topology.name, complaints, "", bad="a graph file, not a topology; ")
    is_refused = topology.is_refused or "topo-version" in rules
    bad = f"{library} refuses it; " if is_refused else ""
    of = "RCCL's dialect (version 2, xgmi), valid for RCCL" if library == "RCCL" else ""
    elements = f"{topology.n_elements} of {topology.dialect.most_elements} elements"
    good = f"{of or f'{library} takes it'}, {elements}; checked: {_checked(topology)}"
    warning = f"{of or f'{library} takes it'}, "
    return head_line(topology.name, complaints, good, bad=bad, warning=warning)


def _checked(topology: TopologyFile) -> str:
    """The attributes that the file states, and those that it leaves to /sys."""
    devices = [one for one in elements_of(topology) if one.name == "pci"]
    parts = (
        ("classes", [one for one in devices if one.get("class") is not None]),
        ("links", [one for one in devices if one.get("link_speed") is not None]),
        ("CPU masks", [one for one in elements_of(topology) if one.get("affinity") is not None]),
    )
    stated = ", ".join(name for name, there in parts if there)
    absent = ", ".join(name for name, there in parts if not there)
    lacks = f"; not in the file: {absent}" if absent else ""
    checked = f"its form{f', {stated}' if stated else ''}{lacks}"
    return f"{checked}; not the machine (--against)"


def _distance_lines(distances: Distances, machine: str | None, width: int | None) -> list[str]:
    """Tables of paths: GPUs to adapters and to each other; each GPU's nearest where they are wider
    than the terminal."""
    gpus, nets = distances.graph.gpus, distances.graph.nets
    lines = []
    if nets:
        level = distances.gdr_level.name
        lines += ["", f"GPUs to adapters; * GPUDirect RDMA (NCCL_NET_GDR_LEVEL {level})"]
        lines += _table(distances, "N", nets, width) or [_nearest(distances, gpu) for gpu in gpus]
        lines += ["adapters: " + ", ".join(f"N{j} {net.name}" for j, net in enumerate(nets))]
    if len(gpus) > 1:
        too_wide = ["wider than this terminal: --format json"]
        lines += ["", "GPUs to GPUs", *(_table(distances, "G", gpus, width) or too_wide)]
    if not distances.graph.has_nvlinks and len(gpus) > 1:
        asked = " (--platform)" if machine is None else f"; its answer on {machine} is unknown"
        lines.append(f"without NVLink: the file names none, and NCCL asks the driver{asked}")
    return [*lines, _legend(distances)]


def _table(distances: Distances, letter: str, ends: list[Vertex], width: int | None) -> list[str]:
    """The types of the paths from each GPU; no line where they are wider than the terminal."""
    rows = [
        [f"G{i} {gpu.name}", *(_cell(distances, gpu, end) for end in ends)]
        for i, gpu in enumerate(distances.graph.gpus)
    ]
    lines = table_text(["", *(f"{letter}{j}" for j in range(len(ends)))], rows).split("\n")
    return lines if width is None or max(map(len, lines)) <= width else []


def _cell(distances: Distances, gpu: Vertex, end: Vertex) -> str:
    mark = "" if end.kind == "GPU" else "*" if distances.uses_gdr(gpu, end) else " "
    return f"{distances.path(gpu, end).type.name}{mark}"


def _legend(distances: Distances) -> str:
    """The words of the tables explained, the nearest first."""
    gpus = distances.graph.gpus
    pairs = [(gpu, end) for gpu in gpus for end in (*gpus, *distances.graph.nets) if gpu is not end]
    types = sorted({distances.path(*pair).type for pair in pairs} & set(WORDS))
    return "\n" + ", ".join(f"{one.name} {WORDS[one]}" for one in types) if types else ""


def _nearest(distances: Distances, gpu: Vertex) -> str:
    nets = distances.nearest(gpu, distances.graph.nets)
    cells = [f"{net.name} {distances.path(gpu, net).type.name}" for net in nets]
    return f"GPU {gpu.name}: nearest {', '.join(cells) or 'none'}"
