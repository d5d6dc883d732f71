"""The command line: one folder a verb, each imported only when it runs."""

import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from weft import __version__
from weft.cli.examples import add_examples
from weft.cli.internal_error import fault_line, fault_of_a_thread, watch_threads
from weft.cli.lazy import LazyVerbs
from weft.core.errors import ExitCode, StorageError, WeftError
from weft.core.shell_line import shell_line

VERBS: dict[str, str] = {
    "check": "Is this fabric healthy, and if not, which node, link or switch?",
    "bench": "How fast is this path or this collective?",
    "study": "List, show, plan and run studies: arms compared over repeated launches.",
    "compare": "Compare the arms of one run, or two runs, with intervals.",
    "bisect": "Which variable of two environments makes a command slow, wrong or hang?",
    "history": "When did the figures of a fabric change, and which setting changed there?",
    "report": "Write one self-contained HTML page about a run.",
    "export": "Figures of runs for other programs: tables, Prometheus, ReFrame, CI servers.",
    "judge": "Is this result normal, and what limits it? Files of the tools in the field.",
    "import": "Store result files of other tools as a run: report and compare work on it.",
    "record": "Record the MPI calls of a program, in a trace that a twin can repeat.",
    "replay": "Repeat a recorded program on a twin: how long, and what a neighbour costs it.",
    "train": "Training: what do logs say of the steps, what should one cost, which layout is best?",
    "expect": "What should this path or collective deliver, and what limits it?",
    "fabric": "Read, trace, route, audit, draw and export a cluster's own fabric files.",
    "cluster": "From bare hosts to an MPI cluster, or a virtual one on this machine.",
    "recipe": "Launch settings for this machine, each with its reason and source.",
    "doctor": "Why jobs miss the fast network: this machine, settings, logs, topology files.",
    "platform": "Machines of the catalogue and your own, with the source of each figure.",
}
"""Verb -> one line. `LazyVerbs.module_of` says where it lives, as `command`."""


def _print_limits(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from weft.cli.limits.limits import limits_text

        click.echo(limits_text())
        ctx.exit()


@click.group(
    cls=LazyVerbs,
    verbs=VERBS,
    invoke_without_command=True,
    context_settings={"max_content_width": 100},
)
@click.version_option(__version__, prog_name="weft")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress of commands that take long.")
@click.option(
    "--limits",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_limits,
    help="Show the limits of all files, documents and numbers, and exit.",
)
@click.pass_context
def weft(ctx: click.Context, *, quiet: bool) -> None:
    """Judge results, measure a fabric, predict it on a twin, name what is wrong.

    `weft` without a verb describes this machine and lists five things to do.
    """
    if quiet:
        from weft.cli.progress.watch import silence

        silence()
    if ctx.invoked_subcommand is None:
        from weft.cli.welcome import welcome

        welcome()


add_examples(weft, "")


def main() -> None:
    """Run the command line; turn every error into its text and exit code."""
    closed = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if "stdout" in closed:
        _say("weft: standard output is closed")
        sys.exit(int(ExitCode.MISSING))
    if isinstance(sys.stdout.buffer, io.RawIOBase):
        # Without a buffer (PYTHONUNBUFFERED) Python loses what a full disk does not take.
        sys.stdout = open(1, "w", encoding=sys.stdout.encoding, closefd=False)  # noqa: SIM115
    watch_threads()
    from weft.cli.progress.watch import watched_progress

    with watched_progress():
        code = run(sys.argv[1:])
    # A second Ctrl-C while the first one ends the program would be a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if (error := fault_of_a_thread()) is not None:
        _say(fault_line(error))
        code = int(ExitCode.OUR_FAULT)
    try:
        sys.stdout.flush()
    except OSError:
        # What Python would still try to write when it ends is given up: its error was reported.
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, sys.stdout.fileno())
    sys.exit(code)


def run(argv: list[str]) -> int:
    """The exit code of one call (docs/reference/exit_codes.md)."""
    stdout = sys.stdout
    try:
        result = weft.main(args=argv, prog_name="weft", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit as leaving:
        # Click leaves with 1 when the reader has gone (`weft ... | head`), after putting a silent
        # stream in place of stdout; here that is success.
        reader_has_gone = sys.stdout is not stdout
        return int(ExitCode.GOOD) if reader_has_gone else _code_of(leaving)
    except BaseException as error:
        # A panic of the engine is no Exception.
        if isinstance(error, StorageError) and error.next_command is None:
            # A verb that keeps nothing on the way begins again.
            error.next_command = shell_line(["weft", *argv])
        code, lines = _ending(error, shell_line(["weft", *argv]))
        _say(lines)
        return int(code)
    return int(result) if isinstance(result, int) else int(ExitCode.GOOD)


def _code_of(leaving: SystemExit) -> int:
    return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)


def _ending(error: BaseException, typed: str) -> tuple[ExitCode, str]:
    """The exit code of an error and what the user reads, who typed this command."""
    if isinstance(error, WeftError):
        return error.exit_code, f"weft: {error.describe()}"
    if isinstance(error, click.ClickException):
        return ExitCode.INPUT, _usage(error)
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        notes = _notes(error) or [f"nothing goes on running, nothing is kept\nnext: {typed}"]
        return ExitCode.INTERRUPTED, "\n".join(["weft: interrupted", *notes])
    if isinstance(error, BrokenPipeError):
        return ExitCode.GOOD, ""
    if isinstance(error, MemoryError | OSError):
        return ExitCode.MISSING, _lack(error)
    return ExitCode.OUR_FAULT, fault_line(error)


def _notes(error: BaseException) -> Sequence[str]:
    """What was added to an interrupt on its way, such as what it leaves; Click raises an error of
    its own for it."""
    return getattr(error.__cause__ or error, "__notes__", ())


def _lack(error: MemoryError | OSError) -> str:
    """The machine's lack behind an error."""
    if isinstance(error, MemoryError):
        return (
            "weft: this machine's memory is too small for the question\n"
            "  expected: fewer nodes, ranks or rows; 'weft --limits' lists what weft takes at most"
        )
    where = f" {error.filename}" if error.filename else ", most likely the output"
    return f"weft: cannot read or write{where}: {error.strerror or error}"


def _usage(error: click.ClickException) -> str:
    """The message of click about a wrong command line."""
    import io

    text = io.StringIO()
    error.show(text)
    return text.getvalue().rstrip("\n")


def _say(lines: str) -> None:
    """Lines on standard error, which may be full or closed."""
    from contextlib import suppress

    from weft.cli.output import talk

    if lines:
        with suppress(OSError, ValueError):
            talk(lines)
