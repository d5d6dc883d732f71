"""A group of verbs, each imported only when it is called, so that --help is fast."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

from weft.cli.examples import add_examples
from weft.core.errors import did_you_mean

# Python reserves the word `import`.
_FOLDERS = {"import": "import_results"}


class LazyVerbs(click.Group):
    """Verbs by name with one line each; a module of `folder` holds each `command`.

    Without `folder` the verbs are weft's own, a folder each.
    """

    def __init__(
        self, *args: Any, verbs: Mapping[str, str], folder: str = "", **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.verbs = verbs
        self.folder = folder

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
        return add_examples(command, f"{self.folder} {cmd_name}".strip())

    def module_of(self, verb: str) -> str:
        """The module of a verb: weft.cli.FOLDER.VERB, or weft.cli.VERB.command."""
        if self.folder:
            return f"weft.cli.{self.folder}.{verb.replace('-', '_')}"
        return f"weft.cli.{_FOLDERS.get(verb, verb)}.command"

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """The verb table, without importing any verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(self.verbs.items()))


class CommandWithVerbs(click.Command):
    """A command that takes any words, except that one of `verbs` in front of them stands for
    another command: `weft.cli.` + `folder` + the verb, '-' as '_'."""

    verbs: tuple[str, ...] = ()
    folder = ""

    def verb(self, name: str) -> click.Command:
        """The command of one of the verbs."""
        found: click.Command = importlib.import_module(
            f"weft.cli.{self.folder}.{name.replace('-', '_')}"
        ).command
        return add_examples(found, f"{self.folder} {name}")

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """Of the verb, where there is one."""
        if args and args[0] in self.verbs:
            return self.verb(args[0]).make_context(
                f"{info_name} {args[0]}", args[1:], parent, **more
            )
        return super().make_context(info_name, args, parent, **more)
