"""`weft study`: list, show, plan and run studies."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.backend import BackendChoice, backend_options, is_one_host, open_backend
from weft.cli.output import emit, format_option, table_text, talk
from weft.core.errors import ExitCode, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from weft.bench.model import Backend, Launch
    from weft.study.model import Study
    from weft.study.plan import Plan
    from weft.study.run import RunOutcome
    from weft.study.table import Table

_ORDER_SHOWN = 12


@click.group(name="study")
def command() -> None:
    """List, show, plan and run studies: arms compared over repeated launches."""


@command.command(name="list")
@format_option
def list_(format_: str) -> int:
    """List the studies of the catalogue."""
    from weft.catalog.load import study_names
    from weft.study.load import load_study

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
    return int(ExitCode.GOOD)


@command.command()
@click.argument("study", metavar="STUDY")
@format_option
def show(study: str, format_: str) -> int:
    """Show a study document. STUDY is a name of the catalogue or a .toml file."""
    from weft.study.load import load_study

    document, text = load_study(study)
    record = document.model_dump(mode="json", by_alias=True)
    emit(
        format_,
        text=lambda: text,
        record=record,
        rows=[{**record, **_flat(record)}],
    )
    return int(ExitCode.GOOD)


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
@click.option("--repeats", type=click.IntRange(1, 10_000), help="Instead of the study's own.")
@backend_options
@format_option
@click.pass_context
def plan(
    ctx: click.Context, study: str, repeats: int | None, choice: BackendChoice, format_: str
) -> int:
    """Show what a study expands into on these nodes, and in which order. Runs nothing."""
    from weft.study.launch_record import launch_to_record

    document, _ = _study(ctx, study, repeats, choice)
    backend, nodes = open_backend(choice)
    backend.close()
    made = _plan(document, nodes, choice)
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
    return int(ExitCode.GOOD)


def _word(value: object) -> object:
    import json

    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return json.dumps(value) if isinstance(value, dict) else value


@command.command()
@click.argument("study", metavar="STUDY")
@click.option(
    "--dir",
    "run_dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The run directory. Default: runs/STUDY-DATE-TIME.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in --dir.")
@click.option("--repeats", type=click.IntRange(1, 10_000), help="Instead of the study's own.")
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
    if resume and run_dir is None:
        raise InputError("--resume needs the run to go on with", expected="--dir RUN beside it")
    document, text = _study(ctx, study, repeats, choice)
    backend, nodes = open_backend(choice)
    made = _plan(document, nodes, choice)
    for remark in made.remarks:
        talk(remark)
    if dry_run:
        _print_recipes(backend, made)
        return int(ExitCode.GOOD)
    where = run_dir or _fresh_directory(document.name)
    from weft.study.meta import run_meta

    meta = run_meta(
        study_text=text,
        seed=document.seed,
        backend=backend,
        nodes=nodes,
        argv=sys.argv[1:],
        remarks=made.remarks,
    )
    outcome = _execute(made, backend, meta, where, resume=resume)
    _print_result(where, outcome, format_)
    return int(ExitCode.BENCHMARK if outcome.failures else ExitCode.GOOD)


def _study(
    ctx: click.Context, name: str, repeats: int | None, choice: BackendChoice
) -> "tuple[Study, str]":
    """The study with what the command line overrides; the seed only where one was typed."""
    from click.core import ParameterSource

    from weft.study.load import load_study

    document, text = load_study(name)
    changes: dict[str, int] = {}
    if repeats is not None:
        changes["repeats"] = repeats
    if ctx.get_parameter_source("seed") is ParameterSource.COMMANDLINE:
        changes["seed"] = choice.seed
    return document.model_copy(update=changes), text


def _plan(document: "Study", nodes: tuple[str, ...], choice: BackendChoice) -> "Plan":
    from weft.study.plan import make_plan

    return make_plan(document, nodes, fold_onto_one_node=is_one_host(choice, nodes))


def _fresh_directory(name: str) -> Path:
    import time

    return Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def _print_recipes(backend: "Backend", made: "Plan") -> None:
    """One launch a trial: repeats differ in nothing but their number."""
    seen: set[str] = set()
    for launch in made.launches:
        if launch.trial.id not in seen:
            seen.add(launch.trial.id)
            click.echo(f"# {launch.trial.id}\n{backend.recipe(launch)}")
    backend.close()


def _execute(
    made: "Plan", backend: "Backend", meta: dict[str, Any], where: Path, *, resume: bool
) -> "RunOutcome":
    from weft.cli.progress import shown_progress
    from weft.study.meta import refuse_other_run
    from weft.study.run import execute
    from weft.study.store import RunStore, read_meta

    if resume:
        refuse_other_run(read_meta(where), meta, str(where))
    store = RunStore.open(where) if resume else RunStore.create(where, meta)
    try:
        with store, shown_progress() as progress:
            return execute(made.launches, backend, store, progress=progress)
    except KeyboardInterrupt:
        talk(f"interrupted; go on with the same command and --dir {where} --resume")
        raise


def _print_result(where: Path, outcome: "RunOutcome", format_: str) -> None:
    from weft.study.cells import arm_name
    from weft.study.store import read_run
    from weft.study.table import table_of

    run_read = read_run(where)
    table = table_of(run_read)
    n_arms = len({arm_name(launch.trial.arm) for launch in run_read.launches})
    rows = [row.to_record() for row in table.rows]
    record = {
        "run": str(where),
        "n_launches": outcome.n_launches,
        "n_before": outcome.n_before,
        "n_done": outcome.n_done,
        "n_failed": len(outcome.failures),
        "stopped": outcome.stopped,
        "excluded": dict(table.excluded),
        "rows": rows,
    }
    emit(
        format_, text=lambda: _result_text(where, outcome, table, n_arms), record=record, rows=rows
    )
    if outcome.stopped:
        talk(f"stopped: {outcome.stopped}")


def _result_text(where: Path, outcome: "RunOutcome", table: "Table", n_arms: int) -> str:
    from weft.cli.run_table import run_table_text

    over = outcome.n_before + outcome.n_done
    failed = f", {len(outcome.failures)} failed" if outcome.failures else ""
    lines = [run_table_text(table)]
    lines.append(f"{over} of {outcome.n_launches} launches complete{failed}")
    if n_arms > 1:
        lines.append(f"which arm is faster:  weft compare {where}")
    lines.append(f"next:  weft report {where}")
    return "\n".join(lines)


def _plan_text(document: "Study", made: "Plan") -> str:
    from weft.core.units import format_duration

    n_arms = len({tuple(trial.arm.items()) for trial in made.trials})
    longest = sum(launch.trial.timeout_s for launch in made.launches)
    lines = [
        f"{document.title}",
        f"{len(made.launches)} launches: {len(made.trials)} trials, {n_arms} arm(s), "
        f"{made.repeats} repeats",
        f"at the very most {format_duration(longest)} (every launch at its time-out)",
        *made.remarks,
    ]
    if not made.interleaved:
        lines.append("the arms of a manual factor are not interleaved")
    return "\n".join([*lines, "", _order_text(made.launches)])


def _order_text(launches: "tuple[Launch, ...]") -> str:
    from weft.core.nodeset import fold

    rows = [
        (
            str(launch.order),
            launch.name,
            _shown_arm(launch.trial.arm),
            fold(launch.trial.nodes),
            str(launch.trial.n_ranks),
        )
        for launch in launches[:_ORDER_SHOWN]
    ]
    text = table_text(("order", "launch", "arm", "nodes", "ranks"), rows, left=4)
    more = len(launches) - len(rows)
    return f"{text}\n... and {more} more (--format csv lists all)" if more > 0 else text


def _shown_arm(arm: "Mapping[str, str]") -> str:
    from weft.study.cells import arm_name

    return arm_name(arm) if arm else "-"
