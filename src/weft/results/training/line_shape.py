"""The shape of a line: the text between its numbers. Where one line was read by searches for names,
lines of the same shape are read by one match.

INVARIANT: a reader finds its numbers by the text before them. Lines with the same text between the
same kinds of numbers therefore give it the numbers at the same places.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isnan
from operator import itemgetter
from typing import Any

from weft.results.training.formats.log_format import LogFormat
from weft.results.training.formats.values import STAMP_PATTERN, stamp_of
from weft.results.training.model import StepReading

_FLOAT = r"\d+(?:\.\d*(?:[eE][-+]?\d{1,3})?|[eE][-+]?\d{1,3})"
_INTEGER = r"\d{1,15}"
_PIECE = re.compile(rf"(?P<float>{_FLOAT})|(?P<integer>{_INTEGER})|(?P<blanks> +)")
_CLOCK = re.compile(STAMP_PATTERN)
_MAY_BE_STAMP = re.compile(r"\d-\d+-\d+[T ]")
_MAY_BE_RANK = re.compile(r"\s*(?:\d|\[(?:rank|default|Rank|\d+,))")
_BEFORE, _BEHIND = " :=", " |/)"
"""Characters around a number that is all of what a reader takes."""
_LEAST_PROBE = 7_000_001
_MOST_PIECES = 200
_MOST_TRIES = 20
"""A shape costs as much as reading a hundred lines."""
_MOST_RANKS = 1000
_SCALES = (1.0, 1e-3)
_STAMP = StepReading._fields.index("stamp_s")


@dataclass(frozen=True, slots=True)
class LineShape:
    """`pattern` matches a whole line with its rank, and groups its numbers; the first group is the
    minute of the clock where `has_clock`, the second its seconds. `scales`: what some numbers are
    multiplied by. `order` takes the fields of a `StepReading` from the numbers and the constants.
    """

    of: LogFormat
    pattern: re.Pattern[bytes]
    scales: tuple[tuple[int, float], ...]
    constants: tuple[float | str, ...]
    order: Callable[[list[float | str]], tuple[float | str, ...]]
    has_clock: bool

    def reading(self, content: bytes, start: int, end: int) -> StepReading | None:
        """The reading of a line; None where its shape is another."""
        found = self.pattern.fullmatch(content, start, end)
        if found is None:
            return None
        groups = found.groups()
        values: list[Any] = list(map(float, groups[1:] if self.has_clock else groups))
        for at, scale in self.scales:
            values[at] *= scale
        if self.has_clock:
            values[0] += _minute_s(groups[0])
        values += self.constants
        return StepReading._make(self.order(values))


@lru_cache(maxsize=64)
def _minute_s(minute: bytes) -> float:
    return stamp_of(minute.decode(), "0", None)


class KnownShapes:
    """The last shape of each rank's lines."""

    def __init__(self) -> None:
        self._shapes: dict[str, LineShape] = {}
        self._n_tried: dict[str, int] = {}

    def reading(
        self, of: LogFormat, rank: str, content: bytes, start: int, end: int
    ) -> StepReading | None:
        """The reading of a line between two bytes; None where its shape is not known."""
        shape = self._shapes.get(rank)
        return shape.reading(content, start, end) if shape is not None and of is shape.of else None

    def learn(self, of: LogFormat, rank: str, raw: bytes, text: str, reading: StepReading) -> None:
        """Note the shape of a line that was read by searches; of a rank whose lines are seldom
        alike, no more."""
        n_tried = self._n_tried.get(rank, 0)
        if n_tried >= _MOST_TRIES or len(self._n_tried) > _MOST_RANKS:
            return
        self._n_tried[rank] = n_tried + 1
        shape = shape_of(raw, text, of, reading)
        if shape is not None:
            self._shapes[rank] = shape


@dataclass(slots=True)
class _Piece:
    """A part of a line: its own text, or a pattern."""

    text: str
    pattern: str
    is_number: bool = False


def shape_of(raw: bytes, text: str, of: LogFormat, reading: StepReading) -> LineShape | None:
    """The shape of a line that a format read; None where other lines of this shape may be read
    otherwise. `text` is the line without its rank."""
    prefix = raw[: len(raw) - len(text)]
    if not raw.isascii() or prefix + text.encode() != raw:
        return None
    if not prefix and _MAY_BE_RANK.match(text):
        return None
    pieces, has_clock = _pieces_of(text)
    if not pieces:
        return None
    probes = {i: _probe(i, piece) for i, piece in enumerate(pieces) if piece.is_number}
    probed = of.read("".join(probes.get(i, piece.text) for i, piece in enumerate(pieces)))
    if probed is None or probed.unit != reading.unit:
        return None
    fields: dict[int, tuple[int, float]] = {}
    for field, (value, other) in enumerate(zip(reading.figures, probed.figures, strict=True)):
        if not _alike(value, other):
            at, scale = _place_of(other, probes)
            if at < 0 or at in fields or not _stands_alone(pieces, at):
                return None
            fields[at] = (field, scale)
    pattern = re.escape(prefix).decode() + "".join(
        f"({piece.pattern})" if i in fields else piece.pattern for i, piece in enumerate(pieces)
    )
    shape = _ordered(of, pattern, [fields[i] for i in sorted(fields)], reading, has_clock)
    again = shape.reading(raw, 0, len(raw))
    same = again is not None and all(map(_alike, again.figures, reading.figures))
    return shape if same else None


def _ordered(
    of: LogFormat,
    pattern: str,
    fields: list[tuple[int, float]],
    reading: StepReading,
    has_clock: bool,
) -> LineShape:
    """A shape whose groups are the clock, if any, and these fields with their scales."""
    groups = [(_STAMP, 1.0), *fields] if has_clock else fields
    place = {field: at for at, (field, _) in enumerate(groups)}
    order = itemgetter(*(place.get(i, len(groups) + i) for i in range(len(reading))))
    scales = tuple((at, scale) for at, (_, scale) in enumerate(groups) if scale != 1)
    return LineShape(of, re.compile(pattern.encode()), scales, tuple(reading), order, has_clock)


def _pieces_of(text: str) -> tuple[list[_Piece], bool]:
    """The pieces of a line, none where numbers run into one another; whether one is its clock."""
    stamp = _CLOCK.search(text)
    if stamp is None:
        return ([], False) if _MAY_BE_STAMP.search(text) else (_split(text), False)
    before = text[: stamp.start()]
    if len(before) > 1 or _PIECE.search(before):
        return [], False
    second = r"\d\d" if stamp.group(3) is None else r"\d\d\.\d{1,6}"
    clock = _Piece(stamp.group(), rf"(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d):({second})(?![\d.,])")
    behind = _split(text[stamp.end() :])
    if not behind or behind[0].is_number:
        return [], False
    return [_Piece(before, re.escape(before)), clock, *behind], True


def _split(text: str) -> list[_Piece]:
    """Numbers, blanks and what stands between; numbers match whole or not at all."""
    pieces: list[_Piece] = []
    at = 0
    for found in _PIECE.finditer(text):
        if found.start() > at:
            pieces.append(_Piece(text[at : found.start()], re.escape(text[at : found.start()])))
        at = found.end()
        if found.lastgroup == "blanks":
            pieces.append(_Piece(found.group(), " ++"))
            continue
        if pieces and pieces[-1].is_number:
            return []
        kind = _FLOAT if found.lastgroup == "float" else _INTEGER
        pieces.append(_Piece(found.group(), f"(?>{kind})", is_number=True))
    if at < len(text):
        pieces.append(_Piece(text[at:], re.escape(text[at:])))
    return pieces if len(pieces) <= _MOST_PIECES else []


def _probe(i: int, piece: _Piece) -> str:
    """A number of the same kind that no other place has, nor this one."""
    number = _LEAST_PROBE + 13 * i
    number += piece.text.partition(".")[0] == str(number)
    return str(number) if piece.text.isdigit() else f"{number}.5"


def _place_of(value: float, probes: dict[int, str]) -> tuple[int, float]:
    """The piece whose probe a reader gave back, and its scale; -1 where there is none."""
    for i, probe in probes.items():
        for scale in _SCALES:
            if float(probe) * scale == value:
                return i, scale
    return -1, 0.0


def _alike(a: float, b: float) -> bool:
    return a == b or (isnan(a) and isnan(b))


def _stands_alone(pieces: list[_Piece], at: int) -> bool:
    before = pieces[at - 1].text[-1:] if at else ""
    behind = pieces[at + 1].text[:1] if at + 1 < len(pieces) else " "
    return before != "" and before in _BEFORE and behind in _BEHIND
