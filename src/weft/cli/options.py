"""Types of options, options of several verbs, and options that a command receives as one value."""

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from weft.core.clock import Clock, system_clock
from weft.core.errors import InputError
from weft.topology.engine import ENGINES

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class ShareType(click.ParamType[float]):
    """'5%' or '0.05' between two shares, as a number."""

    name = "share"

    def __init__(self, least: float, most: float) -> None:
        self.least = least
        self.most = most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The share of a text."""
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = math.nan
        if not self.least <= share <= self.most:
            ends = f"{100 * self.least:g}% to {100 * self.most:g}%"
            self.fail(f"'{text}' is no share from {ends}, such as 5% or 0.05", param, ctx)
        return share


class NumberRange(click.FloatRange):
    """A number between two ends. Click's own type lets NaN through, which is in no range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of a text."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"'{value}' is no finite number", param, ctx)
        return number


class Several(click.Choice[str]):
    """One of the words, or several between commas; `only_with_others` are no words alone."""

    def __init__(self, words: Sequence[str], only_with_others: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.only_with_others = tuple(only_with_others)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The words as they were typed, each known and once."""
        given = str(value).split(",")
        if given[0] in self.only_with_others and len(given) == 1:
            self.fail(f"'{value}' alone changes nothing: name another beside it", param, ctx)
        if len(given) == 1:
            return str(super().convert(value, param, ctx))
        known = (*self.choices, *self.only_with_others)
        for word in given:
            if word not in known:
                self.fail(f"'{word}' is not one of {', '.join(known)}", param, ctx)
        if len(set(given)) < len(given):
            self.fail(f"'{value}' has a word twice", param, ctx)
        return str(value)


ANY_PATH = click.Path(path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
ENGINE = click.Choice(ENGINES)
"""Routing engines that weft computes as OpenSM does."""

NODE_COUNT = click.IntRange(1, 1_000_000)
"""The engine's own limit."""
GPU_COUNT = click.IntRange(2, 1_000_000_000)

RUN = click.argument("run_dir", metavar="RUN", type=FOLDER)
REPEATS = click.option(
    "--repeats", type=click.IntRange(1, 10_000), help="Instead of the study's own."
)
NODE_SETS = click.option(
    "--node-sets", type=click.IntRange(1, 10_000), help="How many sets of nodes to draw."
)
JOB_NODES = click.option("--job-nodes", type=NODE_COUNT, help="How many of the nodes run the job.")
RESUME = click.option("--resume", is_flag=True, help="Go on with the run in --dir.")
HOSTFILE = click.option("--hostfile", type=EXISTING_FILE, help="A file with one host a line.")
SSH_CONFIG = click.option(
    "--ssh-config",
    type=EXISTING_FILE,
    help="An ssh configuration, as for ssh -F.  [default: your own]",
)
OUTPUT = click.option("--output", "-o", type=FILE, help="A file instead of standard output.")


def refuse_together(
    option: str, others: Mapping[str, object], expected: str = "one of them"
) -> None:
    """Raises InputError where any other option, by its name, has a value, too."""
    for other, value in others.items():
        if value is not None:
            raise InputError(f"{other} and {option} contradict each other", expected=expected)


def run_dir_option(help_: str) -> Decorator:
    """Add `--dir`, passed on as `run_dir`."""
    return click.option("--dir", "run_dir", type=FOLDER, help=help_)


def fresh_run_dir(name: str, clock: Clock = system_clock) -> Path:
    """runs/NAME-DATE-TIME, with -2, -3 ... behind it where runs start within one second."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(clock()))
    first = Path("runs") / f"{name}-{stamp}"
    candidate, number = first, 1
    while candidate.exists():
        number += 1
        candidate = first.with_name(f"{first.name}-{number}")
    return candidate


def options_as(argument: str, choice: type[Any], options: Sequence[Decorator]) -> Decorator:
    """Add `options` to a command, which receives them as one `argument`: a `choice`, the dataclass
    whose fields they are; a field that is no option keeps its default."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_choice(**kwargs: Any) -> Any:
            named = [name for name in choice.__dataclass_fields__ if name in kwargs]
            fields = {name: kwargs.pop(name) for name in named}
            return command(**{argument: choice(**fields)}, **kwargs)

        wrapped: Callable[..., Any] = with_choice
        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped

    return add
