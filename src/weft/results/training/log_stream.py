"""A log as a stream of blocks, and in each the lines that may be of a format: bytes are searched
for marks, and only lines with one are decoded."""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from weft.results.training.formats.log_format import LogFormat

BLOCK_BYTES = 1 << 18
"""A block and its copies stay in the cache of a core."""
_LINE_FEED = 10
LONGEST_LINE = 1 << 13
"""A longer line is no step; of it so much is read around a mark."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes, or fewer at the end; all without a number."""
        ...


Place = tuple[int, int, LogFormat]
"""A line, or a part of one between carriage returns: where it begins and ends in a block."""


def blocks(stream: Readable) -> Iterator[bytes]:
    """Pieces of the stream that end with a line; of a very long one, with a carriage return, or
    wherever."""
    rest = b""
    while piece := stream.read(BLOCK_BYTES):
        content = rest + piece if rest else piece
        end = content.rfind(b"\n") + 1 or content.rfind(b"\r") + 1
        if not end and len(content) < 2 * BLOCK_BYTES:
            rest = content
            continue
        end = end or len(content)
        rest = content[end:]
        yield content[:end] if rest else content
    if rest:
        yield rest


def places(
    content: bytes, formats: tuple[LogFormat, ...], main: LogFormat | None = None
) -> list[Place]:
    """Lines with a mark of a format, in order; a line once for each format that may read it.

    `main`: a format that the log is known to be of. Between its lines no others are looked for: a
    job prints its steps in one form, and each search for a mark costs as much as the whole rest.
    """
    has_returns = b"\r" in content
    found: list[Place] = []
    spans = [(0, len(content))]
    if main is not None:
        _add_all(found, content, main, has_returns, spans[0])
        if found:
            spans = [(0, found[0][0]), (found[-1][1], len(content))]
    n_sorted = len(found) if main is not None and len(main.marks) == 1 else 0
    for one in formats:
        if one is main or (one.gate and not any(content.find(byte) >= 0 for byte in one.gate)):
            continue
        for span in spans:
            _add_all(found, content, one, has_returns, span)
    if len(found) > n_sorted:
        found.sort(key=_start_of)
    return found


def line_feeds(content: bytes) -> NDArray[np.bool_]:
    """Whether each byte is a line feed: numpy compares a block sooner than it is searched."""
    found: NDArray[np.bool_] = np.frombuffer(content, dtype=np.uint8) == _LINE_FEED
    return found


def _start_of(place: Place) -> int:
    return place[0]


def _add_all(
    found: list[Place], content: bytes, of: LogFormat, has_returns: bool, span: tuple[int, int]
) -> None:
    """Add the lines with a mark that begins between two places."""
    find, rfind, size = content.find, content.rfind, len(content)
    for mark in of.marks:
        at, floor, is_cut = find(mark, *span), span[0], False
        while at >= 0:
            least = at - LONGEST_LINE if at > LONGEST_LINE else 0
            most = at + LONGEST_LINE if at + LONGEST_LINE < size else size
            start, end = rfind(b"\n", least, at) + 1 or least, find(b"\n", at, most)
            if has_returns:
                start = max(start, rfind(b"\r", start, at) + 1)
                cut = find(b"\r", at, most if end < 0 else end)
                end = end if cut < 0 else cut
            if is_cut and start < max(floor, least + 1):
                start = _second_begin(content, of, max(floor, least), at + len(mark)) or start
            start = max(start, floor)
            is_cut = end < 0
            end = most if is_cut else end
            again = find(mark, at + len(mark), end)
            if again >= 0:
                is_cut = False
                end = _second_begin(content, of, at + len(mark), again + len(mark)) or end
            found.append((start, end, of))
            # The head of the next record may stand before the end of a line that was cut.
            floor = at + len(mark) if is_cut else end
            at = find(mark, end, span[1])


def _second_begin(content: bytes, of: LogFormat, first: int, last: int) -> int:
    """Where between two marks of a line the second record begins; 0 where that is unclear."""
    if of.begin is None:
        return 0
    return max((found.start() for found in of.begin.finditer(content, first, last)), default=0)
