"""mpi4py.bench: its ping-pong, ring and futures tests, with or without header."""

import re
from dataclasses import dataclass, field

from weft.results.lines.columns import Column, row_of
from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import as_amount
from weft.results.model import Row, Table

_RING = re.compile(
    r"\s*time for (\d{1,18}) loops = (\S{1,40}) seconds \((\d{1,9}) processes, (\d{1,18}) bytes\)$"
)
_POOL = re.compile(r"\s*# (\w{1,60}) - (\d{1,9}) workers, (\d{1,9}) tasks/worker")
_BARE_ROW = re.compile(
    r"\s{0,12}\d{1,18}\s{1,20}(?P<rate>\d{1,18}(?:\.\d{2})?) \| \d\.\d{7}e[+-]\d\d \S{1,3} "
)
_WHOLE_ROW = re.compile(r"(?: [ \d]{7}\d|\d\.\d{2})$")
"""Samples are eight characters wide, bandwidths have two decimals."""

_WHOLE_BANDWIDTH = re.compile(r"\d\.\d{2}$")
_HEADER = re.compile(r"(?P<name>\w[\w/]*(?: \w+)?)(?: \[(?P<unit>[^\]]{1,10})\])?")
_SEPARATORS = {"|", "±", "+-", "+/-", "Â±", "?", "�"}
_PINGPONG = "# MPI PingPong Test"
_SIZES = "# Size [B]  "
_BANDWIDTHS = {"B/s": (1, 10**6), "KB/s": (1, 1000), "MB/s": (1, 1), "GB/s": (1000, 1)}
_SECONDS = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1)}
_PARTS = {
    "Bandwidth": ("bandwidth_mb_s", _BANDWIDTHS),
    "Time Mean": ("latency_us", _SECONDS),
    "StdDev": ("latency_us_stdev", _SECONDS),
}
_PINGPONG_COLUMNS = "# Size [B]  Bandwidth [MB/s] | Time Mean [s] ± StdDev [s]  Samples"
_POOL_COLUMNS = "# Size [B]  Tasks/s | Time Mean [s] ± StdDev [s]  Samples"


@dataclass(slots=True)
class _Draft:
    """A table while its lines are read."""

    test: str
    benchmark: str
    first_line: int
    columns: tuple[Column, ...] = ()
    rows: list[Row] = field(default_factory=list)
    n_ranks: int | None = None
    conditions: dict[str, str] = field(default_factory=dict)


def opens(line: str) -> bool:
    """Whether one of its titles, headers or lines without either stands here."""
    if " loops = " in line:
        return _RING.match(line) is not None
    if " | " in line and not line.startswith("#"):
        return _BARE_ROW.match(line) is not None
    head = line[:48].lstrip()
    if not head.startswith("# "):
        return False
    return head.startswith((_PINGPONG, _SIZES)) or _POOL.match(line) is not None


def read(cursor: Cursor) -> list[Table]:
    """The table of one test."""
    line = cursor.look()
    if line is None:
        return []
    if _RING.match(line.text):
        return _read_ring(cursor)
    draft = _begun(line)
    is_title = line.text.lstrip().startswith("# ")
    if is_title:
        draft.columns = _columns(line.text)
        cursor.take()
    while (line := cursor.look()) is not None:
        if is_title and not draft.columns:
            draft.columns = _columns(line.text)
            if draft.columns:
                cursor.take()
                continue
        row = _row(draft.columns, line)
        if row is not None:
            draft.rows.append(row)
            cursor.take()
        elif cursor.peek() is None:
            break
        else:
            cursor.refuse("not a row of this table")
    return [_finished(draft)] if draft.rows else []


def _begun(line: Line) -> _Draft:
    pool = _POOL.match(line.text)
    bare = _BARE_ROW.match(line.text)
    if pool is not None:
        draft = _Draft("futures", "", line.number)
        draft.conditions |= {"executor": pool[1], "workers": pool[2], "tasks_per_worker": pool[3]}
        return draft
    if bare is not None and "." not in bare["rate"]:
        return _Draft("futures", "", line.number, _columns(_POOL_COLUMNS))
    if "Tasks/s" in line.text:
        return _Draft("futures", "", line.number)
    draft = _Draft("pingpong", "latency", line.number, n_ranks=2)
    if bare is not None:
        draft.columns = _columns(_PINGPONG_COLUMNS)
    return draft


def _columns(text: str) -> tuple[Column, ...]:
    """The columns that a header names; none where the line is no header."""
    if "Size [B]" not in text[:400]:
        return ()
    found = [_column(match["name"], match["unit"]) for match in _HEADER.finditer(text[:400])]
    return tuple(found) if len(found) > 1 else ()


def _column(name: str, unit: str | None) -> Column:
    if name == "Size":
        return Column(name, "size")
    if name == "Samples":
        return Column(name, "metric", "iterations")
    if name == "Tasks/s":
        return Column(name, "metric", "transactions_per_s")
    metric, units = _PARTS.get(name, ("", _BANDWIDTHS))
    if metric and unit in units:
        return Column(name, "metric", metric, *units[unit])
    return Column(f"{name} [{unit}]" if unit else name, "number")


def _row(columns: tuple[Column, ...], line: Line) -> Row | None:
    tokens = [token for token in line.text.split() if token not in _SEPARATORS]
    is_last = bool(columns) and columns[-1].metric == "bandwidth_mb_s"
    whole = _WHOLE_BANDWIDTH if is_last else _WHOLE_ROW
    if not line.ended and not whole.search(line.text):
        return None
    return row_of(columns, tokens, line.number)


def _read_ring(cursor: Cursor) -> list[Table]:
    """One line: the time of a message going around all ranks, so many times."""
    line = cursor.take()
    match = _RING.match(line.text)
    seconds = as_amount(match[2]) if match else None
    if match is None or seconds is None or int(match[1]) == 0:
        return []
    metrics = {"latency_us": seconds * 1e6 / int(match[1]), "iterations": float(match[1])}
    draft = _Draft("ringtest", "", line.number, n_ranks=int(match[3]) or None)
    draft.conditions["pattern"] = "ring"
    draft.rows.append(Row(line.number, int(match[4]), metrics))
    return [_finished(draft)]


def _finished(draft: _Draft) -> Table:
    return Table(
        tool="mpi4py",
        test=draft.test,
        benchmark=draft.benchmark,
        rows=tuple(draft.rows),
        first_line=draft.first_line,
        n_ranks=draft.n_ranks,
        conditions=draft.conditions,
    )
