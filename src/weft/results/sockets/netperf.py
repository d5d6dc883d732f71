"""netperf 2: its classic streams and request/response tests.

SOURCE: netperf manual 2.7, "TCP_STREAM" and "TCP_RR": a rate in 10^6 bits (-f m), and exchanges a
second, of which one takes a message each way.
"""

import re
from dataclasses import dataclass, field

from weft.results.lines.cursor import Cursor
from weft.results.lines.number import counted, measured
from weft.results.model import INTERFACE, ONE_A_RUN, ROWS, Row, Table

_TITLE = re.compile(
    r"(?:MIGRATED )?(?P<protocol>TCP|UDP) (?P<kind>STREAM|MAERTS|SENDFILE|REQUEST/RESPONSE"
    r"|CONNECT/REQUEST/RESPONSE|UNIDIRECTIONAL SEND) TEST\b"
)
_HEADER = "Recv   Send    Send"
_UNITS = {
    "10^3bits/sec": 1e-3 / 8,
    "10^6bits/sec": 1.0 / 8,
    "10^9bits/sec": 1e3 / 8,
    "KBytes/sec": 2**10 / 1e6,
    "MBytes/sec": 2**20 / 1e6,
    "GBytes/sec": 2**30 / 1e6,
    "MBytes/s": 2**20 / 1e6,
}
_STREAM = ("STREAM", "MAERTS", "SENDFILE", "UNIDIRECTIONAL SEND")
_WORDS = re.compile(
    r"(?:Recv|Socket|Size|bytes|Local|Send|Enable|Alignment|Utilization|tcpi_|enable_"
    r"|Interim result|to |AF_INET)"
)
_TO_LOOPBACK = re.compile(r"(?:\bto |^)(?:127\.\d|::1\b|localhost\b)")
"""In a title, which a mail may have wrapped."""
_MOST_NUMBERS = 12
_LEAST_NUMBERS = 5


@dataclass(slots=True)
class _Run:
    """One test while its lines are read."""

    first_line: int
    protocol: str = ""
    kind: str = "STREAM"
    unit: str = ""
    is_one_host: bool = False
    rows: list[Row] = field(default_factory=list)


def opens(line: str) -> bool:
    """Whether the title of a test, or the heading of a stream, stands here."""
    text = line.lstrip()
    if " TEST" in text[:80]:
        return _TITLE.match(text) is not None
    return text.startswith(_HEADER)


def read(cursor: Cursor) -> list[Table]:
    """The table of one test, which has one row."""
    first = cursor.take()
    run = _Run(first.number)
    if title := _TITLE.match(first.text.lstrip()):
        run.protocol, run.kind = title["protocol"], title["kind"]
    run.is_one_host = _TO_LOOPBACK.search(first.text) is not None
    while (line := cursor.look()) is not None:
        text = line.text.strip()
        tokens = text.split()
        if line.ended and _are_numbers(tokens):
            if run.rows and (len(tokens) > 2 and run.protocol != "UDP"):
                break
            # A second line has the sizes, or the count, of the other end.
            row = None if run.rows else _row(run, line.number, tokens)
            if row is None and not run.rows:
                cursor.refuse("no result of this test")
                continue
            run.rows += [row] if row is not None else []
            cursor.take()
        elif run.rows or (cursor.peek() is None and not text.startswith(_HEADER)):
            break
        elif _TO_LOOPBACK.search(text) and not run.unit:
            run.is_one_host = True
            cursor.take()
        elif _WORDS.match(text):
            run.unit = next((unit for unit in _UNITS if unit in text.replace(" ", "")), run.unit)
            cursor.take()
        else:
            cursor.refuse("no line of netperf")
    return [_table(run)] if run.rows else []


def _are_numbers(tokens: list[str]) -> bool:
    """Whether a line is one of results: its first columns are numbers, not less than zero."""
    first = tokens[:_LEAST_NUMBERS]
    return len(tokens) <= _MOST_NUMBERS and all(measured(token) is not None for token in first)


def _row(run: _Run, number: int, tokens: list[str]) -> Row | None:
    if run.kind in _STREAM and run.protocol != "UDP":
        if len(tokens) < 5 or run.unit not in _UNITS:
            return None
        size, rate = counted(tokens[2]), measured(tokens[4])
        if size is None or rate is None:
            return None
        return Row(number, size, {"bandwidth_mb_s": rate * _UNITS[run.unit]})
    if run.kind == "REQUEST/RESPONSE":
        sizes = [counted(token) for token in tokens[:4]]
        rate = measured(tokens[5]) if len(tokens) >= 6 else None
        if len(sizes) < 4 or sizes[2] is None or not rate:
            return None
        metrics = {"latency_us": 1e6 / rate / 2, "transactions_per_s": rate}
        return Row(number, sizes[2], metrics)
    rate = measured(tokens[-1])
    return None if rate is None else Row(number, None, {"transactions_per_s": rate})


def _table(run: _Run) -> Table:
    is_stream = run.kind in _STREAM and run.protocol != "UDP"
    is_latency = run.kind == "REQUEST/RESPONSE"
    conditions = {INTERFACE: "sockets", ROWS: ONE_A_RUN}
    conditions |= {"transport": run.protocol} if run.protocol else {}
    if is_latency:
        conditions["latency_is"] = "half the exchange"
    if is_stream:
        conditions["directions"] = "1"
    return Table(
        tool="netperf",
        test=" ".join(("netperf", run.protocol, run.kind.lower())).replace("  ", " "),
        benchmark="bandwidth" if is_stream else "latency" if is_latency else "",
        rows=tuple(run.rows),
        first_line=run.first_line,
        memory="host",
        n_ranks=2,
        n_nodes=1 if run.is_one_host else None,
        conditions=conditions,
    )
