"""All processes that a command started: found by session or by a mark, and ended."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KILL_WAIT_S = 10.0  # a process in uninterruptible sleep dies when its system call ends
MARKER = "WEFT_LAUNCH"
"""The environment variable by which a command's processes are found again, wherever they moved."""


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process at one moment: its pid, command and kernel state letter."""

    pid: int
    command: str
    state: str


@dataclass(frozen=True, slots=True)
class ProcessTree:
    """A command that leads a session of its own, and every process it started on this machine.
    `mark` is the value of MARKER in their environments."""

    leader: subprocess.Popen[bytes]
    mark: str

    def processes(self) -> tuple[ProcessState, ...]:
        """The live processes, in the order of their pids: of the session, or with the mark."""
        wanted = f"{MARKER}={self.mark}".encode()
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            process, session = _read_stat(entry)
            if process is None or process.state in "ZX":
                continue
            if session == self.leader.pid or wanted in _environment(entry):
                found.append(process)
        return tuple(sorted(found, key=lambda process: process.pid))

    def end(self, grace_s: float) -> None:
        """End all processes: TERM, `grace_s` to obey, then KILL. A second Ctrl-C skips the grace
        that remains, not the KILL."""
        try:
            self._terminate(time.monotonic() + grace_s)
        finally:
            self._kill()

    def _terminate(self, deadline: float) -> None:
        """TERM to the launcher, which alone can end ranks on other hosts; then to the others."""
        if self.leader.poll() is None:
            _signal([self.leader.pid], signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.leader.wait(timeout=max(0.0, deadline - time.monotonic()) / 2)
        pids = self._pids()
        _signal(pids, signal.SIGTERM)
        while pids and time.monotonic() < deadline:
            time.sleep(0.02)
            self.leader.poll()
            pids = self._pids()

    def _kill(self) -> None:
        """KILL until no process is found: one may fork between the search and its KILL."""
        deadline = time.monotonic() + KILL_WAIT_S
        while (pids := self._pids()) and time.monotonic() < deadline:
            _signal(pids, signal.SIGKILL)
            time.sleep(0.01)
            self.leader.poll()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.leader.wait(timeout=KILL_WAIT_S)

    def _pids(self) -> list[int]:
        return [process.pid for process in self.processes()]


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _read_stat(pid: str) -> tuple[ProcessState | None, int]:
    """A process and its session. SOURCE: proc(5), /proc/PID/stat."""
    try:
        text = Path("/proc", pid, "stat").read_text(errors="replace")
    except OSError:
        return None, 0
    head, _, after = text.rpartition(")")
    fields = after.split()
    return ProcessState(int(pid), head.partition("(")[2], fields[0]), int(fields[3])


def _environment(pid: str) -> list[bytes]:
    try:
        return Path("/proc", pid, "environ").read_bytes().split(b"\0")
    except OSError:
        return []
