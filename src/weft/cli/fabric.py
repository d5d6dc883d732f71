"""`weft fabric`: a cluster's own fabric files read, traced, routed, audited, drawn, exported."""

import importlib

import click

VERBS = {
    "show": "What the files describe: nodes, switches, cables, rates, taper; a picture of it.",
    "trace": "The cables that packets cross from A to B, and back.",
    "audit": "What is wrong with it: cables, routes, counters, logs; where, and what to do.",
    "route": "Routing engines compared: path lengths, loads, bisection, credit loops.",
    "export": "The fabric for ibsim (and so OpenSM), Slurm, graph tools, or the twin.",
    "generate": "The fabric of a platform of the catalogue at any number of nodes.",
}
"""Verb -> one line. Each lives in weft.cli.fabric_VERB, as `command`."""


class LazyVerbs(click.Group):
    """A group that imports a verb only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command, None where there is no such verb."""
        if cmd_name not in VERBS:
            return None
        ctx.ensure_object(dict)
        module = importlib.import_module(f"weft.cli.fabric_{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """The verb table, without importing any verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group("fabric", cls=LazyVerbs)
def command() -> None:
    """Read a cluster's own fabric files: what ibnetdiscover, OpenSM, ibdiagnet and others wrote.

    Every verb takes any number of FILES, knows each by its content ('-' is standard input), and
    joins what belongs together: cables, forwarding tables, counters.
    """
