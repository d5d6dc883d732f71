"""What a log around the tables says about how the library ran: evidence, quoted with its line."""

import mmap
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_LINES = 400
"""So many different telling lines are kept; a log repeats itself once a rank and channel."""

_TELLING: Final = re.compile(
    rb"[^\n\r]*(?:NCCL_[A-Z0-9_]+( set by environment to |=)|NCCL INFO (?:NET/|NCCL_|Using network|"
    rb"NVLS|GPU Direct|Channel [0-9/]+ ?:|Connected|DMA-BUF)|NET/Socket|GDRDMA|UCX_TLS|btl_tcp|"
    rb"FI_PROVIDER|network (?:AWS|IB|Socket))[^\n\r]*"
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
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return NO_LOG
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return log_of(content)


def log_of(content: bytes | mmap.mmap) -> Log:
    """The telling lines of a file's bytes. Lines that differ in their numbers only count once."""
    found: dict[str, LogLine] = {}
    at, number = 0, 1
    for match in _TELLING.finditer(content):
        number += content[at : match.start()].count(b"\n")
        at = match.start()
        text = match.group().decode("utf-8", "replace").strip()
        key = text if _SET.search(text) else _NUMBERS.sub("#", text)
        found.setdefault(key, LogLine(number, text[:_SHOWN]))
        if len(found) >= MOST_LINES:
            break
    return Log(tuple(found.values()), variables_in(line.text for line in found.values()))


def variables_in(texts: Iterable[str]) -> dict[str, str]:
    """NCCL variables that lines set, the last word on each."""
    return {name: value for text in texts for name, value in _SET.findall(text)}
