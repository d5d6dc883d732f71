"""The option `--plant`: its faults; a random one with the command that plants it again."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from weft.bench.twin.fault import Fault, parse_fault, random_fault
from weft.cli.command_line import typed_command
from weft.cli.output import talk
from weft.core.errors import InputError
from weft.core.words import counted

RANDOM = "random"
MOST_SEED = 10**6
"""Few enough digits to copy by hand, and enough faults for every fabric."""
_SEEDED = re.compile(rf"{RANDOM}:(\d{{1,18}})")


def fresh_seed() -> int:
    """A number below `MOST_SEED`, another one each time."""
    return secrets.randbelow(MOST_SEED)


def faults_of(
    texts: Sequence[str], fabric: Mapping[str, Any], draw_seed: Callable[[], int] = fresh_seed
) -> tuple[Fault, ...]:
    """The faults of the texts in a fabric document. Says the seed of each `random`, and the command
    that plants the same. Raises InputError."""
    context = click.get_current_context(silent=True)
    if RANDOM in texts and context is not None and context.params.get("resume"):
        raise InputError(
            "--plant random draws a new fault, and --resume goes on with the earlier one",
            expected="the seed that the earlier command printed: --plant random:SEED",
        )
    seeded = [f"{RANDOM}:{draw_seed()}" if text == RANDOM else text for text in texts]
    faults = tuple(_fault(text, fabric) for text in seeded)
    drawn = [text for text, asked in zip(seeded, texts, strict=True) if asked == RANDOM]
    if drawn:
        seeds = " and ".join(text.partition(":")[2] for text in drawn)
        command = ""
        if context is not None:
            # As if the seeds had been typed: every later command names the same faults.
            context.params["plant"] = tuple(seeded)
            command = typed_command(context, {})
        again = f"; the same again: {command}" if command else ""
        talk(f"planted  {counted(len(drawn), 'random fault')}, seed {seeds}{again}")
    return faults


def _fault(text: str, fabric: Mapping[str, Any]) -> Fault:
    match = _SEEDED.fullmatch(text)
    if match:
        return random_fault(fabric, int(match[1]))
    if text.partition(":")[0] == RANDOM:
        raise InputError(
            f"'{text[:80]}' is not a fault",
            expected="random, or random:SEED with a whole number of at most 18 digits",
        )
    return parse_fault(text)
