"""`weft study`: list, show, plan, run and submit studies."""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from weft.bench.model import Launch
from weft.cli.backend.choice import BackendChoice, backend_options
from weft.cli.backend.opening import open_backend
from weft.cli.bench.congestion import AGGRESSOR, EACH, load_factor, require_aggressors
from weft.cli.measure import measure_study, plan_for, with_own_launches
from weft.cli.options import (
    JOB_NODES,
    NODE_SETS,
    REPEATS,
    RESUME,
    options_as,
    run_dir_option,
)
from weft.cli.output import emit, format_option, table_text
from weft.cli.study.block import block
from weft.cli.study.cost import StudyCost
from weft.cli.study.factors import factors
from weft.cli.study.status import status
from weft.cli.study.submit import submit
from weft.core.errors import ExitCode
from weft.core.nodeset import fold
from weft.core.units import format_duration, parse_duration
from weft.core.words import counted
from weft.study.run.launch_record import launch_to_record

if TYPE_CHECKING:
    from weft.bench.twin.together import Simulator
    from weft.study.plan.model import Study
    from weft.study.plan.plan import StudyPlan

_ORDER_SHOWN = 12
_NODES_SHOWN = 32


@dataclass(frozen=True, slots=True)
class StudyChanges:
    """The values of a study that the command line replaces."""

    repeats: int | None
    node_sets: int | None
    job_nodes: int | None
    aggressors: tuple[str, ...]
    each_aggressor: bool


BUDGET = click.option(
    "--budget",
    metavar="TIME",
    help="Twin only: drop repeats, node counts, ranks or sizes (never the smallest or largest), "
    "then node sets, until the study takes about TIME, such as 10m.",
)
CHANGES = options_as("changes", StudyChanges, (REPEATS, NODE_SETS, JOB_NODES, AGGRESSOR, EACH))


@click.group(name="study")
def command() -> None:
    """List, show, plan and run studies: arms compared over repeated launches."""


command.add_command(submit)
command.add_command(status)
command.add_command(block)
command.add_command(factors)


@command.command(name="list")
@format_option
def list_(format_: str) -> None:
    """List the studies of the catalogue."""
    from weft.catalog.load import study_names
    from weft.study.plan.document import load_study

    studies = [load_study(name)[0] for name in study_names()]
    rows = [
        {"name": s.name, "title": s.title, "question": s.question, "repeats": s.repeats}
        for s in studies
    ]
    emit(
        format_,
        text=lambda: table_text(("study", "title"), [(s.name, s.title) for s in studies], left=2),
        record={"studies": rows},
        rows=rows,
    )


@command.command()
@click.argument("study", metavar="STUDY")
@format_option
def show(study: str, format_: str) -> None:
    """Show a study document. STUDY is a name of the catalogue, a .toml file or a run directory."""
    from weft.study.plan.document import load_study

    document, text = load_study(study)
    record = document.model_dump(mode="json", by_alias=True)
    emit(
        format_,
        text=lambda: text,
        record=record,
        # Lists as words, for CSV.
        rows=[
            {
                **record,
                **{key: " ".join(map(str, record[key])) for key in ("nodes", "tasks_per_node")},
                **{
                    key: " ".join(one["name"] for one in record[key])
                    for key in ("benchmarks", "factors")
                },
            }
        ],
    )


@command.command()
@click.argument("study", metavar="STUDY")
@CHANGES
@BUDGET
@backend_options
@format_option
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    *,
    study: str,
    changes: StudyChanges,
    budget: str | None,
    choice: BackendChoice,
    format_: str,
) -> None:
    """Show the launches of a study on these nodes, in their order, and on a twin how long it takes.
    Runs nothing."""
    document, text = _study(ctx, study, changes, choice)
    choice = _sized(choice, document)
    backend, nodes = open_backend(choice, may_compare=True)
    document, _ = with_own_launches(document, text, backend)
    backend.close()
    cost = StudyCost(backend)
    left_out: tuple[str, ...] = ()
    if budget is not None:
        document, left_out = cost.thinned(document, nodes, parse_duration(budget))
    made = plan_for(document, nodes, choice, backend)
    seconds = cost.seconds(made.launches)
    how_long = None if seconds is None else cost.line(seconds)
    rows = [launch_to_record(launch) for launch in made.launches]
    emit(
        format_,
        text=lambda: _plan_text(document, made, how_long, left_out),
        record={
            "study": document.name,
            "n_launches": len(rows),
            "n_trials": len(made.trials),
            "interleaved": made.interleaved,
            "remarks": list(made.remarks),
            "estimated_s": seconds,
            "left_out": list(left_out),
            "launches": rows,
        },
        rows=[{key: _word(value) for key, value in row.items()} for row in rows],
    )


def _word(value: object) -> object:
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return json.dumps(value) if isinstance(value, dict) else value


@command.command()
@click.argument("study", metavar="STUDY")
@run_dir_option("The run directory. Default: runs/STUDY-DATE-TIME.")
@RESUME
@CHANGES
@click.option("--dry-run", is_flag=True, help="Print what each trial would launch; run nothing.")
@BUDGET
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Twin only: run the study again at half and at twice each assumed constant; compare and "
    "report then say which verdicts change.",
)
@click.option(
    "--executor",
    type=click.Choice(["local", "mpi"]),
    default="local",
    show_default=True,
    help="Twin only: simulate on the cores of this machine, or on the other ranks of the MPI job "
    "that weft was started in ('srun -n 64 weft study run ...', a core each).",
)
@backend_options
@format_option
@click.pass_context
def run(
    ctx: click.Context,
    /,
    *,
    study: str,
    changes: StudyChanges,
    choice: BackendChoice,
    format_: str,
    budget: str | None,
    executor: str,
    **where: Any,
) -> int:
    """Run a study. STUDY is a name of the catalogue or a .toml file.

    Every completed launch is kept: after an interrupt or a kill, --resume goes on. Exit 4 where a
    launch failed or hung.
    """

    def measured(simulator: "Simulator | None") -> int:
        document, text = _study(ctx, study, changes, choice)
        return measure_study(
            lambda _: (document, text),
            _sized(choice, document),
            format_,
            budget_s=None if budget is None else parse_duration(budget),
            simulator=simulator,
            **where,
        )

    if executor == "local":
        return measured(None)
    from weft.bench.twin.together import mpi_ranks

    with mpi_ranks() as ranks:
        # The other ranks have simulated for this one.
        return int(ExitCode.GOOD) if ranks is None else measured(ranks)


def _sized(choice: BackendChoice, document: "Study") -> BackendChoice:
    """A twin has as many nodes as the study says, where no option does, and its cabling."""
    if choice.twin is None or choice.fabric:
        return choice
    nodes = document.twin_nodes if choice.nodes is None else choice.nodes
    return replace(choice, nodes=nodes, cabled=document.twin_cabled)


def _study(
    ctx: click.Context, name: str, changes: StudyChanges, choice: BackendChoice
) -> "tuple[Study, str]":
    """The study with the values of the command line; the seed only where one was typed."""
    from click.core import ParameterSource

    from weft.catalog.document import to_toml
    from weft.study.plan.document import load_study
    from weft.study.plan.live import with_load

    typed = ctx.get_parameter_source("seed") is ParameterSource.COMMANDLINE
    nodes = None if changes.job_nodes is None else (changes.job_nodes,)
    changed = {"repeats": changes.repeats, "node_sets": changes.node_sets, "nodes": nodes}
    document, text = load_study(name, {**changed, "seed": choice.seed if typed else None})
    require_aggressors(changes.aggressors, each=changes.each_aggressor)
    if not changes.aggressors:
        return document, text
    beside = with_load(document, load_factor(changes.aggressors, each=changes.each_aggressor))
    return beside, to_toml(beside)


def _plan_text(
    document: "Study", made: "StudyPlan", how_long: str | None, left_out: tuple[str, ...]
) -> str:
    n_arms = len({tuple(trial.arm.items()) for trial in made.trials})
    longest = sum(launch.trial.timeout_s for launch in made.launches)
    lines = [
        f"{document.title}",
        f"{len(made.launches)} launches: {len(made.trials)} trials, "
        f"{counted(n_arms, 'arm')}, {counted(made.repeats, 'repeat')}",
        *([] if how_long is None else [how_long]),
        f"at the very most {format_duration(longest)} (every launch at its time-out)",
        *([f"left out: {'; '.join(left_out)}"] if left_out else []),
        *made.remarks,
    ]
    if not made.interleaved:
        lines.append("the arms of a manual factor are not interleaved")
    return "\n".join([*lines, "", _order_text(made.launches)])


def _order_text(launches: tuple[Launch, ...]) -> str:
    rows = [
        (
            str(launch.order),
            launch.name,
            _setting_text(launch),
            _shown_nodes(launch.trial.nodes),
            str(launch.trial.n_ranks),
        )
        for launch in launches[:_ORDER_SHOWN]
    ]
    text = table_text(("order", "launch", "arm", "nodes", "ranks"), rows, left=4)
    more = len(launches) - len(rows)
    return f"{text}\n... and {more} more (--format csv lists all)" if more > 0 else text


def _setting_text(launch: Launch) -> str:
    from weft.study.comparison.cells import arm_name

    setting = {**launch.trial.arm, **launch.trial.condition}
    return arm_name(setting) if setting else "-"


def _shown_nodes(nodes: tuple[str, ...]) -> str:
    """The node set, cut where scattered nodes would make it wider than a terminal."""
    folded = fold(nodes)
    return folded if len(folded) <= _NODES_SHOWN else f"{folded[: _NODES_SHOWN - 4]} ..."
