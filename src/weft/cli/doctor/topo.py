"""`weft doctor topo FILE`: a topology file of NCCL, read as NCCL reads it."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import ANY_PATH
from weft.cli.output import emit, format_option_of, terminal_width
from weft.core.errors import ExitCode
from weft.core.finding import verdict_of
from weft.core.text_file import read_text_input

if TYPE_CHECKING:
    from weft.catalog.machine.platform import Platform
    from weft.doctor.case import Found
    from weft.doctor.lint import Complaint
    from weft.doctor.topo.distance import Distances
    from weft.doctor.topo.graph import PathType, Vertex
    from weft.doctor.topo.xml import TopologyFile

EXPECTED = "a topology file"
HOST_FILE = Path("/var/run/nvidia-topologyd/virtualTopology.xml")
"""What NCCL reads where NCCL_TOPO_FILE is not set. SOURCE: NVIDIA/nccl v2.30.7, src/graph/topo.cc:
ncclTopoGetSystem."""
LEVELS = ("LOC", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "0", "1", "2", "3", "4", "5")


@click.command("topo")
@click.argument("file", required=False)
@click.option(
    "--platform",
    metavar="P",
    help="The machine, for NVLink and rates that the driver would report. Default: --against.",
)
@click.option(
    "--gdr-level",
    type=click.Choice(LEVELS, case_sensitive=False),
    metavar="LEVEL",
    help="NCCL_NET_GDR_LEVEL: LOC, PIX, PXB, P2C, PXN, PHB, SYS, or 0 to 5; by default P2C.",
)
@click.option(
    "--against",
    metavar="FROM",
    help="The machine to compare with: a FROM of --generate.",
)
@click.option(
    "--generate",
    "source",
    metavar="FROM",
    help="Write a file: for a platform, this-machine, or the output of lspci or lstopo.",
)
@click.option(
    "--bridges", is_flag=True, help="With --generate: make up bridges where there are none."
)
@click.option(
    "--output",
    "-o",
    type=ANY_PATH,
    metavar="FILE",
    help="With --generate: where to write. Default: standard output.",
)
@click.option(
    "--sysroot",
    type=ANY_PATH,
    default=Path("/"),
    metavar="DIR",
    help="For this-machine: read sys and proc below DIR instead.",
)
@click.option("--notes", is_flag=True, help="Show notes, too.")
@format_option_of(("text", "json", "csv", "sarif"))
def command(
    file: str | None,
    platform: str | None,
    gdr_level: str | None,
    against: str | None,
    source: str | None,
    *,
    bridges: bool,
    output: Path | None,
    sysroot: Path,
    notes: bool,
    format_: str,
) -> int:
    """Check a topology file (NCCL_TOPO_FILE) as NCCL reads it.

    Without FILE: the file that NCCL reads, from NCCL_TOPO_FILE, or the hypervisor's
    /var/run/nvidia-topologyd/virtualTopology.xml; '-' is standard input. Prints faults, the tree,
    and NCCL's distances between GPUs and adapters. --generate writes a file: for a platform of the
    catalogue, for this-machine from its /sys, or from the output ('-': standard input) of
    'lspci -Dvvnn' or 'lstopo --of xml'.

    --against compares FILE with such a description. Exit 1 if the file is wrong.
    """
    from weft.cli.doctor.topo_generation import THIS_MACHINE, generate, platform_named

    if sysroot != Path("/") and THIS_MACHINE not in (source, against):
        raise click.UsageError(f"--sysroot goes with --generate or --against {THIS_MACHINE}")
    if source is not None:
        if file is not None:
            raise click.UsageError("give one FILE, or --generate FROM")
        if platform or gdr_level or against or notes or format_ != "text":
            raise click.UsageError(
                "--platform, --gdr-level, --against, --notes and --format go with FILE"
            )
        return generate(source, bridges=bridges, output=output, sysroot=sysroot)
    if platform is None and against is not None:
        platform = platform_named(against)
    file = file or os.environ.get("NCCL_TOPO_FILE") or _file_of_the_host()
    if file is None:
        raise click.UsageError(
            "give a FILE, or --generate FROM: NCCL_TOPO_FILE names none, and there is no "
            f"{HOST_FILE}"
        )
    if bridges or output is not None:
        raise click.UsageError("--bridges and --output go with --generate")
    topology = _read(file)
    differences = _differences(topology, against, sysroot) if against is not None else ()
    return _judge(topology, differences, platform, gdr_level, notes=notes, format_=format_)


def _file_of_the_host() -> str | None:
    return str(HOST_FILE) if HOST_FILE.exists() else None


def _differences(topology: "TopologyFile", against: str, sysroot: Path) -> "list[Found]":
    from weft.cli.doctor.topo_generation import described
    from weft.doctor.topo.machine_comparison import differences_from

    return list(differences_from(topology, described(against, sysroot), against))


def _judge(
    topology: "TopologyFile",
    differences: "Iterable[Found]",
    platform: str | None,
    gdr_level: str | None,
    *,
    notes: bool,
    format_: str,
) -> int:
    from weft.cli.doctor.complaints import print_sarif
    from weft.doctor.topo.gpu_paths import near
    from weft.doctor.topo.judge import complaints_of, distances_of, known_of

    machine = _platform(platform)
    distances = distances_of(topology, known_of(machine), _level(gdr_level))
    found = near(distances) if distances is not None else ()
    complaints = complaints_of(topology, found, differences)
    if format_ == "sarif":
        print_sarif([(topology.name, complaints)])
    else:
        emit(
            format_,
            text=lambda: _text(topology, complaints, distances, platform, notes=notes),
            record=_record(topology, complaints, distances),
            rows=[_row(topology, one) for one in complaints],
        )
    is_bad = verdict_of(complaints).value == "bad"
    return int(ExitCode.VERDICT_BAD if is_bad else ExitCode.GOOD)


def _platform(name: str | None) -> "Platform | None":
    from weft.catalog.load import platform

    return platform(name) if name is not None else None


def _level(text: str | None) -> "PathType | None":
    from weft.catalog.libraries.nccl_topology import nccl_topology
    from weft.doctor.topo.graph import PathType

    if text is None:
        return None
    return PathType[nccl_topology().level(int(text)) if text.isdecimal() else text]


def _read(name: str) -> "TopologyFile":
    from weft.doctor.topo.xml import MOST_BYTES, read_topology, topology_file

    if name != "-":
        return topology_file(Path(name))
    text = read_text_input(expected=EXPECTED, most_bytes=MOST_BYTES, as_it_is=True)
    return read_topology("standard input", text)


def _record(
    topology: "TopologyFile", complaints: "Sequence[Complaint]", distances: "Distances | None"
) -> dict[str, Any]:
    from weft.doctor.lint import as_finding

    return {
        "schema": "weft.doctor-topo/1",
        "name": topology.name,
        "verdict": verdict_of(complaints).value,
        "is_refused": topology.is_refused,
        "n_elements": topology.n_elements,
        "n_unsaid": topology.n_unsaid,
        "findings": [as_finding(one, topology.name).to_record() for one in complaints],
        "distances": _distances(distances) if distances is not None else None,
    }


def _distances(distances: "Distances") -> dict[str, Any]:
    gpus, nets = distances.graph.gpus, distances.graph.nets

    def pair(gpu: "Vertex", net: "Vertex") -> dict[str, Any]:
        cell = distances.gpu_net(gpu, net)
        return {"way": cell.type.name, "gb_s": cell.gb_s, "gdr": cell.gdr}

    return {
        "gdr_level": distances.gdr_level.name,
        "gpus": [{"bus_id": gpu.name, "dev": gpu.number} for gpu in gpus],
        "nets": [{"name": net.name} for net in nets],
        "gpu_net": [[pair(gpu, net) for net in nets] for gpu in gpus],
        "gpu_gpu": [
            [
                {"way": cell.type.name, "gb_s": cell.gb_s}
                for cell in (distances.gpu_gpu(gpu, other) for other in gpus)
            ]
            for gpu in gpus
        ],
    }


def _row(topology: "TopologyFile", one: "Complaint") -> dict[str, Any]:
    return {
        "file": topology.name,
        "line": one.found.at.line,
        "column": one.found.at.column,
        "severity": one.severity.value,
        "rule": one.rule.id,
        "happens": one.happens,
        "fix": one.fix,
        "source": one.source,
    }


def _text(
    topology: "TopologyFile",
    complaints: "Sequence[Complaint]",
    distances: "Distances | None",
    platform: str | None,
    *,
    notes: bool,
) -> str:
    from weft.cli.doctor.topo_text import distance_lines, finding_lines, shown, verdict_line
    from weft.doctor.topo.drawing import tree_lines

    lines = [verdict_line(topology, complaints)]
    lines += finding_lines(topology, complaints, notes=notes)
    if topology.system is not None:
        lines += ["", *tree_lines(topology.system, terminal_width())]
    if distances is not None:
        lines += distance_lines(distances, platform, terminal_width())
    return shown(lines)
