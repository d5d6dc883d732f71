"""One child and everything it starts: run, watched, bounded, and ended without survivors."""

import contextlib
import ctypes
import functools
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from weft.core.errors import MissingError

MAX_RAW_BYTES = 2**30
GRACE_S = 3.0
KILL_WAIT_S = 10.0  # a process in uninterruptible sleep dies when its system call ends
WATCH_EVERY_S = 0.2
MARKER = "WEFT_LAUNCH"
"""The environment variable by which a launch's processes are found again, wherever they moved."""


class Ending(StrEnum):
    """Why a child is over."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    TOO_LOUD = "too loud"
    IN_VAIN = "in vain"


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process as it was when the launch was ended: its pid, command and kernel state letter."""

    pid: int
    command: str
    state: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended. `exit_code` is negative for a signal; `last_seen` are the processes that
    were alive when time ran out."""

    ending: Ending
    exit_code: int
    seconds: float
    last_seen: tuple[ProcessState, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may take: seconds, and bytes on each of its two streams. Once it has said
    nothing for `silent_s`, it is asked whether it goes on in vain; ever more rarely after that."""

    timeout_s: float
    max_bytes: int = MAX_RAW_BYTES
    grace_s: float = GRACE_S
    silent_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Child:
    """A command, the whole environment it gets, its folder, and the files of its two streams.
    `holds_stdin`: its standard input stays open as long as it is wanted, instead of being empty."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    out: Path
    err: Path
    holds_stdin: bool = False


def run_child(
    child: Child,
    limits: Limits,
    at_time_out: Callable[[], object] = lambda: None,
    in_vain: Callable[[], bool] = lambda: False,
) -> Ended:
    """Run a command in a session of its own, its output going straight to two files.

    `at_time_out` is called when time has run out, before anything is ended; `in_vain` tells of a
    child that is silent whether to end it.
    INVARIANT: when this returns or raises, whatever the command started on this machine is gone.
    Raises MissingError when the command cannot be started; OSError when a file cannot be written.
    """
    mark = f"{os.getpid()}.{time.monotonic_ns()}"
    started = time.monotonic()
    process = _start(child, mark)
    try:
        ending = _watch(process, child, limits, in_vain)
        seconds = time.monotonic() - started
        last_seen = () if ending is Ending.EXITED else _look(process.pid, mark)
        if ending is Ending.TIMED_OUT:
            at_time_out()
    finally:
        if process.stdin is not None:
            process.stdin.close()
        _end(process, mark, limits.grace_s)
    return Ended(ending, process.returncode, seconds, last_seen)


def _start(child: Child, mark: str) -> subprocess.Popen[bytes]:
    with child.out.open("wb") as stdout, child.err.open("wb") as stderr:
        try:
            return subprocess.Popen(
                list(child.argv),
                env=dict(child.env) | {MARKER: mark},
                cwd=child.cwd,
                stdin=subprocess.PIPE if child.holds_stdin else subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                # Two system calls and no more: safe between fork and exec.
                preexec_fn=functools.partial(_die_with_parent, os.getpid()),  # noqa: PLW1509
            )
        except OSError as error:
            raise MissingError(
                f"'{child.argv[0]}' cannot be started ({error.strerror})",
                expected="an executable launcher",
            ) from error


_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _die_with_parent(parent: int) -> None:
    """After kill -9 of weft the launcher gets a TERM, on which it ends its ranks."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        # Killed between the fork and here: nobody will send that signal any more.
        os._exit(128 + signal.SIGTERM)


@dataclass(slots=True)
class _Silence:
    """How long a child has said nothing, and after how long of it to ask next."""

    silent_s: float
    n_bytes: int = -1
    since: float = 0.0
    ask_after_s: float = 0.0

    def is_long(self, n_bytes: int) -> bool:
        now = time.monotonic()
        if n_bytes != self.n_bytes:
            self.n_bytes, self.since, self.ask_after_s = n_bytes, now, self.silent_s
        if now - self.since < self.ask_after_s:
            return False
        self.ask_after_s *= 2
        return True


def _watch(
    process: subprocess.Popen[bytes], child: Child, limits: Limits, in_vain: Callable[[], bool]
) -> Ending:
    """Wait for the end, waking rarely: the watcher shares the cores with what is measured."""
    deadline = time.monotonic() + limits.timeout_s
    silence = _Silence(limits.silent_s)
    with _exit_event(process) as wait_for_exit:
        while process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return Ending.TIMED_OUT
            said, complained = child.out.stat().st_size, child.err.stat().st_size
            if max(said, complained) > limits.max_bytes:
                return Ending.TOO_LOUD
            if silence.is_long(said) and in_vain():
                return Ending.IN_VAIN
            wait_for_exit(min(left, WATCH_EVERY_S))
    return Ending.EXITED


@contextlib.contextmanager
def _exit_event(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], object]]:
    """A function that waits so many seconds, or until the process exits."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # Linux before 5.3, as on many clusters
        yield lambda seconds: _wait_looking(process, seconds)
        return
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    try:
        yield lambda seconds: poller.poll(1e3 * seconds)
    finally:
        os.close(descriptor)


def _wait_looking(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)


def _end(process: subprocess.Popen[bytes], mark: str, grace_s: float) -> None:
    """End all that is left, gently first. A second Ctrl-C ends the gentleness, not the ending."""
    try:
        _terminate(process, mark, time.monotonic() + grace_s)
    finally:
        _kill(process, mark)


def _terminate(process: subprocess.Popen[bytes], mark: str, deadline: float) -> None:
    """TERM to the launcher, which alone can end ranks on other hosts; then to what is left here."""
    if process.poll() is None:
        _signal([process.pid], signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=max(0.0, deadline - time.monotonic()) / 2)
    survivors = _survivors(process.pid, mark)
    _signal(survivors, signal.SIGTERM)
    while survivors and time.monotonic() < deadline:
        time.sleep(0.02)
        process.poll()
        survivors = _survivors(process.pid, mark)


def _kill(process: subprocess.Popen[bytes], mark: str) -> None:
    """KILL until nothing is found: a process may fork between a look and its KILL."""
    deadline = time.monotonic() + KILL_WAIT_S
    while (left := _survivors(process.pid, mark)) and time.monotonic() < deadline:
        _signal(left, signal.SIGKILL)
        time.sleep(0.01)
        process.poll()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=KILL_WAIT_S)


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _survivors(session: int, mark: str) -> list[int]:
    """Live processes of the session, or that carry the launch's mark in their environment."""
    return [process.pid for process in _look(session, mark)]


def _look(session: int, mark: str) -> tuple[ProcessState, ...]:
    wanted = f"{MARKER}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        process, its_session = _read_stat(entry)
        if process is None or process.state in "ZX":
            continue
        if its_session == session or wanted in _environ(entry):
            found.append(process)
    return tuple(sorted(found, key=lambda process: process.pid))


def _read_stat(pid: str) -> tuple[ProcessState | None, int]:
    try:
        text = Path("/proc", pid, "stat").read_text(errors="replace")
    except OSError:
        return None, 0
    head, _, rest = text.rpartition(")")
    fields = rest.split()
    return ProcessState(int(pid), head.partition("(")[2], fields[0]), int(fields[3])


def _environ(pid: str) -> list[bytes]:
    try:
        return Path("/proc", pid, "environ").read_bytes().split(b"\0")
    except OSError:
        return []
