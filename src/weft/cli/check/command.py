"""`weft check`: all pairs of nodes, and the one component that explains the slow ones."""

import math
from pathlib import Path

import click

from weft.check.pipeline import judge_earlier, judge_run
from weft.check.verdict.earlier_check import compare
from weft.check.verdict.planted_faults import planted_in
from weft.check.verdict.verdict import Verdict
from weft.cli.backend.choice import BackendChoice, backend_options
from weft.cli.check.answer import (
    AnswerChoice,
    CheckAnswer,
    answer_options,
    earlier_run_of,
    give_answer,
    write_check_page,
)
from weft.cli.check.evidence import EvidenceFiles, PlannedCheck, with_evidence
from weft.cli.check.measurement import Keeping, again_with_hosts
from weft.cli.check.nccl import NcclChoice, nccl_options, set_up_with
from weft.cli.check.plan import PlanChoice, plan_options, say_plan
from weft.cli.check.remaining_hosts import lost_before, measure_remaining, without
from weft.cli.check.replay import judge_again
from weft.cli.check.within import within_option
from weft.cli.fail_on import fail_on_option
from weft.cli.measure import kept_run
from weft.cli.options import FOLDER, fresh_run_dir, run_dir_option
from weft.cli.output import FORMATS, format_option_of, talk
from weft.cli.progress.verb_phases import verb_phases
from weft.cli.reach import refuse_unreachable
from weft.core.clock import system_clock
from weft.core.errors import ExitCode, InputError
from weft.study.run.store import StudyRun

PLAN_S, MEASURE_S, JUDGE_S = 3.2, 23.0, 5.0
"""The ratio of the times of a check with a report, for the bar: CPU time, measured on a twin of 512
nodes of Frontera."""


@click.command(name="check")
@backend_options
@plan_options
@click.option(
    "--platform",
    metavar="NAME",
    help="The platform to compare the fabric with ('weft platform list'), or a .toml file. "
    "Default: the twin's, the one that the host names match, or that of this machine if it is "
    "among the hosts ('here').",
)
@click.option(
    "--counters",
    multiple=True,
    metavar="FILE",
    help="Counters and link states of the fabric (perfquery, ibqueryerrors, ibdiagnet, iblinkinfo, "
    "mlxlink), with those of --fabric, and logs with link events (kernel logs, opensm.log, UFM's "
    "event log); once a file, the earlier one first.",
)
@click.option(
    "--from",
    "earlier_run",
    metavar="RUN",
    type=FOLDER,
    help="Judge this check again, with the evidence of --counters, --fabric and --platform. "
    "Measures nothing and writes nothing into RUN.",
)
@nccl_options
@click.option("--small", help="Message size for latency. Default: 8; with --with none.")
@click.option("--large", help="Message size for bandwidth. Default: 1M; with --with 1G.")
@click.option(
    "--tasks-per-node",
    type=click.IntRange(1),
    help="Ranks a node, more than its CPUs if need be. Default: one a rail; on one host its CPUs; "
    "with --with this machine's GPUs.",
)
@run_dir_option("Where the run is kept. Default: runs/check-<time>.")
@click.option(
    "--adaptive",
    is_flag=True,
    help="The fabric routes adaptively: a message may take any shortest path.",
)
@click.option("--resume", is_flag=True, help="Go on with the interrupted check in --dir.")
@answer_options
@click.option("--dry-run", is_flag=True, help="Print the plan and measure nothing.")
@fail_on_option
@format_option_of((*FORMATS, "junit"))
@within_option
def command(
    *,
    choice: BackendChoice,
    wanted: PlanChoice,
    nccl: NcclChoice,
    platform: str | None,
    counters: tuple[str, ...],
    small: str | None,
    large: str | None,
    tasks_per_node: int | None,
    run_dir: Path | None,
    resume: bool,
    earlier_run: Path | None,
    adaptive: bool,
    shown: AnswerChoice,
    dry_run: bool,
    format_: str,
) -> int:
    """Is this fabric healthy, and if not, which node, link or switch?

    Measures pairs of nodes, finds the component that explains the slow ones, and measures it again
    with other partners, alone and under load. Exit 1 when a component is slow, 5 when a slow one
    would not have shown (few nodes, scatter) or messages are slow each time and no component is at
    fault, 4 when the run proves nothing: its messages missed the fast network, or ranks shared
    CPUs.
    """
    if earlier_run is not None:
        files = EvidenceFiles.of_options(choice.fabric, counters)
        return judge_again(earlier_run, files, platform, shown, format_)
    resumed = _resumed(run_dir, resume)
    against = shown.against or (None if resumed is None else earlier_run_of(resumed))
    before = None if against is None else judge_earlier(against)
    begin = verb_phases("checking", plan=PLAN_S, measure=MEASURE_S, judge=JUDGE_S)

    def planned(choice: BackendChoice) -> PlannedCheck:
        sizes = (small, large)
        setup = set_up_with(nccl, choice, sizes, wanted, adaptive=adaptive, n_tasks=tasks_per_node)
        return with_evidence(platform, counters, choice, setup)

    lost = () if resumed is None else lost_before(resumed)
    check = planned(without(choice, lost))
    if dry_run:
        say_plan(check.setup, format_)
        return int(ExitCode.GOOD)
    refuse_unreachable(choice, check.setup.nodes, keeps_lost=True)
    talk(check.setup.plan.text)
    started = system_clock()
    directory = run_dir or fresh_run_dir("check")
    within_s = wanted.within_s if check.setup.backend.name == "live" else math.inf
    keeping = Keeping(directory, resume, against, choice.seed, within_s)
    begin("measure", None if choice.twin else check.setup.announced_s)
    with kept_run(directory):
        check, measured = measure_remaining(planned, choice, check, keeping, lost)
        check.keep_evidence(directory)
    begin("judge")
    setup = check.setup
    again = again_with_hosts(setup, measured.lost)
    judged = judge_run(measured, setup.fabric)
    verdict, changed = (judged, None) if before is None else compare(judged, before, str(against))
    answer = CheckAnswer(
        verdict=verdict,
        directory=directory,
        seconds=system_clock() - started,
        planted=planted_in(setup.backend.faults, verdict),
        check_again=again.against(directory),
        against=changed,
        fabric_time="" if setup.plan.cost.is_bound else setup.plan.time_text,
        page=_page_of(shown, measured, judged, by_default=not wanted.quick),
    )
    return give_answer(answer, shown, format_)


def _page_of(
    shown: AnswerChoice, measured: StudyRun, judged: Verdict, *, by_default: bool
) -> Path | None:
    """The written report; None without one."""
    if not shown.page_is_wanted(by_default=by_default):
        return None
    with kept_run(measured.directory):
        return write_check_page(measured, judged, shown.page_file)


def _resumed(run_dir: Path | None, resume: bool) -> Path | None:
    """The directory of the check to go on with; None of a new one. Raises InputError."""
    if resume and run_dir is None:
        raise InputError(
            "--resume needs --dir", expected="the directory of the check to go on with"
        )
    return run_dir if resume else None
