"""A file that is to be judged, whatever its length: whole, an excerpt of its rows, or refused."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast

from weft.core.documents.text_file import open_file
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.judge.log import MOST_LINES, Log, LogLine, log_in, log_of
from weft.judge.model import FileJudgement
from weft.judge.path_class.proof import HEAD_BYTES, head_of
from weft.results.model import ResultFile
from weft.results.result_file import (
    EXPECTED_FILE,
    MOST_RESULT_BYTES,
    MOST_UNPACKED_BYTES,
    PACKED_MARK,
    SNIFFED_BYTES,
    WIDE_MARKS,
    read_results,
    read_results_text,
    refuse_binary,
    renumbered,
    unpacked,
)

if TYPE_CHECKING:
    from weft.results.excerpt.excerpt import Excerpt

MOST_ROWS = 50_000
"""So many lines of rows of one file are judged: 7 s, and 300 MB. SOURCE: benches/judge.py."""
SHORT_BYTES = 1024
"""A file of up to so many bytes without a table is called too short."""
_LEAST_BYTES_OF_A_ROW = 4
_IN_MEMORY_BYTES = 1 << 26
"""So much of standard input is kept in memory; the remaining bytes go to a temporary file."""
_BLOCK_BYTES = 1 << 20
_LEAST_PACKED_BYTES = 18
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file as it is judged: its tables, its log, its first bytes, and which rows these are."""

    results: ResultFile
    log: Log
    head: bytes
    part: "FilePart | None" = None


@dataclass(frozen=True, slots=True)
class FilePart:
    """Which rows of a long file are judged. `can_be_good`: no other row can be worse."""

    text: str
    can_be_good: bool


def read_file(path: Path) -> ReadFile:
    """A result file, or the excerpt of one with more than `MOST_ROWS` lines of rows.

    Raises InputError, as `read_results` does, and where the file is huge.
    """
    n_bytes = _size_of(path)
    if n_bytes > MOST_RESULT_BYTES:
        raise _too_large(str(path), f"{n_bytes / 1e9:.1f} GB")
    log = _PiecesLog()
    found = _packed_or_long(path, n_bytes, log) if n_bytes > _LEAST_PACKED_BYTES else None
    if found is not None:
        return found
    results = _read_short(lambda: read_results(path), n_bytes)
    is_long = n_bytes > _IN_MEMORY_BYTES
    return ReadFile(results, log.whole() if is_long else log_in(path), head_of(path))


def may_be_long(path: Path) -> bool:
    """Whether the file has room for more than `MOST_ROWS` lines of rows."""
    return _size_of(path) > MOST_ROWS * _LEAST_BYTES_OF_A_ROW


def _packed_or_long(path: Path, n_bytes: int, log: "_PiecesLog") -> ReadFile | None:
    """A packed file, or the excerpt of a long one; None for all others."""
    with open_file(path, expected=EXPECTED_FILE, most_bytes=MOST_RESULT_BYTES) as file:
        if file.read(len(PACKED_MARK)) == PACKED_MARK:
            file.seek(0)
            content, remarks = unpacked(file.read(MOST_UNPACKED_BYTES + 1), str(path))
            found = _read_bytes(content, str(path))
            results = replace(found.results, remarks=found.results.remarks + remarks)
            return replace(found, results=results)
        if n_bytes > MOST_ROWS * _LEAST_BYTES_OF_A_ROW:
            return _read_excerpt(file, str(path), log)
    return None


def read_stream(stream: BinaryIO, name: str) -> ReadFile:
    """As `read_file`, of all that comes out of a stream that is called so."""
    with SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as spool:
        n_bytes = 0
        while block := stream.read(_BLOCK_BYTES):
            if n_bytes == 0:
                refuse_binary(block[:SNIFFED_BYTES], name)
            n_bytes += len(block)
            if n_bytes > MOST_RESULT_BYTES:
                raise _too_large(name, f"more than {MOST_RESULT_BYTES / 1e9:.1f} GB")
            spool.write(block)
        file = cast("BinaryIO", spool)
        if n_bytes > _IN_MEMORY_BYTES:
            excerpt = _read_excerpt(file, name, _PiecesLog())
            if excerpt is not None:
                return excerpt
        file.seek(0)
        return _read_bytes(file.read(), name)


def of_a_part(judgement: FileJudgement, part: FilePart | None) -> FileJudgement:
    """A judgement that says of which rows of the file it is; where other rows may be worse, it
    calls none of it good."""
    if part is None:
        return judgement
    first = judgement.findings[0]
    is_good = first.severity is Severity.GOOD
    severity = Severity.NOTE if is_good and not part.can_be_good else first.severity
    first = replace(first, severity=severity, evidence=(part.text, *first.evidence))
    return replace(judgement, findings=(first, *judgement.findings[1:]))


def _read_bytes(content: bytes, name: str) -> ReadFile:
    if len(content) > MOST_ROWS * _LEAST_BYTES_OF_A_ROW:
        excerpt = _read_excerpt(io.BytesIO(content), name, _PiecesLog())
        if excerpt is not None:
            return excerpt
    results = _read_short(lambda: read_results_text(content, name), len(content))
    return ReadFile(results, log_of(content), content[:HEAD_BYTES])


def _read_excerpt(file: BinaryIO, name: str, log: "_PiecesLog") -> ReadFile | None:
    """The excerpt of a file with too many rows; None where they are few enough. Its lines go to
    `log`."""
    from weft.results.excerpt.excerpt import excerpt_of  # numpy takes longer than a short file

    file.seek(0)
    head = file.read(HEAD_BYTES)
    refuse_binary(head[:SNIFFED_BYTES], name)
    if head[:2] in WIDE_MARKS:
        return None
    excerpt = excerpt_of(file, name, MOST_ROWS, log.note)
    if excerpt is None:
        return None
    numbers = excerpt.numbers.tolist()
    results = renumbered(read_results_text(excerpt.content, name), numbers)
    return ReadFile(results, log.whole(), head, _part_of(excerpt))


def _part_of(excerpt: "Excerpt") -> FilePart:
    kept, rows = f"{excerpt.n_kept:,}", f"{excerpt.n_rows:,}"
    extreme = f"weft read all {rows} lines of rows and judged {kept}: those with the least and the"
    can_be_good = excerpt.extent.name == "ALL"
    match excerpt.extent.name:
        case "ALL":
            text = f"{extreme} greatest figures among rows of one size and one kind of table"
        case "BINNED":
            text = f"{extreme} greatest figures among rows of one kind, sizes within 9 % as one"
        case "SOME":
            text = f"{extreme} greatest figures of the first columns: split the file to judge all"
        case _:
            text = f"only the first {kept} lines of rows were judged: split the file to judge all"
    return FilePart(text, can_be_good)


class _PiecesLog:
    """The log of a file that is read in pieces: a telling line of each kind, once."""

    def __init__(self) -> None:
        self._lines: dict[str, LogLine] = {}
        self._variables: dict[str, str] = {}

    def note(self, piece: bytes, first_line: int) -> None:
        """Take the telling lines of the next piece."""
        log = log_of(piece)
        self._variables.update(log.variables or {})
        for line in log.lines:
            if len(self._lines) < MOST_LINES:
                number = line.number + first_line - 1
                self._lines.setdefault(_DIGITS.sub("#", line.text), LogLine(number, line.text))

    def whole(self) -> Log:
        """The log of all pieces."""
        return Log(tuple(self._lines.values()), self._variables)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _too_large(where: str, size: str) -> InputError:
    return InputError(
        f"the file has {size}",
        where=where,
        expected=f"at most {MOST_RESULT_BYTES / 1e9:.1f} GB",
        hint="cut the rows out of it, or split it (split -C 500M)",
    )


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
