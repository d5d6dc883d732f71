"""Lines around the tables that show how the library ran: its log, the command line, the kernel.
Evidence, quoted with its line.

The engine (weft.bench.logs) joins facts of many ranks and keeps no text; results.nccl.log keeps
conditions of a table and no line. Causes quote lines, so this reader stays.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from weft.core.documents.text_file import open_file
from weft.results.lines.clean import Buffer
from weft.results.result_file import EXPECTED_FILE, MOST_RESULT_BYTES, content_of

MOST_LINES = 400
"""So many different telling lines are kept; a log repeats itself once a rank and channel."""

MOST_LOOKED_AT = 20_000
"""So many telling lines are looked at: a library says how it runs when it starts."""

_MARKS = (b"NCCL", b"CPU Frequency is not max")
"""A line is looked at only where it holds one of these: finding a word is fast in a long log."""
EDGE_BYTES = 1_048_576
"""So much of a file's head and tail is searched for command lines and lines of the kernel: they
stand before a job's output, or are pasted behind it."""
_EDGE_MARKS = (
    b"available PCIe bandwidth",
    b"mpirun",
    b"mpiexec",
    b"orterun",
    b"srun ",
    b"mca ",
    b"OMPI_MCA",
    b"I_MPI_",
    b"UCX_",
    b"FI_PROVIDER",
    b"hv_netvsc",
    b"virtio_net",
    b"vmxnet3",
    b"docker0",
    b"RoCE",
    b"out_of_sequence",
    b"packet_seq_err",
    b"roce_adp_retrans",
    b"discards",
)
"""Each line with one of these is telling."""
_TELLING: Final = re.compile(
    rb"NCCL_[A-Z0-9_]+(?: set by environment to |=)|NET/Socket|GDRDMA|CPU Frequency is not max|"
    rb"NCCL INFO (?:NET/|NCCL_|Using (?:internal )?network|NVLS|GPU Direct|Connected|DMA-BUF)|"
    rb"Could not open XML topology file",
    re.IGNORECASE,
)
_SET = re.compile(r"\b(NCCL_[A-Z0-9_]+)(?: set by environment to |=)\"?([\w^:,./-]+)")
_NUMBERS = re.compile(r"\d+")
_SHOWN = 1000


@dataclass(frozen=True, slots=True)
class LogLine:
    """A telling line: its number in the file, counted from 1, and its text, cut."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Log:
    """The telling lines of a file, one of each kind, and the NCCL variables they set."""

    lines: tuple[LogLine, ...] = ()
    variables: Mapping[str, str] | None = None

    def variable(self, name: str) -> str:
        """The value of an NCCL variable, "" where the log does not set it."""
        return (self.variables or {}).get(name, "")


NO_LOG = Log()


def log_in(path: Path) -> Log:
    """The telling lines of a file that can be read, plain; of a packed one, none."""
    opened = open_file(path, expected=EXPECTED_FILE, most_bytes=MOST_RESULT_BYTES)
    with opened as file:
        content = content_of(file, str(path))
        return log_of(content) if content else NO_LOG


def log_of(content: Buffer) -> Log:
    """The telling lines of a file's bytes. Lines that differ in their numbers only count once."""
    found: dict[str, tuple[int, str]] = {}
    for start, line in _telling_lines(content):
        text = line.decode("utf-8", "replace").strip()
        key = text if _SET.search(text) else _NUMBERS.sub("#", text)
        if len(found) < MOST_LINES:
            found.setdefault(key, (start, text))
    lines = tuple(_numbered(content, sorted(found.values())))
    return Log(lines, {name: value for line in lines for name, value in _SET.findall(line.text)})


def _telling_lines(content: Buffer) -> Iterator[tuple[int, bytes]]:
    size = len(content)
    for mark in _MARKS:
        for start, line in _lines_with(mark, content, 0, size):
            if _TELLING.search(line):
                yield start, line
    for mark in _EDGE_MARKS:
        yield from _lines_with(mark, content, 0, min(size, EDGE_BYTES))
        yield from _lines_with(mark, content, max(EDGE_BYTES, size - EDGE_BYTES), size)


def _lines_with(mark: bytes, content: Buffer, begin: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """(start, bytes) of the lines that hold a mark between two places."""
    at = begin
    for _ in range(MOST_LOOKED_AT):
        at = content.find(mark, at, stop)
        if at < 0:
            return
        start = max(content.rfind(b"\n", max(0, at - _SHOWN), at) + 1, at - _SHOWN, 0)
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        yield start, content[start : min(end, start + _SHOWN)]
        at = end


def _numbered(content: Buffer, lines: Sequence[tuple[int, str]]) -> Iterator[LogLine]:
    at, number = 0, 1
    for start, text in lines:
        number += content[at:start].count(b"\n")
        at = start
        yield LogLine(number, text)
