"""Link events in logs: of hosts (dmesg, journalctl, syslog), of OpenSM, of UFM."""

import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from weft.catalog.document import Document, Text
from weft.catalog.toml_file import shipped_document
from weft.core.documents.text_file import open_file

MOST_BYTES = 1 << 14
"""Longer lines are read in part."""
HEAD_LINES = 200
"""A log shows its form in one of its first lines."""


class EventKind(Document):
    """A kind of event: the pattern of its text, in the log of a kernel or a manager. `damage`: the
    link carries nothing until it is up again."""

    name: Text
    log: Literal["kernel", "opensm", "ufm"]
    pattern: Text
    happened: Text
    damage: bool
    fix: Text
    example: Text
    source: Text


class _EventsFile(Document):
    schema_: Literal["weft.link_events/1"] = Field(alias="schema")
    event: tuple[EventKind, ...]


@dataclass(frozen=True, slots=True)
class LinkEvent:
    """`at`: seconds since the Unix epoch, None of a line with the time since boot only. `host` and
    `adapter` of a kernel's log ("" where the line names none), `ports` (GUID, number) of a
    manager's."""

    kind: EventKind
    at: float | None
    host: str
    adapter: str
    ports: tuple[tuple[int, int], ...]


@functools.cache
def event_kinds() -> tuple[EventKind, ...]:
    """All kinds, in the order of the file."""
    return shipped_document(_EventsFile, "link_events.toml", "table of link events").event


@functools.cache
def _pattern(kind: EventKind) -> re.Pattern[str]:
    return re.compile(kind.pattern)


_STAMP = (
    r"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?"
    r"|(?P<month>[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)(?:\.\d+)?"
    r"|\[[A-Z][a-z]{2} (?P<whole>[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4})\]"
    r"|\[ *\d+\.\d+\]"
)
_KERNEL = re.compile(
    rf"^(?:(?P<prefix>[\w.-]+): )?(?:{_STAMP})(?: (?P<host>[\w.-]+) kernel:)?"
    r"(?: \[ *\d+\.\d+\])?(?: <\d>)? (?P<text>(?!\[).+)$"
)
"""SOURCE: dmesg(1), -T, --time-format iso; journalctl(1), short and short-iso; rsyslog's two
formats; the prefix is that of pdsh and clush."""
_OPENSM = re.compile(r"^(?P<month>[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d) \d{6} \[\w+\] 0x\w\w -> ")
_UFM = re.compile(r"^(?P<iso>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.\d+ \[\d+\] \[\d+\] \w+ \[")
_FORMS = {"opensm": _OPENSM, "ufm": _UFM, "kernel": _KERNEL}


def log_of(path: Path) -> str | None:
    """'kernel', 'opensm' or 'ufm' of a regular file with such lines; None of another file."""
    if not path.is_file():
        return None
    for number, line in enumerate(_lines(path)):
        if number >= HEAD_LINES:
            break
        for log, form in _FORMS.items():
            found = form.match(line)
            if found and (log != "kernel" or _is_of_kernel(line)):
                return log
    return None


def _is_of_kernel(line: str) -> bool:
    """Whether a line has more of a kernel's log than a date, as results of tools have, too."""
    return (
        " kernel: " in line
        or re.search(r"(^|: )\[( *\d+\.\d{4,}|[A-Z][a-z]{2} [A-Z])", line) is not None
    )


def read_events(path: Path, log: str, near_unix_s: float) -> list[LinkEvent]:
    """The events of a log. A date without a year gets the year that brings it nearest to
    `near_unix_s`, a time without a zone is local."""
    kinds = [kind for kind in event_kinds() if kind.log == log]
    events = []
    for line in _lines(path):
        found = _FORMS[log].match(line)
        if found is None:
            continue
        text = found["text"] if log == "kernel" else line
        for kind in kinds:
            event = _pattern(kind).search(text)
            if event is not None:
                events.append(_event(kind, found, event, near_unix_s))
                break
    return events


def _lines(path: Path) -> Iterator[str]:
    with open_file(path, expected="a log of a kernel or a manager", most_bytes=sys.maxsize) as file:
        while line := file.readline(MOST_BYTES):
            yield line.decode(errors="replace").rstrip("\r\n")


def _event(
    kind: EventKind, line: re.Match[str], event: re.Match[str], near_unix_s: float
) -> LinkEvent:
    words, named = line.groupdict(), event.groupdict()
    ports = tuple(
        (int(named[guid], 16), int(named[port]))
        for guid, port in (("guid", "port"), ("peer_guid", "peer_port"))
        if named.get(guid)
    )
    host = words.get("host") or words.get("prefix") or ""
    return LinkEvent(kind, _time(words, near_unix_s), host, named.get("adapter") or "", ports)


def _time(words: dict[str, str | None], near_unix_s: float) -> float | None:
    iso, month, whole = (words.get(name) for name in ("iso", "month", "whole"))
    try:
        if iso:
            zone = (words.get("zone") or "").replace("Z", "+00:00")
            return datetime.fromisoformat(iso.replace(" ", "T") + zone).timestamp()
        if whole:
            return datetime.strptime(whole, "%b %d %H:%M:%S %Y").astimezone().timestamp()
        return _nearest(month, near_unix_s) if month else None
    except ValueError:
        return None


def _nearest(month: str, near_unix_s: float) -> float:
    """A date without a year, in the year that brings it nearest."""
    year = datetime.fromtimestamp(near_unix_s, UTC).year
    times = []
    for each in (year - 1, year, year + 1):
        try:
            whole = datetime.strptime(f"{each} {month}", "%Y %b %d %H:%M:%S")
        except ValueError:  # The 29th of February.
            continue
        times.append(whole.astimezone().timestamp())
    return min(times, key=lambda at: abs(at - near_unix_s))
