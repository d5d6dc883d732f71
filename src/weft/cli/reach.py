"""Hosts that are named and cannot be reached: one error before anything is measured."""

import os
from collections.abc import Mapping, Sequence

import click

from weft.cli.backend.choice import KUBERNETES, BackendChoice
from weft.cli.command_line import typed_command
from weft.cluster.reach import OWN_LAUNCH, Reach, try_hosts
from weft.cluster.remote import Ssh
from weft.core.errors import InputError
from weft.core.nodeset import fold
from weft.core.words import counted

FEWEST = 2
"""Without a second host there is no pair to measure."""


def refuse_unreachable(
    choice: BackendChoice,
    nodes: Sequence[str],
    *,
    keeps_lost: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Raises InputError that names all hosts of `--hosts` and `--hostfile` that ssh cannot log in
    to. With `keeps_lost` a verb reports hosts that do not answer itself, so that only unknown names
    are refused, and all where fewer than two hosts answer.

    A launcher that reaches hosts in its own way is left to it.
    """
    named = choice.hosts is not None or choice.hostfile is not None
    by_ssh = choice.launcher != KUBERNETES
    if not named or choice.mock or not by_ssh or any(name in environ for name in OWN_LAUNCH):
        return
    reach = try_hosts(Ssh(), nodes)
    n_left = len(nodes) - len(reach.failures)
    if reach.failures and (not keeps_lost or reach.unknown_names or n_left < FEWEST):
        raise unreachable(reach, nodes)


def unreachable(reach: Reach, nodes: Sequence[str]) -> InputError:
    """The error that names all of them, with the command of the other hosts."""
    left = [node for node in nodes if node not in reach.failures]
    context = click.get_current_context(silent=True)
    options = {option for p in context.command.params for option in p.opts} if context else set()
    next_ = ""
    if context is not None and "--hosts" in options and len(left) >= FEWEST:
        values = {"--hosts": [fold(left)], "--hostfile": None}
        next_ = f"; without them: {typed_command(context, values)}"
    untried = f", {reach.n_untried:,} not tried in time" if reach.n_untried else ""
    head = f"{len(reach.failures):,} of {counted(len(nodes), 'host')} cannot be reached{untried}"
    return InputError(
        "\n  ".join([head, *reach.lines()]),
        expected="hosts that 'ssh HOST true' logs in to without a question",
        hint=f"mend them, or leave them out{next_}",
    )
