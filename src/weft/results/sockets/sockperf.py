"""sockperf: ping-pong, under load and throughput.

SOURCE: runs of sockperf 3.7: a latency is half the round trip (all of it with --full-rtt), MBps are
2^20 bytes a second, and a message has 14 bytes unless -m says more.
"""

import re
from dataclasses import dataclass, field

from weft.results.lines.cursor import Cursor
from weft.results.lines.number import counted, measured
from weft.results.model import INTERFACE, ONE_A_RUN, ROWS, Row, Table

DEFAULT_BYTES = 14
_TIME = re.compile(r"Summary: (?P<what>Latency|Round trip) is (?P<us>[\d.]{1,18}) usec")
_RATE = re.compile(r"Summary: BandWidth is (?P<rate>[\d.]{1,18}) MBps")
_MESSAGES = re.compile(r"Summary: Message Rate is (?P<rate>\d{1,15}) \[msg/sec\]")
_PERCENTILE = re.compile(r"---> percentile (?P<which>\d\d\.\d{1,3}) = {0,9}(?P<us>[\d.]{1,18})")
_EXTREME = re.compile(r"---> <?(?P<which>MAX|MIN)>? observation = {0,9}(?P<us>[\d.]{1,18})")
_SIZE = re.compile(r"(?:\s-m |--msg-size[ =]|msg-size=)(\d{1,9})\b")
_PROGRAM = re.compile(
    r"(?:^|[\s/`_])sockperf\s{1,4}(?:ping-pong|under-load|throughput|playback|pp|tp|ul)\b"
)
_ADDRESS = re.compile(r"\[ {0,3}\d{1,4}\] IP = \S{1,80} {1,20}PORT = {1,8}\d{1,5} #")
_PERCENTILES = {"50": "p50", "90": "p90", "99": "p99", "99.9": "p999"}


@dataclass(slots=True)
class _Run:
    """One run while its lines are read."""

    first_line: int
    line: int = 0
    size_bytes: int = 0
    protocol: str = ""
    is_one_host: bool = False
    is_round_trip: bool = False
    kind: str = ""
    metrics: dict[str, float] = field(default_factory=dict)


def opens(line: str) -> bool:
    """Whether a line of sockperf, or a command that starts it, stands here."""
    if line.startswith(("sockperf:", "sockperf[")) or _ADDRESS.match(line):
        return True
    return "sockperf" in line[:300] and _PROGRAM.search(line[:300]) is not None


def read(cursor: Cursor) -> list[Table]:
    """The table of one run: one row."""
    first = cursor.look()
    run = _Run(0 if first is None else first.number)
    if _PROGRAM.search(cursor.title):  # the command, with other lines between it and its output
        _take(run, 0, cursor.title[:300])
    while (line := cursor.look()) is not None:
        text = line.text
        if run.metrics and (_PROGRAM.search(text[:300]) or "version #" in text):
            break
        is_fence = not run.line and text.startswith("```")
        if not (is_fence or opens(text) or text.startswith("[ ")):
            break
        _take(run, line.number, text[:300])
        cursor.take()
    return [_table(run)] if run.line else []


def _take(run: _Run, number: int, text: str) -> None:
    if size := _SIZE.search(text):
        run.size_bytes = counted(size[1]) or run.size_bytes
    run.protocol = _protocol(text) or run.protocol
    run.is_one_host |= "IP = 127." in text
    run.is_round_trip |= "Round trip" in text
    found = _metrics(text)
    if found and not text.startswith("sockperf: --->"):
        run.line = run.line or number
    if "Summary: " in text:
        run.kind = "latency" if "latency_us" in found else run.kind or "bandwidth"
    run.metrics |= found


def _protocol(text: str) -> str:
    """What a line says: an address with its protocol, or a command line, whose default is UDP."""
    if "--tcp" in text or "# TCP" in text:
        return "TCP"
    from_file = " -f " in text or "--file" in text
    return "UDP" if "# UDP" in text or (_PROGRAM.search(text) and not from_file) else ""


def _metrics(text: str) -> dict[str, float]:
    for pattern in (_TIME, _RATE, _MESSAGES, _PERCENTILE, _EXTREME):
        match = pattern.search(text)
        if match is None:
            continue
        value = measured(match["us"] if "us" in match.groupdict() else match["rate"])
        if value is None:
            return {}
        if pattern is _TIME:
            return {"latency_us": value}
        if pattern is _RATE:
            return {"bandwidth_mb_s": value * 2**20 / 1e6}
        if pattern is _MESSAGES:
            return {"msg_rate_mps": value / 1e6}
        which = match["which"].rstrip("0").rstrip(".") if pattern is _PERCENTILE else ""
        name = _PERCENTILES.get(which) if pattern is _PERCENTILE else match["which"].lower()
        return {f"latency_us_{name}": value} if name else {}
    return {}


def _table(run: _Run) -> Table:
    is_latency = run.kind == "latency"
    halves = 2 if run.is_round_trip else 1
    metrics = {
        name: value / halves if name.startswith("latency_us") else value
        for name, value in run.metrics.items()
    }
    conditions = {INTERFACE: "sockets", ROWS: ONE_A_RUN}
    conditions |= {"transport": run.protocol} if run.protocol else {}
    if is_latency:
        conditions["latency_is"] = "half the round trip"
    else:
        conditions["directions"] = "1"
    if not run.size_bytes:
        conditions["size"] = f"{DEFAULT_BYTES} bytes, the documented default"
    # What a sender of UDP counts may be lost behind it.
    benchmark = "latency" if is_latency else "bandwidth" if run.protocol == "TCP" else ""
    return Table(
        tool="sockperf",
        test="sockperf",
        benchmark=benchmark,
        rows=(Row(run.line, run.size_bytes or DEFAULT_BYTES, metrics),),
        first_line=run.first_line,
        memory="host",
        n_ranks=2,
        n_nodes=1 if run.is_one_host else None,
        conditions=conditions,
    )
