"""Calls of weft in a child of this process: its exit code, output, time and memory."""

import contextlib
import errno
import io
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from weft.cli import run

LIMIT_BYTES = 8 << 30
"""Of address space, so that a fault of weft's takes no other test with it."""


@dataclass(frozen=True, slots=True)
class Call:
    """How a call ended; `code` is negative for a signal. `most_bytes` is the memory that the call
    took beyond what its process began with, which is a copy of this one."""

    code: int
    out: str
    err: str
    seconds: float
    most_bytes: int


@dataclass(frozen=True, slots=True)
class Full:
    """An output, 'stdout' or 'stderr', that takes so many bytes, then fails with an errno."""

    stream: str
    after: int
    errno: int = errno.ENOSPC


class _LimitedFile(io.FileIO):
    """A file that is full after some bytes."""

    def __init__(self, path: Path, full: Full) -> None:
        super().__init__(path, "w")
        self.left = full.after
        self.errno = full.errno

    def write(self, content: Any) -> int:
        if not self.left and content:
            raise OSError(self.errno, os.strerror(self.errno))
        written = super().write(memoryview(content)[: self.left])
        self.left -= written
        return written


def call(
    argv: Sequence[str],
    *,
    limit_s: int = 20,
    limit_bytes: int = LIMIT_BYTES,
    full: Full | None = None,
    before: Callable[[], object] = lambda: None,
) -> Call:
    """One call of `weft`, after `before` in its process. A fork costs a hundredth of a new
    interpreter."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        inherited = _private_bytes()
        child = os.fork()
        if child == 0:
            _child(argv, {"stdout": out, "stderr": err}, (limit_s, limit_bytes), full, before)
        _, status, usage = os.wait4(child, 0)
        return Call(
            os.waitstatus_to_exitcode(status),
            out.read_text("utf-8", "replace"),
            err.read_text("utf-8", "replace"),
            time.monotonic() - begun,
            max(0, (usage.ru_maxrss << 10) - inherited),
        )


def _private_bytes() -> int:
    """The resident memory of this process that a fork takes along: all but mapped files."""
    resident, shared = Path("/proc/self/statm").read_text("ascii").split()[1:3]
    return (int(resident) - int(shared)) * resource.getpagesize()


def _child(
    argv: Sequence[str],
    paths: Mapping[str, Path],
    limits: tuple[int, int],
    full: Full | None,
    before: Callable[[], object],
) -> None:
    code = 99
    limit_s, limit_bytes = limits
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(limit_s)
        streams = {name: _stream(name, path, full) for name, path in paths.items()}
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
        sys.stdout, sys.stderr = streams["stdout"], streams["stderr"]
        before()
        code = run(list(argv))
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            streams["stderr"].flush()
    finally:
        # No handler of pytest's runs in the child.
        os._exit(code)


def _stream(name: str, path: Path, full: Full | None) -> TextIO:
    limited = full is not None and full.stream == name
    raw = _LimitedFile(path, full) if full is not None and limited else io.FileIO(path, "w")
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8")


@contextmanager
def not_ignored(number: signal.Signals) -> Iterator[None]:
    """Meanwhile a signal that nohup or a shell's `&` made this process ignore is not."""
    kept = signal.getsignal(number)
    if kept is signal.SIG_IGN:
        is_interrupt = number == signal.SIGINT
        signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, kept)
