"""`weft bisect GOOD BAD -- CMD`: which variable of two environments makes a command slow."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.bisect.again import call_again
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import RESUME, fresh_run_dir, options_as, run_dir_option
from weft.cli.output import emit, finding_lines, format_option, table_text, talk
from weft.core.errors import InputError, StorageError
from weft.core.finding import Finding, verdict_of
from weft.core.units import format_duration, parse_duration, parse_size
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.bisect.answer import Question
    from weft.study.bisect.decision import Decisions
    from weft.study.bisect.figures import FigureChoice
    from weft.study.bisect.launches import CommandLaunches, CommandUnderTest
    from weft.study.bisect.variables import Differences

WALL_WORD = "wall"
MOST_PAIRS = 10_000
_NAMES_SHOWN = 40


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """The options that say what is judged."""

    metric: str | None
    size: str | None
    figure: str | None
    higher_is_better: bool
    take: str | None

    def choice(self) -> "FigureChoice":
        """The choice. Raises InputError where options contradict each other."""
        from weft.study.bisect.figures import WALL, FigureChoice, pattern_of

        if self.figure is not None:
            if self.metric is not None or self.size is not None:
                raise InputError(
                    "--figure and --metric contradict each other", expected="one of them"
                )
            pattern_of(self.figure)
        elif self.higher_is_better:
            raise InputError("--higher-is-better goes with --figure", expected="--figure TEXT")
        return FigureChoice(
            metric=WALL if self.metric == WALL_WORD else self.metric or "",
            size_bytes=None if self.size is None else parse_size(self.size),
            printed=self.figure or "",
            take=self.take or "",
            higher=self.higher_is_better,
        )


FIGURE = options_as(
    "asked",
    FigureOptions,
    (
        click.option(
            "--metric",
            metavar="NAME",
            help="The figure to judge: a metric of the result, such as latency_us, or 'wall' for "
            "the wall time. Default: the main metric of the result at each size, else wall time.",
        ),
        click.option("--size", metavar="BYTES", help="Judge this message size only: 8, 64K."),
        click.option(
            "--figure",
            metavar="TEXT",
            help="Judge a number in the output: the words around it with {} in its place, such as "
            "'step time: {} ms'. Less is better.",
        ),
        click.option("--higher-is-better", is_flag=True, help="Of --figure, more is better."),
        click.option(
            "--take",
            type=click.Choice(["first", "last"]),
            help="Which counts where a launch prints the same figure several times.",
        ),
    ),
)


@click.command("bisect")
@FIGURE
@click.option(
    "--ignore", "ignored", multiple=True, metavar="NAME",
    help="A variable, or a pattern such as 'FOO_*', that stays as in GOOD. Repeatable.",
)  # fmt: skip
@click.option(
    "--timeout",
    metavar="TIME",
    help="A launch that takes longer has hung. Default: 20 times the slowest of GOOD, at least "
    "10 s.",
)
@click.option(
    "--pairs",
    type=click.IntRange(4, MOST_PAIRS),
    default=20,
    show_default=True,
    help="So many launches of each, GOOD and BAD, show no difference: then stop.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order of launches.")
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
    asked: FigureOptions,
    ignored: tuple[str, ...],
    timeout: str | None,
    pairs: int,
    seed: int,
    run_dir: Path | None,
    resume: bool,
    dry_run: bool,
    format_: str,
) -> int:
    """Find the variable that makes CMD slow, wrong or hang: weft bisect GOOD.env BAD.env -- CMD.

    GOOD and BAD each set an environment: NAME=value lines (as `env` prints them), a script of
    exports, the output of `weft recipe`, an nccl.conf, or an image. No script is run. CMD is
    launched with the variables of GOOD, of BAD, and of environments between the two, until one
    variable, or the fewest together, explain the difference. CMD starts without a shell.

    Exit 1 if a cause was found, 5 if GOOD and BAD do not differ or the search came to no end, 4 if
    CMD does not work with GOOD.
    """
    if resume and run_dir is None:
        raise InputError("--resume needs the run to go on with", expected="--dir RUN with it")
    if good == bad:
        raise InputError("GOOD and BAD are the same file", where=good, expected="two files")
    test, between = _command_under_test(good, bad, argv, asked, ignored, timeout)
    if dry_run:
        _print_dry_run(test, between, format_)
        return 0
    where = run_dir or fresh_run_dir("bisect")
    began = time.monotonic()
    with _kept(ctx, where):
        decisions, findings = _measured(ctx, test, between, where, pairs, seed, resume=resume)
    _print(decisions, findings, test, where, time.monotonic() - began, format_)
    return exit_code_of(verdict_of(findings))


def _command_under_test(
    good: str,
    bad: str,
    argv: Sequence[str],
    asked: FigureOptions,
    ignored: Sequence[str],
    timeout: str | None,
) -> "tuple[CommandUnderTest, Differences]":
    from weft.core.host import this_host
    from weft.doctor.environment_file import read_environment_file
    from weft.study.bisect.launches import CommandUnderTest
    from weft.study.bisect.variables import Differences, differences, environment_of

    files = [read_environment_file(name) for name in (good, bad)]
    for one in files:
        for remark in one.remarks:
            talk(remark)
    unknown = {name: why for one in files for name, why in one.not_read.items()}
    values = [{n: v for n, v in one.values.items() if n not in unknown} for one in files]
    around = dict(os.environ)
    found = differences(values[0], values[1], around, ignored)
    between = Differences(found.variables, {**unknown, **found.left_out})
    if not between.variables:
        left = "; ".join(f"{name}: {why}" for name, why in between.left_out.items())
        raise InputError(
            "GOOD and BAD set the same values" + (f" (not compared: {left})" if left else ""),
            where=f"{good}, {bad}",
            expected="two environments that differ",
            hint="a difference may also be in the machine, the software or the input of CMD",
        )
    test = CommandUnderTest(
        argv=tuple(argv),
        variables=between.variables,
        environment=lambda changed: environment_of(values[0], values[1], around, changed),
        choice=asked.choice(),
        timeout_s=None if timeout is None else parse_duration(timeout),
        host=this_host().name,
    )
    return test, between


def _measured(
    ctx: click.Context,
    test: "CommandUnderTest",
    between: "Differences",
    where: Path,
    pairs: int,
    seed: int,
    *,
    resume: bool,
) -> "tuple[Decisions, list[Finding]]":
    from weft.cli.progress import shown_bisect
    from weft.study.bisect.decision import Decisions
    from weft.study.bisect.launches import CommandLaunches
    from weft.study.bisect.record import bisect_meta
    from weft.study.run.metadata import refuse_other_run
    from weft.study.run.store import RunStore, read_meta

    meta = bisect_meta(test, between, seed)
    if resume:
        refuse_other_run(read_meta(where), meta, str(where))
    store = RunStore.open(where) if resume else RunStore.create(where, meta)
    began = time.monotonic()
    with store, shown_bisect(len(test.variables)) as progress:
        launches = CommandLaunches(test, store, over=progress.over)
        decisions = Decisions(
            len(test.variables),
            launches,
            seed=seed,
            lower_is_better=test.choice.lower_is_better,
            most_pairs=pairs,
        )
        question = _question(ctx, between, where)

        def note(among: Sequence[int]) -> None:
            progress.among([test.variables[one].name for one in among])

        findings = _findings(decisions, launches, question, note, began)
    return decisions, findings


def _findings(
    decisions: "Decisions",
    launches: "CommandLaunches",
    question: "Question",
    note: Any,
    began: float,
) -> list[Finding]:
    from dataclasses import replace

    from weft.study.bisect.answer import found, no_answer, no_difference
    from weft.study.bisect.decision import Behaviour, NoAnswerError
    from weft.study.bisect.search import search

    ends = decisions.ends_differ()
    if ends is not Behaviour.BAD:
        return [no_difference(decisions, question)]
    try:
        result = search(decisions, len(question.variables), note)
    except NoAnswerError as error:
        return [no_answer(decisions, str(error), question)]
    fixed = launches.command.fixed(result.causes[0].variables)
    done = replace(question, seconds=time.monotonic() - began, fixed=fixed)
    return found(decisions, result, done)


def _question(ctx: click.Context, between: "Differences", where: Path) -> "Question":
    from weft.study.bisect.answer import Question

    pairs = 5 * int(ctx.params["pairs"])
    return Question(
        variables=between.variables,
        left_out=between.left_out,
        more_launches=call_again(ctx, {"--pairs": str(pairs), "--dir": None, "--resume": None}),
        swapped=call_again(ctx, {"--dir": None, "--resume": None}, is_swapped=True),
    )


@contextmanager
def _kept(ctx: click.Context, where: Path) -> Iterator[None]:
    """Ends an interrupt, and a disk that refuses, with the command that goes on."""
    from weft.study.run.store import read_run

    again = call_again(ctx, {"--dir": str(where), "--resume": ""})
    try:
        yield
    except KeyboardInterrupt:
        n_over = 0
        if (where / "run.toml").exists():
            n_over = read_run(where, with_fabric=False).n_over
        kept = counted(n_over, "launch", "launches")
        talk(f"CMD was ended; kept: {kept} in {where}\nnext: {again}")
        raise
    except StorageError as error:
        error.kept, error.next_command = f"the launches so far in {where}", again
        raise


def _print_dry_run(test: "CommandUnderTest", between: "Differences", format_: str) -> None:
    from weft.study.bisect.answer import left_out_lines
    from weft.study.bisect.decision import most_cells

    n = len(between.variables)
    rows = [one.to_record() for one in between.variables]
    ends = {name: test.recipe(frozenset(range(n)) if name == "bad" else frozenset())
            for name in ("good", "bad")}  # fmt: skip

    def text() -> str:
        cells = [[one.name, one.shown_good, one.shown_bad] for one in between.variables]
        head = f"{counted(n, 'variable')} to search, {most_cells(n)} environments at most"
        return "\n".join(
            [
                head,
                "",
                table_text(("variable", "good", "bad"), cells, left=3),
                "",
                *left_out_lines(between.left_out),
                f"GOOD  {ends['good']}",
                f"BAD  {ends['bad']}",
            ]
        )

    record = {
        "dry_run": True,
        "variables": rows,
        "not_compared": dict(between.left_out),
        "most_environments": most_cells(n),
        "commands": ends,
    }
    emit(format_, text=text, record=record, rows=rows)


def _print(
    decisions: "Decisions",
    findings: Sequence[Finding],
    test: "CommandUnderTest",
    where: Path,
    seconds: float,
    format_: str,
) -> None:
    from weft.study.bisect.answer import cell_rows

    rows = cell_rows(decisions, test.variables)
    record = {
        "run": str(where),
        "verdict": verdict_of(findings).value,
        "findings": [one.to_record() for one in findings],
        "figure": decisions.figure,
        "launches": decisions.n_launches,
        "seconds": round(seconds, 3),
        "environments": rows,
    }

    def text() -> str:
        lines = [line for one in findings for line in finding_lines(one)]
        following = next((one.next_command for one in findings if one.next_command), None)
        kept = f"kept:  {where} ({format_duration(seconds)})"
        return "\n".join([*lines, kept, *([f"next:  {following}"] if following else [])])

    emit(format_, text=text, record=record, rows=rows)
