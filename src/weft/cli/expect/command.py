"""`weft expect`: what a path or a collective should deliver, and what limits it."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from weft.cli.options import EXISTING_FILE, GPU_COUNT, NODE_COUNT
from weft.cli.output import emit, format_option
from weft.core.shell_line import shell_line


@click.command("expect")
@click.argument("words", metavar="[PLATFORM] [BENCHMARK]", nargs=-1)
@click.option("--nodes", "n_nodes", type=NODE_COUNT, help="Nodes; 2 if not given.")
@click.option("--tasks-per-node", type=click.IntRange(min=1), help="Ranks (GPUs) on each node.")
@click.option("--gpus", type=GPU_COUNT, help="GPUs in all: NCCL on full nodes.")
@click.option("--size", metavar="SIZES", help="As '8', '64K,1M' or '8:4M'.")
@click.option("--memory", type=click.Choice(["host", "gpu"]), help="Where the buffers lie.")
@click.option("--library", type=click.Choice(["mpi", "verbs", "nccl"]), help="Library that sends.")
@click.option(
    "--algorithm", default="", metavar="A", help="Algorithm, instead of the library's choice."
)
@click.option("--protocol", default="", metavar="P", help="NCCL: LL, LL128 or Simple.")
@click.option("--nccl", "nccl_version", default="", metavar="V", help="NCCL's version, as 2.26.5.")
@click.option(
    "--libnccl", type=EXISTING_FILE, metavar="FILE", help="NCCL: ask this library what it chooses."
)
@click.option(
    "--topo", "topology", type=EXISTING_FILE, help="With --libnccl: a topology file of a node."
)
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
    libnccl: Path | None,
    topology: Path | None,
    explain: bool,
    format_: str,
    **given: Any,
) -> None:
    """What should this path or collective deliver, and what limits it?

    PLATFORM is a name of the catalogue or a .toml file of your own; without one weft takes this
    machine, as `weft platform detect` reads it. BENCHMARK is a name of ours or of OSU, nccl-tests
    or perftest: latency, osu_bw, all_reduce_perf, ib_write_bw.

    A machine with GPUs answers for NCCL and GPU memory first where BENCHMARK is a name of ours,
    for MPI from host memory second. Without BENCHMARK weft lists the usual values of PLATFORM.

    One size gives the value with its parts; several give a table.
    """
    from weft.api.expectation import PlatformQuestion, predictions
    from weft.cli.expect.text import answer_text, figures_of, overview_text, record_of, row_of
    from weft.doctor.machine.detection.document import platform_named

    where, benchmark = _platform_and_benchmark(words)
    document = platform_named(where)
    given |= {"size": size, "libnccl": libnccl}
    question = PlatformQuestion(where, document, benchmark, topology)
    found, asked_of = predictions(question, given)
    figures = figures_of(document, found) if explain else []
    following = _next(where, benchmark, explain=explain)
    text = overview_text if benchmark is None else answer_text
    emit(
        format_,
        text=lambda: "\n".join(
            [
                text(document, found, figures),
                *([asked_of] if asked_of else []),
                "",
                f"next: {following}",
            ]
        ),
        record=record_of(document, found, figures),
        rows=[row_of(document, *pair) for pair in found],
    )


def _platform_and_benchmark(words: tuple[str, ...]) -> tuple[str, str | None]:
    """(platform, benchmark) of the arguments; None where only a platform is named."""
    from weft.catalog.load import platform_names
    from weft.catalog.machine.generic import PREFIX
    from weft.core.errors import InputError, did_you_mean
    from weft.doctor.machine.detection.document import HERE
    from weft.expect.names import benchmark_names, parse_benchmark

    if len(words) > 2:
        raise click.UsageError(f"Got unexpected extra argument ({words[2]})")
    if not words:
        return HERE, None
    if len(words) == 2:
        return words[0], words[1]
    (word,) = words
    is_file_or_link = word.endswith(".toml") or word.startswith(PREFIX)
    if word in platform_names() or word == HERE or is_file_or_link:
        return word, None
    try:
        parse_benchmark(word)
    except InputError:
        raise InputError(
            f"'{word}' is no platform and no benchmark",
            expected="a platform (weft platform list), or a benchmark of weft, OSU, nccl-tests or"
            " perftest",
            hint=did_you_mean(word, [*platform_names(), *benchmark_names()]),
        ) from None
    return HERE, word


def _next(where: str, benchmark: str | None, *, explain: bool) -> str:
    """The command as it was typed with its figures listed; then the platform's own page."""
    if explain:
        return shell_line(["weft", "platform", "show", where])
    context = click.get_current_context()
    options: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if isinstance(parameter, click.Option) and source is ParameterSource.COMMANDLINE:
            value = context.params[parameter.name or ""]
            options += [parameter.opts[0], *([] if parameter.is_flag else [str(value)])]
    named = [where] if benchmark is None else [where, benchmark]
    return shell_line(["weft", "expect", *named, *options, "--explain"])
