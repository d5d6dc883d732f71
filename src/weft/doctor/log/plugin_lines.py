"""The lines that NCCL logs about its net plug-in, word by word and by process."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.core.documents.text_file import open_file
from weft.core.errors import InputError

EXPECTED = "a log in a file of its own: the comparison reads it a second time"
MOST_LOG_BYTES = 64 << 30
MOST_LINE_BYTES = 1 << 20
MOST_KEPT = 64
"""Lines of one process; NCCL 2.32.3 writes at most three for each name that it tries."""
MARK = re.compile(r"NCCL (?:INFO|ATTN) ")
_BEGINS = (b"NCCL INFO ", b"NCCL ATTN ")
_PROCESS = re.compile(r"([\w.-]+:\d+):\d+ (\[\d+\]) ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_OF_PLUGIN = re.compile(
    r"NET/Plugin\b|Plugin name set by env to |Successfully loaded external network plugin "
    r"|External network plugin |NCCL_NET_PLUGIN (?:set by environment to|list contains )"
    r"|Failed to initialize NET plugin (?!(?:IB|Socket)$)"
)
"""SOURCE: the lines of libnccl 2.18.3, 2.26.5 and 2.32.3 (tests/oracle/test_nccl_plugins.py)."""

_OF_INIT = b"NCCL INFO Bootstrap : "
"""A line of each process of 2.18.3 whose NCCL_DEBUG_SUBSYS has INIT. SOURCE: the same library."""
_OF_LIBFABRIC = b"libfabric:"
_PROVIDER_LINE = re.compile(r"libfabric:(\d{1,10}):[^<\s]{0,400}(<\w{1,10}> .*)$")
_PROCESS_OF_LIBFABRIC = re.compile(r"libfabric:(\d{1,10}):")
MOST_MESSAGE_BYTES = 8192
"""Of lines of libfabric and ld.so: twice the longest path, and the words around it."""
MOST_OF_PROVIDERS = 1024
"""Lines of one process about providers: libfabric 2.5.1 registers 19."""
ABOUT = re.compile(
    r'<\w{1,10}> (?:registering provider: (\S{1,64}) \(|"(\S{1,64})" filtered by provider'
    r"|(?:dlopen\(|dlsym: )\S*/lib([\w-]{1,64})-fi\.so)"
)
"""A message about one provider. SOURCE: as container/chain/process_lines.py."""
_OF_LINKER = (b"loading shared libraries: ", b"not found (required by ")
_START = re.compile(
    r"(?:^|\s)(\S+): (error while loading shared libraries: .+"
    r"|\S+: version `\S+' not found \(required by .+\))$"
)
"""SOURCE: glibc 2.36, elf/dl-version.c and elf/dl-open.c."""
MOST_STARTS = 256
"""Different lines of ld.so that are kept."""
FAILURE = re.compile(
    r"returned \d+ :|Could not find:|No plugin found|is unsupported|ncclNetPlugin symbol"
    r"|cannot open shared object file|not found \(required by|ELF|too short|Using internal"
    r"|Failed to initialize NET plugin"
)
"""Of these, lines that tell that a plug-in, or what it needs, is not used."""


@dataclass(frozen=True, slots=True)
class PluginLine:
    """One message with its mark, 'NCCL INFO ', and where it stands first: 'job.log:12'."""

    text: str
    place: str = ""
    mark: str = "NCCL INFO "

    @property
    def shown(self) -> str:
        """The message behind its mark."""
        return f"{self.mark}{self.text}"


@dataclass(frozen=True, slots=True)
class StartLine:
    """A line of ld.so about a program that does not start: its name, the rest, and the place."""

    program: str
    text: str
    place: str


@dataclass
class PluginLines:
    """`by_process` has the lines of each process that logged any, by host, process id and device,
    since in containers several ranks of a host have the process id 1. Lines that one process logs
    each time it loads plug-ins are there once. `silent` are processes that logged other lines of
    NCCL; `torn` those with a line inside another one, or with lines that may be of several
    processes in any order. Both are by host and process id. `shows_init`:
    a line is there that NCCL_DEBUG_SUBSYS would hide if INIT were not in it. `of_providers` has the
    lines of libfabric about its providers, by file, label and process id, `torn_of_providers` the
    process ids of such lines inside other ones, and `of_starts` the lines of ld.so."""

    by_process: dict[str, list[PluginLine]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    torn: set[str] = field(default_factory=set)
    shows_init: bool = False
    of_providers: dict[tuple[str, str, str], list[PluginLine]] = field(default_factory=dict)
    torn_of_providers: set[tuple[str, str]] = field(default_factory=set)
    of_starts: list[StartLine] = field(default_factory=list)


def read_plugin_lines(names: Sequence[str]) -> PluginLines:
    """Of all files. Raises InputError for what is no regular file."""
    found = PluginLines()
    for name in names:
        if name == "-":
            raise InputError("standard input cannot be read twice", expected=EXPECTED)
        with open_file(Path(name), expected=EXPECTED, most_bytes=MOST_LOG_BYTES) as file:
            number, begins = 0, True
            while piece := file.readline(MOST_LINE_BYTES):
                number += begins
                if begins and any(mark in piece for mark in _BEGINS):
                    _add(found, _plain(piece), f"{name}:{number}")
                    found.shows_init |= _OF_INIT in piece
                if begins and len(piece) <= MOST_MESSAGE_BYTES:
                    if _OF_LIBFABRIC in piece:
                        _add_of_provider(found, _plain(piece), name, number)
                    elif any(mark in piece for mark in _OF_LINKER):
                        _add_start(found, _plain(piece), f"{name}:{number}")
                begins = piece.endswith(b"\n")
    _part(found)
    return found


def _part(found: PluginLines) -> None:
    """Put aside the processes whose lines may be mixed or torn, and keep one load of the others."""
    begins: dict[str, str] = {}
    for key, lines in found.by_process.items():
        process, first = key.partition(" ")[0], lines[0].text
        at = [n for n, one in enumerate(lines) if one.text == first]
        loads = [lines[one:end] for one, end in zip(at, [*at[1:], len(lines)], strict=True)]
        texts = {tuple(one.text for one in load) for load in loads}
        if len(texts) > 1 or begins.setdefault(process, first) != first:
            found.torn.add(process)
        lines[:] = loads[0]
    for key in [*found.by_process]:
        process = key.partition(" ")[0]
        found.silent.discard(process)
        if process in found.torn:
            del found.by_process[key]
    found.silent -= found.torn
    for name, label, process in [*found.of_providers]:
        if (name, process) in found.torn_of_providers:
            del found.of_providers[name, label, process]


def _add(found: PluginLines, line: str, place: str) -> None:
    mark = MARK.search(line)
    if mark is None:
        return
    message = line[mark.end() :]
    named = list(_PROCESS.finditer(line, 0, mark.start()))
    process, device = named[-1].groups() if named else ("", "")
    found.silent.add(process)
    if MARK.search(message) or len({one[1] for one in named}) > 1:
        found.torn.update(one[1] for one in _PROCESS.finditer(line))
    elif _OF_PLUGIN.match(message):
        kept = found.by_process.setdefault(f"{process} {device}", [])
        if len(kept) < MOST_KEPT:
            kept.append(PluginLine(message, place, mark[0]))


def _add_of_provider(found: PluginLines, line: str, name: str, number: int) -> None:
    named = _PROCESS_OF_LIBFABRIC.findall(line)
    if len(named) > 1 or MARK.search(line):
        found.torn_of_providers.update((name, one) for one in named)
        return
    told = _PROVIDER_LINE.search(line)
    if told is None or not ABOUT.match(told[2]):
        return
    kept = found.of_providers.setdefault((name, line[: told.start()], told[1]), [])
    if len(kept) < MOST_OF_PROVIDERS:
        kept.append(PluginLine(told[2], f"{name}:{number}", ""))


def _add_start(found: PluginLines, line: str, place: str) -> None:
    told = _START.search(line)
    if told is not None and not MARK.search(line) and len(found.of_starts) < MOST_STARTS:
        found.of_starts.append(StartLine(told[1], told[2], place))


def _plain(piece: bytes) -> str:
    """A line without colours, Markdown's marks, and the JSON of a container's log."""
    text = piece.decode("utf-8", "replace")
    if text.startswith("{"):
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        wrapped = record.get("log") if isinstance(record, dict) else None
        text = wrapped if isinstance(wrapped, str) else text
    return _COLOUR.sub("", text).rstrip("\r\n` ")


def failures(lines: Sequence[PluginLine]) -> Iterator[PluginLine]:
    """Those that tell that a plug-in is not used."""
    return (one for one in lines if FAILURE.search(one.text))
