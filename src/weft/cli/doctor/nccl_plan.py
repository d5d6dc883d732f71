"""`weft doctor nccl-plan LIBNCCL`: what a library of NCCL would do on given nodes."""

import os
from collections.abc import Callable
from pathlib import Path

import click

from weft.cli.options import EXISTING_FILE, NODE_COUNT
from weft.cli.output import emit, format_option

USUAL_SIZES = "1K:16G"
USUAL_NODES = "1,2,4,16,64"


@click.command("nccl-plan")
@click.argument("library", metavar="[LIBNCCL]", type=EXISTING_FILE, required=False)
@click.option("--nccl", metavar="VERSION", help="No library: weft's own search of this version.")
@click.option("--platform", metavar="P", help="The machine, where no file or only bus ids are.")
@click.option("--topo", "topology", type=EXISTING_FILE, help="A topology file of a node.")
@click.option(
    "--nodes", default=USUAL_NODES, show_default=True, metavar="N,N", help="Numbers of nodes."
)
@click.option(
    "--size",
    default=USUAL_SIZES,
    show_default=True,
    metavar="SIZES",
    help="As '8', '64K,1M' or '8:4M'.",
)
@click.option(
    "--collective",
    default="allreduce",
    show_default=True,
    type=click.Choice(["allreduce", "allgather", "reduce_scatter", "broadcast", "reduce"]),
    help="Whose algorithm and protocol.",
)
@click.option("--channels", is_flag=True, help="List the GPUs and adapters of each channel.")
@click.option(
    "--against", type=EXISTING_FILE, metavar="OTHER", help="Another library: what differs."
)
@format_option
def command(
    library: Path | None,
    *,
    nccl: str | None,
    platform: str | None,
    topology: Path | None,
    nodes: str,
    size: str,
    collective: str,
    channels: bool,
    against: Path | None,
    format_: str,
) -> None:
    """What would this libnccl.so do on your nodes?

    weft loads the library in a process of its own and calls NCCL's own search and tuner, which want
    no GPU: channels of rings and trees with their rates, and which algorithm and protocol it
    chooses by size. It needs the symbols and debugging information that NVIDIA's libraries carry
    (wheels of PyPI do; a stripped one cannot be asked).

    The nodes are those of --platform, or of a topology file (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE).
    Variables of NCCL in this environment count, as for a job.

    --nccl VERSION needs no library: weft searches for the channels itself, as that version does.
    Of the variables NCCL_CROSS_NIC alone counts then, and there are no algorithms by size.
    """
    from weft.cli.doctor.nccl_plan_text import plan_record, plan_rows, plan_text
    from weft.core.units import parse_size_range
    from weft.doctor.nccl_plan.asking import ask_library
    from weft.doctor.nccl_plan.nodes import NodesOf, difference_from, topology_of
    from weft.doctor.nccl_plan.own_search import cross_nic_of, own_plan

    if (library is None) == (nccl is None):
        raise click.UsageError("give a file LIBNCCL, or --nccl VERSION")
    if platform is None and topology is None:
        raise click.UsageError("give --platform P, or --topo FILE, or both")
    counts = _counts(nodes)
    job = topology_of(platform, topology)
    sizes = parse_size_range(size)
    plans = []
    if nccl is not None:
        cross_nic = cross_nic_of(os.environ.get("NCCL_CROSS_NIC"))
        plans.append(own_plan(job, nccl, nodes=counts, cross_nic=cross_nic))
    plans += [
        ask_library(one, job, nodes=counts, sizes_bytes=sizes, collectives=(collective,))
        for one in (library, against)
        if one is not None
    ]
    differs = difference_from(platform, job) if platform and topology else ""
    of = NodesOf(platform or "", str(topology or ""), differs)
    emit(
        format_,
        text=lambda: plan_text(plans, of, collective, channels=channels),
        record=plan_record(plans, of, collective),
        rows=plan_rows(plans, collective),
    )


def _counts(text: str) -> tuple[int, ...]:
    to_count: Callable[[str], int] = NODE_COUNT
    return tuple(sorted({to_count(one) for one in text.split(",")}))
