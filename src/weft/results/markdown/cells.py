"""Cells of a Markdown table: columns by their header, and numbers as people write them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from weft.results.lines.number import measured

_MARKS = re.compile(r"[*_`]{1,3}|<br ?/?>|\\")
_SIZE = re.compile(
    r"#? ?(?:message |msg |data |buffer |transfer )?(?:size|bytes|length|msglen)s?\b"
    r"[ .:]{0,3}(?:[\[(] ?(?P<unit>[a-z]{1,5}) ?[\])])?.{0,20}$"
)
_SIZE_VALUE = re.compile(r"(\d{1,12})(?:\.0)? ?(b|k|kb|kib|m|mb|mib|g|gb|gib|bytes?)?$")
_BYTES = {"": 1, "b": 1, "byte": 1, "bytes": 1, "k": 2**10, "kb": 2**10, "kib": 2**10}
_BYTES |= {"m": 2**20, "mb": 2**20, "mib": 2**20, "g": 2**30, "gb": 2**30, "gib": 2**30}
_METRICS: tuple[tuple[str, str, float], ...] = (
    (r"\bbus ?bw\b|bus ?bandwidth", "busbw_gb_s", 1.0),
    (r"\balg ?bw\b|alg\w* ?bandwidth", "algbw_gb_s", 1.0),
    (r"m(?:b|byte)s? ?(?:/s|ps\b|/sec|/second)", "bandwidth_mb_s", 1.0),
    (r"mib(?:/s|/sec)", "bandwidth_mb_s", 2**20 / 1e6),
    (r"g(?:b|byte)s? ?(?:/s|/sec|/second)", "bandwidth_mb_s", 1e3),
    (r"gib(?:/s|/sec)", "bandwidth_mb_s", 2**30 / 1e6),
    (
        r"\((?:us|usec|µs|μs|microsec\w*)\)|\[(?:us|usec|µs|μs)\]|\bµs\b|\bus\b"
        r"|\[?mi[ck]ro\w{0,10}\]?",
        "latency_us",
        1.0,
    ),
)
_GBITS = re.compile(r"gb(?:it)?s?(?:/s\b|/sec|ps\b)")
_IS_BITS = re.compile(r"(?<![A-Za-z])(?:Gb|Gbit|Gbits|gbit)(?:/s|/sec|ps)|Gbps|gbps")
_MESSAGES = re.compile(r"message rate|messages?/s|msg ?rate|mpps")
_DECIMAL_COMMA = re.compile(r"\d{1,9},(?:\d{1,2}|\d{4,6})$")
_RULE = re.compile(r"[:\- ]{0,60}$")
MOST_COLUMNS = 24


class MarkdownColumn(NamedTuple):
    """A column of values: its name as written, its metric, and its unit in weft's."""

    at: int
    name: str
    metric: str
    unit: float


def cells_of(text: str) -> list[str]:
    """The cells of a line, without the bars at its ends and without stress."""
    inner = text.strip().removeprefix("|").removesuffix("|")
    return [_MARKS.sub("", cell).strip() for cell in inner.split("|")[: MOST_COLUMNS + 1]]


def is_rule(cells: Sequence[str]) -> bool:
    """Whether the cells are the line of dashes below a header."""
    return all(_RULE.match(cell) for cell in cells) and any("-" in cell for cell in cells)


def unit_of_sizes(name: str) -> int | None:
    """Bytes of a unit, where a name heads a column of sizes; else None."""
    match = _SIZE.match(name.lower())
    return None if match is None else _BYTES.get(match["unit"] or "")


def columns_of(cells: Sequence[str]) -> tuple[MarkdownColumn, ...]:
    """The columns of values behind a first one of sizes. A cell left empty has the unit of the
    cell before it, as merged ones have. None where the line is no such header."""
    if not 2 <= len(cells) <= MOST_COLUMNS or unit_of_sizes(cells[0]) is None:
        return ()
    found: list[MarkdownColumn] = []
    before: MarkdownColumn | None = None
    for at, name in enumerate(cells[1:], start=1):
        column = _column(at, name) if name else before and before._replace(at=at)
        before = column
        if column is not None:
            found.append(column)
    return tuple(found)


def _column(at: int, name: str) -> MarkdownColumn | None:
    words = name.lower()
    if _MESSAGES.search(words):
        return None
    if _IS_BITS.search(name) and _GBITS.search(words):
        return MarkdownColumn(at, name, "bandwidth_mb_s", 125.0)
    for pattern, metric, unit in _METRICS:
        if re.search(pattern, words):
            return MarkdownColumn(at, name, metric, unit)
    return None


def size_of(cell: str, unit: int) -> int | None:
    """Bytes of a size, as `65536`, `64 KB` (in 1024) or `1M`."""
    match = _SIZE_VALUE.match(cell.lower())
    if match is None:
        return None
    return int(match[1]) * (_BYTES[match[2]] if match[2] else unit)


def has_decimal_commas(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the numbers of a table have decimal commas: one behind which other than three digits
    stand separates no thousands."""
    return any(_DECIMAL_COMMA.match(cell) for cells in rows for cell in cells[1:])


def value_of(cell: str, *, decimal_comma: bool) -> float | None:
    """A number of a cell, with decimal or thousands commas; None where it is none."""
    return measured(cell.replace(",", "." if decimal_comma else ""))
