"""The command as it was typed, with other values of some options: lines that can be pasted."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import click

_NOT_TWICE = frozenset({"--dir", "--resume", "--report", "--drain", "--output"})
"""Options of places that a command has written to already."""


def typed_command(context: click.Context, values: Mapping[str, Sequence[str] | None]) -> str:
    """The words of a call with these `values` of options, None for none; without the places that it
    wrote to."""
    typed = click.core.ParameterSource.COMMANDLINE
    words = context.command_path.split()
    left = dict(values)
    for parameter in context.command.params:
        option, name = parameter.opts[0], str(parameter.name)
        if option in left:
            words += [word for one in left.pop(option) or () for word in (option, one)]
        elif context.get_parameter_source(name) == typed and option not in _NOT_TWICE:
            words += _words(parameter, context.params[name])
    return shlex.join(words)


def _words(parameter: click.Parameter, value: Any) -> list[str]:
    several = parameter.multiple or parameter.nargs != 1
    values = [str(one) for one in (value if several else (value,))]
    if not isinstance(parameter, click.Option):
        return values
    if parameter.is_flag:
        return [parameter.opts[0] if value else parameter.secondary_opts[0]]
    return [word for one in values for word in (parameter.opts[0], one)]
