"""A small picture of a table in plain characters: measured, expected band, limit, on a log axis."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from weft.core.units import format_size
from weft.judge.model import JudgedRow

MEASURED, BAND, LIMIT = "o", "=", "|"
LEAST_WIDTH, MOST_WIDTH, LABEL_WIDTH = 30, 72, 10
FAR = 100
"""A limit so many times away from the expected value would only squeeze the picture."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A row on the axis: positive figures, `limit` 0 where there is none worth drawing."""

    size: str
    value: float
    low: float
    high: float
    limit: float


def picture(rows: Sequence[JudgedRow], width: int | None = None) -> list[str]:
    """One line a row with an expectation. Where rows have different metrics, all are drawn as
    shares of what is expected, the better the farther right."""
    judged = [row for row in rows if row.expectation is not None]
    mixed = len({row.metric for row in judged}) > 1
    marks = [mark for row in judged if (mark := _mark(row, as_share=mixed)) is not None]
    if not marks:
        return []
    span = _span(marks)
    columns = (width or shutil.get_terminal_size().columns) - LABEL_WIDTH - 2
    columns = max(LEAST_WIDTH, min(MOST_WIDTH, columns))
    unit = "share of what is expected" if mixed else "log scale"
    legend = f"{MEASURED} measured, [{BAND * 3}] expected, {LIMIT} limit; {unit}"
    return [legend, *(_line(mark, span, columns) for mark in marks)]


def _mark(row: JudgedRow, *, as_share: bool) -> _Mark | None:
    found = row.expectation
    if found is None or min(row.value, found.low, found.high, found.value) <= 0:
        return None
    size = "-" if row.row.size_bytes is None else format_size(row.row.size_bytes)
    limit = found.limit or 0.0
    if limit and max(limit / found.value, found.value / limit) > FAR:
        limit = 0.0
    if not as_share:
        return _Mark(size, row.value, found.low, found.high, limit)
    shares = [value / found.value for value in (row.value, found.low, found.high, limit)]
    if found.lower_is_better:
        value, high, low, bound = (1 / share if share else 0.0 for share in shares)
        return _Mark(size, value, low, high, bound)
    return _Mark(size, *shares)


def _span(marks: Sequence[_Mark]) -> tuple[float, float]:
    values = [v for mark in marks for v in (mark.value, mark.low, mark.high, mark.limit) if v > 0]
    low, high = math.log(min(values)), math.log(max(values))
    return (low, high) if high > low else (low - 1, high + 1)


def _line(mark: _Mark, span: tuple[float, float], columns: int) -> str:
    cells = [" "] * columns
    low, high = _column(mark.low, span, columns), _column(mark.high, span, columns)
    cells[low : high + 1] = BAND * (high + 1 - low)
    cells[low], cells[high] = "[", "]"
    if mark.limit > 0:
        cells[_column(mark.limit, span, columns)] = LIMIT
    cells[_column(mark.value, span, columns)] = MEASURED
    return f"{mark.size:>{LABEL_WIDTH}}  {''.join(cells)}".rstrip()


def _column(value: float, span: tuple[float, float], columns: int) -> int:
    low, high = span
    share = (math.log(value) - low) / (high - low)
    return min(columns - 1, max(0, round(share * (columns - 1))))
