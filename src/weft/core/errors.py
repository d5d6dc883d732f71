"""Errors for the person who must act: what is wrong - where - what was expected - hint."""

from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

from weft.core.words import nearest


class ExitCode(IntEnum):
    """The exit codes of every verb (docs/reference/exit_codes.md)."""

    GOOD = 0
    VERDICT_BAD = 1
    INPUT = 2
    MISSING = 3
    BENCHMARK = 4
    NO_VERDICT = 5
    OUR_FAULT = 70
    INTERRUPTED = 130


class WeftError(Exception):
    """An error a user can act on. Subclasses fix the exit code."""

    exit_code = ExitCode.INPUT

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.hint = hint
        super().__init__(self.describe())

    def describe(self) -> str:
        """The whole message, one aspect a line; the first line alone is enough to act on."""
        head = self.what if self.where is None else f"{self.where}: {self.what}"
        lines = [head]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class InputError(WeftError):
    """Your input is wrong (exit 2)."""

    exit_code = ExitCode.INPUT


class MissingError(WeftError):
    """This machine lacks something (exit 3)."""

    exit_code = ExitCode.MISSING


class StorageError(MissingError):
    """A disk refuses a write, or a directory that is written into is gone (exit 3).

    `kept`: what was written before; `next_command` goes on from there; `moved_to`: where the
    directory is now, if that is known.
    """

    kept: str | None = None
    next_command: str | None = None
    moved_to: Path | None = None

    def describe(self) -> str:
        """As of every error, then what is kept and the command that goes on."""
        lines = [super().describe()]
        if self.kept is not None:
            lines.append(f"  kept: {self.kept}")
        if self.next_command is not None:
            lines.append(f"  next: {self.next_command}")
        return "\n".join(lines)


class BenchmarkError(WeftError):
    """A benchmark failed to run (exit 4). `lost` names hosts that answer no more."""

    exit_code = ExitCode.BENCHMARK

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        lost: tuple[str, ...] = (),
    ) -> None:
        self.lost = lost
        super().__init__(what, where=where, expected=expected, hint=hint)


def did_you_mean(word: str, known: list[str]) -> str | None:
    """A hint naming the closest known word, or None where nothing is close."""
    near = nearest(word, known)
    return None if near is None else f"did you mean '{near}'?"


def unknown_name(
    what: str, name: str, known: Iterable[str], *, where: str | None = None
) -> InputError:
    """The error of a name that is none of `known`: which there are, which was probably meant."""
    names = list(known)
    expected = "one of " + ", ".join(names)
    return InputError(what, where=where, expected=expected, hint=did_you_mean(name, names))
