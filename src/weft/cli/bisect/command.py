"""`weft bisect GOOD BAD -- CMD`: which variable of two environments makes a command slow."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.bisect.again import call_again
from weft.cli.bisect.options import BISECT_OPTIONS, MOST_PAIRS, BisectOptions
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import RESUME, fresh_run_dir, run_dir_option
from weft.cli.output import format_option, talk
from weft.core.errors import ExitCode, InputError, StorageError
from weft.core.finding import Finding, verdict_of
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.bisect.answer import BisectQuestion
    from weft.study.bisect.decision import Decisions
    from weft.study.bisect.launches import CommandLaunches, CommandUnderTest
    from weft.study.bisect.variables import Differences
    from weft.study.run.store import RunStore

MORE_PAIRS = 5
"""So many times as many launches are advised where the first ones show no difference."""


@click.command("bisect")
@BISECT_OPTIONS
@run_dir_option("Where the run is kept. Default: runs/bisect-<time>.")
@RESUME
@click.option("--dry-run", is_flag=True, help="Print what differs and the commands; run nothing.")
@fail_on_option
@format_option
@click.argument("good", metavar="GOOD")
@click.argument("bad", metavar="BAD")
@click.argument("argv", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    good: str,
    bad: str,
    argv: tuple[str, ...],
    asked: BisectOptions,
    run_dir: Path | None,
    resume: bool,
    dry_run: bool,
    format_: str,
) -> int:
    """Find the variable that makes CMD slow, wrong or hang: weft bisect GOOD.env BAD.env -- CMD.

    GOOD and BAD each set an environment: NAME=value lines (as `env` prints them), a script of
    exports, the output of `weft recipe`, an nccl.conf, or an image. No script is run. weft launches
    CMD, without a shell, with the variables of GOOD, of BAD, and of environments between the two,
    until one variable, or the fewest together, explain the difference.

    Exit 1 if a cause was found, 5 if GOOD and BAD do not differ or the search came to no end, 4 if
    CMD does not work with GOOD.
    """
    from weft.cli.bisect.answer_text import print_answer, print_dry_run

    if resume and run_dir is None:
        raise InputError("--resume needs the run to go on with", expected="--dir RUN with it")
    test, between = _command_under_test((good, bad), argv, asked)
    if dry_run:
        print_dry_run(test, between, format_)
        return int(ExitCode.GOOD)
    where = run_dir or fresh_run_dir("bisect")
    with _kept(ctx, where), _opened(test, between, asked, where, resume=resume) as store:
        decisions, findings = _measured(ctx, test, _question(ctx, between, where), store)
    print_answer(decisions, findings, test, where, format_)
    return exit_code_of(verdict_of(findings))


def _command_under_test(
    files: tuple[str, str], argv: Sequence[str], asked: BisectOptions
) -> "tuple[CommandUnderTest, Differences]":
    """The command with what differs. Raises InputError where nothing does."""
    from weft.core.host import this_host
    from weft.doctor.environment_file import read_environment_file
    from weft.study.bisect.launches import CommandUnderTest
    from weft.study.bisect.variables import Differences, differences, environment_of

    read = [read_environment_file(name) for name in files]
    for remark in dict.fromkeys(remark for one in read for remark in one.remarks):
        talk(remark)
    unknown = {name: why for one in read for name, why in one.not_read.items()}
    good, bad = ({n: v for n, v in one.values.items() if n not in unknown} for one in read)
    around = dict(os.environ)
    found = differences(good, bad, around, asked.ignored)
    between = Differences(found.variables, {**unknown, **found.left_out}, found.alike)
    if not between.variables:
        left = "; ".join(f"{name}: {why}" for name, why in between.left_out.items())
        raise InputError(
            "GOOD and BAD set the same values" + (f" (not compared: {left})" if left else ""),
            where=", ".join(files),
            expected="two environments that differ",
            hint="the difference may be in the machine, the software or the input of CMD",
        )
    test = CommandUnderTest(
        argv=tuple(argv),
        variables=between.variables,
        environment=lambda changed: environment_of(good, bad, around, changed),
        choice=asked.choice(),
        timeout_s=asked.timeout_s,
        host=this_host().name,
    )
    return test, between


@contextmanager
def _opened(
    test: "CommandUnderTest",
    between: "Differences",
    asked: BisectOptions,
    where: Path,
    *,
    resume: bool,
) -> "Iterator[RunStore]":
    """A new run directory, or the one to go on with. Raises InputError for another bisect's."""
    from weft.study.bisect.record import bisect_meta, refuse_other_question
    from weft.study.run.metadata import refuse_other_run
    from weft.study.run.store import RunStore, read_meta

    meta = bisect_meta(test, between, asked.seed)
    if resume:
        before = read_meta(where)
        refuse_other_question(before, meta, str(where))
        refuse_other_run(before, meta, str(where))
    with RunStore.open(where) if resume else RunStore.create(where, meta) as store:
        yield store


def _measured(
    ctx: click.Context, test: "CommandUnderTest", question: "BisectQuestion", store: "RunStore"
) -> "tuple[Decisions, list[Finding]]":
    """Launch until there is an answer."""
    from weft.cli.progress.steps import shown_bisect
    from weft.study.bisect.decision import Decisions
    from weft.study.bisect.launches import CommandLaunches

    with shown_bisect(len(test.variables)) as progress:
        launches = CommandLaunches(test, store, over=progress.over)
        decisions = Decisions(
            len(test.variables),
            launches,
            seed=ctx.params["seed"],
            lower_is_better=test.choice.lower_is_better,
            most_pairs=ctx.params["pairs"],
        )

        def note(among: Sequence[int]) -> None:
            progress.among([test.variables[one].name for one in among])

        return decisions, _findings(decisions, launches, question, note)


def _findings(
    decisions: "Decisions",
    launches: "CommandLaunches",
    question: "BisectQuestion",
    note: Callable[[Sequence[int]], None],
) -> list[Finding]:
    from weft.study.bisect.answer import found, no_answer, no_difference
    from weft.study.bisect.decision import Behaviour, NoAnswerError
    from weft.study.bisect.search import search

    if decisions.ends_differ() is not Behaviour.BAD:
        return [no_difference(decisions, question)]
    try:
        result = search(decisions, len(question.variables), note)
    except NoAnswerError as error:
        return [no_answer(decisions, str(error), question)]
    fixed = launches.command.fixed(result.causes[0].variables)
    return found(decisions, result, replace(question, seconds=launches.seconds, fixed=fixed))


def _question(ctx: click.Context, between: "Differences", where: Path) -> "BisectQuestion":
    from weft.study.bisect.answer import BisectQuestion

    fresh = {"--dir": None, "--resume": None}
    # The test holds at any number of launches of one run, and not for the luckiest of several runs.
    more = {"--dir": str(where), "--resume": "", "--pairs": _more_pairs(ctx.params["pairs"])}
    return BisectQuestion(
        variables=between.variables,
        left_out=between.left_out,
        more_launches=call_again(ctx, more),
        afresh=call_again(ctx, fresh),
        swapped=call_again(ctx, fresh, is_swapped=True),
    )


def _more_pairs(n_pairs: int) -> str:
    return str(min(MORE_PAIRS * n_pairs, MOST_PAIRS))


@contextmanager
def _kept(ctx: click.Context, where: Path) -> Iterator[None]:
    """Ends an interrupt, SIGTERM, and a disk that refuses, with the command that goes on."""
    from weft.core.work.ending_signals import ended_as_by_ctrl_c
    from weft.study.run.store import read_run

    again = call_again(ctx, {"--dir": str(where), "--resume": ""})
    try:
        with ended_as_by_ctrl_c():
            yield
    except KeyboardInterrupt as interrupt:
        n_over = read_run(where).n_over if (where / "run.toml").exists() else 0
        kept = f"{counted(n_over, 'launch', 'launches')} in {where}"
        ended = "nothing goes on running: CMD was ended with all that it started"
        interrupt.add_note(f"{ended}\nkept: {kept}\nnext: {again}")
        raise
    except StorageError as error:
        error.kept, error.next_command = f"the launches so far in {where}", again
        raise
