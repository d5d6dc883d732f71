"""`--within`: a hard limit for a whole check, after which it ends without a verdict."""

import functools
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from weft.core.errors import ExitCode, InputError
from weft.core.finding import Finding, FindingKind, Severity, cannot_tell
from weft.core.units import format_duration, parse_duration

LEAST_S, MOST_S = 1.0, 7 * 86400.0
AGAIN_S = 5.0
"""What does not end at the first interrupt gets another one as often as that."""


class TimeIsUpError(KeyboardInterrupt):
    """The limit is over. An interrupt to all that must end what it started."""


def within_option(function: Callable[..., int]) -> Callable[..., int]:
    """Add `--within`; the command ends by it with exit code 5, and its launches with it."""

    @click.option(
        "--within",
        metavar="TIME",
        help="End the whole check after this time (60s, 5min), without a verdict: exit 5, and no "
        "node is drained.",
    )
    @functools.wraps(function)
    def limited(*, within: str | None, **given: Any) -> int:
        if within is None:
            return function(**given)
        seconds = parse_duration(within)
        if not LEAST_S <= seconds <= MOST_S:
            raise InputError(f"--within {within}", expected="a time from one second to a week")
        try:
            with _time_limit(seconds):
                return function(**given)
        except TimeIsUpError:
            _say(seconds, str(given["format_"]))
            return int(ExitCode.NO_VERDICT)

    return limited


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeIsUpError in the main thread once the time is over."""

    def up(_number: int, _frame: FrameType | None) -> None:
        raise TimeIsUpError

    before = signal.signal(signal.SIGALRM, up)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _say(seconds: float, format_: str) -> None:
    """The verdict of a check that did not end: UNKNOWN, in the format that was asked for."""
    what = f"the check did not end within {format_duration(seconds)}"
    sentence = cannot_tell(what, "more time (--within), fewer rounds (--budget), or --resume")
    if format_ == "json":
        finding = Finding(FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN, sentence)
        record = {
            "schema": "weft.check/1",
            "exit_code": int(ExitCode.NO_VERDICT),
            "findings": [finding.to_record()],
        }
        click.echo(json.dumps(record, indent=2))
    else:
        click.echo(f"UNKNOWN  {sentence}", err=format_ != "text")
