"""Options of a check that are given again to measure the same."""

from collections.abc import Mapping
from typing import Any

import click

from weft.check.verdict.rerun_command import Again

NOT_AGAIN: Mapping[str, str] = {
    "--dir": "a new run has a directory of its own",
    "--resume": "it is about an interrupted run",
    "--against": "the new run is compared with this one",
    "--plant": "the planted fault is mended",
    "--counters": "they were read before the repair",
    "--dry-run": "it measured nothing",
    "--matrix": "it changes the output",
    "--drain": "it changes the output",
    "--report": "it changes the output",
    "--format": "it changes the output",
    "--mock": "it is for tests",
}
"""Options that do not change what is measured, or must not be given again, and why."""


def again_of(context: click.Context) -> Again:
    """The options as typed for this command."""
    typed = click.core.ParameterSource.COMMANDLINE
    return Again(
        {
            option.opts[0]: _words(option, context.params[str(option.name)])
            for option in context.command.params
            if isinstance(option, click.Option)
            and option.opts[0] not in NOT_AGAIN
            and context.get_parameter_source(str(option.name)) == typed
        }
    )


def _words(option: click.Option, value: Any) -> tuple[str, ...]:
    if option.is_flag:
        return (option.opts[0],)
    values = value if option.multiple else (value,)
    return tuple(word for one in values for word in (option.opts[0], str(one)))
