"""`weft check`: all pairs of nodes, and the one component that explains the slow ones."""

import math
from pathlib import Path

import click

from weft.check.pipeline import judge_earlier, judge_run
from weft.check.verdict.earlier_check import compare
from weft.check.verdict.planted_faults import planted_in
from weft.cli.backend import BackendChoice, backend_options
from weft.cli.check.answer import (
    CheckAnswer,
    earlier_run_of,
    print_answer,
    write_check_page,
    write_drain,
)
from weft.cli.check.evidence import PlannedCheck, with_evidence
from weft.cli.check.measurement import Keeping, again_with_hosts
from weft.cli.check.plan import PlanChoice, plan_options, say_plan, set_up
from weft.cli.check.remaining_hosts import lost_before, measure_remaining, without
from weft.cli.fail_on import fail_on_option, verdict_exit_code
from weft.cli.measure import kept_run
from weft.cli.options import FILE, FOLDER, fresh_run_dir, run_dir_option
from weft.cli.output import FORMATS, format_option_of, talk
from weft.cli.reach import refuse_unreachable
from weft.core.clock import system_clock
from weft.core.errors import ExitCode, InputError


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
    "mlxlink), with those of --fabric; once a file, the earlier one first.",
)
@click.option("--small", default="8", show_default=True, help="Message size for latency.")
@click.option("--large", default="1M", show_default=True, help="Message size for bandwidth.")
@click.option(
    "--tasks-per-node",
    type=click.IntRange(1),
    help="Ranks a node, more than its CPUs if need be. Default: one a rail; on one host its CPUs.",
)
@run_dir_option("Where the run is kept. Default: runs/check-<time>.")
@click.option(
    "--adaptive",
    is_flag=True,
    help="The fabric routes adaptively: a message may take any shortest path.",
)
@click.option("--resume", is_flag=True, help="Go on with the interrupted check in --dir.")
@click.option("--matrix", is_flag=True, help="Show every pair's share of its hop class.")
@click.option(
    "--drain",
    "drain_file",
    type=FILE,
    help="Write commands that drain the bad nodes in Slurm to this file.",
)
@click.option(
    "--against", type=FOLDER, help="An earlier check: show new, known and mended faults since then."
)
@click.option(
    "--report/--no-report",
    "wants_report",
    default=None,
    help="Write report.html into the run directory. Default: yes, but not with --quick.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan and measure nothing.")
@fail_on_option
@format_option_of((*FORMATS, "junit"))
def command(
    *,
    choice: BackendChoice,
    wanted: PlanChoice,
    platform: str | None,
    counters: tuple[str, ...],
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

    Measures pairs of nodes, finds the component that explains the slow ones, and measures it again
    with other partners, alone and under load. Exit 1 when a component is slow, 5 when a slow one
    would not have shown (few nodes, scatter), 4 when the run proves nothing: its messages missed
    the fast network, or ranks shared CPUs.
    """
    resumed = _resumed(run_dir, resume)
    if resumed is not None and against is None:
        against = earlier_run_of(resumed)
    before = None if against is None else judge_earlier(against)

    def planned(choice: BackendChoice) -> PlannedCheck:
        setup = set_up(choice, (small, large), wanted, adaptive, tasks_per_node)
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
    with kept_run(directory):
        check, measured = measure_remaining(planned, choice, check, keeping, lost)
        check.keep_evidence(directory)
    setup = check.setup
    again = again_with_hosts(setup, measured.lost)
    judged = judge_run(measured, setup.fabric)
    verdict, changed = (judged, None) if before is None else compare(judged, before, str(against))
    seconds = system_clock() - started
    wants_report = not wanted.quick if wants_report is None else wants_report
    with kept_run(directory):
        page = write_check_page(measured, judged) if wants_report else None
    answer = CheckAnswer(
        verdict=verdict,
        directory=directory,
        seconds=seconds,
        planted=planted_in(setup.backend, verdict),
        check_again=again.against(directory),
        against=changed,
        fabric_time="" if setup.plan.cost.is_bound else setup.plan.time_text,
        page=page,
    )
    print_answer(answer, format_, matrix=matrix)
    _keep_drain(answer, drain_file)
    return verdict_exit_code(verdict.exit_code, verdict.findings)


def _keep_drain(answer: CheckAnswer, drain_file: Path | None) -> None:
    if drain_file is not None:
        with kept_run(answer.directory):
            write_drain(answer, drain_file)


def _resumed(run_dir: Path | None, resume: bool) -> Path | None:
    """The directory of the check to go on with; None of a new one. Raises InputError."""
    if resume and run_dir is None:
        raise InputError(
            "--resume needs --dir", expected="the directory of the check to go on with"
        )
    return run_dir if resume else None
