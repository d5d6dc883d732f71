"""The OSU micro-benchmarks: what versions 3 to 7.5 print, columns found by their headers."""

import re
from dataclasses import dataclass, field, replace

from weft.results.lines.columns import Column, row_of
from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import as_amount, as_count
from weft.results.model import Row, Table
from weft.results.osu import bare_rows
from weft.results.osu.column_titles import title_of_columns
from weft.results.osu.columns import RUN_MARK, columns_of, windows_of
from weft.results.osu.titles import Title, title_of

_PAIRS = re.compile(r"\[ ?pairs: ?(\d{1,9}) ?\]")
_WINDOW = re.compile(r"\[ ?window size: ?(\w{1,20}) ?\]")
_BUFFERS = re.compile(r"(?:Buffer|Memory) on (\w{1,20}) .{0,20}(?:Buffer|Memory) on (\w{1,20})")
_NAMED = re.compile(
    r"\s*#?\s*(Datatype|Window creation|Synchronization|Number of [^:]{1,40}): *(\S.*)"
)
_ONE_SIDED = re.compile(r"#\s?(?:Window creation|Synchronization): MPI_Win_")
_STARTUP = re.compile(
    r"\s*nprocs: (\d{1,9}), min: ([\d.]{1,20}) ms, max: ([\d.]{1,20}) ms, avg: ([\d.]{1,20}) ms"
)
_RATE_PROFILE = re.compile(r"\s*# Message Rate Profile")
_OF_TWO_RANKS = {"osu_latency", "osu_bw", "osu_bibw", "osu_latency_mt", "osu_put_latency"} | {
    f"osu_{op}_{what}"
    for op in ("put", "get", "acc", "get_acc", "fop", "cas")
    for what in ("latency", "bw", "bibw")
}
_UNTITLED = Title("osu", "", "", "", {})
_NOT_A_ROW = "not a row of this table"
_COMMA = "not a row of this table: a number has a decimal comma"
_DECIMAL_COMMA = re.compile(r"(?<!\S)\d{1,9},\d{1,6}(?!\S)")
_OF_SIX = ("1.0", "2.0", "2.1")
"""Versions that may print six decimals, as the row before tells if there is one."""
_MARKS = ("#", "\\#", "Size")
_LONGEST_PAIRS = 80
_LONGEST_CONDITION = 200


@dataclass(slots=True)
class _Draft:
    """A table while its lines are read. `windows` are the columns of a table of window sizes."""

    title: Title
    first_line: int
    memory: str
    conditions: dict[str, str]
    columns: tuple[Column, ...] = ()
    windows: tuple[str, ...] = ()
    of_rates: bool = False
    rows: list[Row] = field(default_factory=list)
    n_ranks: int | None = None
    header_width: int = 0
    is_titled: bool = True
    metrics: set[str] = field(default_factory=set)


def opens(line: str) -> bool:
    """Whether a title, or column names without one, stand here."""
    head = line[:48].lstrip()
    if "OSU " in head or "OMB-Py " in head:
        return title_of(line) is not None
    if head[:1] == "#" and (_PAIRS.search(line, 0, _LONGEST_PAIRS) or _ONE_SIDED.match(head)):
        return True
    if head.startswith(_MARKS):
        return bool(columns_of(line))
    return bare_rows.opens(line)


def read(cursor: Cursor) -> list[Table]:
    """The tables under one title: one, or one for each data type or header that follows."""
    above = cursor.look()
    if above is not None and bare_rows.opens(above.text):
        return bare_rows.read(cursor)
    first = cursor.take()
    title = title_of(first.text)
    draft = _Draft(_UNTITLED, first.number, "", {}, is_titled=False)
    if title is None:
        _read_header(draft, first.text, columns_of(first.text))
    else:
        draft = _Draft(title, first.number, title.memory, dict(title.conditions))
        draft.n_ranks = 2 if title.test in _OF_TWO_RANKS else None
    tables: list[Table] = []
    while (line := cursor.look()) is not None:
        if rows := _rows(draft, line):
            cursor.take()
            if cursor.at_end and not draft.rows and _ends_short(draft, line.text):
                # Somebody ended a line that was cut.
                cursor.refuse_taken(line, "the file ends within this row")
                continue
            draft.rows.extend(rows)
            continue
        columns = columns_of(line.text)
        says = bool(columns) or _says(line.text)
        if not says and cursor.peek() is None:
            break
        if not says and line.text.lstrip()[:1] not in ("#", "\\"):
            cursor.refuse(_why_not(line.text), alike=_sizes_come_first(draft))
            continue
        if draft.rows:
            tables.extend(_finished(draft))
            draft = replace(draft, first_line=line.number, rows=[], columns=(), windows=())
            draft.conditions = dict(draft.conditions)
        _read_header(draft, line.text, columns)
        cursor.take()
    if draft.rows:
        tables.extend(_finished(draft))
    return tables


def _why_not(text: str) -> str:
    return _COMMA if _DECIMAL_COMMA.search(text[:_LONGEST_CONDITION]) else _NOT_A_ROW


def _says(text: str) -> bool:
    """Whether a line is one of those that stand above rows, though its '#' may be lost."""
    head = text[:_LONGEST_CONDITION].lstrip()
    if head.startswith("Datatype: ") or _ONE_SIDED.match(head):
        return True
    return any(pattern.search(head) for pattern in (_PAIRS, _BUFFERS))


def _read_header(draft: _Draft, text: str, columns: tuple[Column, ...]) -> None:
    if columns:
        draft.columns, draft.windows, draft.header_width = columns, (), len(text)
        metrics = {c.metric.partition(RUN_MARK)[0] for c in columns if c.part == "metric"}
        if not draft.is_titled or (draft.metrics and not draft.metrics & metrics):
            # Other columns than above: the title of this table was lost.
            _name_by_columns(draft)
        draft.metrics = metrics
    elif windows := windows_of(text):
        draft.windows, draft.columns = windows, ()
    elif _RATE_PROFILE.match(text):
        draft.of_rates = True
    else:
        _read_condition(draft, text)


def _name_by_columns(draft: _Draft) -> None:
    is_one_sided = not {"window_creation", "synchronization"}.isdisjoint(draft.conditions)
    title = title_of_columns(draft.columns, is_one_sided=is_one_sided)
    own = {k: v for k, v in draft.conditions.items() if k not in draft.title.conditions}
    draft.title, draft.is_titled = title, False
    draft.conditions = title.conditions | own
    if title.test in _OF_TWO_RANKS:
        draft.n_ranks = 2


def _read_condition(draft: _Draft, text: str) -> None:
    if pairs := _PAIRS.search(text):
        draft.conditions["pairs"] = pairs[1]
        draft.n_ranks = 2 * int(pairs[1]) or None
    if window := _WINDOW.search(text):
        draft.conditions["window"] = window[1]
    if buffers := _BUFFERS.search(text):
        sides = [side.lower() for side in buffers.groups()]
        draft.memory = "host" if sides == ["host", "host"] else "gpu"
        draft.conditions["buffers"] = " ".join(side[0].upper() for side in sides)
    if named := _NAMED.match(text):
        draft.conditions[named[1].lower().replace(" ", "_")] = named[2].strip(" .")


def _rows(draft: _Draft, line: Line) -> list[Row]:
    """The rows of one line: one, or one a window size; none where it is no row."""
    tokens = line.text.split()
    if not line.ended and not _is_whole(draft, line.text):
        return []
    if draft.windows and len(tokens) == len(draft.windows) + 1:
        return _rows_of_windows(draft, line.number, tokens)
    if draft.columns or draft.windows:
        row = row_of(draft.columns, tokens, line.number)
    else:
        row = _startup(draft, line)
    return [row] if row is not None else []


def _sizes_come_first(draft: _Draft) -> bool:
    """Whether rows begin with a size, so that no line that begins otherwise is one."""
    return bool(draft.windows) or (bool(draft.columns) and draft.columns[0].part == "size")


def _ends_short(draft: _Draft, text: str) -> bool:
    """Whether the only row of a file ends in a time or a rate of fewer decimals than OSU prints."""
    last = draft.columns[-1] if draft.columns else None
    is_figure = last is not None and last.part == "metric" and last.metric != "iterations"
    return is_figure and not _is_whole(draft, text)


def _is_whole(draft: _Draft, text: str) -> bool:
    """Whether a last row without line end is complete: times and rates have two decimals, other
    columns end below the end of the header."""
    if draft.columns and (draft.columns[-1].metric or "iterations") == "iterations":
        return len(text) >= draft.header_width
    _, point, decimals = text.rsplit(maxsplit=1)[-1].partition(".")
    may_have_six = not draft.rows and draft.title.version in _OF_SIX
    return bool(point) and len(decimals) >= (6 if may_have_six else 2)


def _rows_of_windows(draft: _Draft, number: int, tokens: list[str]) -> list[Row]:
    size = as_count(tokens[0])
    values = [as_amount(token) for token in tokens[1:]]
    if size is None or None in values:
        return []
    return [
        Row(number, size, _window_metric(draft, value or 0.0), {"window": window})
        for window, value in zip(draft.windows, values, strict=True)
    ]


def _window_metric(draft: _Draft, value: float) -> dict[str, float]:
    return {"msg_rate_mps": value / 1e6} if draft.of_rates else {"bandwidth_mb_s": value}


def _startup(draft: _Draft, line: Line) -> Row | None:
    """The only line of osu_init: milliseconds over ranks."""
    match = _STARTUP.match(line.text)
    if match is None:
        return None
    low, high, mean = (as_amount(token) for token in match.groups()[1:])
    if low is None or high is None or mean is None:
        return None
    draft.n_ranks = int(match[1]) or None
    times = {"latency_us": mean, "latency_us_min": low, "latency_us_max": high}
    return Row(line.number, None, {name: 1e3 * value for name, value in times.items()})


def _finished(draft: _Draft) -> list[Table]:
    """The table of a draft, or one for each run where runs stand side by side."""
    table = Table(
        tool="osu",
        test=draft.title.test,
        benchmark=draft.title.benchmark,
        rows=tuple(draft.rows),
        first_line=draft.first_line,
        version=draft.title.version,
        memory=draft.memory,
        n_ranks=draft.n_ranks,
        conditions=draft.conditions,
    )
    runs = [column.metric for column in draft.columns if RUN_MARK in column.metric]
    if not runs:
        return [table]
    return [
        replace(
            table,
            rows=tuple(_row_of_run(row, run) for row in draft.rows),
            conditions={**draft.conditions, "column": f"{i} of {len(runs)}"},
        )
        for i, run in enumerate(runs, start=1)
    ]


def _row_of_run(row: Row, run: str) -> Row:
    return replace(row, metrics={run.partition(RUN_MARK)[0]: row.metrics[run]})
