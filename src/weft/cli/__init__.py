"""The command line: one folder a verb, each imported only when it runs."""

import sys

import click

from weft import __version__
from weft.cli.lazy import LazyVerbs
from weft.core.errors import ExitCode, WeftError

VERBS: dict[str, str] = {
    "check": "Is this fabric healthy, and if not, which node, link or switch?",
    "bench": "How fast is this path or this collective?",
    "study": "List, show, plan and run studies: arms compared over repeated launches.",
    "compare": "Compare the arms of one run, or two runs, with intervals.",
    "report": "Write one self-contained HTML page about a run.",
    "judge": "Is this result normal, and what limits it? Files of the tools in the field.",
    "import": "Store result files of other tools as a run: report and compare work on it.",
    "expect": "What should this path or collective deliver, and what limits it?",
    "fabric": "Read, trace, route, audit, draw and export a cluster's own fabric files.",
    "cluster": "From bare hosts to an MPI cluster, or a virtual one on this machine.",
    "recipe": "What to launch with on this machine, each setting with its reason and source.",
    "doctor": "What keeps jobs from the fabric: this machine, settings, logs, topology files.",
    "platform": "List and show the platforms of the catalogue, with their sources.",
}
"""Verb -> one line. `LazyVerbs.module_of` says where it lives, as `command`."""


@click.group(
    cls=LazyVerbs,
    verbs=VERBS,
    invoke_without_command=True,
    context_settings={"max_content_width": 100},
)
@click.version_option(__version__, prog_name="weft")
@click.pass_context
def weft(ctx: click.Context) -> None:
    """Judge results, measure a fabric, predict it on a twin, name what is wrong.

    `weft` without a verb describes this machine and lists five things to do.
    """
    if ctx.invoked_subcommand is None:
        from weft.cli.welcome import welcome

        welcome()


def main() -> None:
    """Run the command line; turn every error into its text and exit code."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """The exit code of one call (docs/reference/exit_codes.md)."""
    stdout = sys.stdout
    try:
        result = weft.main(args=argv, prog_name="weft", standalone_mode=False)
        return int(result) if isinstance(result, int) else int(ExitCode.GOOD)
    except click.ClickException as error:
        error.show()
        return int(ExitCode.INPUT)
    except WeftError as error:
        from weft.cli.output import talk

        talk(f"weft: {error.describe()}")
        return int(error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("weft: interrupted", err=True)
        return int(ExitCode.INTERRUPTED)
    except SystemExit as leaving:
        # Click leaves with 1 when the reader has gone (`weft ... | head`), after putting a silent
        # stream in place of stdout; here that is success.
        reader_has_gone = sys.stdout is not stdout
        return int(ExitCode.GOOD) if reader_has_gone else int(leaving.code or 0)
