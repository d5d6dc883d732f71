"""Tables in Markdown: sizes in the first column, one measurement or several behind it.

People write down what a benchmark printed. The title above, or in the first cell, names the test;
without one a time is of an unknown test.
"""

import re
from dataclasses import dataclass, field

from weft.results.imb.names import is_known, test_of
from weft.results.lines.cursor import Cursor, Line
from weft.results.markdown.cells import (
    MarkdownColumn,
    cells_of,
    columns_of,
    has_decimal_commas,
    is_rule,
    size_of,
    unit_of_sizes,
    value_of,
)
from weft.results.model import Row, Table
from weft.results.osu.column_titles import program_of, title_of_program
from weft.results.osu.titles import title_of

_IMB_NAME = re.compile(r"\b(PingPong|PingPing|Sendrecv|SendRecv|Exchange|Uniband|Biband)\b")
_LONGEST = 1000
_LEAST_ROWS = 2


@dataclass(slots=True)
class _Draft:
    """A table while its lines are read."""

    first_line: int
    title: str = ""
    columns: tuple[MarkdownColumn, ...] = ()
    unit: int = 1
    names: list[str] = field(default_factory=list)
    rows: list[tuple[int, int, list[str]]] = field(default_factory=list)


def opens(line: str) -> bool:
    """Whether a header with a column of sizes, or an OSU title in a first cell, stands here."""
    if "|" not in line or len(line) > _LONGEST:
        return False
    cells = cells_of(line)
    return bool(columns_of(cells)) or (len(cells) > 1 and title_of(cells[0]) is not None)


def read(cursor: Cursor) -> list[Table]:
    """A table for each column of values."""
    first = cursor.look()
    draft = _Draft(0 if first is None else first.number, cursor.title)
    while (line := cursor.look()) is not None and "|" in line.text and len(line.text) <= _LONGEST:
        cells = cells_of(line.text)
        columns = columns_of(cells)
        if draft.rows and (columns or title_of(cells[0]) is not None):
            break
        if columns:
            draft.columns, draft.unit = columns, unit_of_sizes(cells[0]) or 1
        elif title_of(cells[0]) is not None:
            draft.title = cells[0]
        elif not _take(draft, line, cells):
            cursor.refuse("no row of this table")
            continue
        cursor.take()
    return [table for column in draft.columns if (table := _table(draft, column)) is not None]


def _take(draft: _Draft, line: Line, cells: list[str]) -> bool:
    """Whether a line is a row, the rule below the header, or a second line of names."""
    if is_rule(cells) or not draft.columns:
        return True
    size = size_of(cells[0], draft.unit)
    if size is None:
        draft.names = draft.names or (cells if not draft.rows else [])
        return not draft.rows
    is_whole = len(cells) > draft.columns[-1].at
    if is_whole and (line.ended or line.text.rstrip().endswith("|")):
        draft.rows.append((line.number, size, cells))
        return True
    return False


def _table(draft: _Draft, column: MarkdownColumn) -> Table | None:
    commas = has_decimal_commas([cells for _, _, cells in draft.rows])
    rows = []
    for number, size, cells in draft.rows:
        value = value_of(cells[column.at], decimal_comma=commas)
        if value is not None:
            rows.append(Row(number, size, {column.metric: value * column.unit}))
    if len(rows) < _LEAST_ROWS:
        return None
    name = draft.names[column.at] if column.at < len(draft.names) else ""
    tool, test, benchmark, conditions = _test(draft.title, column)
    conditions["column"] = name or column.name
    return Table(
        tool=tool,
        test=test,
        benchmark=benchmark,
        rows=tuple(rows),
        first_line=draft.first_line,
        memory=_memory(name or column.name),
        n_ranks=2 if benchmark in ("latency", "bandwidth", "bidirectional") else None,
        conditions=conditions,
    )


def _test(title: str, column: MarkdownColumn) -> tuple[str, str, str, dict[str, str]]:
    """(tool, test, benchmark, conditions): by the title, by the name of the column, else open."""
    osu = title_of(title) or title_of_program(program_of(title)) if title else None
    if osu is not None and _measures(osu.benchmark, column.metric):
        return "osu", osu.test, osu.benchmark, dict(osu.conditions)
    named = _IMB_NAME.search(column.name)
    if named is not None:
        name = named[1].replace("SendRecv", "Sendrecv")
        test = test_of(name) if is_known(name) else None
        if test is not None:
            return "imb", name, test.benchmark, dict(test.conditions)
    # A size and MB/s alone may be of a disk.
    is_of_network = re.search(
        r"\bb(?:and)?w|bandwidth|\bbi[- d]|bibw", f"{title} {column.name}".lower()
    )
    if column.metric == "bandwidth_mb_s" and is_of_network:
        both = bool(re.search(r"\bbi[- d]|bibw|both", column.name.lower()))
        conditions = {"directions": "2" if both else "1", "test_could_be": "both directions"}
        return "markdown", "", "bidirectional" if both else "bandwidth", conditions
    if column.metric == "latency_us" and re.search(r"\blat", column.name.lower()):
        return "markdown", "", "latency", {"test_could_be": "a ping-pong, a collective"}
    return "markdown", "", "", {}


def _measures(benchmark: str, metric: str) -> bool:
    """Whether a test prints such a column: a title may stand above tables of several tests."""
    is_rate = benchmark in ("bandwidth", "bidirectional", "message_rate")
    return bool(benchmark) and (metric == "bandwidth_mb_s") == is_rate


def _memory(name: str) -> str:
    words = name.lower()
    if re.search(r"device|gpu|cuda|\brccl\b|\bnccl\b", words):
        return "gpu"
    return "host" if "host" in words else ""
