"""The one runner of child processes: bounded in time and output, ended without survivors.

Every command has a session of its own. So Ctrl-C reaches weft alone, which then ends the command.
"""

import contextlib
import ctypes
import functools
import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Self

from weft.core.errors import MissingError
from weft.core.files import output_file, storage_error
from weft.core.parallel import INTERRUPTED
from weft.core.process_tree import KILL_WAIT_S, MARKER, ProcessState, ProcessTree

MAX_OUTPUT_BYTES = 2**30
GRACE_S = 3.0
WAKE_EVERY_S = 0.2
"""How often a watcher looks at sizes and clocks; the end of the command wakes it at once."""
POLL_S = (0.001, 0.05)
"""The same where the kernel has no exit event (Linux before 5.3): the first wait, doubled up to
the second."""
CHUNK_BYTES = 1 << 16
PIPE_BYTES = 1 << 20
"""The most that a pipe holds, unless root raises /proc/sys/fs/pipe-max-size."""


class Ending(StrEnum):
    """Why the watch over a command ended. Only after EXITED is the command over."""

    EXITED = "exited"
    TIMED_OUT = "timed out"
    OUTPUT_LIMIT = "output limit"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for a command, and bytes on each of its two streams; `grace_s` lies between TERM and
    KILL. After `silent_s` without output its caller decides whether it stalled, then ever more
    rarely."""

    timeout_s: float
    max_bytes: int = MAX_OUTPUT_BYTES
    grace_s: float = GRACE_S
    silent_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Command:
    """A command, its whole environment (None: this process's) and its folder.

    `stdin` is its standard input; None holds that open until the command is left. Output goes to
    the files `out` and `err`, else to memory. `ends_tree`: all processes it started end with it,
    in whatever session; and with this process, even by kill -9.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    out: Path | None = None
    err: Path | None = None
    stdin: bytes | None = b""
    ends_tree: bool = False


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended. `exit_code` is negative for a signal. `out` and `err` hold its output
    unless files do, at most the limit and one chunk each. `processes` were alive when the limit
    was reached (of a command with `ends_tree`)."""

    ending: Ending
    exit_code: int
    seconds: float
    out: bytes = b""
    err: bytes = b""
    processes: tuple[ProcessState, ...] = ()


class CommandError(Exception):
    """A command did not start, or did not end in time."""


@dataclass(frozen=True, slots=True)
class CommandText:
    """The exit code and output of a short command; bytes that are no text are replaced."""

    code: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        """The last line on standard error, else on standard output."""
        lines = (self.err or self.out).strip().splitlines()
        return lines[-1] if lines else "no message"


def run_command(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> CommandText:
    """Run a short command to its end, without input. Raises CommandError."""
    try:
        end = run(Command(tuple(argv), env, cwd), Limits(timeout_s))
    except MissingError as error:
        raise CommandError(error.what) from error
    if end.ending is not Ending.EXITED:
        raise CommandError(f"'{argv[0]}': {end.ending} ({timeout_s:g} s)")
    return CommandText(end.exit_code, *(s.decode("utf-8", "replace") for s in (end.out, end.err)))


def run(
    command: Command,
    limits: Limits,
    at_time_out: Callable[[], object] = lambda: None,
    is_stalled: Callable[["Process"], bool] = lambda _: False,
) -> CommandEnd:
    """Run a command to its end or to a limit. `at_time_out` is called before anything is ended,
    `is_stalled` after silence.

    INVARIANT: when this returns or raises, the command is over; with `ends_tree` so is every
    process that it started on this machine.
    Raises MissingError when the command cannot be started; OSError when a file cannot be written.
    """
    with Process(command, limits.grace_s) as process:
        ending = process.wait(limits, functools.partial(is_stalled, process))
        seconds = time.monotonic() - process.started
        alive = () if ending is Ending.EXITED else process.processes()
        if ending is Ending.TIMED_OUT:
            at_time_out()
    out, err = process.out, process.err
    return CommandEnd(ending, process.exit_code or 0, seconds, bytes(out), bytes(err), alive)


class Process:
    """A started command. Leaving its context ends it. `out` and `err` hold the output that was
    read so far, unless files do. Raises MissingError when the command cannot be started."""

    def __init__(self, command: Command, grace_s: float = 0.0) -> None:
        self.command = command
        self.grace_s = grace_s
        self.started = time.monotonic()
        self.out, self.err = bytearray(), bytearray()
        self._popen, self._mark = _start(command)
        self._input = memoryview(command.stdin or b"")
        self._events = selectors.DefaultSelector()
        self._register_pipes()
        self._exit_event = self._register_exit()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._popen.poll()

    def processes(self) -> tuple[ProcessState, ...]:
        """The live processes of its tree; none unless the command has `ends_tree`."""
        return self._tree().processes() if self.command.ends_tree else ()

    def output_bytes(self) -> tuple[int, int]:
        """Bytes written to standard output and standard error so far."""
        command = self.command
        n_out = len(self.out) if command.out is None else command.out.stat().st_size
        n_err = len(self.err) if command.err is None else command.err.stat().st_size
        return n_out, n_err

    def wait(self, limits: Limits, is_stalled: Callable[[], bool] = lambda: False) -> Ending:
        """Wait for the end or a limit, waking rarely: the watcher shares the cores with the
        measurement. Raises CancelledError in a thread of `in_parallel` that was interrupted."""
        deadline = time.monotonic() + limits.timeout_s
        silence = _Silence(limits.silent_s)
        poll_s = POLL_S[0]
        while self.exit_code is None:
            if INTERRUPTED.get().is_set():
                raise CancelledError
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return Ending.TIMED_OUT
            if max(self.output_bytes()) > limits.max_bytes:
                return Ending.OUTPUT_LIMIT
            if silence.is_long(self.output_bytes()[0]) and is_stalled():
                return Ending.STALLED
            self._serve(min(left_s, WAKE_EVERY_S if self._exit_event else poll_s))
            poll_s = min(2 * poll_s, POLL_S[1])
        # Output after a full pipe is of a child that the command left behind: it may write forever.
        most = min(limits.max_bytes, max(self.output_bytes()) + PIPE_BYTES)
        while max(self.output_bytes()) <= most and self._serve(0):
            pass
        loud = max(self.output_bytes()) > limits.max_bytes
        return Ending.OUTPUT_LIMIT if loud else Ending.EXITED

    def close_stdin(self) -> None:
        """End its standard input."""
        stdin = self._popen.stdin
        if stdin is not None and not stdin.closed:
            with contextlib.suppress(OSError):
                stdin.close()

    def end(self) -> None:
        """End it, and its tree where the command wants that; a second call does nothing."""
        self.close_stdin()
        try:
            if self.command.ends_tree:
                self._tree().end(self.grace_s)
            elif self.exit_code is None:
                # INVARIANT: it is not reaped yet, so the group is still its own.
                os.killpg(self._popen.pid, signal.SIGKILL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._popen.wait(timeout=KILL_WAIT_S)
        finally:
            self._close()

    def _tree(self) -> ProcessTree:
        return ProcessTree(self._popen, self._mark)

    def _register_pipes(self) -> None:
        for pipe, kept in ((self._popen.stdout, self.out), (self._popen.stderr, self.err)):
            if pipe is not None:
                read = functools.partial(_read_chunk, pipe, kept)
                self._register(pipe, selectors.EVENT_READ, read)
        stdin = self._popen.stdin
        if stdin is not None and self._input:
            self._register(stdin, selectors.EVENT_WRITE, functools.partial(self._feed, stdin))

    def _register(self, pipe: IO[bytes], event: int, move: Callable[[], bool]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._events.register(pipe, event, (pipe, move))

    def _register_exit(self) -> int | None:
        try:
            descriptor = os.pidfd_open(self._popen.pid)
        except OSError:
            return None
        self._events.register(descriptor, selectors.EVENT_READ)
        return descriptor

    def _serve(self, seconds: float) -> bool:
        """Move bytes for so many seconds at most; whether a stream was ready."""
        ready = [key.data for key, _ in self._events.select(seconds) if key.data is not None]
        for pipe, move in ready:
            is_over = move()
            if is_over:
                self._events.unregister(pipe)
                pipe.close()
        return bool(ready)

    def _feed(self, stdin: IO[bytes]) -> bool:
        """Write a part of the input; whether that is over, also because its reader closed it."""
        try:
            self._input = self._input[os.write(stdin.fileno(), self._input[:CHUNK_BYTES]) :]
        except BrokenPipeError:
            return True
        return not self._input

    def _close(self) -> None:
        self._events.close()
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        if self._exit_event is not None:
            os.close(self._exit_event)
            self._exit_event = None


def run_in_foreground(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a user's own command on this terminal, in this process group, without a limit; its exit
    code, negative for a signal. Ctrl-C reaches it as well. Raises MissingError."""
    try:
        process = subprocess.Popen(list(argv), env=dict(env))
    except (OSError, ValueError) as error:
        what = f"'{argv[0]}' cannot be started ({error})"
        raise MissingError(what, expected="an executable file") from error
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            return process.wait()


def spawn(
    argv: Sequence[str],
    *,
    stdin: int,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    before_exec: Callable[[], object] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own. Only a daemon that outlives its caller is started by
    this and not by `run` or `Process`. Raises OSError."""
    return subprocess.Popen(
        list(argv),
        env=env,
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        bufsize=0,
        start_new_session=True,
        preexec_fn=before_exec,  # noqa: PLW1509
    )


@dataclass(slots=True)
class _Silence:
    """How long a command has written nothing, and after how long its caller is asked next."""

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


def _start(command: Command) -> tuple[subprocess.Popen[bytes], str]:
    """The process, and the mark of its tree ('' without `ends_tree`)."""
    mark = f"{os.getpid()}.{time.monotonic_ns()}" if command.ends_tree else ""
    env = command.env
    if command.ends_tree:
        env = {**(os.environ if env is None else env), MARKER: mark}
    # Two system calls and no more: safe between fork and exec.
    before = functools.partial(_die_with_parent, os.getpid()) if command.ends_tree else None
    has_input = command.stdin is None or command.stdin
    with contextlib.ExitStack() as files:
        streams = [
            subprocess.PIPE if path is None else files.enter_context(output_file(path))
            for path in (command.out, command.err)
        ]
        try:
            process = spawn(
                command.argv,
                env=env,
                cwd=command.cwd,
                stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=streams[0],
                stderr=streams[1],
                before_exec=before,
            )
        except OSError as error:
            if command.cwd is not None and not Path(command.cwd).is_dir():
                what = f"the output of '{command.argv[0]}'"
                raise storage_error(what, Path(command.cwd), error) from error
            raise MissingError(
                f"'{command.argv[0]}' cannot be started ({error.strerror})",
                expected="an executable file",
            ) from error
    return process, mark


_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _die_with_parent(parent: int) -> None:
    """After kill -9 of weft the launcher gets a TERM, on which it ends its ranks."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        # weft was killed between the fork and here: that signal will not come.
        os._exit(128 + signal.SIGTERM)


def _read_chunk(pipe: IO[bytes], kept: bytearray) -> bool:
    """Read one chunk; whether the stream is over."""
    chunk = os.read(pipe.fileno(), CHUNK_BYTES)
    kept += chunk
    return not chunk
