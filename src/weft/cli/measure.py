"""From a study document to a finished run and its table, for `study run` and `bench`."""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.bench.model import Backend
from weft.cli.backend.choice import BackendChoice
from weft.cli.backend.opening import open_backend
from weft.cli.command_line import repeat_command, resume_command
from weft.cli.options import fresh_run_dir
from weft.cli.output import emit, finding_lines, talk
from weft.cli.progress.verb_phases import verb_phases
from weft.cli.reach import refuse_unreachable
from weft.cli.study.cost import StudyCost
from weft.cli.study.sensitivity import require_sensible, try_other_values
from weft.core.errors import ExitCode, InputError, StorageError, WeftError
from weft.core.files import storage_error
from weft.core.units import format_duration
from weft.core.words import counted
from weft.study.run.metadata import refuse_other_run, run_meta
from weft.study.run.store import RunStore, StudyRun, read_meta, read_run

if TYPE_CHECKING:
    from weft.bench.twin.together import Simulator
    from weft.study.comparison.table import RunTable
    from weft.study.plan.model import Study
    from weft.study.plan.plan import StudyPlan
    from weft.study.run.loop import ByHand, RunOutcome


NOTHING_GOES_ON = "nothing goes on running: weft ended what it had started"
"""After an interrupt: commands have a session of their own, which ends before weft does."""
ESTIMATED_FROM = 10
"""Launches of a run whose time is announced."""
PLAN_S, MEASURE_S, JUDGE_S = 1.5, 30.0, 1.0
"""The ratio of the times of a run, for the bar, where none is announced: planning and judging are
measured on a twin of 128 nodes; without long measuring nobody looks at a bar."""


def measure_study(
    study_on: Callable[[Sequence[str]], tuple["Study", str]],
    choice: BackendChoice,
    format_: str,
    *,
    run_dir: Path | None,
    resume: bool,
    dry_run: bool,
    budget_s: float | None = None,
    sensitivity: bool = False,
    simulator: "Simulator | None" = None,
    shown: Callable[[StudyRun], str] | None = None,
) -> int:
    """Plan, run and print; the exit code. `study_on` gives the study on the nodes that there are,
    and its text as the run records it; the run goes into `run_dir`, or a fresh directory under
    runs/. With `budget_s` the study is thinned until it fits; with `sensitivity` it is run
    again at other values of assumed constants. A `simulator` is for twins only; `shown` says what
    is printed of the run instead of weft's own text.

    Raises InputError, MissingError, StorageError and KeyboardInterrupt with how to go on.
    """
    if resume and run_dir is None:
        raise InputError("--resume needs the run to go on with", expected="--dir RUN with it")
    from weft.study.plan.live import by_hand, on_machine

    begin = verb_phases("running the study", plan=PLAN_S, measure=MEASURE_S, judge=JUDGE_S)
    backend, nodes = open_backend(choice, may_compare=True)
    document, text = with_own_launches(*study_on(nodes), backend)
    if simulator is not None:
        backend = simulated_by(backend, simulator, document)
    varied = require_sensible(backend, document) if sensitivity else None
    cost = StudyCost(backend)
    thinned: tuple[str, ...] = ()
    if budget_s is not None:
        goes_on = run_dir if resume else None
        document, text, thinned = _fitting((document, text), nodes, cost, budget_s, goes_on)
    switches = {} if choice.twin is not None else by_hand(on_machine(document))
    made = plan_for(document, nodes, choice, backend)
    made = dataclasses.replace(made, remarks=(*thinned, *made.remarks))
    for remark in made.remarks:
        talk(remark)
    if dry_run:
        return _show_launches(backend, made, format_)
    refuse_unreachable(choice, nodes)
    from weft.cli.recipe.container_launch import container_remarks

    where = run_dir or fresh_run_dir(document.name)
    remarks = (*made.remarks, *container_remarks(backend, made.launches, where))
    meta = run_meta(
        study_text=text,
        seed=document.seed,
        backend=backend,
        nodes=nodes,
        argv=sys.argv[1:],
        remarks=remarks,
    )
    begin("measure", None if resume else _announced(cost, made))
    with kept_run(where):
        outcome, run = _execute(made, backend, meta, where, resume=resume, switches=switches)
    if varied is not None and outcome.complete:
        with kept_run(where):
            try_other_values(varied, made.launches, meta, where)
    begin("judge")
    _print_result(run, outcome, format_, shown)
    if outcome.failures:
        return int(ExitCode.BENCHMARK)
    return int(ExitCode.GOOD if outcome.complete else ExitCode.NO_VERDICT)


def _show_launches(backend: Backend, made: "StudyPlan", format_: str) -> int:
    from weft.cli.dry_run import print_dry_run

    print_dry_run(backend, made.launches, format_)
    backend.close()
    return int(ExitCode.GOOD)


def _announced(cost: StudyCost, made: "StudyPlan") -> float | None:
    """The seconds that a run of many launches was announced to take; None where none were."""
    n_launches = len(made.launches)
    seconds = cost.seconds(made.launches) if n_launches >= ESTIMATED_FROM else None
    if seconds is not None:
        talk(f"{n_launches} launches, {cost.line(seconds)}")
    return seconds


def simulated_by(backend: Backend, simulator: "Simulator", document: "Study") -> Backend:
    """The twin, its launches simulated elsewhere. Raises InputError for a machine, and for a study
    without any launch that can be."""
    from weft.bench.twin.backend import TwinBackend

    if not isinstance(backend, TwinBackend):
        raise InputError("--executor mpi needs a twin", expected="--twin PLATFORM with it")
    if all(use.name == "pairs" for use in document.benchmarks):
        raise InputError(
            "--executor mpi for pairs alone: they are simulated on one machine",
            expected="a study with another benchmark, or no --executor",
        )
    backend.simulator = simulator
    return backend


def with_own_launches(document: "Study", text: str, backend: Backend) -> tuple["Study", str]:
    """The study, and its text, with the ways to launch that the command line names as arms."""
    from weft.bench.live.several_launches import SeveralLaunches
    from weft.catalog.document import to_toml
    from weft.study.plan.live import with_launches

    if not isinstance(backend, SeveralLaunches):
        return document, text
    compared = with_launches(document, backend.factor, backend.settings)
    return compared, to_toml(compared)


def _fitting(
    study: tuple["Study", str],
    nodes: tuple[str, ...],
    cost: StudyCost,
    budget_s: float,
    resumed: Path | None,
) -> tuple["Study", str, tuple[str, ...]]:
    """The study thinned to a time, its text, and what was left out in words. A run that goes on
    keeps its own matrix: another time would be estimated. Raises InputError."""
    from weft.catalog.document import to_toml
    from weft.study.plan.document import load_study

    document, text = study
    if resumed is not None:
        before, thin_text = load_study(str(resumed))
        if before.name != document.name:
            raise InputError(
                f"the run is of study '{before.name}', not '{document.name}'",
                where=str(resumed),
                expected="the study that it began with",
            )
        # One that was not thinned has the study as it was written.
        return (document, text, ()) if thin_text == text else (before, thin_text, ())
    thin, left_out = cost.thinned(document, nodes, budget_s)
    if not left_out:
        return document, text, ()
    remark = f"thinned to fit {format_duration(budget_s)}: {'; '.join(left_out)}"
    return thin, to_toml(thin), (remark,)


def plan_for(
    document: "Study", nodes: tuple[str, ...], choice: BackendChoice, backend: Backend
) -> "StudyPlan":
    """The plan of a study on these nodes; on one host all ranks fold onto it. A remark says that a
    job is smaller than its twin."""
    from weft.bench.live.several_launches import SeveralLaunches
    from weft.study.plan.live import on_machine, refuse_unnamed_ways
    from weft.study.plan.plan import make_plan
    from weft.study.plan.twin import refuse_inert

    if choice.twin is None:
        if not isinstance(backend, SeveralLaunches):
            refuse_unnamed_ways(document, "needs its option")
        document = on_machine(document)
    else:
        refuse_unnamed_ways(document, "on a twin, which launches nothing", "hosts")
        refuse_inert(document)
    one_host = choice.twin is None and not choice.mock and len(nodes) == 1
    simulated = choice.twin is not None
    made = make_plan(document, nodes, fold_onto_one_node=one_host, is_simulated=simulated)
    n_twin = len((backend.fabric_document or {}).get("nodes", ()))
    if choice.twin is None or all(n == n_twin for n in document.nodes):
        return made
    jobs = " or ".join(str(n) for n in document.nodes)
    size = f"the job runs on {jobs} of the twin's {n_twin} nodes; --job-nodes sets how many"
    return dataclasses.replace(made, remarks=(*made.remarks, size))


def _execute(
    made: "StudyPlan",
    backend: Backend,
    meta: dict[str, Any],
    where: Path,
    *,
    resume: bool,
    switches: "ByHand",
) -> tuple["RunOutcome", StudyRun]:
    from weft.cli.progress.steps import LaunchLines
    from weft.study.run.loop import execute, launches_together, to_switch

    if resume:
        refuse_other_run(read_meta(where), meta, str(where))
    store = RunStore.open(where) if resume else RunStore.create(where, meta)
    with store:
        first = next((one for one in made.launches if one.key not in store.finished), None)
        if first is not None and switches:
            talk(f"weft: measured as if {to_switch(first, switches)}")
        together = launches_together(backend)
        outcome = execute(
            made.launches,
            backend,
            store,
            progress=LaunchLines(),
            by_hand=switches,
            together=together,
        )
        return outcome, store.read_back(outcome.n_over)


@contextlib.contextmanager
def kept_run(run_dir: Path) -> Iterator[None]:
    """Around all that is written into a run directory. An interrupt and a disk that refuses end it
    with the command that goes on; the latter also with the number of launches that are kept."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        kept, command = _kept_and_next(run_dir)
        # A launcher that leaves something has said so.
        ended = () if getattr(interrupt, "__notes__", ()) else (NOTHING_GOES_ON,)
        interrupt.add_note("\n".join((*ended, f"kept: {kept}", f"next: {command}")))
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        place = run_dir if error.filename is None else Path(error.filename)
        raise _with_next(storage_error("the run", place, error), run_dir) from error
    except StorageError as error:
        raise _with_next(error, run_dir) from error


def _with_next(error: StorageError, run_dir: Path) -> StorageError:
    error.kept, error.next_command = _kept_and_next(error.moved_to or run_dir)
    return error


def _kept_and_next(run_dir: Path) -> tuple[str, str]:
    """The launches that are over in a run directory, and the command that measures the others."""
    context = click.get_current_context()
    try:
        run = read_run(run_dir)
    except (WeftError, OSError):
        return "no launch", repeat_command(context, run_dir if _is_free(run_dir) else None)
    n_all = counted(len(run.launches), "launch", "launches")
    kept = f"{run.n_over} of {n_all} in {run_dir}" if run.launches else "no launch"
    return kept, resume_command(context, run_dir)


def _is_free(run_dir: Path) -> bool:
    """Whether a new run may begin there."""
    try:
        return not run_dir.exists() or not any(run_dir.iterdir())
    except OSError:
        return False


def _print_result(
    run_read: StudyRun,
    outcome: "RunOutcome",
    format_: str,
    shown: Callable[[StudyRun], str] | None,
) -> None:
    from weft.cli.bench.congestion import impact_text
    from weft.cli.compare.text import verdict_lines
    from weft.report.verdict import judge
    from weft.study.comparison.cells import arm_name
    from weft.study.comparison.impact import impact_rows
    from weft.study.comparison.larger_run import larger_command
    from weft.study.comparison.table import table_of

    where = run_read.directory
    impact = impact_rows(run_read)
    table = table_of(run_read)
    judgement = judge(run_read)
    n_arms = len({arm_name(launch.trial.arm) for launch in run_read.launches})
    rows = [row.to_record() for row in table.rows]
    record = {
        "run": str(where),
        "findings": [finding.to_record() for finding in judgement.findings],
        "would_show": list(judgement.arms.would_show) if judgement.arms is not None else [],
        "caveats": list(judgement.caveats),
        "n_launches": outcome.n_launches,
        "n_before": outcome.n_before,
        "n_done": outcome.n_done,
        "n_failed": len(outcome.failures),
        "stopped": outcome.stopped,
        "lost_hosts": outcome.lost,
        "excluded": dict(table.excluded),
        "rows": rows,
        **({"impact": [row.to_record() for row in impact]} if impact else {}),
    }

    def text() -> str:
        """The findings (of a run without arms the worst one) and caveats, then the figures."""
        if shown is not None:
            return shown(run_read)
        arms = judgement.arms
        if arms is None:
            verdict = finding_lines(judgement.findings[0])
        else:
            verdict = verdict_lines(judgement.findings, arms.would_show)
        caveats = (f"  ! {caveat}" for caveat in judgement.caveats)
        larger = larger_command(run_read, judgement.findings)
        figures = _figures_text(where, outcome, table, n_arms, larger)
        block = [impact_text(impact), ""] if impact else []
        return "\n".join([*verdict, *caveats, "", *block, figures])

    emit(format_, text=text, record=record, rows=rows)
    if outcome.stopped:
        talk(f"stopped: {outcome.stopped}")
    if outcome.lost:
        talk(_lost_text(outcome))


def _lost_text(outcome: "RunOutcome") -> str:
    """The lost hosts, and the remedy."""
    of = f"of {outcome.n_launches} launches"
    lost = ", ".join(f"{host} ({n} {of} need it)" for host, n in outcome.lost.items())
    return (
        f"did not answer: {lost}; launches that do not need them were measured\n"
        "  repair these hosts and measure again, or leave them out: 'weft cluster up' again"
    )


def _figures_text(
    where: Path, outcome: "RunOutcome", table: "RunTable", n_arms: int, larger: str | None
) -> str:
    from weft.cli.run_table import next_lines, run_table_text

    over = outcome.n_before + outcome.n_done
    failed = f", {len(outcome.failures)} failed" if outcome.failures else ""
    complete = f"{over} of {outcome.n_launches} launches complete{failed}"
    decides = [f"what would decide:  {larger}"] if larger else []
    return "\n".join([run_table_text(table), complete, *decides, *next_lines(where, n_arms)])
