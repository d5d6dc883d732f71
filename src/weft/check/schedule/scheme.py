"""The word of `--schedule`: the rounds that a user asks for."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from weft.core.errors import InputError, did_you_mean


class SchemeKind(StrEnum):
    """The kinds of schedules."""

    FULL = "full"
    REFLECTIONS = "reflections"
    RANDOM = "random"
    COVER = "cover"
    LEAF = "leaf"
    RAILS = "rails"
    BISECT = "bisect"
    FILE = "file"


DEFAULT_TIMES = {SchemeKind.REFLECTIONS: 6, SchemeKind.RANDOM: 6, SchemeKind.COVER: 3}
"""Where `--schedule random` names no number. Six rounds: one bad node among 470 is then in six
slow pairs, while a good one shares at most a few of them."""

_MOST_TIMES = 10_000

EXPECTED = (
    "full, random:R, reflections:R, cover:M, leaf, rails, bisect:SUSPECTS|GOOD, or a file of rounds"
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """The schedule that a user asked for. `times`: rounds, or how often `cover` fills each cable.
    `suspects` and `good` are node sets of `bisect`; an empty `good` means all others."""

    kind: SchemeKind
    times: int = 0
    suspects: str = ""
    good: str = ""
    file: Path = Path()

    @property
    def needs_fabric(self) -> bool:
        """Whether the pairs depend on a fabric."""
        return self.kind in (SchemeKind.COVER, SchemeKind.LEAF)


def parse_scheme(text: str) -> Scheme:
    """The scheme of 'cover:3', 'bisect:n[1-8]|n[9-16]', 'rounds.txt'. Raises InputError."""
    word, colon, argument = text.partition(":")
    if word == SchemeKind.BISECT and argument:
        suspects, _, good = argument.partition("|")
        return Scheme(SchemeKind.BISECT, suspects=suspects.strip(), good=good.strip())
    if word in DEFAULT_TIMES:
        kind = SchemeKind(word)
        return Scheme(kind, times=_times(text, argument) if colon else DEFAULT_TIMES[kind])
    if text in (SchemeKind.FULL, SchemeKind.LEAF, SchemeKind.RAILS):
        return Scheme(SchemeKind(text))
    path = Path(text)
    if text and _is_there(path):
        return Scheme(SchemeKind.FILE, file=path)
    looks_like_a_path = "/" in text or "." in text
    raise InputError(
        f"no file '{text}'" if looks_like_a_path else f"no schedule '{text}'",
        where="--schedule",
        expected=EXPECTED,
        hint=did_you_mean(word, [kind.value for kind in SchemeKind if kind is not SchemeKind.FILE]),
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _times(text: str, number: str) -> int:
    word = text.partition(":")[0]
    if not (number.isascii() and number.isdigit() and 0 < int(number) <= _MOST_TIMES):
        raise InputError(
            f"'{text}' has no number of times",
            where="--schedule",
            expected=f"a whole number from 1 to {_MOST_TIMES:,}, such as {word}:3",
        )
    return int(number)
