"""NetPIPE 3.x and 5.x: what they print, and their output file (np.out).

SOURCE: the arithmetic of real runs of NetPIPE 3.7.2 (size x 8 / 2^20 / time gives the printed
Mbps, with 10^6 it does not), and the printing statements of NetPIPE 5.x (there 10^9 bits).
The time is one way. With both directions at once the rate is that of the two together, and np.out
(not the screen) counts the bytes of both.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from weft.core.units import SUMMED
from weft.results.lines.cursor import Cursor
from weft.results.lines.number import counted, measured
from weft.results.model import Row, Table

MBPS_IN_MB_S = 2**20 / 8 / 1e6
GBPS_IN_MB_S = 1e9 / 8 / 1e6
_PERTURBATION = 3
"""NetPIPE's default: sizes are measured in threes, this many bytes apart."""

_MARK = "times -->"
_REMARKS = {
    "Passing data in both directions": ("directions", "2"),
    "Bidirectional mode using": ("directions", "2"),
    "Streaming in one direction": ("mode", "stream"),
    "Streaming data in one direction": ("mode", "stream"),
    "Using synchronous sends": ("op", "ssend"),
    "Preposting asynchronous receives": ("receive", "preposted"),
}
_STARTS = (
    "Now starting the main loop",
    "Start testing with",
    "Sending output to",
    "Doing an integrity check",
    "Using no perturbations",
    "Using a perturbation value of",
    *_REMARKS,
)
_KNOWN = (
    *_STARTS,
    "Saving output to",
    "Clock resolution",
    "Completed with",
    "Streaming does not",
    "measurement of the latency",
    "messages may get bundled",
    "Output is for the combined",
    "The output shows the combined",
    "MPI implementations do not",
    "You may need to run using",
)
_HOST = re.compile(r"(?:[0-9]{1,6}: ?|Proc [0-9]{1,6} is on host )([\w.-]{1,255})")
_ROW_3 = re.compile(
    r"[0-9]{1,9}: +(?P<size>[0-9]{1,18}) bytes +(?P<repeats>[0-9]{1,18}) times"
    r" +--> +(?P<rate>\S{1,40}) Mbps in +(?P<time>\S{1,40}) usec"
)
_ROW_5 = re.compile(
    r"[0-9]{1,9}: +(?P<size>[0-9.]{1,18}) +(?P<unit>[KMGT]?)B +(?P<repeats>[0-9]{1,18}) times"
    r" +--> +(?P<rate>[0-9.]{1,18}) +(?P<scale>[KMGT]?)bps +in"
    r" +(?P<time>[0-9.]{1,18}) +(?P<clock>n|u|m|)secs"
)
_INTEGRITY = re.compile(
    r"[0-9]{1,9}: .{1,60} times +--> +(?:Integrity check passed|[0-9]+ failures)"
)
_DECIMAL = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_CLOCK_US = {"n": 1e-3, "u": 1.0, "m": 1e3, "": 1e6}
# np.out of 3.x: size, Mbps, seconds; of 5.x: size, average, least and largest Gbps, microseconds.
_FILE_3 = re.compile(r"([0-9]{1,18}) +([0-9]{1,12}\.[0-9]{6}) +([0-9]{1,9}\.[0-9]{8})")
_FILE_5 = re.compile(
    r"([0-9]{1,18}) +([0-9]{1,9}\.[0-9]{3}) +([0-9]{1,9}\.[0-9]{3}) +([0-9]{1,9}\.[0-9]{3})"
    r" +([0-9]{1,12}\.[0-9]{2})"
)
_LONGEST_ROW = 300


class _Measured(NamedTuple):
    """A row before it has a line number."""

    size_bytes: int
    metrics: dict[str, float]
    labels: dict[str, str]


def opens(line: str) -> bool:
    """One of the lines before the rows, or a row (np.out has nothing else)."""
    if _MARK in line or line.startswith(_STARTS):
        return len(line) <= _LONGEST_ROW
    if line[-9:-8] == ".":
        return line.count(".") == 2 and _file_row_3(line.strip()) is not None
    if line[-3:-2] == ".":
        return line.count(".") == 4 and _file_row_5(line.strip()) is not None
    return False


def read(cursor: Cursor) -> list[Table]:
    """One run: its rows and the lines around them, until something else opens or starts again."""
    run = _Run(0)
    while (line := cursor.look()) is not None:
        text = line.text.strip()
        if run.rows and text.startswith(_STARTS[:4]):
            break
        if cursor.peek() is None and not opens(line.text):
            break
        run.first_line = run.first_line or line.number
        if _take(run, line.number, text):
            cursor.take()
        elif _MARK in text or "bps in" in text:
            cursor.refuse("no row of NetPIPE: size, repeats, rate, time")
        else:
            cursor.refuse("no line of NetPIPE")
    return [_table(run)] if run.rows else []


@dataclass(slots=True)
class _Run:
    """The part of one run that was read."""

    first_line: int
    rows: list[Row] = field(default_factory=list)
    conditions: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    is_file: bool = False
    version: str = "3"


def _take(run: _Run, number: int, text: str) -> bool:
    """Whether this line was understood."""
    for read_row, version, is_file in _READERS:
        found = read_row(text)
        if found is not None:
            run.rows.append(Row(number, found.size_bytes, found.metrics, found.labels))
            run.version, run.is_file = version, is_file
            return True
    for mark, (key, value) in _REMARKS.items():
        if mark in text:
            run.conditions[key] = value
            return True
    if _MARK in text:
        return _INTEGRITY.fullmatch(text) is not None
    if any(known in text for known in _KNOWN):
        return True
    match = _HOST.fullmatch(text)
    if match is not None:
        run.hosts[match[1]] = None
    return match is not None


def _row_3(text: str) -> _Measured | None:
    match = _ROW_3.match(text) if _MARK in text else None
    if match is None:
        return None
    size, rate, time_us = counted(match["size"]), measured(match["rate"]), measured(match["time"])
    repeats = measured(match["repeats"])
    if size is None or rate is None or time_us is None or repeats is None:
        return None
    metrics = {"latency_us": time_us, "bandwidth_mb_s": rate * MBPS_IN_MB_S, "iterations": repeats}
    return _Measured(size, metrics, {})


def _row_5(text: str) -> _Measured | None:
    match = _ROW_5.match(text) if _MARK in text else None
    if match is None:
        return None
    size, rate, time = measured(match["size"]), measured(match["rate"]), measured(match["time"])
    repeats = measured(match["repeats"])
    if size is None or rate is None or time is None or repeats is None:
        return None
    metrics = {
        "latency_us": time * _CLOCK_US[match["clock"]],
        "bandwidth_mb_s": rate * _DECIMAL[match["scale"]] / 8e6,
        "iterations": repeats,
    }
    size_bytes = round(size * _DECIMAL[match["unit"]])
    # Three decimals of KB are bytes; of MB they are not.
    is_rounded = match["unit"] in ("M", "G", "T")
    labels = {"size": f"{match['size']} {match['unit']}B"} if is_rounded else {}
    return _Measured(size_bytes, metrics, labels)


def _file_row_3(text: str) -> _Measured | None:
    """A row of np.out, distinguished from other numbers by its arithmetic."""
    match = _FILE_3.fullmatch(text)
    if match is None:
        return None
    size, rate, seconds = counted(match[1]), measured(match[2]), measured(match[3])
    if not size or not rate or not seconds:
        return None
    expected_s = size * 8 / 2**20 / rate
    if abs(seconds - expected_s) > 0.51e-8 + SUMMED * expected_s:
        return None
    return _Measured(size, {"latency_us": seconds * 1e6, "bandwidth_mb_s": rate * MBPS_IN_MB_S}, {})


def _file_row_5(text: str) -> _Measured | None:
    match = _FILE_5.fullmatch(text)
    if match is None:
        return None
    size, average, least = counted(match[1]), measured(match[2]), measured(match[3])
    largest, time_us = measured(match[4]), measured(match[5])
    if not size or not average or least is None or not largest or not time_us:
        return None
    if not least <= average <= largest:
        return None
    half_digit = 0.51e-3
    at_most = size * 8e-3 / max(average - half_digit, 1e-9)
    at_least = size * 8e-3 / (average + half_digit)
    if not at_least - 0.0051 <= time_us <= at_most + 0.0051:
        return None
    metrics = {
        "latency_us": time_us,
        "bandwidth_mb_s": average * GBPS_IN_MB_S,
        "bandwidth_mb_s_min": least * GBPS_IN_MB_S,
        "bandwidth_mb_s_max": largest * GBPS_IN_MB_S,
    }
    return _Measured(size, metrics, {})


_READERS: tuple[tuple[Callable[[str], _Measured | None], str, bool], ...] = (
    (_row_3, "3", False),
    (_row_5, "5", False),
    (_file_row_3, "3", True),
    (_file_row_5, "5", True),
)


def _table(run: _Run) -> Table:
    conditions = {"time": "one way", **run.conditions}
    rows = run.rows
    if run.is_file and _counts_both_directions(rows):
        conditions["directions"] = "2"
        rows = [replace(row, size_bytes=(row.size_bytes or 0) // 2) for row in rows]
    if conditions.get("directions") == "2":
        benchmark = "sendrecv"
    else:
        benchmark = "bandwidth" if conditions.get("mode") == "stream" else "latency"
    return Table(
        tool="netpipe",
        test="NetPIPE",
        benchmark=benchmark,
        rows=tuple(rows),
        first_line=run.first_line,
        version=run.version,
        memory="host",
        n_ranks=2,
        n_nodes=len(run.hosts) or None,
        hosts=tuple(run.hosts),
        conditions=MappingProxyType(conditions),
    )


def _counts_both_directions(rows: list[Row]) -> bool:
    """Whether the sizes of np.out are those of two messages: all even, in threes twice as far
    apart as NetPIPE measures."""
    sizes = {row.size_bytes or 0 for row in rows}
    step = 2 * _PERTURBATION
    return all(size % 2 == 0 for size in sizes) and any(
        size - step in sizes and size + step in sizes for size in sizes
    )
