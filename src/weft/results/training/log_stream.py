"""A log as a stream of blocks, and in each the lines that may be of a format: bytes are searched
for marks, and only lines with one are decoded."""

from collections.abc import Iterator
from typing import Protocol

from weft.results.training.formats.log_format import LogFormat

BLOCK_BYTES = 1 << 20
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


def places(content: bytes, formats: tuple[LogFormat, ...]) -> list[Place]:
    """Lines with a mark of a format, in order; a line once for each format that may read it."""
    has_returns = b"\r" in content
    found: list[Place] = []
    for one in formats:
        if one.gate and not any(content.find(byte) >= 0 for byte in one.gate):
            continue
        before = len(found)
        for mark in one.marks:
            _add_places(found, content, mark, one, has_returns)
        if 0 < before < len(found):
            found.sort(key=lambda place: place[0])
    return found


def _add_places(
    found: list[Place], content: bytes, mark: bytes, of: LogFormat, has_returns: bool
) -> None:
    at, size = content.find(mark), len(content)
    find, rfind = content.find, content.rfind
    while at >= 0:
        least, most = max(0, at - LONGEST_LINE), min(size, at + LONGEST_LINE)
        start = rfind(b"\n", least, at) + 1 or least
        end = find(b"\n", at, most)
        end = most if end < 0 else end
        if has_returns:
            start = max(start, rfind(b"\r", start, at) + 1)
            cut = find(b"\r", at, end)
            end = end if cut < 0 else cut
        found.append((start, end, of))
        at = find(mark, end)
