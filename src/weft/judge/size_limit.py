"""How much of a file is judged: of a very long one the first rows, of a huge one none."""

import mmap
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.judge.model import FileJudgement
from weft.results.model import ResultFile
from weft.results.result_file import read_results_text

MOST_BYTES = 1 << 30
"""A larger file is not opened: it is a disk image or a trace, and no output of a benchmark."""
MOST_ROWS = 50_000
"""So many lines of rows of one file are judged: 7 s, and 300 MB. SOURCE: benches/judge.py."""
_LEAST_BYTES_OF_A_ROW = 8
_ROW = re.compile(rb"\n[^\w\n]*(?:\[[\w,]+\]<\w+>:)?[ \t]*\d+[ \t]+[\d.]")
"""The end of a line before one that begins with two figures, as rows do."""
_PACKED = b"\x1f\x8b"
SHORT_BYTES = 1024
"""A file of up to so many bytes without a table is called too short."""


@dataclass(frozen=True, slots=True)
class FirstPart:
    """How much of a file was read: so many of its bytes, with so many rows."""

    read_bytes: int
    of_bytes: int

    @property
    def text(self) -> str:
        """A sentence about the remaining rows."""
        read, of = (f"{n_bytes / 1e6:.1f}" for n_bytes in (self.read_bytes, self.of_bytes))
        return (
            f"only the first {MOST_ROWS:,} lines of rows were judged, {read} of {of} MB:"
            " split the file to judge the others"
        )


def read_within(
    path: Path, read: Callable[[Path], ResultFile]
) -> tuple[ResultFile, FirstPart | None]:
    """A result file, and which part of it where it is too long to judge whole.

    Raises InputError, as `read` does, and where the file is huge.
    """
    try:
        n_bytes = path.stat().st_size if path.is_file() else 0
    except OSError:
        n_bytes = 0
    if n_bytes > MOST_BYTES:
        raise InputError(
            f"the file has {n_bytes / 1e9:.1f} GB",
            where=str(path),
            expected=f"at most {MOST_BYTES / 1e9:.1f} GB",
            hint="cut the rows out of it, or split it (split -C 500M)",
        )
    if n_bytes <= MOST_ROWS * _LEAST_BYTES_OF_A_ROW:
        return _read_short(lambda: read(path), n_bytes), None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        end = end_of_rows(content)
        if end is None:
            return read(path), None
        return read_results_text(content[:end], str(path)), FirstPart(end, len(content))


def read_text_within(content: bytes, name: str) -> tuple[ResultFile, FirstPart | None]:
    """As `read_within`, of the bytes of a file that is called so."""
    end = end_of_rows(content)
    if end is None:
        return _read_short(lambda: read_results_text(content, name), len(content)), None
    return read_results_text(content[:end], name), FirstPart(end, len(content))


def end_of_rows(content: bytes | mmap.mmap) -> int | None:
    """The byte behind the last row that is judged; None where all are."""
    if content[:2] == _PACKED:
        return None
    for number, found in enumerate(_ROW.finditer(content)):
        if number == MOST_ROWS:
            return found.start() + 1
    return None


def of_a_part(judgement: FileJudgement, part: FirstPart | None) -> FileJudgement:
    """A judgement that says of which part of the file it is, and calls none of it good."""
    if part is None:
        return judgement
    first = judgement.findings[0]
    severity = Severity.NOTE if first.severity is Severity.GOOD else first.severity
    first = replace(first, severity=severity, evidence=(part.text, *first.evidence))
    return replace(judgement, findings=(first, *judgement.findings[1:]))


def _read_short(read: Callable[[], ResultFile], n_bytes: int) -> ResultFile:
    """What is read. An error about a very short file begins with that."""
    try:
        return read()
    except InputError as error:
        if 0 < n_bytes <= SHORT_BYTES and error.what.startswith("no table"):
            what = f"too short to tell ({n_bytes} bytes): {error.what}"
            raise InputError(
                what, where=error.where, expected=error.expected, hint=error.hint
            ) from error
        raise
