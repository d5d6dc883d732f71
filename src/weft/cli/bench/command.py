"""`weft bench`: how fast is this path or this collective?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import tomli_w

from weft.bench.metrics import P99_FROM_ITERATIONS
from weft.bench.twin.congestion_control import LAWS, OFF
from weft.cli.backend.choice import BackendChoice, backend_options, require_twin
from weft.cli.bench.congestion import (
    AGGRESSOR,
    AGGRESSORS,
    EACH,
    GPCNET_NAMES,
    PRESET,
    REPEATS,
    VICTIMS,
    job_size,
    load_factor,
    require_aggressors,
)
from weft.cli.bench.congestion import gpcnet_text as gpcnet_tables
from weft.cli.lazy import CommandWithVerbs
from weft.cli.measure import measure_study
from weft.cli.options import (
    JOB_NODES,
    NODE_SETS,
    RESUME,
    NumberRange,
    options_as,
    run_dir_option,
)
from weft.cli.output import format_option
from weft.core.errors import InputError
from weft.core.units import parse_size_range

if TYPE_CHECKING:
    from weft.study.plan.model import Study


class Bench(CommandWithVerbs):
    """`weft bench`, with the verb `rdma-pairs`."""

    verbs = ("rdma-pairs",)
    folder = "bench"


@dataclass(frozen=True, slots=True)
class BenchScale:
    """How many launches on how many nodes, and what sends beside them."""

    tasks_per_node: int | None
    repeats: int | None
    node_sets: int | None
    job_nodes: int | None
    aggressors: tuple[str, ...]
    each_aggressor: bool


SCALE = options_as(
    "scale",
    BenchScale,
    (
        click.option("--tasks-per-node", type=click.IntRange(1), help="Ranks a node. Default: 1."),
        click.option(
            "--repeats",
            type=click.IntRange(1, 10_000),
            help="Launches of each benchmark. Default: 3; with aggressors 6, on a twin 6 node "
            "sets.",
        ),
        NODE_SETS,
        JOB_NODES,
        AGGRESSOR,
        EACH,
    ),
)


@click.command(name="bench", cls=Bench)
@click.argument("benchmarks", nargs=-1, metavar="BENCHMARK...")
@click.option("--sizes", default="", help="'8', '8,64K' or '1:4M'. Default: the benchmark's own.")
@click.option(
    "--gpcnet-text",
    is_flag=True,
    help="With aggressors: print the tables of GPCNeT's network_load_test.",
)
@SCALE
@click.option("--iterations", type=click.IntRange(1), help="Instead of OSU's by size.")
@click.option(
    "--time-limit",
    "max_seconds_per_size",
    metavar="SECONDS",
    type=NumberRange(0, 86_400, min_open=True),
    help="Of a message size: fewer iterations where they take longer, five at least (live runs).",
)
@click.option(
    "--window", type=click.IntRange(1), help="Messages in flight. Default: 64; rings 8, or 1."
)
@click.option("--skew", type=NumberRange(0, 1), help="alltoallv: how unequal its blocks are.")
@click.option("--validate", is_flag=True, help="Check every received byte (live runs).")
@click.option(
    "--sync",
    type=click.Choice(["barrier", "window"]),
    help="How an iteration of a collective starts: after a barrier, or at an agreed time.",
)
@click.option(
    "--adaptive/--static",
    "adaptive_routing",
    default=None,
    callback=lambda _context, _option, on: None if on is None else ("on" if on else "off"),
    help="Twin only: switches choose the least loaded of all shortest paths, or never. Default: "
    "those of a dragonfly do.",
)
@click.option(
    "--congestion-control",
    type=click.Choice([*LAWS, OFF]),
    help=f"Twin only. {' '.join(f'{law}: {text}' for law, text in LAWS.items())} Default: the "
    "platform's, endpoint on Slingshot.",
)
@run_dir_option("Where the run is kept. Default: runs/bench-<time>.")
@RESUME
@click.option("--dry-run", is_flag=True, help="Print what would be launched; run nothing.")
@backend_options
@format_option
def command(
    *,
    benchmarks: tuple[str, ...],
    sizes: str,
    scale: BenchScale,
    gpcnet_text: bool,
    run_dir: Path | None,
    resume: bool,
    dry_run: bool,
    choice: BackendChoice,
    format_: str,
    **given: Any,
) -> int:
    """How fast is this path or this collective?

    BENCHMARK is point to point: latency, bandwidth, bidirectional, message_rate; a collective:
    barrier, allreduce, reduce, reduce_scatter, broadcast, allgather, alltoall, alltoallv, gather,
    scatter; or between all: fan_in, fan_out, random_ring_latency, random_ring_bandwidth,
    natural_ring_bandwidth. Point-to-point benchmarks use two nodes, the others all of --hosts (or
    of the twin's --nodes or --fabric), unless --job-nodes says how many; on one host all ranks
    share it. Iterations, windows and figures are defined as OSU's, those of rings as HPCC's and
    GPCNeT's.

    BENCHMARK congestion-impact stands for GPCNeT's three tests beside its four aggressors, on 80 %
    of the nodes, and --aggressor for others beside any benchmark.

    `weft bench rdma-pairs A B` measures RDMA on all rails between two hosts, by perftest.
    """
    if not benchmarks:
        raise InputError(
            "no benchmark named",
            expected="one or more of latency, bandwidth, allreduce ... (weft bench --help)",
            hint="weft bench latency bandwidth",
        )
    if choice.twin is not None and given["max_seconds_per_size"] is not None:
        raise InputError(
            "--time-limit and --twin contradict each other",
            expected="--iterations: a simulated fabric takes no time",
        )
    routing = "--static" if given["adaptive_routing"] == "off" else "--adaptive"
    twin_only = {routing: "adaptive_routing", "--congestion-control": "congestion_control"}
    require_twin(choice, {option: given[key] for option, key in twin_only.items()})
    options = {name: value for name, value in given.items() if value not in (None, False)}
    scale = _with_aggressors(benchmarks, sizes, scale, gpcnet_text=gpcnet_text)
    if gpcnet_text:
        options = _enough_for_tails(options, scale, on_twin=choice.twin is not None)
    uses = [use for name in benchmarks for use in _uses(name, sizes, options)]

    def study_on(nodes: Sequence[str]) -> "tuple[Study, str]":
        from weft.study.plan.document import parse_study

        plan = _plan(uses, nodes, scale, on_twin=choice.twin is not None)
        text = _study_text(uses, {"seed": choice.seed, **plan})
        return parse_study(text, "weft bench"), text

    return measure_study(
        study_on,
        choice,
        format_,
        run_dir=run_dir,
        resume=resume,
        dry_run=dry_run,
        shown=gpcnet_tables if gpcnet_text else None,
    )


def _with_aggressors(
    benchmarks: Sequence[str], sizes: str, scale: BenchScale, *, gpcnet_text: bool
) -> BenchScale:
    """With those of congestion-impact, where that is named. Raises InputError."""
    if set(benchmarks) & set(PRESET):
        scale = replace(scale, aggressors=scale.aggressors or AGGRESSORS)
        if sizes:
            raise InputError(
                f"--sizes {sizes} with congestion-impact",
                expected="its own sizes: 8 B and 128 KiB",
                hint="name its benchmarks, and --aggressor, to measure other sizes",
            )
    if gpcnet_text and scale.each_aggressor:
        raise InputError(
            "--gpcnet-text with --each-aggressor", expected="one of them: it has one load"
        )
    require_aggressors(scale.aggressors, each=scale.each_aggressor)
    if gpcnet_text and not scale.aggressors:
        raise InputError(
            "--gpcnet-text needs aggressors", expected="congestion-impact, or --aggressor"
        )
    if gpcnet_text and not {*benchmarks} & {*PRESET, *GPCNET_NAMES}:
        raise InputError(
            "--gpcnet-text: nothing is measured that GPCNeT measures",
            expected=", ".join((PRESET[0], *GPCNET_NAMES)),
        )
    return scale


def _enough_for_tails(
    options: dict[str, Any], scale: BenchScale, *, on_twin: bool
) -> dict[str, Any]:
    """The options with so many iterations that there is a 99 % of them. Raises InputError."""
    n_launches = (scale.repeats or (1 if on_twin else REPEATS)) * (
        scale.node_sets or (REPEATS if on_twin else 1)
    )
    fewest = -(-P99_FROM_ITERATIONS // n_launches)
    given = options.get("iterations", fewest if on_twin else None)
    if given is not None and given < fewest:
        raise InputError(
            f"--gpcnet-text: {given * n_launches} iterations have no 99 %",
            expected=f"--iterations {fewest} or more, in {n_launches} launches",
        )
    return options if given is None else {**options, "iterations": given}


def _plan(
    uses: Sequence[dict[str, Any]], nodes: Sequence[str], scale: BenchScale, *, on_twin: bool
) -> dict[str, Any]:
    """Nodes, repeats and factors of the study document."""
    plan = {
        "repeats": scale.repeats or 3,
        "node_sets": scale.node_sets or 1,
        "tasks_per_node": [scale.tasks_per_node or 1],
    }
    names = tuple(str(use["name"]) for use in uses)
    n_nodes = _n_nodes(names, nodes)
    if not scale.aggressors:
        return {**plan, "nodes": [scale.job_nodes or n_nodes]}
    if n_nodes > 2:
        n_nodes = job_size(scale.aggressors, len(nodes))
    return {
        **plan,
        "nodes": [scale.job_nodes or n_nodes],
        "repeats": scale.repeats or (1 if on_twin else REPEATS),
        "node_sets": scale.node_sets or (REPEATS if on_twin else 1),
        "factors": [load_factor(scale.aggressors, each=scale.each_aggressor)],
    }


def _uses(name: str, sizes: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The benchmarks that a name stands for. Raises InputError for an unknown one."""
    if name in PRESET:
        return [
            {**victim, "options": {**victim.get("options", {}), **options}} for victim in VICTIMS
        ]
    return [_use(name, sizes, options)]


def _use(name: str, sizes: str, options: dict[str, Any]) -> dict[str, Any]:
    """One benchmark of the study document. Raises InputError for an unknown name."""
    from weft.catalog.load import benchmark

    known = benchmark(name)
    if known.kind == "pairs":
        raise InputError("'pairs' is what `weft check` runs", hint="weft check --hosts NODESET")
    if sizes:
        parse_size_range(sizes)
    wanted = sizes if known.sizes else ""
    return {"name": name, "sizes": wanted, "options": options}


def _n_nodes(benchmarks: tuple[str, ...], nodes: Sequence[str]) -> int:
    """Two for point-to-point; every node there is when a collective is among them."""
    from weft.catalog.load import benchmark

    if all(benchmark(name).kind == "pt2pt" for name in benchmarks):
        return 2
    return max(2, len(nodes))


def _study_text(uses: list[dict[str, Any]], plan: dict[str, Any]) -> str:
    """The study document this call stands for, so that the run records it like any other."""
    names = ", ".join(use["name"] for use in uses)
    return tomli_w.dumps(
        {
            "schema": "weft.study/1",
            "name": "bench",
            "title": f"bench: {names}",
            "question": f"How fast is {names} here?",
            **plan,
            "benchmarks": uses,
        }
    )
