"""Intel MPI Benchmarks: what versions 2.3 to 2021 print, columns found by their headers.

`Mbytes/sec` means 2^20 bytes in versions before 2018 and 1e6 in those since; where the title block
is missing, the table's own times and sizes tell which.
"""

import re
from dataclasses import dataclass, field
from statistics import median

from weft.results.imb.column_titles import named_by_columns
from weft.results.imb.names import Test, column_of, is_known, test_of
from weft.results.lines.columns import Column, row_of
from weft.results.lines.cursor import Cursor, Line
from weft.results.model import Row, Table

_SUITE = re.compile(
    r"\s*#\s*Intel ?\(R\) MPI Benchmark(?:s| Suite) V?(?P<version>[\w. -]{1,40}?), "
    r"(?P<part>[\w-]{1,20}) part"
)
_BENCHMARK = re.compile(r"\s*# {0,3}Benchmarking (?P<multi>Multi-)?(?P<name>\S{1,60})")
_WITHOUT_HASH = re.compile(r"\s*Benchmarking (?P<multi>Multi-)?(?P<name>\S{1,60})$")
_RANKS = re.compile(r"\s*(?:# )?#? ?processes = (\d{1,9})(?!\d)")
_WAITING = re.compile(r"\s*# \( ?(\d{1,9}) additional process(?:es)? waiting")
_GROUPS = re.compile(r"\s*# \( ?(\d{1,9}) groups of (\d{1,9}) processes")
_MODE = re.compile(r"\s*#\s*MODE: ([\w-]{1,30})")
_THREADS = re.compile(r"\s*# #threads = (\d{1,9})(?!\d)")
_WINDOW = re.compile(r"\s*# (?:window|Window)[ _]size = (\d{1,9})(?!\d)")
_DATATYPE = re.compile(r"\s*# MPI_Datatype +: +(\w{1,60})")
_SKIPPED = re.compile(r"\s*(?:!!|#-{3,}|\d{1,12} time-out|# *$|#-+$)")
_OF_ALL_TABLES = ("multi", "mode", "threads", "window")
_NOT_A_ROW = "not a row of this table"
_DECIMALS = 2
_LEAST_MB_S, _LEAST_US = 2.0, 0.5
"""From here on two decimals tell the two apart: they differ by 4.9 %."""
_MBYTES = {True: "2^20", False: "1e6", None: "1e6 (assumed: 2^20 before 2018)"}
_BINARY_MB_YEAR = 2018
_NEAR = (2**20 / 1e6) ** 0.5
"""Closer than this to 1 or to 2^20 / 1e6, a ratio is meant to be that."""


@dataclass(slots=True)
class _Suite:
    """What stands once above all tables."""

    version: str = ""
    part: str = ""
    datatype: str = ""


@dataclass(slots=True)
class _Draft:
    """A table while its lines are read."""

    name: str
    test: Test
    first_line: int
    suite: _Suite
    columns: tuple[Column, ...] = ()
    header_width: int = 0
    rows: list[Row] = field(default_factory=list)
    n_ranks: int | None = None
    conditions: dict[str, str] = field(default_factory=dict)


def opens(line: str) -> bool:
    """Whether the title of the suite or of one of its benchmarks stands here."""
    head = line[:40]
    if "Benchmarking " in head:
        return _title(line) is not None
    if head.lstrip().startswith("#bytes") and "#repetitions" in line[:80]:
        return bool(columns_of(line))
    return "# " in head and "Intel" in head and _SUITE.match(line) is not None


def _title(text: str) -> re.Match[str] | None:
    """The title of a benchmark; without its '#', only of one that the suite has."""
    if "Benchmarking " not in text[:80]:
        return None
    bare = _WITHOUT_HASH.match(text)
    return _BENCHMARK.match(text) or (bare if bare and is_known(bare["name"]) else None)


def read(cursor: Cursor) -> list[Table]:
    """All tables of one run of the suite."""
    suite = _Suite()
    draft: _Draft | None = None
    tables: list[Table] = []
    first = True
    while (line := cursor.look()) is not None:
        if draft is not None and (row := _row(draft, line)) is not None:
            draft.rows.append(row)
            cursor.take()
            continue
        title = _title(line.text)
        is_header = title is None and bool(columns_of(line.text))
        begins_anew = is_header or _RANKS.match(line.text) is not None
        if title is None and not first and not is_header and cursor.peek() is None:
            break
        first = False
        if draft is None and is_header:
            draft = _Draft("", Test("", 0, {}), line.number, suite)
        elif draft is not None and draft.rows and begins_anew:
            tables.extend(_finished(draft))
            draft = _next_draft(draft, line.number)
        if title is not None:
            tables.extend(_finished(draft))
            draft = _Draft(title["name"], test_of(title["name"]), line.number, suite)
            if title["multi"]:
                draft.conditions["multi"] = "yes"
            cursor.take()
        elif draft is None:
            _read_suite(suite, line.text, cursor)
        else:
            _read_line(draft, line.text, cursor)
    return tables + _finished(draft)


def _next_draft(above: _Draft, first_line: int) -> _Draft:
    """A table without a title of its own: of the test above it, if its columns are the same."""
    draft = _Draft(above.name, above.test, first_line, above.suite, columns=above.columns)
    draft.conditions = {k: v for k, v in above.conditions.items() if k in _OF_ALL_TABLES}
    return draft


def _read_suite(suite: _Suite, text: str, cursor: Cursor) -> None:
    if title := _SUITE.match(text):
        suite.version, suite.part = title["version"].strip(), title["part"]
    elif datatype := _DATATYPE.match(text):
        suite.datatype = datatype[1]
    elif text.lstrip()[:1] not in "#!":
        cursor.refuse("this belongs to no benchmark of the suite")
        return
    cursor.take()


def _read_line(draft: _Draft, text: str, cursor: Cursor) -> None:
    names = columns_of(text)
    if names:
        columns = tuple(map(column_of, names))
        if draft.columns and columns != draft.columns:
            # The title of this table was lost: other columns are those of another test.
            draft.name, draft.test = "", Test("", 0, {})
        draft.columns, draft.header_width = columns, len(text)
    elif text.lstrip()[:1] == "#":
        _read_condition(draft, text)
    elif not _SKIPPED.match(text):
        cursor.refuse(_NOT_A_ROW, alike=draft.columns[:1] == (column_of("#bytes"),))
        return
    cursor.take()


def columns_of(text: str) -> tuple[str, ...]:
    """The column names of a header; none where the line is no header."""
    if "[usec]" not in text and "Mbytes/sec" not in text:
        return ()
    names = tuple(text.split())
    known = {"Group", "#bytes", "#repetitions"}
    return names if names and names[0] in known and len(names) <= 20 else ()


def _read_condition(draft: _Draft, text: str) -> None:
    if ranks := _RANKS.match(text):
        draft.n_ranks = int(ranks[1]) or None
    elif waiting := _WAITING.match(text):
        draft.conditions["waiting"] = waiting[1]
    elif groups := _GROUPS.match(text):
        draft.conditions["groups"] = groups[1]
        draft.n_ranks = int(groups[2]) or None
    elif mode := _MODE.match(text):
        draft.conditions["mode"] = mode[1].lower()
    elif threads := _THREADS.match(text):
        draft.conditions["threads"] = threads[1]
    elif window := _WINDOW.match(text):
        draft.conditions["window"] = window[1]


def _row(draft: _Draft, line: Line) -> Row | None:
    if not line.ended and (len(line.text) < draft.header_width or _ends_in_a_part(draft, line)):
        # Columns end below their names: this one was cut.
        return None
    return row_of(draft.columns, line.text.split(), line.number)


def _ends_in_a_part(draft: _Draft, line: Line) -> bool:
    """Whether the last number has fewer decimals than the suite prints."""
    _, _, decimals = line.text.rsplit(maxsplit=1)[-1].partition(".")
    return draft.columns[-1:] == (column_of("Mbytes/sec"),) and len(decimals) < _DECIMALS


def _finished(draft: _Draft | None) -> list[Table]:
    """The table of a draft, its bandwidths in MB of 1e6 bytes; none where it has no row."""
    if draft is None or not draft.rows:
        return []
    name, test = draft.name, draft.test
    if not name:
        name, test = named_by_columns({column.metric for column in draft.columns}, draft.rows)
    conditions = dict(test.conditions) | draft.conditions
    n_ranks = draft.n_ranks or (2 if test.n_times == 1 else None)
    if test.benchmark == "message_rate" and n_ranks:
        conditions["pairs"] = str(n_ranks // 2)
    if draft.suite.part:
        conditions["suite"] = draft.suite.part
    if draft.suite.datatype:
        conditions["datatype"] = draft.suite.datatype
    rows = draft.rows
    if any("bandwidth_mb_s" in row.metrics for row in rows):
        is_binary = _counts_in_binary(draft, test.n_times)
        conditions["mbyte"] = _MBYTES[is_binary]
        if is_binary:
            rows = [_in_decimal(row) for row in rows]
    return [
        Table(
            tool="imb",
            test=name,
            benchmark=test.benchmark,
            rows=tuple(rows),
            first_line=draft.first_line,
            version=draft.suite.version,
            memory="gpu" if "GPU" in draft.suite.part else "host",
            n_ranks=n_ranks,
            conditions=conditions,
        )
    ]


def _in_decimal(row: Row) -> Row:
    metrics = dict(row.metrics)
    if "bandwidth_mb_s" in metrics:
        metrics["bandwidth_mb_s"] = metrics["bandwidth_mb_s"] * 2**20 / 1e6
    return Row(row.line, row.size_bytes, metrics, row.labels, row.other)


def _counts_in_binary(draft: _Draft, n_times: int) -> bool | None:
    """Whether the table's Mbyte is 2^20 bytes: as its own sizes and times say, or its version; None
    where neither does."""
    ratios = [
        row.size_bytes * n_times / (time * row.metrics["bandwidth_mb_s"])
        for row in draft.rows
        if row.size_bytes
        and (time := row.metrics.get("latency_us_max") or row.metrics.get("latency_us"))
        and row.metrics.get("bandwidth_mb_s", 0) >= _LEAST_MB_S
        and time >= _LEAST_US
    ]
    if ratios and 1 / _NEAR < median(ratios) < 2**20 / 1e6 * _NEAR:
        return median(ratios) > _NEAR
    year = re.match(r"(\d{4})\b", draft.suite.version)
    if year is not None:
        return int(year[1]) < _BINARY_MB_YEAR
    return True if re.match(r"\d\.\d", draft.suite.version) else None
