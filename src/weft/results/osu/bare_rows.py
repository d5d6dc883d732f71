"""Rows of the OSU micro-benchmarks whose title and header were cut off: the launch line above them
names the program, and so what its two columns are."""

import re

from weft.results.lines.columns import Column, row_of
from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.launch_scale import is_launch
from weft.results.model import Row, Table
from weft.results.osu.column_titles import program_of, title_of_program

TEST_FROM = "the launch line; title and header are missing"
_ROW = re.compile(r"(\d{1,10}) +\d{1,9}\.\d{2,6}$")
_COLUMNS = {
    "latency": Column("Latency (us)", "metric", "latency_us"),
    "bandwidth": Column("Bandwidth (MB/s)", "metric", "bandwidth_mb_s"),
    "bidirectional": Column("Bandwidth (MB/s)", "metric", "bandwidth_mb_s"),
}
_LEAST_ROWS = 3
_MOST_BETWEEN = 3


def opens(line: str) -> bool:
    """Whether a launcher starts one of the programs that print a size and one value."""
    if "osu_" not in line[:2000] or not is_launch(line):
        return False
    title = title_of_program(program_of(line))
    return title is not None and title.benchmark in _COLUMNS


def read(cursor: Cursor) -> list[Table]:
    """The rows below a launch line, sizes doubling; none where a title or other lines follow."""
    first = cursor.take()
    title = title_of_program(program_of(first.text))
    if title is None:
        return []
    columns = (Column("Size", "size"), _COLUMNS[title.benchmark])
    rows: list[Row] = []
    between: list[Line] = []
    while (line := cursor.peek()) is not None and len(between) <= _MOST_BETWEEN:
        is_row = line.ended and _ROW.match(line.text) is not None
        row = row_of(columns, line.text.split(), line.number) if is_row else None
        if row is None and rows:
            break
        if row is not None and rows and row.size_bytes != max(1, 2 * (rows[-1].size_bytes or 0)):
            break
        if row is None:
            between.append(cursor.take())
        else:
            rows.append(row)
            cursor.take()
    for line in between:
        cursor.refuse_taken(line, "no table begins here")
    if len(rows) < _LEAST_ROWS:
        return []
    conditions = {**title.conditions, "test_from": TEST_FROM}
    return [
        Table(
            tool="osu",
            test=title.test,
            benchmark=title.benchmark,
            rows=tuple(rows),
            first_line=rows[0].line,
            n_ranks=2,
            conditions=conditions,
        )
    ]
