"""`weft doctor`: settings, logs and files of a job, judged without running it."""

import click

from weft.cli.lazy import LazyVerbs

VERBS = {
    "env": "What is wrong with the variables of a script, a file or this environment.",
}
"""Verb -> one line. Each lives in weft.cli.doctor_VERB, as `command`."""


@click.group("doctor", cls=LazyVerbs, verbs=VERBS, prefix="doctor_")
def command() -> None:
    """Find settings that do not do what they seem to, and say what really happens."""
