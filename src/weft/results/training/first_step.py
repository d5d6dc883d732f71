"""The first training step of a file that is no output of a benchmark."""

from typing import NamedTuple

from weft.results.lines.clean import Buffer
from weft.results.training.formats.csv_table import table_of
from weft.results.training.formats.registry import SCANNED, format_of_step
from weft.results.training.log_stream import BLOCK_BYTES, blocks, places
from weft.results.training.rank_prefix import without_rank

_HEAD_BYTES = 1 << 16


class FirstStep(NamedTuple):
    """What the file is, and the line of the step."""

    what: str
    line: int


def first_step_in(content: Buffer) -> FirstStep | None:
    """The first step; None where a file has none. Never raises on bad content."""
    table = table_of(content[:_HEAD_BYTES].decode("utf-8-sig", "replace"))
    if table is not None and table.time >= 0:
        return FirstStep("a table of step times", 2)
    n_lines = 0
    for block in blocks(_Reader(content)):
        for start, end, one in places(block, SCANNED):
            text = block[start:end].decode("utf-8", "replace")
            reading = one.read(without_rank(text)[1])
            if reading is not None:
                line = 1 + n_lines + block.count(b"\n", 0, start)
                return FirstStep(f"a training log of {format_of_step(one, reading).title}", line)
        n_lines += block.count(b"\n")
    return None


class _Reader:
    """Bytes of a file as a stream."""

    def __init__(self, content: Buffer) -> None:
        self._content = content
        self._at = 0

    def read(self, size: int = BLOCK_BYTES, /) -> bytes:
        """The next bytes."""
        piece = self._content[self._at : self._at + size]
        self._at += len(piece)
        return piece
