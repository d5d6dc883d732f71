"""`weft doctor topo FILE`: a topology file of NCCL, read as NCCL reads it."""

import os
from pathlib import Path

import click

from weft.cli.fail_on import fail_on_option
from weft.cli.options import ANY_PATH
from weft.cli.output import format_option_of

HOST_FILE = Path("/var/run/nvidia-topologyd/virtualTopology.xml")
"""NCCL reads it where NCCL_TOPO_FILE is not set. SOURCE: NVIDIA/nccl v2.30.7, src/graph/topo.cc:
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
@click.option(
    "--nccl",
    "library",
    flag_value="nccl",
    help="Read FILE as NCCL does. Default: as the library it was written for.",
)
@click.option("--rccl", "library", flag_value="rccl", help="Read FILE as RCCL does.")
@click.option("--notes", is_flag=True, help="Show notes, too.")
@fail_on_option
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
    library: str | None,
    notes: bool,
    format_: str,
) -> int:
    """Check a topology file (NCCL_TOPO_FILE) as NCCL reads it.

    Without FILE: the file that NCCL reads, from NCCL_TOPO_FILE, or the hypervisor's
    /var/run/nvidia-topologyd/virtualTopology.xml; '-' is standard input. Prints faults, the tree,
    and NCCL's distances between GPUs and adapters. --generate writes a file: for a platform of the
    catalogue, for this-machine from its /sys, or from the output ('-': standard input) of
    'lspci -Dvvnn' or 'lstopo --of xml'.

    --against compares FILE with such a description. A file of RCCL (version 2, AMD's GPUs) is read
    as RCCL reads it; --nccl and --rccl choose the reader. Exit 1 if the file is wrong, 5 if it
    states no class or link of a device.
    """
    from weft.cli.doctor.topo_generation import THIS_MACHINE, described, generate, platform_named
    from weft.cli.doctor.topo_text import print_judgement
    from weft.doctor.topo.dialect import DIALECTS
    from weft.doctor.topo.machine_comparison import differences_from
    from weft.doctor.topo.xml import topology_file

    if sysroot != Path("/") and THIS_MACHINE not in (source, against):
        raise click.UsageError(f"--sysroot goes with --generate or --against {THIS_MACHINE}")
    if source is not None:
        if file is not None:
            raise click.UsageError("give one FILE, or --generate FROM")
        if platform or gdr_level or against or library or notes or format_ != "text":
            raise click.UsageError(
                "--platform, --gdr-level, --against, --nccl, --rccl, --notes and --format "
                "go with FILE"
            )
        return generate(source, bridges=bridges, output=output, sysroot=sysroot)
    named = file or os.environ.get("NCCL_TOPO_FILE")
    if not named and not HOST_FILE.exists():
        raise click.UsageError(
            "give a FILE, or --generate FROM: NCCL_TOPO_FILE names none, and there is no "
            f"{HOST_FILE}"
        )
    if bridges or output is not None:
        raise click.UsageError("--bridges and --output go with --generate")
    topology = topology_file(Path(named or HOST_FILE), DIALECTS[library] if library else None)
    differences = []
    if against is not None:
        platform = platform or platform_named(against)
        differences = [*differences_from(topology, described(against, sysroot), against)]
    return print_judgement(
        topology,
        differences,
        platform,
        gdr_level,
        is_compared=against is not None,
        notes=notes,
        format_=format_,
    )
