"""Questions to Slurm: commands that run beside a launch, and are ended with it."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

ANSWER_TIMEOUT_S = 10.0
MOST_BYTES = 2**24
MOST_WORDS = 200
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed, or in `not_known` why it gave no answer."""

    text: str = ""
    not_known: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One command on its way; `process` is None where there is no such command."""

    name: str
    process: subprocess.Popen[bytes] | None
    out: IO[bytes]
    err: IO[bytes]

    def answer_until(self, until: float) -> Answer:
        """The command's output, at the latest at `until` (`time.monotonic`); one that has
        complained and goes on trying is not waited for."""
        if self.process is None:
            return Answer(not_known=f"there is no {self.name} on this machine")
        while self.process.poll() is None:
            complaint = self._complaint()
            if "error" in complaint:
                return Answer(not_known=complaint)
            if time.monotonic() >= until:
                return Answer(not_known=f"{self.name} did not answer in time")
            time.sleep(POLL_S)
        text = _read(self.out)
        if self.process.returncode != 0:
            said = self._complaint() or f"{self.name} ended with code {self.process.returncode}"
            return Answer(not_known=said)
        return Answer(text)

    def _complaint(self) -> str:
        """The first line on standard error, without what a terminal would take for an order."""
        line = _read(self.err).strip().partition("\n")[0]
        return "".join(c for c in line if c.isprintable())[:MOST_WORDS]


@contextmanager
def question(argv: Sequence[str]) -> Iterator[Question]:
    """A command, started at once and ended with the block. It never waits for input, and sees none
    of the user's SQUEUE_ and SINFO_ variables, which would filter what it says."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = None
        with suppress(OSError):
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=_environment(),
                start_new_session=True,
            )
        try:
            yield Question(argv[0], process, out, err)
        finally:
            if process is not None:
                process.kill()
                process.wait()


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SQUEUE_", "SINFO_"))}
    return kept | {"LC_ALL": "C"}


def _read(file: IO[bytes]) -> str:
    file.flush()
    return os.pread(file.fileno(), MOST_BYTES, 0).decode("utf-8", "replace")
