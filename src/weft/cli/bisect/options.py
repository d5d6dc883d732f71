"""The options of `weft bisect` that change what it measures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from weft.cli.options import options_as
from weft.core.errors import InputError
from weft.core.units import parse_duration, parse_size

if TYPE_CHECKING:
    from weft.study.bisect.figures import FigureChoice

WALL_WORD = "wall"
LEAST_PAIRS, MOST_PAIRS = 4, 10_000


@dataclass(frozen=True, slots=True)
class BisectOptions:
    """The options as they were typed."""

    metric: str | None
    size: str | None
    figure: str | None
    higher_is_better: bool
    take: str | None
    ignored: tuple[str, ...]
    timeout: str | None
    pairs: int
    seed: int

    @property
    def timeout_s(self) -> float | None:
        """The limit of a launch, None where GOOD decides. Raises InputError."""
        return None if self.timeout is None else parse_duration(self.timeout)

    def choice(self) -> "FigureChoice":
        """The figure to judge. Raises InputError where options contradict each other."""
        from weft.study.bisect.figures import WALL, FigureChoice, pattern_of

        if self.figure is not None:
            if self.metric is not None or self.size is not None:
                raise InputError(
                    "--figure contradicts --metric and --size", expected="one or the others"
                )
            pattern_of(self.figure)
        elif self.higher_is_better:
            raise InputError("--higher-is-better goes with --figure", expected="--figure TEXT")
        return FigureChoice(
            metric=WALL if self.metric == WALL_WORD else self.metric or "",
            size_bytes=None if self.size is None else parse_size(self.size),
            printed=self.figure or "",
            take=self.take or "",
            higher=self.higher_is_better,
        )


BISECT_OPTIONS = options_as(
    "asked",
    BisectOptions,
    (
        click.option(
            "--metric",
            metavar="NAME",
            help="The figure to judge: a metric of the result, such as latency_us, or 'wall' for "
            "the wall time. Default: the main metric of the result at each size, else wall time.",
        ),
        click.option("--size", metavar="BYTES", help="Judge this message size only: 8, 64K."),
        click.option(
            "--figure",
            metavar="TEXT",
            help="Judge a number in the output: the words around it with {} in its place, such as "
            "'step time: {} ms'. Less is better.",
        ),
        click.option("--higher-is-better", is_flag=True, help="Of --figure, more is better."),
        click.option(
            "--take",
            type=click.Choice(["first", "last"]),
            help="Which counts where a launch prints the same figure several times.",
        ),
        click.option(
            "--ignore",
            "ignored",
            multiple=True,
            metavar="NAME",
            help="A variable, or a pattern such as 'FOO_*', that stays as in GOOD. Repeatable.",
        ),
        click.option(
            "--timeout",
            metavar="TIME",
            help="A launch that takes longer has hung. Default: 20 times the slowest of GOOD, at "
            "least 10 s.",
        ),
        click.option(
            "--pairs",
            type=click.IntRange(LEAST_PAIRS, MOST_PAIRS),
            default=20,
            show_default=True,
            help="Stop after so many launches of each, GOOD and BAD, without a difference.",
        ),
        click.option(
            "--seed", type=int, default=1, show_default=True, help="Of the order of launches."
        ),
    ),
)
