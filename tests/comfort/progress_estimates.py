"""How good the time left is that weft shows: one command in a process of its own, watched.

The child writes where its work stood, four times a second. Of a command that takes T seconds, the
estimate is the one that a user sees after T / 3.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_CHILD = """
import json, os, sys, threading, time
from weft.core.work.progress import WorkStanding
began, over, seen = time.monotonic(), threading.Event(), []
def look():
    while not over.wait(0.1):
        at = WorkStanding.now()
        left_s = None if at is None else at.left_s
        seen.append([time.monotonic() - began, left_s, None if at is None else at.task.what])
threading.Thread(target=look, daemon=True).start()
sys.argv[0] = "weft"
from weft.cli import main
try:
    main()
finally:
    over.set()
    with open(os.environ["WEFT_TEST_SEEN"], "w") as file:
        json.dump([time.monotonic() - began, seen], file)
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one command its time, and after a third of it the time that it said was left, None where
    it said nothing."""

    seconds: float
    said_left_s: float | None
    task: str | None

    @property
    def left_s(self) -> float:
        """What was left then."""
        return self.seconds * 2 / 3

    @property
    def factor(self) -> float:
        """By how much the estimate is off, 1 for not at all."""
        if not self.said_left_s:
            return float("inf")
        return max(self.said_left_s / self.left_s, self.left_s / self.said_left_s)


def watched(argv: Sequence[str], seen: Path, env: Mapping[str, str] | None = None) -> Estimate:
    """Run `weft argv` to its end, and take the estimate at a third of its time."""
    around = {**os.environ, **(env or {}), "WEFT_TEST_SEEN": str(seen)}
    command = [sys.executable, "-c", _CHILD, *argv]
    done = subprocess.run(
        command, check=False, env=around, capture_output=True, text=True, timeout=900
    )
    assert done.returncode in (0, 1, 5), (argv, done.returncode, done.stderr[-2000:])
    seconds, looks = json.loads(seen.read_text("utf-8"))
    _, left_s, task = min(looks, key=lambda look: abs(look[0] - seconds / 3))
    return Estimate(seconds, left_s, task)


def table(found: Mapping[str, Estimate]) -> str:
    """A line a command."""
    lines = [f"{'command':48s}  {'took':>7s}  {'left':>7s}  {'said':>7s}  {'off by':>7s}"]
    for name, one in found.items():
        said = "-" if one.said_left_s is None else f"{one.said_left_s:.1f} s"
        lines.append(
            f"{name:48s}  {one.seconds:5.1f} s  {one.left_s:5.1f} s  {said:>7s}  {one.factor:7.2f}"
        )
    return "\n".join(lines)
