"""`weft expect`: what a path or a collective should deliver, and what limits it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from weft.cli.output import emit, format_option
from weft.core.errors import InputError
from weft.core.units import parse_size_range

if TYPE_CHECKING:
    from weft.catalog.machine.platform import Platform
    from weft.expect.model import Conditions, Library


@click.command("expect")
@click.argument("words", metavar="[PLATFORM] BENCHMARK", nargs=-1, required=True)
@click.option("--nodes", "n_nodes", type=click.IntRange(min=1), help="Nodes; 2 if not given.")
@click.option("--tasks-per-node", type=click.IntRange(min=1), help="Ranks (GPUs) on each node.")
@click.option("--gpus", type=click.IntRange(min=2), help="GPUs in all: NCCL on full nodes.")
@click.option("--size", metavar="SIZES", help="As '8', '64K,1M' or '8:4M'.")
@click.option("--memory", type=click.Choice(["host", "gpu"]), help="Where the buffers lie.")
@click.option("--library", type=click.Choice(["mpi", "verbs", "nccl"]), help="Library that sends.")
@click.option(
    "--algorithm", default="", metavar="A", help="Algorithm, instead of the library's choice."
)
@click.option("--protocol", default="", metavar="P", help="NCCL: LL, LL128 or Simple.")
@click.option("--nccl", "nccl_version", default="", metavar="V", help="NCCL's version, as 2.26.5.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Messages in flight at once.",
)
@click.option("--hcas", "n_hcas", type=click.IntRange(min=1), help="HCAs of a node in use.")
@click.option(
    "--transport",
    type=click.Choice(["rdma", "network", "sockets"]),
    help="rdma: no NVLink between nodes; network: none inside either; sockets: TCP.",
)
@click.option("--without-gpudirect", is_flag=True, help="Copy through host memory.")
@click.option("--explain", is_flag=True, help="List every figure that the prediction uses.")
@format_option
def command(
    words: tuple[str, ...],
    *,
    size: str | None,
    explain: bool,
    format_: str,
    **given: Any,
) -> None:
    """What should this path or collective deliver, and what limits it?

    PLATFORM is a name of the catalogue or a .toml file of your own; without one weft takes this
    machine, as `weft platform detect` reads it. BENCHMARK is a name of ours or of OSU, nccl-tests
    or perftest: latency, osu_bw, all_reduce_perf, ib_write_bw.

    One size gives the value with its parts; several give a table.
    """
    from weft.catalog.load import platform_names
    from weft.cli.expect.text import curve_text, figures_of, one_text, record_of, row_of
    from weft.doctor.machine.detection.document import HERE, platform_named
    from weft.expect.names import parse_benchmark
    from weft.expect.prediction import predict

    if len(words) > 2:
        raise click.UsageError(f"Got unexpected extra argument ({words[2]})")
    if len(words) == 1 and words[0] in platform_names():
        raise click.UsageError("Missing argument 'BENCHMARK'.")
    benchmark_name, library = parse_benchmark(words[-1])
    document = platform_named(words[0] if len(words) == 2 else HERE)
    base = _conditions(document, benchmark_name, library, {**given, "size": size})
    found = [(one, predict(document, one)) for one in _sized(base, size)]
    figures = figures_of(document, found) if explain else []
    emit(
        format_,
        text=lambda: (
            one_text(document, *found[0], figures)
            if len(found) == 1
            else curve_text(document, found, figures)
        ),
        record=record_of(document, found, figures),
        rows=[row_of(document, *pair) for pair in found],
    )


def _conditions(
    document: "Platform", benchmark: str, library: "Library", given: dict[str, Any]
) -> "Conditions":
    """The conditions of all options. Raises InputError where they contradict one another."""
    from weft.expect.model import Conditions

    gpus, n_nodes, tasks = given["gpus"], given["n_nodes"], given["tasks_per_node"]
    library = given["library"] or ("nccl" if gpus and library == "mpi" else library)
    if (gpus or library == "nccl") and document.gpus is None:
        raise InputError(
            f"platform '{document.name}' has no GPUs",
            expected="a platform with [gpus]; `weft platform list` names them",
        )
    if document.gpus is not None and (gpus or library == "nccl"):
        per_node = document.gpus.per_node.whole
        if gpus and tasks is None:
            tasks = gpus // n_nodes if n_nodes else min(gpus, per_node)
        tasks = tasks or per_node
        n_nodes = n_nodes or (-(-gpus // tasks) if gpus else 2)
        if gpus and n_nodes * tasks != gpus:
            raise InputError(
                f"{gpus} GPUs on {n_nodes} nodes",
                expected=f"as many on each; a node has {per_node}",
            )
    _refuse_unused(benchmark, library, given)
    cores = document.node.get("cores")
    if cores is not None and (tasks or 1) > cores.value:
        raise InputError(
            f"{tasks} tasks on a node of platform '{document.name}'",
            expected=f"at most {cores.whole}, one a core",
        )
    return Conditions(
        benchmark=benchmark,
        size_bytes=0,
        n_nodes=n_nodes or 2,
        tasks_per_node=tasks or 1,
        memory=given["memory"] or ("gpu" if library == "nccl" else "host"),
        library=library,
        library_version=given["nccl_version"],
        algorithm=given["algorithm"],
        protocol=given["protocol"],
        window=given["window"],
        n_hcas=given["n_hcas"],
        transport=given["transport"] or "",
        gpudirect=not given["without_gpudirect"],
    )


def _refuse_unused(benchmark: str, library: "Library", given: dict[str, Any]) -> None:
    """Refuse options without an effect. Raises InputError."""
    from weft.expect.algorithms import ALGORITHMS

    nccl = library == "nccl"
    host = (given["memory"] or ("gpu" if nccl else "host")) == "host"
    unused = {
        "--protocol": bool(given["protocol"]) and not nccl,
        "--nccl": bool(given["nccl_version"]) and not nccl,
        "--memory host": given["memory"] == "host" and nccl,
        "--algorithm": bool(given["algorithm"]) and not nccl and benchmark not in ALGORITHMS,
        "--without-gpudirect": given["without_gpudirect"] and host,
        "--size": given["size"] is not None and benchmark == "barrier",
    }
    for option, is_unused in unused.items():
        if is_unused:
            memory = "host" if host else "GPU"
            raise InputError(
                f"{option} does not apply to {benchmark} ({library}, {memory} memory)",
                expected="the command without this option",
            )


USUAL_NCCL_BYTES = 1 << 30
USUAL_SMALL_BYTES = 8


def _sized(base: "Conditions", size: str | None) -> "list[Conditions]":
    """The conditions of each size; without one, the size by which a benchmark is usually quoted."""
    from weft.catalog.load import benchmark

    document = benchmark(base.benchmark)
    if not document.sizes:
        return [base]
    if size is not None:
        return [replace(base, size_bytes=one) for one in parse_size_range(size)]
    usual = USUAL_SMALL_BYTES
    if base.library == "nccl":
        usual = USUAL_NCCL_BYTES
    elif document.headline.startswith("bandwidth"):
        usual = max(document.sizes_bytes)
    return [replace(base, size_bytes=usual)]
