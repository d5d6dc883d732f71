"""A small picture of a table in plain characters: measured, expected band, limit, on a log axis."""

import math
import shutil
from collections.abc import Sequence

from weft.core.units import format_size
from weft.diagnose.judge.model import JudgedRow

MEASURED, BAND, LIMIT = "o", "=", "|"
LEAST_WIDTH, MOST_WIDTH = 30, 72


def picture(rows: Sequence[JudgedRow], width: int | None = None) -> list[str]:
    """One line a row, all in one unit; nothing where fewer than two rows have an expectation."""
    shown = [row for row in rows if row.expectation is not None]
    if not shown or len({row.metric for row in shown}) > 1:
        return []
    span = _span(shown)
    if span is None:
        return []
    columns = (width or shutil.get_terminal_size().columns) - 14
    columns = max(LEAST_WIDTH, min(MOST_WIDTH, columns))
    legend = f"{MEASURED} measured, [{BAND * 3}] expected, {LIMIT} limit; log scale"
    return [legend, *(_line(row, span, columns) for row in shown)]


def _span(rows: Sequence[JudgedRow]) -> tuple[float, float] | None:
    values = [row.value for row in rows]
    for row in rows:
        if row.expectation is not None:
            found = row.expectation
            values += [found.low, found.high] + ([found.limit] if found.limit else [])
    positive = [value for value in values if value > 0]
    if not positive or max(positive) <= min(positive):
        return None
    return math.log(min(positive)), math.log(max(positive))


def _line(row: JudgedRow, span: tuple[float, float], columns: int) -> str:
    found = row.expectation
    cells = [" "] * columns
    if found is not None:
        low, high = _column(found.low, span, columns), _column(found.high, span, columns)
        cells[low : high + 1] = BAND * (high + 1 - low)
        cells[low], cells[high] = "[", "]"
        if found.limit:
            cells[_column(found.limit, span, columns)] = LIMIT
    cells[_column(row.value, span, columns)] = MEASURED
    size = "-" if row.row.size_bytes is None else format_size(row.row.size_bytes)
    return f"{size:>10}  {''.join(cells)}".rstrip()


def _column(value: float, span: tuple[float, float], columns: int) -> int:
    low, high = span
    share = (math.log(value) - low) / (high - low) if value > 0 else 0.0
    return min(columns - 1, max(0, round(share * (columns - 1))))
