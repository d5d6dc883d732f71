"""The OSU micro-benchmarks: what versions 3 to 7.5 print, columns found by their headers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from weft.bench.parse.cursor import Cursor, Line
from weft.bench.parse.model import Row, Table
from weft.bench.parse.number import as_amount, as_count
from weft.bench.parse.osu_columns import Column, columns_of
from weft.bench.parse.osu_titles import Title, title_of

_NONE: Mapping[str, str] = {}
_PAIRS = re.compile(r"\[ ?pairs: ?(\d{1,9}) ?\]")
_WINDOW = re.compile(r"\[ ?window size: ?(\w{1,20}) ?\]")
_BUFFERS = re.compile(r"Send Buffer on (\w{1,20}) .{0,20}Receive Buffer on (\w{1,20})")
_NAMED = re.compile(
    r"\s*#\s*(Datatype|Window creation|Synchronization|Number of [^:]{1,40}): *(\S.*)"
)
_STARTUP = re.compile(
    r"\s*nprocs: (\d{1,9}), min: ([\d.]{1,20}) ms, max: ([\d.]{1,20}) ms, avg: ([\d.]{1,20}) ms"
)
_KEYS = {
    "Datatype": "datatype",
    "Window creation": "window_creation",
    "Synchronization": "synchronization",
}
_UNTITLED = Title("osu", "", "", "", {})


@dataclass(slots=True)
class _Draft:
    """A table while its lines are read."""

    title: Title
    first_line: int
    memory: str
    conditions: dict[str, str]
    columns: tuple[Column, ...] = ()
    rows: list[Row] = field(default_factory=list)
    n_ranks: int | None = None


def opens(line: str) -> bool:
    """Whether a title, or column names without one, stand here."""
    head = line[:48].lstrip()
    if not head.startswith("#"):
        return False
    if "OSU " in head:
        return title_of(line) is not None
    return bool(columns_of(line))


def read(cursor: Cursor) -> list[Table]:
    """The table that begins at the cursor: one title, and the rows that follow."""
    first = cursor.take()
    title = title_of(first.text)
    draft = _begun(title or _UNTITLED, first.number)
    if title is None:
        draft.columns = columns_of(first.text)
    while (line := cursor.look()) is not None and _goes_on(draft, line, cursor):
        pass
    return [_finished(draft)] if draft.rows else []


def _begun(title: Title, number: int) -> _Draft:
    return _Draft(title, number, title.memory, dict(title.conditions))


def _goes_on(draft: _Draft, line: Line, cursor: Cursor) -> bool:
    """Deal with the next line; False where it begins another table."""
    if not draft.columns:
        draft.columns = columns_of(line.text)
        if draft.columns:
            cursor.take()
            return True
    if cursor.peek() is None:
        return False
    if line.text.lstrip()[:1] == "#":
        _read_condition(draft, line.text)
        cursor.take()
        return True
    row = _row(draft, line)
    if row is not None:
        draft.rows.append(row)
        cursor.take()
    else:
        cursor.refuse("not a row of this table")
    return True


def _read_condition(draft: _Draft, text: str) -> None:
    if pairs := _PAIRS.search(text):
        draft.conditions["pairs"] = pairs[1]
        draft.n_ranks = 2 * int(pairs[1])
    if window := _WINDOW.search(text):
        draft.conditions["window"] = window[1]
    if buffers := _BUFFERS.search(text):
        sides = [side.lower() for side in buffers.groups()]
        draft.memory = "host" if sides == ["host", "host"] else "gpu"
        draft.conditions["buffers"] = " ".join(side[0].upper() for side in sides)
    if named := _NAMED.match(text):
        key = _KEYS.get(named[1], named[1].lower().replace(" ", "_"))
        draft.conditions[key] = named[2].strip(" .")


def _row(draft: _Draft, line: Line) -> Row | None:
    tokens = line.text.split()
    columns = draft.columns
    if not columns or len(tokens) != len(columns):
        return _startup(draft, line)
    size: int | None = None
    metrics: dict[str, float] = {}
    labels: dict[str, str] = {}
    other: dict[str, str] = {}
    for column, token in zip(columns, tokens, strict=True):
        if column.part == "metric":
            value = as_amount(token)
            if value is None:
                return None
            metrics[column.metric] = value * column.factor
        elif column.part == "size":
            size = as_count(token)
            if size is None:
                return None
        elif column.part == "validation":
            labels["validation"] = token
        else:
            other[column.name] = token
    return Row(line.number, size, metrics, labels or _NONE, other or _NONE)


def _startup(draft: _Draft, line: Line) -> Row | None:
    """The only line of osu_init: milliseconds over ranks."""
    match = _STARTUP.match(line.text)
    if match is None:
        return None
    low, high, mean = (as_amount(token) for token in match.groups()[1:])
    if low is None or high is None or mean is None:
        return None
    draft.n_ranks = int(match[1])
    times = {"latency_us": mean, "latency_us_min": low, "latency_us_max": high}
    return Row(line.number, None, {name: 1e3 * value for name, value in times.items()})


def _finished(draft: _Draft) -> Table:
    return Table(
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
