"""`weft check`: all pairs of nodes, and the one component that explains the slow ones."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.backend import BackendChoice, backend_options
from weft.cli.check_again import again_of
from weft.cli.check_answer import (
    Answer,
    earlier_verdict,
    held_against_before,
    planted_in,
    print_answer,
    write_drain,
    write_page,
)
from weft.cli.check_evidence import EvidenceChoice, evidence_options, gather
from weft.cli.check_plan import PlanChoice, Setup, plan_options, say_plan, set_up
from weft.cli.output import FORMATS, format_option_of, talk
from weft.cli.run_dir import fresh_run_dir
from weft.core.errors import BenchmarkError, ExitCode, InputError
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.bench.model import Sample
    from weft.study.store import Run, RunStore


@click.command(name="check")
@backend_options
@plan_options
@evidence_options
@click.option("--small", default="8", show_default=True, help="Message size for latency.")
@click.option("--large", default="1M", show_default=True, help="Message size for bandwidth.")
@click.option(
    "--tasks-per-node",
    type=click.IntRange(1),
    help="Ranks a node, more than its CPUs if need be. Default: one a rail; on one host its CPUs.",
)
@click.option(
    "--dir",
    "run_dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the run is kept. Default: runs/check-<time>.",
)
@click.option(
    "--adaptive",
    is_flag=True,
    help="The fabric routes adaptively: a message may take any shortest way.",
)
@click.option("--resume", is_flag=True, help="Go on with the interrupted check in --dir.")
@click.option("--matrix", is_flag=True, help="Show every pair's share of its hop class.")
@click.option(
    "--drain",
    "drain_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write commands that drain the bad nodes in Slurm to this file.",
)
@click.option(
    "--against",
    type=click.Path(file_okay=False, path_type=Path),
    help="An earlier check: what is new since then, what was known, what is mended.",
)
@click.option(
    "--report/--no-report",
    "wants_report",
    default=None,
    help="Write report.html into the run directory. Default: yes, but not with --quick.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be measured, and measure nothing.")
@format_option_of((*FORMATS, "junit"))
def command(
    *,
    choice: BackendChoice,
    wanted: PlanChoice,
    given: EvidenceChoice,
    small: str,
    large: str,
    tasks_per_node: int | None,
    run_dir: Path | None,
    resume: bool,
    matrix: bool,
    adaptive: bool,
    drain_file: Path | None,
    against: Path | None,
    wants_report: bool | None,
    dry_run: bool,
    format_: str,
) -> int:
    """Is this fabric healthy, and if not, which node, link or switch?

    Measures pairs of nodes, names the component that explains the slow ones, and measures it again
    with other partners, alone and beside others, before it says so. Exit 1 when something is slow,
    4 when the run proves nothing: its messages missed the fast network, or ranks shared CPUs.
    """
    from weft.core.clock import system_clock
    from weft.diagnose.check.answer.again import with_own_options
    from weft.diagnose.check.answer.against import held_against as held_against_run

    if resume and run_dir is None:
        raise InputError(
            "--resume needs --dir", expected="the directory of the check to go on with"
        )
    if resume and against is None and run_dir is not None:
        against = held_against_before(run_dir)
    before = None if against is None else earlier_verdict(against)
    setup = set_up(choice, (small, large), wanted, adaptive=adaptive, tasks_per_node=tasks_per_node)
    evidence = gather(given, choice, setup)
    setup = evidence.setup
    if dry_run:
        say_plan(setup, format_)
        return int(ExitCode.GOOD)
    talk(setup.plan.text)
    started = system_clock()
    directory = run_dir or fresh_run_dir("check")
    within_s = wanted.within_s if setup.backend.name == "live" else math.inf
    measured = _measure(setup, choice, directory, resume, against, within_s=within_s)
    evidence.keep(directory)
    again = again_of(click.get_current_context())
    if setup.backend.name == "live" and len(setup.nodes) > 1:
        again = again.of_hosts(setup.nodes)
    verdict = judged = with_own_options(evidence.verdict(measured), again)
    changed = None
    if before is not None:
        verdict, changed = held_against_run(judged, before, str(against))
    seconds = system_clock() - started
    wants_report = not wanted.quick if wants_report is None else wants_report
    answer = Answer(
        verdict=verdict,
        directory=directory,
        seconds=seconds,
        planted=planted_in(setup.backend, verdict),
        check_again=again.against(directory),
        against=changed,
        fabric_time=setup.plan.time_text,
        page=write_page(measured, judged) if wants_report else None,
    )
    print_answer(answer, format_, matrix=matrix)
    if drain_file is not None:
        write_drain(answer, drain_file)
    return int(verdict.exit_code)


def _measure(
    setup: Setup,
    choice: BackendChoice,
    directory: Path,
    resume: bool,
    against: Path | None,
    *,
    within_s: float,
) -> "Run":
    from weft.cli.progress import shown_check_progress
    from weft.diagnose.check.launches import FollowUpBackend
    from weft.diagnose.check.suspects.follow_up import Size
    from weft.diagnose.check.trials import SURVEY
    from weft.study.meta import AGAINST
    from weft.study.run import execute
    from weft.study.store import RunStore, read_run

    known: tuple[Sample, ...] = ()
    if resume:
        known = tuple(s for s in read_run(directory).samples if s.trial == SURVEY)
    backend = FollowUpBackend(
        setup.backend,
        setup.fabric,
        known,
        adaptive=setup.adaptive,
        size=Size(most_rounds=setup.plan.most_follow_up_rounds),
        seed=choice.seed,
        within_s=within_s,
    )
    store = RunStore.open(directory) if resume else _new_store(setup, choice, directory)
    if against is not None:
        store.remember({AGAINST: str(against.resolve())})
    with store, shown_check_progress(setup.said_time) as progress:
        try:
            outcome = execute(setup.launches, backend, store, progress=progress)
        except KeyboardInterrupt:
            talk(f"go on with the same command, --dir {directory} and --resume")
            raise
    if outcome.failures:
        failure = outcome.failures[0]
        raise BenchmarkError(
            f"the check did not finish: {failure.message}",
            where=f"launch {failure.trial}",
            hint=f"raw output is in {directory / 'raw'}"
            + (f"; check the others without {', '.join(failure.lost)}" if failure.lost else ""),
        )
    return read_run(directory)


def _new_store(setup: Setup, choice: BackendChoice, directory: Path) -> "RunStore":
    import sys

    from weft.study.meta import AGAIN, run_meta
    from weft.study.store import RunStore

    meta = run_meta(
        study_text=_study_text(setup, choice.seed),
        seed=choice.seed,
        backend=setup.backend,
        nodes=setup.nodes,
        argv=sys.argv,
    )
    again = again_of(click.get_current_context())
    return RunStore.create(directory, {**meta, AGAIN: again.to_record()})


def _study_text(setup: Setup, seed: int) -> str:
    """The check as a study document, so that every reader of run directories can read it."""
    import tomli_w

    small, large = setup.launches[0].trial.sizes_bytes
    study = {
        "schema": "weft.study/1",
        "name": "check",
        "title": f"Check of {counted(len(setup.nodes), 'node')}",
        "question": "Is this fabric healthy, and if not, which node, link or switch?",
        "seed": seed,
        "repeats": 1,
        "nodes": [len(setup.nodes)],
        "tasks_per_node": [setup.launches[0].trial.tasks_per_node],
        "benchmarks": [{"name": "pairs", "sizes": f"{small},{large}"}],
    }
    return tomli_w.dumps(study)
