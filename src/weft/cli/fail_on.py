"""`--fail-on`: the least verdict that ends a verb with a code other than 0."""

from collections.abc import Iterable
from typing import Any

import click

from weft.core.errors import ExitCode
from weft.core.finding import WORST_FIRST, HasSeverity, Severity

_LEVELS = {
    "bad": Severity.BAD,
    "unknown": Severity.UNKNOWN,
    "warning": Severity.WARNING,
    "never": None,
}
_KEY = "weft.fail_on"


def _keep(context: click.Context, _: click.Parameter, level: Any) -> None:
    context.meta[_KEY] = level


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(list(_LEVELS)),
    default="unknown",
    show_default=True,
    expose_value=False,
    callback=_keep,
    help="The least verdict with an exit code other than 0: 1, or 5 for unknown.",
)


def exit_code_of(worst: Severity) -> int:
    """The exit code of a verdict under the running verb's `--fail-on`."""
    context = click.get_current_context(silent=True)
    least = _LEVELS[context.meta.get(_KEY, "unknown") if context else "unknown"]
    if least is None or WORST_FIRST.index(worst) > WORST_FIRST.index(least):
        return int(ExitCode.GOOD)
    return int(ExitCode.NO_VERDICT if worst is Severity.UNKNOWN else ExitCode.VERDICT_BAD)


def verdict_exit_code(code: ExitCode, findings: Iterable[HasSeverity]) -> int:
    """As `exit_code_of`, of a verdict with an exit code of its own: errors keep theirs."""
    severity = {ExitCode.VERDICT_BAD: Severity.BAD, ExitCode.NO_VERDICT: Severity.UNKNOWN}.get(code)
    if severity is None and code is not ExitCode.GOOD:
        return int(code)
    warned = Severity.WARNING in {one.severity for one in findings}
    return exit_code_of(severity or (Severity.WARNING if warned else Severity.GOOD))
