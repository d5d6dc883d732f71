"""A log as a stream of blocks, and in each the lines that may be of a format: bytes are searched
for marks, and only lines with one are decoded."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from weft.results.training.log_format import LogFormat

_LINE_FEED = 10
BLOCK_BYTES = 1 << 23
LONGEST_LINE = 1 << 13
"""A longer line is no step; of it so much is read around a mark."""


class Block(NamedTuple):
    """Bytes that end at a line end, the number of the first line, and the offset in the file."""

    content: bytes
    first_line: int
    n_lines: int


class Candidate(NamedTuple):
    """A line, or a part of one between carriage returns, by its place in a block."""

    start: int
    end: int
    line: int
    of: LogFormat


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes, or fewer at the end; all without a number."""
        ...


def blocks(stream: Readable) -> Iterator[Block]:
    """Pieces of the stream that end with a line; of a very long one, with a carriage return, or
    wherever. Lines are counted by line feeds; without any, by carriage returns."""
    rest, line = b"", 1
    while piece := stream.read(BLOCK_BYTES):
        content = rest + piece if rest else piece
        end = content.rfind(b"\n") + 1 or content.rfind(b"\r") + 1
        if not end and len(content) < 2 * BLOCK_BYTES:
            rest = content
            continue
        end = end or len(content)
        content, rest = content[:end], content[end:]
        n_lines = count_lines(content)
        yield Block(content, line, n_lines)
        line += n_lines
    if rest:
        yield Block(rest, line, count_lines(rest) + (not rest.endswith(b"\n")))


def count_lines(content: bytes) -> int:
    """Line feeds, counted at memory speed."""
    return int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == _LINE_FEED))


def candidates(block: Block, formats: tuple[LogFormat, ...]) -> Iterator[Candidate]:
    """Lines with a mark of a format, in order; a line once for each format that may read it."""
    content = block.content
    has_returns = b"\r" in content
    found: list[tuple[int, int, int]] = []
    for rank, one in enumerate(formats):
        for mark in one.marks:
            found += [(*place, rank) for place in _places(content, mark, has_returns)]
    if len(formats) > 1:
        found = sorted(set(found))
    line, counted_to = block.first_line, 0
    for start, end, rank in found:
        line += content.count(b"\n", counted_to, start)
        counted_to = start
        yield Candidate(start, end, line, formats[rank])


def _places(content: bytes, mark: bytes, has_returns: bool) -> Iterator[tuple[int, int]]:
    """(start, end) of the lines with a mark."""
    at, size = content.find(mark), len(content)
    while at >= 0:
        least, most = max(0, at - LONGEST_LINE), min(size, at + LONGEST_LINE)
        start = content.rfind(b"\n", least, at) + 1 or least
        end = content.find(b"\n", at, most)
        end = most if end < 0 else end
        if has_returns:
            start = max(start, content.rfind(b"\r", start, at) + 1)
            cut = content.find(b"\r", at, end)
            end = end if cut < 0 else cut
        yield start, end
        at = content.find(mark, end)
