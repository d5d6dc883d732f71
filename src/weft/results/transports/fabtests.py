"""libfabric's fi_pingpong and fabtests: one table of sizes for all of them.

SOURCE: ofiwg/libfabric, fabtests/common/shared.c, show_perf: MB are 10^6 bytes; sizes are printed
in 1024; a transfer of a ping-pong is one message one way.
"""

import re

from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import measured
from weft.results.model import Row, Table

_PROGRAM = re.compile(
    r"(?:^|[\s/`])(?P<test>fi_(?:[a-z]{2,12}_){0,3}(?P<kind>pingpong|bw|lat))(?= |$)"
)
_PROVIDER = re.compile(r"\s-p ?[\"']?([a-z0-9]{2,20}(?:;[a-z0-9_]{2,20}){0,3})")
_HEADER = re.compile(
    r"\s{0,8}bytes +(?:#sent +#ack|iters) +total +time +MB/sec +usec/xfer +Mxfers/sec$"
)
_SIZE = re.compile(r"(\d{1,9})(?:\.(\d))?([kmg]?)$")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_NEAR = 0.1
"""Sizes are printed with one decimal at most, and a rate or time with two."""
_LEAST = 0.5


def opens(line: str) -> bool:
    """Whether a command that starts one, or its heading, stands here."""
    if "usec/xfer" in line[-40:]:
        return _HEADER.match(line) is not None
    return "fi_" in line[:300] and " -" in line[:300] and _PROGRAM.search(line[:300]) is not None


def read(cursor: Cursor) -> list[Table]:
    """The table below one heading."""
    program, provider = "", ""
    first = cursor.take()
    line: Line | None = first
    while line is not None and not _HEADER.match(line.text):
        match = _PROGRAM.search(line.text[:300])
        if match is None:
            return []
        program = match["test"]
        named = _PROVIDER.search(line.text[:300], match.end())
        provider = named[1] if named else ""
        line = cursor.look()
        if line is None or not opens(line.text):
            return []
        cursor.take()
    if line is None:
        return []
    is_pingpong = "#sent" in line.text or program.endswith("pingpong")
    rows: list[Row] = []
    n_columns = len(line.text.split())
    while (line := cursor.look()) is not None:
        row = _row(line, n_columns)
        if row is not None:
            rows.append(row)
            cursor.take()
        elif cursor.peek() is None or rows:
            break
        else:
            cursor.refuse("no row of this table")
    return [_table(rows, first.number, program, provider, is_pingpong=is_pingpong)] if rows else []


def _row(line: Line, n_columns: int) -> Row | None:
    tokens = line.text.split()
    if len(tokens) != n_columns or not line.ended:
        return None
    size = _SIZE.match(tokens[0])
    rate, time, messages = (measured(token) for token in tokens[-3:])
    if size is None or rate is None or not time or messages is None:
        return None
    size_bytes = round(float(f"{size[1]}.{size[2] or 0}") * _UNITS[size[3]])
    is_exact = size_bytes > 0 and rate >= _LEAST and time >= _LEAST
    if is_exact and abs(rate * time / size_bytes - 1) > _NEAR:
        # The three are one quantity: other numbers are no row.
        return None
    return Row(
        line.number,
        size_bytes,
        {"latency_us": time, "bandwidth_mb_s": rate, "msg_rate_mps": messages},
    )


def _table(
    rows: list[Row], first_line: int, program: str, provider: str, *, is_pingpong: bool
) -> Table:
    conditions = {"provider": provider} if provider else {}
    is_stream = bool(program) and not is_pingpong
    if not program and not is_pingpong:
        conditions["test_could_be"] = "a ping-pong, a stream (the launch line is missing)"
    if is_stream:
        conditions["directions"] = "1"
        # The time between two sends of a stream is no latency.
        rows = [Row(row.line, row.size_bytes, _of_stream(row)) for row in rows]
    return Table(
        tool="fabtests",
        test=program or ("fi_pingpong" if is_pingpong else "fabtests"),
        benchmark="latency" if is_pingpong else "bandwidth" if is_stream else "",
        rows=tuple(rows),
        first_line=first_line,
        memory="host",
        n_ranks=2,
        conditions=conditions,
    )


def _of_stream(row: Row) -> dict[str, float]:
    return {name: value for name, value in row.metrics.items() if name != "latency_us"}
