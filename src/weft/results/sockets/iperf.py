"""iperf 2 and 3: the result lines that their clients and servers print.

SOURCE: runs of iperf 2.1.8 and iperf3 3.12: bits count in 1000, bytes in 1024. The
receiver's line counts, where there is one: the sender's has bytes that are still in a buffer.
"""

import re
from dataclasses import dataclass, field
from statistics import fmean

from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import measured
from weft.results.model import INTERFACE, ONE_A_RUN, ROWS, Row, Table

BLOCK_BYTES = 131072
"""What one send call takes. SOURCE: iperf(1) and iperf3(1): --length is 128 KB for TCP."""
_MBIT_S = {
    **{f"{prefix}bits": 1e-6 * 1e3**i for i, prefix in enumerate(("", "K", "M", "G", "T"))},
    **{
        f"{prefix}Bytes": 8e-6 * 2.0 ** (10 * i)
        for i, prefix in enumerate(("", "K", "M", "G", "T"))
    },
}
_STARTS = ("Connecting to host ", "Client connecting to ", "Server listening on ")
_ROW = re.compile(
    r"\[ {0,4}(?P<id>SUM|\d{1,6})\](?:\[(?P<role>[A-Z]{2}-[CS])\])? {1,6}"
    r"(?P<begin>\d{1,9}\.\d{1,4})- {0,4}(?P<end>\d{1,9}\.\d{1,4}) {0,4}sec {1,8}"
    r"[\d.]{1,12} {1,3}[KMGT]?Bytes {1,8}(?P<rate>[\d.]{1,12}) {1,3}(?P<unit>[KMGT]?(?:bits|Bytes))"
    r"/sec(?P<tail>.{0,120})$"
)
_HEADER = re.compile(r"\[ ?ID\](?:\[Role\])? {1,4}Interval {1,30}Transfer ")
_STREAM = re.compile(
    r"\[ {0,4}\d{1,6}\] local (?P<here>\S{1,80}) port \d{1,5} connected (?:to|with)"
    r" (?P<there>\S{1,80}) port \d{1,5}"
)
_KNOWN = re.compile(
    r"-{20,}$|(?:- ){10,}|TCP window size|UDP buffer size|iperf Done|iperf \d|Linux |Time: "
    r"|Cookie: |TCP MSS|Starting Test|Test Complete|CPU Utilization|Accepted connection"
    r"|Reverse mode|Sending \d|snd_tcp_congestion|rcv_tcp_congestion|Binding to"
    r"|Write buffer size|\[ ?ID\]|Server listening|Summary Results|Test Id"
)
_SIGNS = {"UDP": ("UDP", "Jitter", "Datagrams"), "TCP": ("TCP", "Retr", "Cwnd")}
"""Words of lines that are no results."""
_LOOPBACK = ("127.", "::1", "localhost")


@dataclass(slots=True)
class _Rate:
    """One result line."""

    line: int
    stream: str
    role: str
    begin: float
    seconds: float
    mbit_s: float
    side: str


@dataclass(slots=True)
class _Run:
    """The lines of one run."""

    first_line: int
    rates: list[_Rate] = field(default_factory=list)
    protocols: set[str] = field(default_factory=set)
    on_one_host: bool = False
    listens: bool = False
    connects: bool = False
    is_done: bool = False

    @property
    def protocol(self) -> str:
        """ "UDP" where a line of UDP is there, else "TCP" where one of TCP is; else ""."""
        return next((name for name in ("UDP", "TCP") if name in self.protocols), "")


def opens(line: str) -> bool:
    """Whether a run begins here, or the heading or a line of its results stands here."""
    text = line.lstrip()
    if text[:1] == "[":
        return _ROW.match(text) is not None or _HEADER.match(text) is not None
    return text.startswith(_STARTS) and "port" in text


def read(cursor: Cursor) -> list[Table]:
    """The table of one run: a row, or one for each direction."""
    first = cursor.look()
    run = _Run(0 if first is None else first.number)
    while (line := cursor.look()) is not None:
        text = line.text.strip()
        begins = text.startswith(_STARTS[0]) or (text.startswith(_STARTS[1]) and run.connects)
        if run.rates and (run.is_done or begins) and not _ROW.match(text):
            break
        if _take(run, line, text):
            cursor.take()
        elif cursor.peek() is None or run.rates:
            break
        else:
            cursor.refuse("no line of iperf")
    return _tables(run)


def _take(run: _Run, line: Line, text: str) -> bool:
    row = _ROW.match(text)
    if row is not None:
        rate, seconds = measured(row["rate"]), float(row["end"]) - float(row["begin"])
        if rate is None or seconds <= 0 or not line.ended:
            return False
        bits = rate * _MBIT_S[row["unit"]]
        side = next((side for side in ("receiver", "sender") if side in row["tail"]), "")
        at = (row["id"], row["role"] or "", float(row["begin"]), seconds, bits, side)
        run.rates.append(_Rate(line.number, *at))
        if " ms " in row["tail"] and "%)" in row["tail"]:
            run.protocols.add("UDP")
        elif side:
            # iperf3 prints what was lost of datagrams on the line of each side.
            run.protocols.add("TCP")
        return True
    if stream := _STREAM.match(text):
        here, there = stream["here"], stream["there"]
        run.on_one_host |= is_one_host(here, there)
        return True
    if text.startswith("iperf Done"):
        run.is_done = True
    if text.startswith(_STARTS):
        run.listens |= text.startswith(_STARTS[2])
        run.connects |= not text.startswith(_STARTS[2])
    run.protocols |= {name for name, words in _SIGNS.items() if any(w in text for w in words)}
    return text.startswith(_STARTS) or _KNOWN.match(text) is not None


def _tables(run: _Run) -> list[Table]:
    is_udp = run.protocol == "UDP"
    found = {role: _result(run, role) for role in dict.fromkeys(r.role for r in run.rates)}
    rows = [
        Row(rate.line, None if is_udp else BLOCK_BYTES, {"bandwidth_mb_s": rate.mbit_s / 8})
        for rate in found.values()
        if rate is not None
    ]
    if not rows:
        return []
    return [iperf_table(rows, run.first_line, protocol=run.protocol, on_one_host=run.on_one_host)]


def iperf_table(
    rows: list[Row], first_line: int, *, protocol: str, on_one_host: bool, version: str = ""
) -> Table:
    """A table of iperf: a row for each direction. `protocol`: "TCP", "UDP", or "": unknown."""
    conditions = {INTERFACE: "sockets", ROWS: ONE_A_RUN, "directions": "1"}
    conditions |= {"transport": protocol} if protocol else {}
    # A rate of UDP is what the user offered: it says nothing of the path.
    is_udp = protocol == "UDP"
    return Table(
        tool="iperf",
        test="iperf UDP" if is_udp else "iperf",
        benchmark="" if is_udp else "bandwidth",
        rows=tuple(rows),
        first_line=first_line,
        version=version,
        memory="host",
        n_ranks=2,
        n_nodes=1 if on_one_host else None,
        conditions=conditions,
    )


def is_one_host(here: str, there: str) -> bool:
    """Whether a connection from one address to another never leaves its host."""
    return bool(there) and (here == there or there.startswith(_LOOPBACK))


def _result(run: _Run, role: str) -> _Rate | None:
    """The rate of one direction: of all streams together, over the longest time."""
    rates = [rate for rate in run.rates if rate.role == role]
    # A server of iperf3 prints zero for the sender: it has sent nothing.
    rates = [rate for rate in rates if rate.mbit_s or rate.side != "sender"] or rates
    sides = {rate.side for rate in rates}
    side = next(side for side in ("receiver", "sender", "") if side in sides)
    rates = [rate for rate in rates if rate.side == side]
    streams = {rate.stream for rate in rates}
    if "SUM" in streams:
        rates = [rate for rate in rates if rate.stream == "SUM"]
    longest = max(rate.seconds for rate in rates)
    whole = [rate for rate in rates if rate.seconds >= 0.9 * longest]
    if len(streams) > 1 and "SUM" not in streams:
        if run.listens and run.connects:
            # -d and -r of iperf 2: the streams are of two directions, at once or in turn.
            return max(whole, key=lambda rate: rate.mbit_s)
        last = {rate.stream: rate for rate in whole}
        total = sum(rate.mbit_s for rate in last.values())
        return _Rate(whole[-1].line, "", role, 0.0, longest, total, side)
    if len(whole) > 1:
        # No summary: the run was cut, and its intervals stand for it.
        mean = fmean(rate.mbit_s for rate in whole)
        return _Rate(whole[-1].line, "", role, 0.0, longest, mean, side)
    return whole[0]
