"""Sweeps of a piece of a long file: rows of one run among which no size falls."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.results.excerpt.headings import HeadingEffect, Headings, Span
from weft.results.excerpt.row_lines import Ints, RowLines, RowShape, row_lines

LONGEST_SWEEP = 256
"""Rows; a longer sweep counts as several."""
_SAMPLE_BYTES = 1 << 13
_LONGEST_GAP_BYTES = 1 << 16
"""Rows with a longer text between them are of two sweeps."""


class Sweep(NamedTuple):
    """Where a sweep stands, and the headings that it needs above it."""

    span: Span
    heads: tuple[Span, ...]


class Text(NamedTuple):
    """Lines since the last row of a file: where they begin, and their last bytes."""

    start: int
    line: int
    content: bytes


class _Gap(NamedTuple):
    """The rows from `row` on: the text before them that continues their table, and their kind."""

    row: int
    text: Span | None
    heads: tuple[Span, ...]
    kind: int


@dataclass(frozen=True, slots=True)
class RowPiece:
    """Whole lines of a file, and where they stand in it. `text` stands before the first row, of
    these and of earlier pieces."""

    content: bytes
    at: int
    line: int
    text: Text
    rows: RowLines

    def bytes_of(self, first: int, end: int) -> bytes:
        """The lines from `first` to before `end`, counted in the piece."""
        starts = self.rows.line_starts
        return self.content[int(starts[first]) : int(starts[end])]

    def span_of(self, first: int, end: int, n_rows: int = 0) -> Span:
        """The same lines as a span of the file."""
        starts = self.rows.line_starts
        start, stop = self.at + int(starts[first]), self.at + int(starts[end])
        return Span(start, stop, self.line + first, self.line + end, n_rows)


@dataclass(frozen=True, slots=True)
class PieceSweeps:
    """The sweeps of a piece: `starts` is the first row of each, `kinds` that of its heading."""

    piece: RowPiece
    starts: Ints
    kinds: Ints
    gap_of: Ints
    gaps: list[_Gap]
    _made: dict[int, Sweep] = field(default_factory=dict)

    @property
    def n_rows(self) -> Ints:
        """The rows of each sweep."""
        return np.diff(np.append(self.starts, len(self.piece.rows.lines)))

    def sweep(self, index: int) -> Sweep:
        """The sweep of this index."""
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]

    def _make(self, index: int) -> Sweep:
        lines, starts = self.piece.rows.lines, self.starts
        first = int(starts[index])
        last = int(starts[index + 1] if index + 1 < len(starts) else len(lines)) - 1
        span = self.piece.span_of(int(lines[first]), int(lines[last]) + 1, last + 1 - first)
        gap = self.gaps[int(self.gap_of[index])]
        if gap.text is not None and gap.row == first:
            span = span._replace(start=gap.text.start, line=gap.text.line)
        return Sweep(span, gap.heads)


def sweeps_of(piece: RowPiece, headings: Headings) -> PieceSweeps:
    """The sweeps of a piece that has rows. Raises TooVaried."""
    lines = piece.rows.lines
    gaps = [_Gap(0, None, headings.spans, headings.kind)]
    if piece.text.content or lines[0]:
        text = piece.text.content + piece.bytes_of(0, int(lines[0]))
        span = piece.span_of(0, int(lines[0]))
        span = span._replace(start=piece.text.start, line=piece.text.line)
        gaps.append(_gap(piece, headings, 0, text, span))
    for row in (np.flatnonzero(np.diff(lines) != 1) + 1).tolist():
        above, line = int(lines[row - 1]) + 1, int(lines[row])
        text = piece.bytes_of(above, line)
        gaps.append(_gap(piece, headings, row, text, piece.span_of(above, line)))
    begins = np.append(True, np.diff(piece.rows.sizes) < 0)
    begins[
        [
            gap.row
            for gap in gaps
            if gap.text is None or gap.text.end - gap.text.start > _LONGEST_GAP_BYTES
        ]
    ] = True
    starts = _in_pieces(begins)
    gap_of = np.searchsorted([gap.row for gap in gaps], starts, side="right") - 1
    kinds = np.array([gap.kind for gap in gaps])[gap_of]
    return PieceSweeps(piece, starts, kinds, gap_of, gaps)


def piece_of(content: bytes, at: int, line: int, text: Text) -> RowPiece:
    """A piece of whole lines, its rows found."""
    return RowPiece(content, at, line, text, row_lines(content))


def without_last(piece: RowPiece) -> tuple[RowPiece, bytes]:
    """The piece without a last sweep that may go on in the next one, and the bytes of that."""
    rows, n_lines = piece.rows, len(piece.rows.line_starts) - 1
    starts = _in_pieces(np.append(True, (np.diff(rows.lines) != 1) | (np.diff(rows.sizes) < 0)))
    if rows.lines[-1] != n_lines - 1 or len(starts) < 2:
        return piece, b""
    cut = int(starts[-1])
    line = int(rows.lines[cut])
    layouts = tuple(
        RowShape(one.rows[one.rows < cut], one.values[one.rows < cut]) for one in rows.layouts
    )
    fewer = RowLines(
        rows.line_starts[: line + 1], rows.lines[:cut], rows.sizes[:cut], rows.shapes[:cut], layouts
    )
    end = int(rows.line_starts[line])
    return replace(piece, content=piece.content[:end], rows=fewer), piece.content[end:]


def _gap(piece: RowPiece, headings: Headings, row: int, text: bytes, span: Span) -> _Gap:
    start = int(piece.rows.line_starts[piece.rows.lines[row]])
    sample = piece.content[start : start + _SAMPLE_BYTES]
    place = headings.enter(text, span, sample)
    continued = span if place is HeadingEffect.CONTINUES else None
    return _Gap(row, continued, headings.spans, headings.kind)


def _in_pieces(begins: NDArray[np.bool_]) -> Ints:
    """The rows that begin a sweep, so that none is longer than `LONGEST_SWEEP`."""
    n, starts = len(begins), np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, n))
    if (lengths > LONGEST_SWEEP).any():
        within = np.arange(n) - np.repeat(starts, lengths)
        starts = np.flatnonzero(within % LONGEST_SWEEP == 0)
    return np.asarray(starts, np.int64)
