"""JSON Lines that survive a kill: a line is a record, a half-written last line is recognised."""

import contextlib
import gc
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError, StorageError
from weft.core.files import storage_error
from weft.core.units import refuse_unusable
from weft.core.work.progress import working

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Record = Mapping[str, Any]

MOST_BYTES = 1 << 30
"""Of one file of records: a million launches have half of it."""

_EXPONENT = re.compile(rb"\d[eE]\+?\d{3}")
_WORDS = (b"NaN", b"Infinity")
_ANY_WORD = re.compile(b"|".join(_WORDS))
_DIGITS = 10
_LOWER = ord("e") - ord("E")
_CHUNK = 1 << 24
_LONG_NUMBER, _DEEP_NESTING = 19, 64
"""Digits, and brackets in a row, from which a number or a document may be unusable."""


class LineWriter:
    """Appends records to one file that this writer claimed by exclusive create.

    INVARIANT: a record is one write() of one line, flushed to the kernel before `append` returns,
    so kill -9 loses at most the line being written; two writers never share a file.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError; FileExistsError where another writer claimed the path."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._fd = os.open(path, flags, 0o644)
        self.path = path
        self._n_bytes = 0

    def append(self, record: Record) -> None:
        """Write one record. Raises StorageError on a disk that refuses, and where the path leads
        to this file no more: it, or a directory above it, was removed, moved or replaced."""
        line = json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n"
        payload = line.encode()
        try:
            self._refuse_lost()
            written = os.write(self._fd, payload)
            while written < len(payload):
                written += os.write(self._fd, payload[written:])
        except OSError as error:
            raise storage_error("a record", self.path, error) from error
        self._n_bytes += len(payload)

    def close(self) -> None:
        """Flush to disk and close. Raises StorageError as `append`, and where the file does not
        hold all that was appended."""
        try:
            os.fsync(self._fd)
            n_bytes = os.fstat(self._fd).st_size
            self._refuse_lost()
        except OSError as error:
            raise storage_error("the last records", self.path, error) from error
        finally:
            # NFS may refuse what it accepted before only now.
            self._let_go()
        if n_bytes < self._n_bytes:
            raise StorageError(
                f"{n_bytes:,} bytes are left of {self._n_bytes:,} written ones",
                where=str(self.path),
                expected="a file that this process alone writes",
            )

    def _let_go(self) -> None:
        try:
            os.close(self._fd)
        except OSError as error:
            raise storage_error("the last records", self.path, error) from error

    def _refuse_lost(self) -> None:
        try:
            is_there = os.path.samestat(os.stat(self.path), os.fstat(self._fd))
        except (FileNotFoundError, NotADirectoryError):
            is_there = False
        if not is_there:
            raise StorageError(
                "this file was removed, moved or replaced while it was written",
                where=str(self.path),
                expected="a directory that only weft changes during a run",
            )


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of a file, read one by one: all at once take six times the file. Whether its last
    line was cut off by a kill. Iteration raises InputError on a broken line that is not the last.
    """

    path: Path
    body: bytes
    truncated_tail: bool

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return _parse_each(self.path, self.body)


def read_lines(path: Path) -> Lines:
    """The whole records of a file. Raises InputError for what is no file."""
    content = read_file_bytes(path, expected="one JSON object a line", most_bytes=MOST_BYTES)
    body, newline, tail = content.rpartition(b"\n")
    return Lines(path, body if newline else b"", truncated_tail=bool(tail))


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's search for cycles: records have none, and it walks through all that were
    read before, again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _parse_each(path: Path, body: bytes) -> Iterator[dict[str, Any]]:
    lines = io.BytesIO(body)
    with working(f"reading {path.name}", ask=lambda: lines.tell() / max(len(body), 1)):
        yield from _records(path, body, lines)


def _records(path: Path, body: bytes, lines: io.BytesIO) -> Iterator[dict[str, Any]]:
    suspicious = _maybe_unusable(body)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"not a JSON record ({error})",
                where=f"{path}:{number}",
                expected="one JSON object a line",
            ) from error
        if not isinstance(record, dict):
            raise InputError(
                "not a JSON object", where=f"{path}:{number}", expected="one JSON object a line"
            )
        if number in suspicious:
            refuse_unusable(record, f"{path}:{number}")
        yield record


def _maybe_unusable(body: bytes) -> frozenset[int]:
    """Numbers (from 1) of the lines whose values must be looked at one by one: a walk through every
    record would double the time to read a run. INVARIANT: no other line holds an unusable value.
    """
    import numpy as np

    found: set[int] = set()
    line = 1
    for start in range(0, len(body), _CHUNK):
        # Parts overlap by the longest sign of such a value.
        part = body[start : start + _CHUNK + _DEEP_NESTING]
        codes = np.frombuffer(part, dtype=np.uint8)
        # Unsigned: what stands before "0" wraps around.
        digits = (codes - ord("0")) < _DIGITS
        brackets = (codes == ord("[")) | (codes == ord("{"))
        at = [*_runs(digits, _LONG_NUMBER), *_runs(brackets, _DEEP_NESTING)]
        exponents = np.flatnonzero(digits[:-1] & ((codes[1:] | _LOWER) == ord("e"))).tolist()
        at += [place for place in exponents if _EXPONENT.match(part, place)]
        if any(word in part for word in _WORDS):
            at += [one.start() for one in _ANY_WORD.finditer(part)]
        newlines = np.flatnonzero(codes == ord("\n"))
        found.update((line + np.searchsorted(newlines, at)).tolist())
        line += int(np.searchsorted(newlines, _CHUNK))
    return frozenset(found)


def _runs(marks: "NDArray[np.bool_]", length: int) -> list[int]:
    """Where `length` marks in a row begin: a run of twice a length is two runs of it."""
    import numpy as np

    size = 1
    while size < length:
        step = min(size, length - size)
        marks = marks[:-step] & marks[step:]
        size += step
    return [int(place) for place in np.flatnonzero(marks)]
