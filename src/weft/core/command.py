"""A short command on this machine: bounded in time, without input, its words read as text."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class CommandError(Exception):
    """A command that did not start, or did not end in its time."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it said; bytes that are no text are replaced."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The last line on standard error, else on standard output."""
        said = (self.err or self.out).strip().splitlines()
        return said[-1] if said else "no message"


def run_command(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Ran:
    """Run a command to its end; `env` is its whole environment, None this process's. Raises
    CommandError."""
    try:
        done = subprocess.run(
            list(argv),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            env=env,
            cwd=cwd,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(str(error)) from error
    return Ran(done.returncode, done.stdout, done.stderr)
