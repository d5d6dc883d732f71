"""Questions to Slurm: commands that run during a launch, and end with it."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from weft.core.errors import InputError, MissingError
from weft.core.process import Command, Ending, Limits, Process

ANSWER_TIMEOUT_S = 10.0
MAX_BYTES = 2**24
MAX_ERROR_LETTERS = 200
FIRST_LOOK_S = 0.05
"""After so long without output the error stream is read; then after twice as long, and so on."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of a command; without one, the reason in `not_known`."""

    text: str = ""
    not_known: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One started command; `process` is None where this machine has no such command."""

    name: str
    process: Process | None

    def answer_until(self, until: float) -> Answer:
        """The command's output, at the latest at `until` (`time.monotonic`). A command that wrote
        an error and retries is not waited for."""
        if self.process is None:
            return Answer(not_known=f"there is no {self.name} on this machine")
        limits = Limits(until - time.monotonic(), MAX_BYTES, silent_s=FIRST_LOOK_S)
        ending = self.process.wait(limits, lambda: "error" in self._error())
        if ending is Ending.STALLED:
            return Answer(not_known=self._error())
        if ending is not Ending.EXITED:
            late = "did not answer in time"
            too_much = f"wrote more than {MAX_BYTES >> 20} MiB"
            why = late if ending is Ending.TIMED_OUT else too_much
            return Answer(not_known=f"{self.name} {why}")
        if self.process.exit_code != 0:
            code = f"{self.name} ended with code {self.process.exit_code}"
            return Answer(not_known=self._error() or code)
        return Answer(self.process.out.decode("utf-8", "replace"))

    def _error(self) -> str:
        """The first line on standard error, without characters that a terminal would obey."""
        text = "" if self.process is None else self.process.err.decode("utf-8", "replace")
        line = text.strip().partition("\n")[0]
        return "".join(c for c in line if c.isprintable())[:MAX_ERROR_LETTERS]


@contextmanager
def question(argv: Sequence[str]) -> Iterator[Question]:
    """A command, started at once and ended with the block. It has no input, and none of the user's
    SQUEUE_ and SINFO_ variables, which would filter its output."""
    try:
        process = Process(Command(tuple(argv), _environment()))
    except MissingError:
        yield Question(argv[0], None)
        return
    with process:
        yield Question(argv[0], process)


def ask(argv: Sequence[str]) -> Answer:
    """The answer of a command, waited for."""
    with question(argv) as asked:
        return asked.answer_until(time.monotonic() + ANSWER_TIMEOUT_S)


def not_understood(program: str, line: str, expected: str) -> InputError:
    """The error of a line that this program does not print."""
    return InputError(f"{program} printed '{line[:80]}'", expected=expected)


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SQUEUE_", "SINFO_"))}
    return kept | {"LC_ALL": "C"}
