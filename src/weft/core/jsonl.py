"""JSON Lines that survive a kill: a line is a record, a half-written last line is recognised."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.core.errors import InputError
from weft.core.units import refuse_unusable

Record = Mapping[str, Any]

# A walk through every record would double the time to read a run; few lines have one of these.
_MAYBE_UNUSABLE = re.compile(rb"NaN|Infinity|\d{19}|\d[eE]\+?\d{3}|[\[{]{64}")


class LineWriter:
    """Appends records to one file that this writer claimed by exclusive create.

    INVARIANT: a record is one write() of one line, flushed to the kernel before `append` returns,
    so kill -9 loses at most the line being written; two writers never share a file.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self._fd = os.open(path, flags, 0o644)
        self.path = path

    def append(self, record: Record) -> None:
        """Write one record. Raises OSError (a full disk, say)."""
        line = json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n"
        payload = line.encode()
        written = os.write(self._fd, payload)
        while written < len(payload):
            written += os.write(self._fd, payload[written:])

    def close(self) -> None:
        """Flush to disk and close."""
        os.fsync(self._fd)
        os.close(self._fd)


@dataclass(frozen=True, slots=True)
class Lines:
    """The records of a file, and whether its last line was cut off by a kill."""

    records: tuple[dict[str, Any], ...]
    truncated_tail: bool


def read_lines(path: Path) -> Lines:
    """All whole records of a file. Raises InputError on a broken line that is not the last."""
    with path.open("rb") as file:
        content = file.read()
    body, newline, tail = content.rpartition(b"\n")
    records = tuple(_parse_each(path, body)) if newline else ()
    return Lines(records, truncated_tail=bool(tail))


def _parse_each(path: Path, body: bytes) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(body.split(b"\n"), start=1):
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
        if _MAYBE_UNUSABLE.search(line):
            refuse_unusable(record, f"{path}:{number}")
        yield record
