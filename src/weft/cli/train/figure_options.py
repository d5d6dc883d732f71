"""Options that state figures of a job which its log does not."""

import functools
from collections.abc import Callable
from typing import Any

import click

from weft.cli.options import NumberRange, options_as
from weft.train.log.given_figures import GivenFigures

_MOST = 10**9
_SHARED = (
    click.option(
        "--flop-per-step",
        type=NumberRange(1, 1e30),
        metavar="N",
        help="FLOPs of a whole step on all GPUs, as 4.38e18.",
    ),
    click.option(
        "--peak-tflops", type=NumberRange(1e-3, 1e9), metavar="N", help="A GPU's peak, in TFLOP/s."
    ),
)
_ONE = click.IntRange(1, _MOST)
_HELP = {
    "sequence": "Tokens of a sequence.",
    "batch": "Global batch, in sequences or images.",
    "gpus": "GPUs of the job.",
}
figure_options = options_as(
    "given",
    GivenFigures,
    (*(click.option(f"--{name}", type=_ONE, help=text) for name, text in _HELP.items()), *_SHARED),
)
"""Add the options, passed on as `given`; they go before the figures of the log."""


class OneOrTwo(click.ParamType[tuple[int, int]]):
    """'512', of both logs, or '512,1024'."""

    name = "n"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """The number of each log."""
        parts = str(value).split(",")
        if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
            self.fail(f"'{value}' is neither a number nor two of them, as 512,1024", param, ctx)
        first, second = int(parts[0]), int(parts[-1])
        if not (1 <= first <= _MOST and 1 <= second <= _MOST):
            self.fail(f"'{value}' is not between 1 and {_MOST:,}", param, ctx)
        return first, second


def figure_pair_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of two logs, passed on as `given`: the figures of each."""

    @functools.wraps(command)
    def with_figures(**kwargs: Any) -> Any:
        pairs = {name: kwargs.pop(name) or (None, None) for name in _HELP}
        shared = {name: kwargs.pop(name) for name in ("flop_per_step", "peak_tflops")}
        given = tuple(
            GivenFigures(**{name: pair[i] for name, pair in pairs.items()}, **shared)
            for i in range(2)
        )
        return command(given=given, **kwargs)

    wrapped: Callable[..., Any] = with_figures
    for option in reversed(_SHARED):
        wrapped = option(wrapped)
    for name, text in reversed(_HELP.items()):
        both = f"{text[:-1]}; FIRST,SECOND where they differ."
        wrapped = click.option(f"--{name}", type=OneOrTwo(), metavar="N[,N]", help=both)(wrapped)
    return wrapped
