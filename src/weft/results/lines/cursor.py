"""Lines of a log for readers, one at a time; those that no reader understood, by number."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from weft.results.lines.secrets import masked
from weft.results.model import MAX_UNREAD_KEPT, Unread

SHOWN_CHARACTERS = 160
"""So much of a line that was not understood is kept."""
MOST_TAKEN = 200_000
"""So many lines of tables of one file are read, at 1.4 to 2.6 kB each. SOURCE: benchmarks.md."""


class Line(NamedTuple):
    """A line as it matters: its number in the file (from 1), and its text without prefixes,
    colours and trailing blanks. Blank lines and known noise are none. `ended` is False for a last
    line without line end: its last number may have been cut."""

    number: int
    text: str
    ended: bool = True


class Source(Protocol):
    """A source of lines that can pass over those that no reader would understand."""

    def pass_over_alike(self) -> None:
        """Count lines that differ from the last one in their digits only, and give them no more."""
        ...

    def heed_all(self) -> None:
        """Give every line again."""
        ...


class TooManyLines(Exception):  # noqa: N818 - the file is too long, not wrong
    """A file has more lines of tables than fit in memory."""


def _opens_never(_: str) -> bool:
    return False


class Cursor:
    """A place in the lines of a file.

    A reader is called with the cursor at a line that its `opens` recognised. It takes lines while
    they belong to it, refuses those inside its ground that it does not understand, and returns when
    `peek` is None: the file is over, or the next line opens another table. `title` is the last line
    that opened a table without rows: a title above one that another reader takes.
    """

    def __init__(
        self,
        lines: Iterable[Line],
        opens: Callable[[str], bool] = _opens_never,
        source: Source | None = None,
    ) -> None:
        """`opens` says whether a line begins a table of any reader. `source` is where the lines
        come from, if it can pass over lines that would only be counted."""
        self._lines = iter(lines)
        self._opens = opens
        self._source = source
        self._next: Line | None = next(self._lines, None)
        self._entered = False
        self.title = ""
        self.unread: list[Unread] = []
        self.n_unread = 0
        self.n_taken = 0
        self.n_of_tables = 0

    @property
    def at_end(self) -> bool:
        """Whether every line has been dealt with."""
        return self._next is None

    def enter(self) -> None:
        """Let the reader at this line take it although it opens a table (its own)."""
        self._entered = True
        self.heed_all()

    def heed_all(self) -> None:
        """Have every line given again: what may be understood has changed."""
        if self._source is not None:
            self._source.heed_all()

    def peek(self) -> Line | None:
        """The next line; None at the end of the file or where another table opens."""
        line = self._next
        if line is None or (not self._entered and self._opens(line.text)):
            return None
        return line

    def look(self) -> Line | None:
        """The next line, though it opens a table; None at the end of the file only.

        For a reader whose own tables hold lines that could open one.
        """
        return self._next

    def take(self) -> Line:
        """The next line, whatever it is. Only after `peek` or `at_end` found one. Raises
        TooManyLines."""
        self.heed_all()
        self.n_of_tables += 1
        if self.n_of_tables > MOST_TAKEN:
            raise TooManyLines
        return self.pass_over()

    def pass_over(self, *, alike: bool = False) -> Line:
        """The next line, which no reader understands. With `alike` those that differ from it in
        their digits only are not given until a line was taken."""
        if alike and self._source is not None:
            self._source.pass_over_alike()
        line = self._next
        if line is None:
            raise IndexError("no line is left: ask peek() or at_end first")
        self._next = next(self._lines, None)
        self._entered = False
        self.n_taken += 1
        return line

    def refuse(self, reason: str, *, alike: bool = False) -> None:
        """Pass over the next line and report it as not understood.

        `alike`: so would be every line that differs from it in its digits only, until one is taken.
        """
        line = self.pass_over(alike=alike and len(self.unread) >= MAX_UNREAD_KEPT)
        self.refuse_taken(line, reason)

    def refuse_taken(self, line: Line, reason: str) -> None:
        """Report a line that was taken before its table turned out to prove nothing."""
        self.n_unread += 1
        if len(self.unread) < MAX_UNREAD_KEPT:
            self.unread.append(Unread(line.number, masked(line.text)[:SHOWN_CHARACTERS], reason))
