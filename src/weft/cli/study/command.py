"""`weft study`: list, show, plan, run and submit studies."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.bench.model import Launch
from weft.cli.backend import BackendChoice, backend_options, open_backend
from weft.cli.measure import MeasureOptions, measure_study, plan_for
from weft.cli.options import REPEATS, RESUME, run_dir_option
from weft.cli.output import emit, format_option, table_text
from weft.cli.study.block import block
from weft.cli.study.status import status
from weft.cli.study.submit import submit
from weft.core.nodeset import fold
from weft.core.units import format_duration
from weft.study.run.launch_record import launch_to_record

if TYPE_CHECKING:
    from weft.study.plan.model import Study
    from weft.study.plan.plan import StudyPlan

_ORDER_SHOWN = 12
_NODES_SHOWN = 32


@click.group(name="study")
def command() -> None:
    """List, show, plan and run studies: arms compared over repeated launches."""


command.add_command(submit)
command.add_command(status)
command.add_command(block)


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
        rows=[{**record, **_flat(record)}],
    )


def _flat(record: dict[str, Any]) -> dict[str, str]:
    """Lists as words, for CSV."""
    return {
        "nodes": " ".join(str(n) for n in record["nodes"]),
        "tasks_per_node": " ".join(str(n) for n in record["tasks_per_node"]),
        "benchmarks": " ".join(use["name"] for use in record["benchmarks"]),
        "factors": " ".join(factor["name"] for factor in record["factors"]),
    }


@command.command()
@click.argument("study", metavar="STUDY")
@REPEATS
@backend_options
@format_option
@click.pass_context
def plan(
    ctx: click.Context, study: str, repeats: int | None, choice: BackendChoice, format_: str
) -> None:
    """Show what a study expands into on these nodes, and in which order. Runs nothing."""
    document, _ = _study(ctx, study, repeats, choice)
    backend, nodes = open_backend(choice)
    backend.close()
    made = plan_for(document, nodes, choice)
    rows = [launch_to_record(launch) for launch in made.launches]
    emit(
        format_,
        text=lambda: _plan_text(document, made),
        record={
            "study": document.name,
            "n_launches": len(rows),
            "n_trials": len(made.trials),
            "interleaved": made.interleaved,
            "remarks": list(made.remarks),
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
@REPEATS
@click.option("--dry-run", is_flag=True, help="Print what each trial would launch; run nothing.")
@backend_options
@format_option
@click.pass_context
def run(
    ctx: click.Context,
    *,
    study: str,
    run_dir: Path | None,
    resume: bool,
    repeats: int | None,
    dry_run: bool,
    choice: BackendChoice,
    format_: str,
) -> int:
    """Run a study. STUDY is a name of the catalogue or a .toml file.

    Every completed launch is kept: after an interrupt or a kill, --resume goes on. Exit 4 where a
    launch failed or hung.
    """
    document, text = _study(ctx, study, repeats, choice)
    return measure_study(
        document,
        text,
        choice,
        MeasureOptions(run_dir=run_dir, resume=resume, dry_run=dry_run),
        format_,
    )


def _study(
    ctx: click.Context, name: str, repeats: int | None, choice: BackendChoice
) -> "tuple[Study, str]":
    """The study with what the command line overrides; the seed only where one was typed."""
    from click.core import ParameterSource

    from weft.study.plan.document import load_study

    document, text = load_study(name)
    changes: dict[str, int] = {}
    if repeats is not None:
        changes["repeats"] = repeats
    if ctx.get_parameter_source("seed") is ParameterSource.COMMANDLINE:
        changes["seed"] = choice.seed
    return document.model_copy(update=changes), text


def _plan_text(document: "Study", made: "StudyPlan") -> str:
    n_arms = len({tuple(trial.arm.items()) for trial in made.trials})
    longest = sum(launch.trial.timeout_s for launch in made.launches)
    lines = [
        f"{document.title}",
        f"{len(made.launches)} launches: {len(made.trials)} trials, "
        f"{n_arms} arm{'' if n_arms == 1 else 's'}, {made.repeats} repeats",
        f"at the very most {format_duration(longest)} (every launch at its time-out)",
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
            _shown_arm(launch.trial.arm),
            _shown_nodes(launch.trial.nodes),
            str(launch.trial.n_ranks),
        )
        for launch in launches[:_ORDER_SHOWN]
    ]
    text = table_text(("order", "launch", "arm", "nodes", "ranks"), rows, left=4)
    more = len(launches) - len(rows)
    return f"{text}\n... and {more} more (--format csv lists all)" if more > 0 else text


def _shown_nodes(nodes: tuple[str, ...]) -> str:
    """The node set, cut where scattered nodes would make it wider than a terminal."""
    folded = fold(nodes)
    return folded if len(folded) <= _NODES_SHOWN else f"{folded[: _NODES_SHOWN - 4]} ..."


def _shown_arm(arm: Mapping[str, str]) -> str:
    from weft.study.comparison.cells import arm_name

    return arm_name(arm) if arm else "-"
