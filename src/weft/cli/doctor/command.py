"""`weft doctor`: this machine, and settings, logs and files of a job, judged without running it."""

from pathlib import Path

import click

from weft.cli.fail_on import fail_on_option
from weft.cli.lazy import LazyVerbs
from weft.cli.options import ANY_PATH
from weft.cli.output import format_option

VERBS = {
    "log": "Networks that ranks used, and why no faster one: logs of NCCL, RCCL, MPI, SHARP.",
    "env": "Faults in the variables of a script, a file or this environment.",
    "container": "The network that NCCL of an image will use, and what keeps it from a faster one.",
    "topo": "NCCL's reading of a topology file, and the faults of the file.",
    "nccl-plan": "What a libnccl.so would do on your nodes: channels, algorithms, rates.",
}
"""Verb -> one line. Each lives in weft.cli.doctor.VERB, as `command`."""


_TYPED = click.core.ParameterSource.COMMANDLINE


@click.group("doctor", cls=LazyVerbs, verbs=VERBS, folder="doctor", invoke_without_command=True)
@click.option(
    "--sysroot",
    type=ANY_PATH,
    default=Path("/"),
    metavar="DIR",
    help="Read sys, proc and dev of DIR instead; links do not lead out of it.",
)
@fail_on_option
@format_option
@click.pass_context
def command(ctx: click.Context, sysroot: Path, format_: str) -> int | None:
    """Find settings, links and permissions that keep jobs from the fabric.

    Without a verb: this machine's path to its fabric in a few lines, with each fault and its fix.
    It needs no rights and opens no device. Exit 1 if something keeps jobs from the fabric, 5 if a
    file is missing that could show a fault.
    """
    if ctx.invoked_subcommand is not None:
        names = (*ctx.params, "fail_on")
        given = [name for name in names if ctx.get_parameter_source(name) is _TYPED]
        if given:
            ctx.fail(
                f"options of the machine before '{ctx.invoked_subcommand}': put them behind it"
            )
        return None
    from weft.cli.doctor.machine import show

    return show(sysroot, format_)
