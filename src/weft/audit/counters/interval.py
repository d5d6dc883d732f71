"""The time between two readings of counters: as given, by dates in the files, or by their own."""

import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from weft.audit.case import Interval
from weft.audit.thresholds import thresholds
from weft.core.documents.text_file import open_file
from weft.core.errors import InputError
from weft.topology.subnet.subnet import Subnet

_DATE = re.compile(
    r"^#.*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) (?:\w+ )?(\d{4})\b",
    re.MULTILINE,
)
HEAD_BYTES = 4096


def interval_of(subnet: Subnet, before: Subnet | None, seconds: float | None) -> Interval | None:
    """The time between the first and the last reading: `seconds` where given.

    None where there is one file with counters only, or where no date is known.
    """
    if seconds is not None:
        return Interval(seconds, "--seconds")
    earlier = files_with_counters(before) if before is not None else []
    names = [*earlier, *files_with_counters(subnet)]
    if len(names) < 2:
        return None
    least = thresholds().shortest_interval.value
    for time_of, how in ((date_in, "by the files' dates"), (_written, "by when they were written")):
        first, last = time_of(names[0]), time_of(names[-1])
        if first is not None and last is not None and last - first >= least:
            return Interval(last - first, f"{how}; --seconds states it exactly")
    return None


def files_with_counters(subnet: Subnet) -> list[str]:
    """Names of the files with counters, in their order."""
    sources = subnet.description["sources"]
    numbers = dict.fromkeys(reading["source"] for reading in subnet.description["readings"])
    return [sources[number]["name"] for number in numbers]


def date_in(name: str) -> float | None:
    """The date, as ctime writes it, in a comment of a file's first lines; in seconds."""
    try:
        with open_file(Path(name), expected="counters", most_bytes=sys.maxsize) as file:
            match = _DATE.search(file.read(HEAD_BYTES).decode(errors="replace"))
    except InputError:
        # A pipe has been read already.
        return None
    if match is None:
        return None
    try:
        date = datetime.strptime(" ".join(match.groups()), "%b %d %H:%M:%S %Y")
    except ValueError:
        return None
    return date.replace(tzinfo=UTC).timestamp()


def _written(name: str) -> float | None:
    try:
        return os.stat(name).st_mtime
    except OSError:
        return None
