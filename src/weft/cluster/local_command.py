"""A local command to its end: bounded in time and in what is kept of what it says."""

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO

CHUNK = 1 << 16


class End(StrEnum):
    """How it went; TOO_LATE and TOO_LOUD were killed."""

    EXITED = "exited"
    TOO_LATE = "too late"
    TOO_LOUD = "too loud"


@dataclass
class Heard:
    """`code` counts where it EXITED; a stream holds at most the bytes allowed and one chunk."""

    end: End = End.EXITED
    code: int = 0
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)


def hear(argv: Sequence[str], given: bytes, *, timeout_s: float, most_bytes: int) -> Heard:
    """Run `argv` with `given` on its standard input; at most `most_bytes` a stream are heard."""
    heard = Heard()
    pipe = subprocess.PIPE
    process = subprocess.Popen(list(argv), stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        heard.end = _listen(process, given, heard, time.monotonic() + timeout_s, most_bytes)
    finally:
        if heard.end is not End.EXITED or process.poll() is None:
            process.kill()
        heard.code = process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
    return heard


def _listen(
    process: "subprocess.Popen[bytes]", given: bytes, heard: Heard, until: float, most_bytes: int
) -> End:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    kept = {process.stdout: heard.out, process.stderr: heard.err}
    unsaid = memoryview(given)
    with selectors.DefaultSelector() as ready:
        for stream in kept:
            ready.register(stream, selectors.EVENT_READ, stream)
        os.set_blocking(process.stdin.fileno(), False)
        ready.register(process.stdin, selectors.EVENT_WRITE, process.stdin)
        while ready.get_map():
            if time.monotonic() >= until:
                return End.TOO_LATE
            for key, _ in ready.select(until - time.monotonic()):
                end: IO[bytes] = key.data
                if end is process.stdin:
                    unsaid = _say(end, unsaid)
                    over = not unsaid
                else:
                    chunk = os.read(end.fileno(), CHUNK)
                    kept[end] += chunk
                    over = not chunk
                    if len(kept[end]) > most_bytes:
                        return End.TOO_LOUD
                if over:
                    ready.unregister(end)
                    end.close()
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return End.TOO_LATE
    return End.EXITED


def _say(stdin: IO[bytes], unsaid: memoryview) -> memoryview:
    """What is left to say; nothing where nobody listens any more."""
    try:
        return unsaid[os.write(stdin.fileno(), unsaid[:CHUNK]) :]
    except BrokenPipeError:
        return unsaid[:0]
