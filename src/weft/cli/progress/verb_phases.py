"""The phases of the verb that runs, for the bar."""

import click

from weft.core.work.progress import STARTED, BeginPhase, phases


def verb_phases(what: str, **seconds: float) -> BeginPhase:
    """As `phases`, until the verb that runs has ended; of none where none runs. The first phase is
    also the start of the command: weft loads what a verb needs."""
    context = click.get_current_context(silent=True)
    if context is None:
        return _nothing
    return context.with_resource(phases(what, since=STARTED, **seconds))


def _nothing(name: str, expected_s: float | None = None) -> None:
    """No phase begins where no verb runs."""
