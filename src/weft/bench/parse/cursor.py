"""Lines of a log handed to readers one at a time, with what nobody understood kept by number."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.bench.parse.model import MAX_UNREAD_KEPT, Unread

_SHOWN_CHARACTERS = 160


class Line(NamedTuple):
    """A line as it matters: its number in the file, and its text without prefixes, colours and
    trailing blanks."""

    number: int
    text: str


class Cursor:
    """A place in the lines of a file.

    A reader is called with the cursor at a line that its `opens` recognised. It takes lines while
    they belong to it, refuses those inside its ground that it does not understand, and returns when
    `peek` is None: the file is over, or the next line opens another table.
    """

    def __init__(self, lines: Sequence[Line], openers: Sequence[int] = ()) -> None:
        """`openers` are the indices in `lines` at which some reader starts."""
        self._lines = lines
        self._openers = frozenset(openers)
        self._at = 0
        self._entered = -1
        self.unread: list[Unread] = []
        self.n_unread = 0

    @property
    def at_end(self) -> bool:
        """Whether every line has been dealt with."""
        return self._at >= len(self._lines)

    def enter(self) -> None:
        """Let the reader at this line take it although it opens a table (its own)."""
        self._entered = self._at

    def peek(self) -> Line | None:
        """The next line; None at the end of the file or where another table opens."""
        if self.at_end or (self._at in self._openers and self._at != self._entered):
            return None
        return self._lines[self._at]

    def take(self) -> Line:
        """The next line, whatever it is. Only after `peek` or `at_end` said that there is one."""
        line = self._lines[self._at]
        self._at += 1
        return line

    def refuse(self, reason: str) -> None:
        """Pass over the next line and report it as not understood."""
        line = self.take()
        self.n_unread += 1
        if len(self.unread) < MAX_UNREAD_KEPT:
            self.unread.append(Unread(line.number, line.text[:_SHOWN_CHARACTERS], reason))
