"""What stands above the rows of a long file, and which tables it makes of them."""

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from weft.core.errors import InputError
from weft.results.lines.launch_scale import is_launch
from weft.results.result_file import read_results_text

MOST_HEADINGS = 2048
"""So many different headings are read, at 1 ms each."""
_MOST_LAUNCHES = 10_000
_READ_BYTES = 1 << 16
"""So much of the text above rows is read for what it says of them."""
_SAMPLE_ROWS = 3
_VOLATILE = re.compile(
    rb"(?i)\bpid +\d+|0x[0-9a-f]+|\d\d:\d\d(?::\d\d)?(?:\.\d+)?|\d{4}-\d\d-\d\d"
    rb"|(?:mon|tue|wed|thu|fri|sat|sun) [a-z]{3} +\d+|(?<=bandwidth)[ \t]*:[ \t]*[\d.]+"
)
"""Figures that change from run to run and say nothing about the rows."""


class Span(NamedTuple):
    """Whole lines of the file: bytes from `start` to `end`, the numbers of the first line and of
    the one behind the last (from 1), and how many of them are rows."""

    start: int
    end: int
    line: int
    end_line: int
    n_rows: int = 0


class TooVaried(Exception):  # noqa: N818 - a property of the file, not an error in it
    """The file holds too many kinds of rows to compare each with others of its kind."""


class HeadingEffect(Enum):
    """What a text does to the table above it."""

    CONTINUES = "continues"
    ADDS = "adds"
    OPENS = "opens"


@dataclass(frozen=True, slots=True)
class _Above:
    """A heading that needs none before it, with bytes from its first row on."""

    text: bytes = b""
    rows: bytes = b""
    key: bytes = b""


@dataclass(slots=True)
class Headings:
    """The headings met so far, in the order of the file. Headings of one kind make the same table,
    rows aside; `spans` are those that the last rows need above them."""

    path: str
    kind: int = 0
    spans: tuple[Span, ...] = ()
    launches: list[Span] = field(default_factory=list)
    _launch: bytes = b""
    _above: _Above = _Above()
    _kinds: dict[str, int] = field(default_factory=dict)
    _known: dict[tuple[bytes, ...], tuple[HeadingEffect, int]] = field(default_factory=dict)

    def enter(self, text: bytes, span: Span, rows: bytes) -> HeadingEffect:
        """Take the text before some rows. Raises TooVaried."""
        self._note_launches(text, span)
        text = text[-_READ_BYTES:]
        key = _masked(text)
        known = (self._above.key, key, self._launch)
        if known not in self._known:
            if len(self._known) >= MOST_HEADINGS:
                raise TooVaried
            self._known[known] = self._read(text, rows)
        place, kind = self._known[known]
        if place is HeadingEffect.OPENS:
            self._above = _Above(text, rows, key)
            self.spans = (span,)
        elif place is HeadingEffect.ADDS:
            self.spans = (*self.spans[:1], span)
        if place is not HeadingEffect.CONTINUES:
            self.kind = kind
        return place

    def _read(self, text: bytes, rows: bytes) -> tuple[HeadingEffect, int]:
        above = self._above
        if self._tables(text):
            # Tables whose rows are no lines of figures: each such text is a kind of its own.
            return HeadingEffect.OPENS, self._number(str(len(self._kinds)))
        alone = self._tables(text + _sample(rows))
        head = above.text + _sample(above.rows)
        within, before = self._tables(head + text + _sample(rows)), self._tables(head)
        if alone and alone[-1] == within[-1]:
            return HeadingEffect.OPENS, self._number(alone[-1])
        if len(within) > len(before):
            return HeadingEffect.ADDS, self._number(within[-1])
        return HeadingEffect.CONTINUES, 0

    def _tables(self, content: bytes) -> list[str]:
        """The tables, rows aside, of some bytes."""
        try:
            tables = read_results_text(content, self.path).tables
        except InputError:
            return []
        return [repr(replace(table, rows=(), first_line=0)) for table in tables]

    def _number(self, table: str) -> int:
        return self._kinds.setdefault(f"{table} {self._launch!r}", len(self._kinds) + 1)

    def _note_launches(self, text: bytes, span: Span) -> None:
        if b"run " not in text and b"mpiexec" not in text:
            return
        at, line = span.start, span.line
        for raw in text.splitlines(keepends=True):
            if is_launch(raw.decode("utf-8", "replace")):
                self._launch = _VOLATILE.sub(b"", raw.strip())
                self.launches.append(Span(at, at + len(raw), line, line + 1))
                if len(self.launches) > _MOST_LAUNCHES:
                    raise TooVaried
            at, line = at + len(raw), line + 1


@lru_cache(maxsize=MOST_HEADINGS)
def _masked(text: bytes) -> bytes:
    return _VOLATILE.sub(b"", text)


def _sample(rows: bytes) -> bytes:
    return b"".join(rows.splitlines(keepends=True)[:_SAMPLE_ROWS])
