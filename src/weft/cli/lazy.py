"""A group of verbs, each imported only when it is called, so that --help is fast."""

import importlib
import keyword
from collections.abc import Mapping
from typing import Any

import click

from weft.core.errors import did_you_mean


class LazyVerbs(click.Group):
    """Verbs by name with one line each; `weft.cli.` + `prefix` + the verb holds its `command`."""

    def __init__(
        self, *args: Any, verbs: Mapping[str, str], prefix: str = "", **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.verbs = verbs
        self.prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Verbs in the order of the table, most important first."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command. Raises UsageError where there is no such verb, or, while a shell
        completes a line, is None."""
        if cmd_name not in self.verbs:
            if ctx.resilient_parsing:
                return None
            listed = f"'{ctx.command_path} --help' lists them"
            hint = did_you_mean(cmd_name, list(self.verbs)) or listed
            ctx.fail(f"no verb '{cmd_name}'; {hint}")
        module = importlib.import_module(self.module_of(cmd_name))
        command: click.Command = module.command
        return command

    def module_of(self, verb: str) -> str:
        """weft.cli.VERB; where Python keeps the word for itself (`import`), with an underscore."""
        name = f"weft.cli.{self.prefix}{verb}"
        return f"{name}_" if not self.prefix and keyword.iskeyword(verb) else name

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """The verb table, without importing any verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(self.verbs.items()))
