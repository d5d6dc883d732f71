"""A result file, whatever tool printed it, as tables."""

import re
import zlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO

from weft.core.collection import collection_paused
from weft.core.documents.text_file import open_file
from weft.core.errors import InputError
from weft.core.shell_line import quoted
from weft.core.units import format_size
from weft.launch.redact import redact_environment
from weft.results.lines.clean import Buffer, Cleaner, plain
from weft.results.lines.cursor import MOST_TAKEN, SHOWN_CHARACTERS, Cursor, Line, TooManyLines
from weft.results.lines.json_documents import documents_in
from weft.results.lines.large_file import LargeFile
from weft.results.lines.launch_scale import with_launches
from weft.results.lines.noise import is_noise
from weft.results.lines.number import as_number
from weft.results.lines.secrets import masked
from weft.results.lines.unit_conflict import with_unit_conflicts
from weft.results.model import MAX_UNREAD_KEPT, ResultFile, Table, Unread
from weft.results.nccl.log import with_log
from weft.results.osu.column_titles import with_programs
from weft.results.registry import JSON_READERS, LINE_READERS

SNIFFED_BYTES = 8192
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_MANY_BYTES = 1 << 20
EXPECTED_FILE = "a file with the output of a benchmark"
MOST_RESULT_BYTES = 1 << 30
"""A larger file is not read: it is a disk image or a trace, and no output of a benchmark."""
MOST_UNPACKED_BYTES = 1 << 28
"""A packed file is unpacked in memory, at twice its bytes: 0.5 GB."""
_MOST_BYTES_TO_READ = 1 << 26
MOST_BYTES_TO_CONVERT = 1 << 26
"""Text in UTF-16, or without line feeds, is converted in memory, at up to six times its bytes."""
PACKED_MARK = b"\x1f\x8b"
_LONGEST_TITLE = 2000
_MAX_MEMBERS = 1000
_MAX_DOCUMENT_LINES = 200_000
_LAUNCHED_DOCUMENT = re.compile(r"\S{0,300} ?\{")
_SAYS_SOMETHING = re.compile(r"[\w{}\[\]]")
_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 80
_NOT_IN_A_TABLE = "no table begins here"
_CUT_OFF = "the file ends within this line"
_NOT_TAKEN = "a table seems to begin here, but none does"


def read_results(path: Path) -> ResultFile:
    """The tables of a file, plain or packed with gzip.

    Raises InputError for a file that cannot be read, is binary, or holds no table of a known tool.
    """
    opened = open_file(path, expected=EXPECTED_FILE, most_bytes=MOST_RESULT_BYTES)
    with opened as file:
        content = content_of(file, str(path))
        if not content:
            raise InputError("the file is empty", where=str(path), expected=_expected())
        if content[:2] == PACKED_MARK:
            data, remarks = unpacked(content, str(path))
            results = read_results_text(data, str(path))
            return replace(results, remarks=results.remarks + remarks)
        return _read(content, str(path))


def content_of(file: IO[bytes], path: str) -> Buffer:
    """The bytes of an open file; of a large one they are read where they are asked for."""
    if file.seek(0, 2) <= _MOST_BYTES_TO_READ:
        file.seek(0)
        return file.read()
    return LargeFile(file, path)


def read_results_text(data: bytes, path: str) -> ResultFile:
    """The tables of the bytes of a file; `path` is what messages call it. Raises as
    `read_results`."""
    if not data:
        raise InputError("the file is empty", where=path, expected=_expected())
    return _read(data, path)


_ANY_DIGIT = str.maketrans("123456789", "0" * 9)
"""Lines of a log differ in their digits mostly, and no title that begins with a letter depends on
which they are: one of each shape is asked for."""


def tool_that_opens(text: str) -> str | None:
    """The tool one of whose tables begins with this line."""
    title = text[:_LONGEST_TITLE]
    return _opener(title.translate(_ANY_DIGIT) if title[:1].isalpha() else title)


@lru_cache(maxsize=4096)
def _opener(text: str) -> str | None:
    for tool, reader in LINE_READERS.items():
        if reader.opens(text):
            return tool
    return None


def begins_a_table(text: str) -> bool:
    """Whether a table of any tool begins with this line."""
    return tool_that_opens(text) is not None


@dataclass(slots=True)
class _Found:
    """What has been gathered of a file so far."""

    tables: list[Table] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    outside: list[Unread] = field(default_factory=list)
    n_unread: int = 0
    n_lines: int = 0
    n_noise: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    launches: list[Line] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def leave_out(self, line: Line, reason: str) -> bool:
        """Count a line that stands outside every table: as noise where it says nothing. Whether
        lines like it need only be counted as not understood."""
        if is_noise(line.text) or not _SAYS_SOMETHING.search(line.text):
            self.n_noise += 1
            return False
        self.n_unread += 1
        if len(self.outside) < MAX_UNREAD_KEPT:
            text = masked(line.text)[:SHOWN_CHARACTERS]
            self.outside.append(Unread(line.number, text, reason))
            return False
        return True


def _read(raw: Buffer, path: str) -> ResultFile:
    refuse_binary(raw[:SNIFFED_BYTES], path)
    _refuse_long_line(raw, path)
    # The rows form no cycles: looking for some takes longer than making them.
    with collection_paused() if len(raw) > _MANY_BYTES else nullcontext():
        try:
            found = _found_in(plain(raw))
        except TooManyLines as error:
            raise _too_many_lines(path) from error
    if not found.tables:
        raise _training_log(raw, path) or _no_table(found, path)
    unread = (found.unread + found.outside)[:MAX_UNREAD_KEPT]
    return ResultFile(
        path=path,
        tables=tuple(sorted(found.tables, key=lambda table: table.first_line)),
        unread=tuple(sorted(unread, key=lambda line: line.line)),
        n_unread=found.n_unread,
        n_lines=found.n_lines,
        n_noise=found.n_noise,
        environment=found.environment,
        remarks=tuple(found.remarks),
    )


def _found_in(content: Buffer) -> _Found:
    found = _Found()
    at = 0
    for document in documents_in(content):
        before = document.first_line
        if _read_document(document.text, range(before, before + document.n_lines), found):
            _read_lines(content[at : document.start], found)
            found.n_lines += document.n_lines
            at = document.end
    _read_lines(content[at:] if at else content, found)
    if not found.tables and any(_begins_a_document(line.text) for line in found.outside):
        _read_prefixed_documents(content, found)
    named = with_programs(with_log(found.tables, found.facts), found.launches)
    tables = with_launches(named, found.launches)
    found.tables = with_unit_conflicts(tables)
    return found


def _read_lines(content: Buffer, found: _Found) -> None:
    """Add what the lines of a piece of the file hold."""
    cleaner = Cleaner(content, begins_a_table, n_before=found.n_lines, facts=found.facts)
    cursor = Cursor(cleaner.lines(), begins_a_table, cleaner)
    while (line := cursor.look()) is not None:
        tool = tool_that_opens(line.text)
        if tool is None:
            cursor.pass_over(alike=found.leave_out(line, _NOT_IN_A_TABLE))
            continue
        n_taken = cursor.n_taken
        cursor.enter()
        tables = LINE_READERS[tool].read(cursor)
        cursor.title = "" if tables else line.text
        found.tables.extend(tables)
        if cursor.n_taken == n_taken:
            cursor.refuse(_NOT_TAKEN)
        cursor.heed_all()
    found.unread.extend(cursor.unread)
    found.n_unread += cursor.n_unread + cleaner.n_alike
    if cleaner.cut is not None:
        found.leave_out(cleaner.cut, _CUT_OFF)
    found.launches.extend(cleaner.launches)
    found.n_lines = cleaner.n_lines
    found.n_noise += cleaner.n_noise


def _read_document(text: str, numbers: Sequence[int], found: _Found) -> bool:
    """Add what a JSON document holds, whose lines have these numbers; whether it was any tool's."""
    for reader in JSON_READERS.values():
        result = reader.read_json(text)
        if result is None:
            continue
        found.tables.extend(_renumbered(table, numbers) for table in result.tables)
        found.environment.update(redact_environment(result.environment))
        found.remarks.extend(result.remarks)
        return True
    return False


def _read_prefixed_documents(content: Buffer, found: _Found) -> None:
    """Add what JSON documents hold every line of which a launcher marked."""
    cleaner = Cleaner(content, _begins_a_table_or_document)
    lines = list(islice(cleaner.lines(), _MAX_DOCUMENT_LINES))
    joined = "\n".join(line.text for line in lines).encode()
    for document in documents_in(joined):
        first = document.first_line - 1
        numbers = [line.number for line in lines[first : first + document.n_lines]]
        if _read_document(document.text, numbers, found):
            found.n_unread -= len(numbers)
            found.outside = [line for line in found.outside if line.line not in numbers]


def _begins_a_document(text: str) -> bool:
    return "{" in text and _LAUNCHED_DOCUMENT.match(text) is not None


def _begins_a_table_or_document(text: str) -> bool:
    return text.startswith("{") or begins_a_table(text)


def renumbered(results: ResultFile, numbers: Sequence[int]) -> ResultFile:
    """What was read of some lines of a file, with the numbers that these lines have in it."""
    tables = tuple(_renumbered(table, numbers) for table in results.tables)
    unread = tuple(one._replace(line=_number(one.line, numbers)) for one in results.unread)
    return replace(results, tables=tables, unread=unread)


def _renumbered(table: Table, numbers: Sequence[int]) -> Table:
    """The table with line numbers of the file instead of its document."""
    rows = tuple(replace(row, line=_number(row.line, numbers)) for row in table.rows)
    return replace(table, rows=rows, first_line=_number(table.first_line, numbers))


def _number(line: int, numbers: Sequence[int]) -> int:
    return numbers[min(max(line, 1), len(numbers)) - 1]


def refuse_binary(head: bytes, path: str) -> None:
    """Raise InputError where the first bytes of a file are not text."""
    if b"\0" in head and not head.startswith(WIDE_MARKS):
        raise InputError(
            f"this is a binary file (a zero byte at {head.index(0)})",
            where=path,
            expected="text that a benchmark printed",
            hint="weft reads UTF-16 text only if it begins with a byte order mark",
        )


def _refuse_long_line(content: Buffer, path: str) -> None:
    if len(content) <= MOST_BYTES_TO_CONVERT:
        return
    most = format_size(MOST_BYTES_TO_CONVERT)
    if content[:2] in WIDE_MARKS:
        raise InputError(
            f"text in UTF-16 of more than {most}",
            where=path,
            expected="text in UTF-8",
            hint="iconv -f UTF-16 -t UTF-8 FILE",
        )
    if content.find(b"\n", 0, MOST_BYTES_TO_CONVERT) < 0:
        raise InputError(
            f"no line ends in the first {most}",
            where=path,
            expected="lines that a benchmark printed",
            hint="where lines end in carriage returns: tr '\\r' '\\n'",
        )


def _too_many_lines(path: str) -> InputError:
    return InputError(
        f"more than {MOST_TAKEN:,} lines of tables",
        where=path,
        expected=f"at most {MOST_TAKEN:,}",
        hint="split it at its headings; weft judge also reads a longer file of rows",
    )


def unpacked(content: Buffer, path: str) -> tuple[bytes, tuple[str, ...]]:
    """The content of all members of a gzip file, and remarks on it. Raises InputError where
    it is damaged or unreasonably large."""
    if len(content) > MOST_UNPACKED_BYTES:
        raise _too_large_when_unpacked(path)
    packed, room = content[:], MOST_UNPACKED_BYTES
    parts: list[bytes] = []
    while packed.startswith(PACKED_MARK) and len(parts) < _MAX_MEMBERS:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            parts.append(unpacker.decompress(packed, max(room, 1)))
        except zlib.error as error:
            raise InputError(f"a damaged gzip file ({error})", where=path) from error
        room -= len(parts[-1])
        if unpacker.unconsumed_tail or room < 0:
            raise _too_large_when_unpacked(path)
        if not unpacker.eof:
            return b"".join(parts), ("the gzip file is cut short: what stood behind is missing",)
        packed = unpacker.unused_data
    trailing = packed.strip(b"\0")
    remark = "behind the gzip data come bytes that were not read: " + str(len(trailing))
    return b"".join(parts), (remark,) if trailing else ()


def _too_large_when_unpacked(path: str) -> InputError:
    return InputError(
        f"the gzip file unpacks to more than {format_size(MOST_UNPACKED_BYTES)}",
        where=path,
        hint="unpack it (gunzip): weft judge reads plain files up to 1 GiB",
    )


def _expected() -> str:
    tools = sorted(set(LINE_READERS) | set(JSON_READERS))
    return "the output of one of: " + ", ".join(tools)


def _no_table(found: _Found, path: str) -> InputError:
    shown = [f"line {u.line}: {u.text[:_SHOWN_CHARACTERS]}" for u in found.outside[:_SHOWN_LINES]]
    what = "no table of a known tool in these " + f"{found.n_lines} lines"
    rows = [u for u in found.unread if u.text[:1].isdigit()] or found.unread
    refused = [
        f"line {u.line}: {u.text[:_SHOWN_CHARACTERS]} ({u.reason})" for u in rows[:_SHOWN_LINES]
    ]
    if refused:
        what += "; refused are " + " | ".join(refused)
    if shown:
        what += "; it begins with " + " | ".join(shown)
    return InputError(what, where=path, expected=_expected(), hint=_hint(found))


def _training_log(raw: Buffer, path: str) -> InputError | None:
    """The error of a file that another verb reads; None of any other."""
    # Imported here: numpy takes longer than a short file.
    from weft.results.training.first_step import first_step_in

    step = first_step_in(raw)
    if step is None:
        return None
    return InputError(
        f"this is {step.what} (first step in line {step.line}): weft train read reads it",
        where=path,
        expected="the output of a benchmark",
        hint=f"weft train read {quoted(Path(path))}",
    )


def _hint(found: _Found) -> str | None:
    """The part that may be missing, by the look of the lines."""
    if any(_looks_like_a_row(line.text) for line in found.outside):
        return (
            "there are rows of numbers but no header before them: "
            "keep the lines that begin with '#' (or name the columns) in the file"
        )
    if found.n_lines == found.n_noise:
        return "every line is a log line: was the output of the benchmark written elsewhere?"
    return None


def _looks_like_a_row(text: str) -> bool:
    tokens = text.split()
    return len(tokens) >= 2 and all(as_number(token) is not None for token in tokens)
