"""A long result file cut down to the sweeps that tell what all of its rows tell.

Rows are alike if they stand under headings of one kind and have the same size and words. Of the
rows that are alike, the excerpt keeps those with the least and the greatest figure of each column,
with their whole sweep: a row between them is no worse than the one and no better than the other.
Where they fit, it keeps a row of each level between, too: an extreme may be excused as an outlier.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import BinaryIO

import numpy as np

from weft.core.work.progress import share_read, working
from weft.results.excerpt.extremes import extremes, levels
from weft.results.excerpt.headings import Headings, Span, TooVaried
from weft.results.excerpt.row_lines import Ints, mixed, row_lines
from weft.results.excerpt.sweeps import (
    PieceSweeps,
    Sweep,
    Text,
    piece_of,
    sweeps_of,
    without_last,
)

PIECE_BYTES = 1 << 21
"""So much of a file is in memory at a time, with 30 times as much for its columns."""
MOST_GROUPS = 20_000
"""So many kinds of rows are told apart."""
EVEN_SWEEPS = 16
"""Of each kind of table so many sweeps at least, and twice as many at most, are kept evenly."""
BINS_OF_AN_OCTAVE = 8
"""Where a file has too many sizes, those within 9 % count as one."""
_TEXT_BYTES = 1 << 16
_FIRST_TEXT_BYTES = 1 << 22
_LONGEST_LINE_BYTES = 1 << 24
_MOST_LEVELS = 100_000
_LEAST_CRITERIA = 2
"""The least and the greatest figure of the first column."""

Note = Callable[[bytes, int], None]
"""What is called with each piece of the file and the number of its first line."""
Criterion = tuple[int, ...]


class Extent(Enum):
    """What the rows of an excerpt tell of those left out."""

    ALL = "every extreme of rows alike"
    BINNED = "every extreme of rows of nearly one size"
    SOME = "the extremes of the first columns"
    FIRST = "nothing"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a file, in their order, with the number of each (from 1).

    The file has `n_rows` lines of rows (0: not counted), the excerpt `n_kept`.
    """

    content: bytes
    numbers: Ints
    n_rows: int
    n_kept: int
    extent: Extent


@dataclass(slots=True)
class _Kept:
    """The sweeps that are kept so far, by the reason."""

    best: dict[tuple[Criterion, int], tuple[float, Sweep]] = field(default_factory=dict)
    even: "dict[int, _Evenly]" = field(default_factory=dict)
    groups: set[int] = field(default_factory=set)
    met: set[tuple[int, int, int]] = field(default_factory=set)
    by_column: dict[int, set[Sweep]] = field(default_factory=dict)
    last: Sweep | None = None
    n_rows: int = 0


@dataclass(slots=True)
class _Evenly:
    """Every n-th sweep of one kind of table."""

    stride: int = 1
    n_seen: int = 0
    kept: list[tuple[int, Sweep]] = field(default_factory=list)

    def add(self, sweeps: PieceSweeps, indexes: Ints) -> None:
        """Count the next sweeps of the kind, and keep those whose turn it is."""
        for at in range(-self.n_seen % self.stride, len(indexes), self.stride):
            self.kept.append((self.n_seen + at, sweeps.sweep(int(indexes[at]))))
        self.n_seen += len(indexes)
        while len(self.kept) >= 2 * EVEN_SWEEPS:
            self.stride *= 2
            self.kept = [one for one in self.kept if one[0] % self.stride == 0]


def excerpt_of(file: BinaryIO, path: str, most_rows: int, note: Note) -> Excerpt | None:
    """The excerpt of a file with more than so many lines of rows; None where it has no more."""
    for is_binned in (False, True):
        file.seek(0)
        headings, kept = Headings(path), _Kept()
        try:
            with working("reading rows", ask=share_read(file)):
                tail = _scan(file, headings, kept, note, is_binned=is_binned)
            if kept.n_rows <= most_rows:
                return None
            chosen, is_complete = _chosen(kept, most_rows)
        except TooVaried:
            continue
        spans = {span for sweep in chosen for span in (*sweep.heads, sweep.span)}
        content, numbers = _assembled(file, [*spans, *headings.launches, tail])
        n_kept = sum(sweep.span.n_rows for sweep in chosen)
        extent = Extent.BINNED if is_binned else Extent.ALL
        extent = extent if is_complete else Extent.SOME
        return Excerpt(content, numbers, kept.n_rows, n_kept, extent)
    return _first_rows(file, most_rows)


def _scan(file: BinaryIO, headings: Headings, kept: _Kept, note: Note, *, is_binned: bool) -> Span:
    """Go through the file; the text behind its last row. Raises TooVaried."""
    at, line, rest, text = 0, 1, b"", Text(0, 1, b"")
    while True:
        content, rest, is_last = _next_lines(file, rest)
        piece = piece_of(content, at, line, text)
        if len(piece.rows.lines) and not is_last:
            piece, unused = without_last(piece)
            rest = unused + rest
        note(piece.content, line)
        if len(piece.rows.lines):
            _keep(kept, sweeps_of(piece, headings), is_binned=is_binned)
            behind = int(piece.rows.lines[-1]) + 1
            span = piece.span_of(behind, len(piece.rows.line_starts) - 1)
            text = Text(span.start, span.line, piece.bytes_of(behind, -1))
        else:
            text = text._replace(content=text.content + piece.content)
        text = text._replace(content=text.content[-_TEXT_BYTES:])
        at, line = at + len(piece.content), line + piece.content.count(b"\n")
        if is_last:
            return Span(text.start, at, text.line, line)


def _next_lines(file: BinaryIO, rest: bytes) -> tuple[bytes, bytes, bool]:
    """The next whole lines of a file, what was read behind them, and whether they are the last."""
    while True:
        more = file.read(PIECE_BYTES)
        content = rest + more
        if len(more) < PIECE_BYTES:
            return content, b"", True
        end = content.rfind(b"\n") + 1
        if end or len(content) > _LONGEST_LINE_BYTES:
            end = end or len(content)
            return content[:end], content[end:], False
        rest = content


def _keep(kept: _Kept, sweeps: PieceSweeps, *, is_binned: bool) -> None:
    """Take what tells of the rows of a piece. Raises TooVaried."""
    rows, n_rows = sweeps.piece.rows, sweeps.n_rows
    of_row = np.repeat(np.arange(len(n_rows)), n_rows)
    sizes = rows.sizes
    if is_binned:
        sizes = np.floor(np.log2(sizes + 1) * BINS_OF_AN_OCTAVE)
    of_kind = sweeps.kinds[of_row].astype(np.uint64)
    keys = mixed(mixed(of_kind, rows.shapes), sizes.view(np.uint64))
    kept.groups.update(np.unique(keys).tolist())
    if len(kept.groups) > MOST_GROUPS:
        raise TooVaried
    for layout in rows.layouts:
        if not len(layout.rows):
            continue
        at, values = layout.rows, layout.values[:, 1:]
        for one in extremes(keys[at], at, values, of_row[at]):
            name = (one.criterion, one.group)
            if name not in kept.best or one.value < kept.best[name][0]:
                kept.best[name] = (one.value, sweeps.sweep(int(of_row[one.row])))
        if len(kept.met) < _MOST_LEVELS:
            for (_, column, _), row in levels(keys[at], at, values, kept.met):
                kept.by_column.setdefault(column, set()).add(sweeps.sweep(int(of_row[row])))
    for kind in np.unique(sweeps.kinds).tolist():
        of_this = np.flatnonzero(sweeps.kinds == kind)
        kept.even.setdefault(kind, _Evenly()).add(sweeps, of_this)
    kept.last = sweeps.sweep(len(n_rows) - 1)
    kept.n_rows += int(n_rows.sum())


def _chosen(kept: _Kept, most_rows: int) -> tuple[set[Sweep], bool]:
    """The sweeps to judge, at most so many rows, and whether they hold every extreme: one of each
    kind, some evenly, then the extremes by column. Raises TooVaried where these do not fit."""
    chosen = {evenly.kept[0][1] for evenly in kept.even.values()}
    chosen |= {kept.last} if kept.last else set()
    if _n_rows(chosen) > most_rows:
        raise TooVaried
    evenly = chosen | {sweep for even in kept.even.values() for _, sweep in even.kept}
    chosen = evenly if _n_rows(evenly) <= most_rows // 2 else chosen
    by_criterion: dict[Criterion, set[Sweep]] = {}
    for (criterion, _), (_, sweep) in kept.best.items():
        by_criterion.setdefault(criterion, set()).add(sweep)
    order = sorted(by_criterion, key=lambda criterion: (len(criterion), criterion))
    for number, criterion in enumerate(order):
        more = chosen | by_criterion[criterion]
        if _n_rows(more) > most_rows:
            if number < _LEAST_CRITERIA:
                raise TooVaried
            return chosen, False
        chosen = more
    for _, sweeps in sorted(kept.by_column.items()):
        more = chosen | sweeps
        chosen = more if _n_rows(more) <= most_rows else chosen
    return chosen, True


def _n_rows(sweeps: Iterable[Sweep]) -> int:
    return sum(sweep.span.n_rows for sweep in sweeps)


def _assembled(file: BinaryIO, spans: Iterable[Span]) -> tuple[bytes, Ints]:
    """The bytes of some spans in the order of the file, no byte twice, and the number of each line.
    Of a long text above rows its end is taken."""
    parts: list[bytes] = []
    numbers: list[Ints] = []
    at = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        start = max(span.start, at)
        if span.end <= start:
            continue
        most = _TEXT_BYTES if start else _FIRST_TEXT_BYTES
        is_cut = not span.n_rows and span.end - start > most
        file.seek(span.end - most if is_cut else start)
        part = file.read(most if is_cut else span.end - start)
        if is_cut:
            part = part[part.find(b"\n") + 1 :]
        n_lines = part.count(b"\n") + (not part.endswith(b"\n"))
        last = span.end_line + (not part.endswith(b"\n"))
        numbers.append(np.arange(last - n_lines, last))
        parts.append(part)
        at = span.end
    return b"".join(parts), np.concatenate(numbers)


def _first_rows(file: BinaryIO, most_rows: int) -> Excerpt | None:
    """The file up to the last of so many lines of rows; None where it has no more."""
    file.seek(0)
    n_rows, rest, parts = 0, b"", []
    while True:
        content, rest, is_last = _next_lines(file, rest)
        rows = row_lines(content)
        n = len(rows.lines)
        if n_rows + n > most_rows:
            parts.append(content[: int(rows.line_starts[rows.lines[most_rows - n_rows]])])
            break
        if is_last:
            return None
        parts.append(content)
        n_rows += n
    head = b"".join(parts)
    return Excerpt(head, np.arange(1, head.count(b"\n") + 2), 0, most_rows, Extent.FIRST)
