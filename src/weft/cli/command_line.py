"""The command as it was typed, with other values of some options: lines that can be pasted."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import click

from weft.core.shell_line import shell_line

_NOT_TWICE = frozenset({"--dir", "--resume", "--report", "--drain", "--evidence", "--output"})
"""Options of places that a command has written to already."""
_OF_A_JOB = frozenset({"--executor"})
"""Options that only hold in the job that the command was part of."""


def resume_command(context: click.Context, run_dir: Path) -> str:
    """The words of a call, to go on with the run in this directory."""
    words = _typed(context, {"--dir": None, "--resume": None}, _OF_A_JOB)
    return f"{words} {shell_line(['--dir', run_dir, '--resume'])}"


def repeat_command(context: click.Context, run_dir: Path | None) -> str:
    """The words of a call, to begin the run again in this directory; None: in a fresh one."""
    named = {"--dir": None if run_dir is None else (run_dir,), "--resume": None}
    return _typed(context, named, _OF_A_JOB)


def typed_command(context: click.Context, values: Mapping[str, Sequence[str] | None]) -> str:
    """The words of a call with these `values` of options, None for none; without the places that it
    wrote to."""
    return _typed(context, values, _NOT_TWICE)


def _typed(
    context: click.Context,
    values: Mapping[str, Sequence[str | PurePath] | None],
    left_out: frozenset[str],
) -> str:
    typed = click.core.ParameterSource.COMMANDLINE
    words: list[str | PurePath] = [*context.command_path.split()]
    left = dict(values)
    for parameter in context.command.params:
        option, name = parameter.opts[0], str(parameter.name)
        if option in left:
            words += [word for one in left.pop(option) or () for word in (option, one)]
        elif context.get_parameter_source(name) == typed and option not in left_out:
            words += words_of(parameter, context.params[name])
    return shell_line(words)


def words_of(parameter: click.Parameter, value: Any) -> list[str | PurePath]:
    """A parameter and its value as the words that were typed."""
    several = parameter.multiple or parameter.nargs != 1
    given = value if several else (value,)
    values = [one if isinstance(one, PurePath) else str(one) for one in given]
    if not isinstance(parameter, click.Option):
        return values
    if parameter.is_flag:
        return [parameter.opts[0] if value else parameter.secondary_opts[0]]
    return [word for one in values for word in (parameter.opts[0], one)]
