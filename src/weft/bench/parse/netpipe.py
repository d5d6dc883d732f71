"""NetPIPE 3.x: what it prints, and its output file (np.out).

Its Mbps are 2^20 bits a second: size x 8 / 2^20 / time gives the printed figure, with 10^6 it does
not. The time is one way: half the round trip, or half the exchange with -2 (both directions), or
the whole stream with -s.
"""

import re
from types import MappingProxyType

from weft.bench.parse.cursor import Cursor
from weft.bench.parse.model import Row, Table
from weft.bench.parse.number import as_amount, as_count

MBPS_IN_MB_S = 2**20 / 8 / 1e6
_START = "Now starting the main loop"
_ROW = re.compile(
    r"(?P<index>[0-9]{1,9}): +(?P<size>[0-9]{1,18}) bytes +(?P<repeats>[0-9]{1,18}) times"
    r" +--> +(?P<rate>\S{1,40}) Mbps in +(?P<time>\S{1,40}) usec"
)
# "%8d %lf %12.8lf": size, Mbps, seconds.
_FILE_ROW = re.compile(
    r"(?P<size>[0-9]{1,18}) +(?P<rate>[0-9]{1,12}\.[0-9]{6}) +(?P<seconds>[0-9]{1,9}\.[0-9]{8})"
)
_LARGEST_ROUNDING = 0.5e-8
"""Half the last printed digit of the seconds in np.out."""


def opens(line: str) -> bool:
    """The line before the rows, or a row (np.out has nothing else)."""
    if _START in line or "times -->" in line:
        return True
    text = line.strip()
    return len(text) < 60 and text[-9:-8] == "." and _is_file_row(text)


def _is_file_row(text: str) -> bool:
    """Whether three numbers are size, 2^20 bits a second and seconds of each other."""
    match = _FILE_ROW.fullmatch(text)
    if match is None:
        return False
    n_bits = int(match["size"]) * 8 / 2**20
    rate, seconds = float(match["rate"]), float(match["seconds"])
    return abs(rate * seconds - n_bits) <= rate * _LARGEST_ROUNDING * 1.01 + 1e-6 * n_bits


def read(cursor: Cursor) -> list[Table]:
    """One run: rows until something that is neither a row nor a line in between opens."""
    first_line: int | None = None
    rows: list[Row] = []
    while (line := cursor.look()) is not None:
        if cursor.peek() is None and (not opens(line.text) or (_START in line.text and rows)):
            break
        text = line.text.strip()
        first_line = first_line or line.number
        row = _row(line.number, text)
        if row is not None:
            rows.append(row)
        elif "times -->" in text or " Mbps in " in text:
            cursor.refuse("no row of NetPIPE: index, bytes, times, Mbps, usec")
            continue
        cursor.take()
    if not rows or first_line is None:
        return []
    return [
        Table(
            tool="netpipe",
            test="NetPIPE",
            benchmark="latency",
            rows=tuple(rows),
            first_line=first_line,
            memory="host",
            n_ranks=2,
            conditions=MappingProxyType({"time": "one way"}),
        )
    ]


def _row(number: int, text: str) -> Row | None:
    if match := _ROW.match(text):
        size, rate, time_us = (
            as_count(match["size"]), as_amount(match["rate"]), as_amount(match["time"])
        )  # fmt: skip
        if size is None or rate is None or time_us is None:
            return None
        metrics = {
            "latency_us": time_us,
            "bandwidth_mb_s": rate * MBPS_IN_MB_S,
            "iterations": float(match["repeats"]),
        }
        return Row(number, size, metrics)
    if _is_file_row(text) and (match := _FILE_ROW.fullmatch(text)):
        size, rate, seconds = (
            as_count(match["size"]), as_amount(match["rate"]), as_amount(match["seconds"])
        )  # fmt: skip
        if size is None or rate is None or seconds is None:
            return None
        return Row(
            number, size, {"latency_us": seconds * 1e6, "bandwidth_mb_s": rate * MBPS_IN_MB_S}
        )
    return None
