"""Lines of rows in a piece of a file, as columns: where they stand, their size, their figures."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LONGEST_NUMBER = 18
"""Digits of a number that is exact as an int64; a longer token counts as a word."""
MOST_TOKENS = 64
"""A longer line is of a matrix: no tool prints so many columns."""
LONGEST_WORD = 24
"""So many bytes of a word, and its length, tell it from others of its column."""
_OTHER, _DIGIT, _POINT, _BLANK, _FEED = range(5)
_CLASS = bytes(
    _DIGIT
    if byte in b"0123456789"
    else _POINT
    if byte in b"."
    else _FEED
    if byte in b"\n"
    else _BLANK
    if byte in b" \t\r\0"
    else _OTHER
    for byte in range(256)
)
_LABEL_END = np.isin(np.arange(256), list(b":]>|"))
_POWERS = 10.0 ** np.arange(LONGEST_NUMBER + 1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RowShape:
    """Rows of one number of tokens: their place among all rows, and their figures, a column each;
    a word is NaN."""

    rows: Ints
    values: Floats


@dataclass(frozen=True, slots=True)
class RowLines:
    """`line_starts` of all lines of a piece, its end last; of the rows their line (from 0), size,
    and the `shape`: a hash of their words and of the number of tokens. Rows of one shape have
    numbers in the same columns."""

    line_starts: Ints
    lines: Ints
    sizes: Floats
    shapes: Hashes
    layouts: tuple[RowShape, ...]


@dataclass(frozen=True, slots=True)
class _Tokens:
    starts: Ints
    ends: Ints
    is_number: NDArray[np.bool_]
    is_count: NDArray[np.bool_]
    decimals: Ints
    first_of_line: Ints
    n_of_line: Ints


def row_lines(piece: bytes) -> RowLines:
    """The rows of whole lines: those that begin with a whole number and another number, behind a
    launcher's label or without one."""
    piece = _without_marks(piece)
    buffer = np.frombuffer(piece, np.uint8)
    classes = np.frombuffer(piece.translate(_CLASS), np.uint8)
    feeds = np.flatnonzero(classes == _FEED)
    line_starts = np.concatenate(([0], feeds + 1))
    if line_starts[-1] != len(buffer):
        line_starts = np.append(line_starts, len(buffer))
    if (classes >= _BLANK).all():
        none = np.zeros(0, np.int64)
        return RowLines(line_starts, none, np.zeros(0), none.astype(np.uint64), ())
    tokens = _tokens(buffer, classes, line_starts)
    first, n = tokens.first_of_line, tokens.n_of_line
    bare = _begins_as_row(tokens, first, n)
    last_byte = buffer[tokens.ends[np.minimum(first, len(tokens.ends) - 1)] - 1]
    labelled = ~bare & _LABEL_END[last_byte] & _begins_as_row(tokens, first + 1, n - 1)
    lines = np.flatnonzero((bare | labelled) & (n <= MOST_TOKENS))
    skipped = labelled[lines].astype(np.int64)
    first, n = first[lines] + skipped, n[lines] - skipped
    layouts: list[RowShape] = []
    sizes, shapes = np.zeros(len(lines)), np.zeros(len(lines), np.uint64)
    for width in np.unique(n):
        rows = np.flatnonzero(n == width)
        index = first[rows][:, None] + np.arange(width)
        values = _values(buffer, tokens, index)
        sizes[rows] = values[:, 0]
        shapes[rows] = _shapes(buffer, tokens, index, values)
        layouts.append(RowShape(rows, values))
    return RowLines(line_starts, lines, sizes, shapes, tuple(layouts))


def mixed(seeds: Hashes, more: Hashes) -> Hashes:
    """Hashes of pairs."""
    joined = (seeds ^ more) * _MIX
    return np.asarray(joined ^ (joined >> _FOLD), np.uint64)


def _without_marks(piece: bytes) -> bytes:
    """Open MPI's mark in front of a row ends with a blank; no byte moves."""
    return piece.replace(b">:", b"> ") if b"]<std" in piece else piece


def _tokens(buffer: NDArray[np.uint8], classes: NDArray[np.uint8], line_starts: Ints) -> _Tokens:
    blank = np.ones(len(buffer) + 2, np.bool_)
    blank[1:-1] = classes >= _BLANK
    starts = np.flatnonzero(blank[:-1] & ~blank[1:])
    ends = np.flatnonzero(~blank[:-1] & blank[1:])
    lengths = ends - starts
    n_digits = _count_within(classes == _DIGIT, starts, ends)
    points = np.flatnonzero(classes == _POINT)
    n_before = np.searchsorted(points, starts)
    n_points = np.searchsorted(points, ends) - n_before
    is_count = (n_digits == lengths) & (lengths > 0) & (lengths <= LONGEST_NUMBER)
    has_point = (n_points == 1) & (n_digits == lengths - 1) & (n_digits > 0)
    has_point &= lengths <= LONGEST_NUMBER
    decimals = np.zeros(len(starts), np.int64)
    decimals[has_point] = (ends - 1)[has_point] - points[n_before[has_point]]
    is_number = is_count | (has_point & (decimals > 0))
    first = np.searchsorted(starts, line_starts)
    return _Tokens(starts, ends, is_number, is_count, decimals, first[:-1], np.diff(first))


def _count_within(flags: NDArray[np.bool_], starts: Ints, ends: Ints) -> Ints:
    total = np.zeros(len(flags) + 1, np.int32)
    np.cumsum(flags, out=total[1:])
    return (total[ends] - total[starts]).astype(np.int64)


def _begins_as_row(tokens: _Tokens, first: Ints, n: Ints) -> NDArray[np.bool_]:
    last = len(tokens.starts) - 1
    one, two = np.minimum(first, last), np.minimum(first + 1, last)
    return np.asarray((n >= 2) & tokens.is_count[one] & tokens.is_number[two], np.bool_)


def _values(buffer: NDArray[np.uint8], tokens: _Tokens, index: Ints) -> Floats:
    """Horner's rule over the bytes of all tokens at once: exact, and divided once by a power of
    ten, as `float` rounds."""
    starts, lengths = tokens.starts[index], (tokens.ends - tokens.starts)[index]
    is_number = tokens.is_number[index]
    whole = np.zeros(index.shape, np.int64)
    longest = int(lengths[is_number].max(initial=0))
    for at in range(longest):
        byte = buffer[np.minimum(starts + at, len(buffer) - 1)]
        digit = byte - np.uint8(48)
        live = (at < lengths) & (digit < 10)
        np.copyto(whole, whole * 10 + digit, where=live)
    return np.where(is_number, whole / _POWERS[tokens.decimals[index]], np.nan)


def _shapes(buffer: NDArray[np.uint8], tokens: _Tokens, index: Ints, values: Floats) -> Hashes:
    shapes = np.full(len(index), index.shape[1], np.uint64)
    is_word = np.isnan(values)
    for column in np.flatnonzero(is_word.any(axis=0)):
        words = is_word[:, column]
        shapes[words] = mixed(
            shapes[words] + np.uint64(column + 1), _hashes(buffer, tokens, index[words, column])
        )
    return shapes


def _hashes(buffer: NDArray[np.uint8], tokens: _Tokens, index: Ints) -> Hashes:
    starts, lengths = tokens.starts[index], (tokens.ends - tokens.starts)[index]
    hashes = lengths.astype(np.uint64)
    for at in range(min(LONGEST_WORD, int(lengths.max(initial=0)))):
        byte = np.where(at < lengths, buffer[np.minimum(starts + at, len(buffer) - 1)], 0)
        hashes = mixed(hashes, byte.astype(np.uint64))
    return hashes
