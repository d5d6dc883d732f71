"""The call of `weft bisect` as a line to paste, with other values of some options."""

from collections.abc import Mapping

import click

from weft.cli.command_line import words_of
from weft.core.shell_line import shell_line
from weft.launch.secret_text import mask_words


def call_again(
    ctx: click.Context, values: Mapping[str, str | None], *, is_swapped: bool = False
) -> str:
    """The call with these values of options: None leaves one out, "" is a flag. Options stand
    before the files, because all that follows `--` is the command's."""
    typed = click.core.ParameterSource.COMMANDLINE
    words = list(ctx.command_path.split())
    for parameter in ctx.command.params:
        option, name = parameter.opts[0], str(parameter.name)
        is_typed = ctx.get_parameter_source(name) == typed
        if isinstance(parameter, click.Option) and is_typed and option not in values:
            words += map(str, words_of(parameter, ctx.params[name]))
    for option, value in values.items():
        if value is not None:
            words += [option, value] if value else [option]
    files = [ctx.params["good"], ctx.params["bad"]]
    words += files[::-1] if is_swapped else files
    return shell_line([*words, "--", *mask_words(ctx.params["argv"])])
