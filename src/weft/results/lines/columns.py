"""Columns of a table whose rows are separated by blanks, and one line of it as a row."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from weft.results.lines.number import as_converted, as_count
from weft.results.model import Row

_NONE: Mapping[str, str] = {}


class Column(NamedTuple):
    """A column: its name as printed, and its part in the row.

    A `metric` has the printed value, `times` over `by`; a `label` is text under the name `metric`;
    a `number` is verbatim under its own name, if it is one, and `other` whatever it is.
    """

    name: str
    part: Literal["size", "metric", "label", "number", "other"]
    metric: str = ""
    times: int = 1
    by: int = 1


def row_of(columns: Sequence[Column], tokens: Sequence[str], line: int) -> Row | None:
    """The row of one line; None where a token is none of its column's, or one is missing."""
    if not columns or len(tokens) != len(columns):
        return None
    size: int | None = None
    metrics: dict[str, float] = {}
    labels: dict[str, str] = {}
    other: dict[str, str] = {}
    for column, token in zip(columns, tokens, strict=True):
        if column.part == "size":
            size = as_count(token)
            if size is None:
                return None
        elif column.part == "label":
            labels[column.metric] = token
        elif column.part == "other":
            other[column.name] = token
        else:
            value = as_converted(token, column.times, column.by)
            if value is None:
                return None
            if column.part == "metric":
                metrics[column.metric] = value
            else:
                other[column.name] = token
    return Row(line, size, metrics, labels or _NONE, other or _NONE)
