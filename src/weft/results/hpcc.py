"""HPC Challenge: the latency and bandwidth figures of hpccoutf.txt.

They stand there twice: in the section of the latency-bandwidth benchmark, and as `key=value` in the
summary at the end, whose figures win where both are there. MB and GByte are 10^6 and 10^9 bytes in
both, as the section says itself. A ring's bandwidth is what one process sends to both neighbours.
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import counted, measured
from weft.results.model import Row, Table

_TITLE = "HPC Challenge Benchmark version"
_SUMMARY = "Begin of Summary section"
_SECTION = "Latency-Bandwidth-Benchmark R"
_PAIR = re.compile(r"([A-Za-z]\w{0,60})=(.*)")
_LATENCY = "latency_us"
_BANDWIDTH = "bandwidth_mb_s"

_SUMMARY_KEYS = {
    "AvgPingPongLatency_usec": ("PingPongLatency", "latency_us"),
    "MinPingPongLatency_usec": ("PingPongLatency", "latency_us_min"),
    "MaxPingPongLatency_usec": ("PingPongLatency", "latency_us_max"),
    "AvgPingPongBandwidth_GBytes": ("PingPongBandwidth", "bandwidth_mb_s"),
    "MinPingPongBandwidth_GBytes": ("PingPongBandwidth", "bandwidth_mb_s_min"),
    "MaxPingPongBandwidth_GBytes": ("PingPongBandwidth", "bandwidth_mb_s_max"),
    "RandomlyOrderedRingLatency_usec": ("RandomlyOrderedRingLatency", "latency_us"),
    "RandomlyOrderedRingBandwidth_GBytes": ("RandomlyOrderedRingBandwidth", "bandwidth_mb_s"),
    "NaturallyOrderedRingLatency_usec": ("NaturallyOrderedRingLatency", "latency_us"),
    "NaturallyOrderedRingBandwidth_GBytes": ("NaturallyOrderedRingBandwidth", "bandwidth_mb_s"),
}
_BENCHMARKS = {
    "PingPongLatency": "latency",
    "PingPongBandwidth": "bandwidth",
    "RandomlyOrderedRingLatency": "random_ring_latency",
    "RandomlyOrderedRingBandwidth": "random_ring_bandwidth",
    "NaturallyOrderedRingLatency": "",
    "NaturallyOrderedRingBandwidth": "natural_ring_bandwidth",
}
_FIXED_SIZES = {"latency": 8, "bandwidth": 2_000_000}
"""Bytes, as the section states; no option changes them."""
# The section's own lines: what they are of, and the factor to microseconds or MB/s.
_RANGE = re.compile(
    r"(Latency|Bandwidth) +min / avg / max: +(\S+) / +(\S+) / +(\S+) (?:msecs|MByte/s)"
)
_RING = re.compile(
    r"On (naturally|randomly) +ordered ring: latency= *(\S+) msec, bandwidth= *(\S+) MB/s"
)
_MAJOR = re.compile(
    r"(Max Ping Pong Latency|Min Ping Pong Bandwidth|Naturally Ordered Ring Bandwidth"
    r"|Randomly +Ordered Ring (?:Latency|Bandwidth)): +(\S+) (?:msecs|MB/s)"
)
_MAJOR_TESTS = {
    "Max Ping Pong Latency": ("PingPongLatency", "latency_us_max"),
    "Min Ping Pong Bandwidth": ("PingPongBandwidth", "bandwidth_mb_s_min"),
    "Naturally Ordered Ring Bandwidth": ("NaturallyOrderedRingBandwidth", "bandwidth_mb_s"),
    "Randomly Ordered Ring Latency": ("RandomlyOrderedRingLatency", "latency_us"),
    "Randomly Ordered Ring Bandwidth": ("RandomlyOrderedRingBandwidth", "bandwidth_mb_s"),
}
_MESSAGE = re.compile(r"The (latency|bandwidth) +measurements were done with +([0-9]{1,12}) bytes")
_PROCESSES = re.compile(r"The ring communication was done in both directions on ([0-9]{1,9}) proc")
_PAIRS = re.compile(r"- +([0-9]{1,12}) pairs of processes for (latency|bandwidth) benchmarking")


@dataclass(slots=True)
class _Figure:
    line: int
    value: float
    from_summary: bool


@dataclass(slots=True)
class _Run:
    """The part of one hpccoutf.txt that was read."""

    first_line: int
    in_summary: bool = False
    in_section: bool = False
    figures: dict[tuple[str, str], _Figure] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=lambda: dict(_FIXED_SIZES))
    conditions: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    others_line: int = 0
    version: str = ""
    n_ranks: int | None = None
    host: str = ""


def opens(line: str) -> bool:
    """The heading of the file or of one of the two sections with figures, or such a figure."""
    if "HPC Challenge" not in line and "Bench" not in line and "=" not in line:
        return line.startswith(_SUMMARY)
    return _TITLE in line or _SECTION in line or line.partition("=")[0] in _SUMMARY_KEYS


def read(cursor: Cursor) -> list[Table]:
    """The tables of one run of hpcc; other sections than the two with figures are passed over."""
    run: _Run | None = None
    while (line := cursor.look()) is not None:
        if cursor.peek() is None and (not opens(line.text) or _TITLE in line.text):
            break
        if run is None:
            run = _Run(line.number)
        reason = _line(run, line)
        if reason:
            cursor.refuse(reason)
        else:
            cursor.take()
    return _tables(run) if run else []


def _line(run: _Run, line: Line) -> str:
    """Take one line; why it is refused, or ""."""
    text = line.text.strip()
    if not line.ended and text[-1:].isdigit():
        return "the file ends within this line"
    if run.in_summary or text.partition("=")[0] in _SUMMARY_KEYS:
        return _summary_line(run, line.number, text)
    if _SECTION in text:
        run.in_section = True
    elif text.startswith(_SUMMARY):
        run.in_summary = True
        run.in_section = False
    elif text.startswith("End of LatencyBandwidth"):
        run.in_section = False
    elif run.in_section:
        return _section_line(run, line.number, text)
    elif _TITLE in text:
        run.version = text.split(_TITLE, 1)[1].strip().split(" ")[0]
    elif text.startswith("Hostname: '"):
        run.host = text[11:].rstrip("'")
    return ""


def _summary_line(run: _Run, number: int, text: str) -> str:
    if text.startswith("End of Summary section"):
        run.in_summary = False
        return ""
    match = _PAIR.fullmatch(text)
    if match is None:
        return "" if not text else "not key=value"
    key, value = match[1], match[2].strip()
    if key in _SUMMARY_KEYS:
        test, metric = _SUMMARY_KEYS[key]
        number_or_none = measured(value)
        if number_or_none is None:
            return f"'{value[:40]}' is no measurement"
        factor = 1.0 if metric.startswith(_LATENCY) else 1e3
        run.figures[test, metric] = _Figure(number, number_or_none * factor, from_summary=True)
    elif key == "CommWorldProcs":
        run.n_ranks = counted(value) or None
        if run.n_ranks is None:
            return f"'{value[:40]}' is no number of processes"
    else:
        run.others_line = run.others_line or number
        run.others[key] = value
    return ""


def _section_line(run: _Run, number: int, text: str) -> str:
    figures: list[tuple[str, str, str]] = []
    if match := _RANGE.match(text):
        quantity = match[1]
        metric = _LATENCY if quantity == "Latency" else _BANDWIDTH
        for suffix, token in zip(("_min", "", "_max"), match.groups()[1:], strict=True):
            figures.append((f"PingPong{quantity}", metric + suffix, token))
    elif match := _RING.match(text):
        order = "NaturallyOrderedRing" if match[1] == "naturally" else "RandomlyOrderedRing"
        figures += [(f"{order}Latency", _LATENCY, match[2])]
        figures += [(f"{order}Bandwidth", _BANDWIDTH, match[3])]
    elif match := _MAJOR.match(text):
        figures.append((*_MAJOR_TESTS[" ".join(match[1].split())], match[2]))
    elif match := _MESSAGE.match(text):
        run.sizes[match[1]] = int(match[2])
    elif match := _PROCESSES.match(text):
        run.n_ranks = run.n_ranks or int(match[1]) or None
    elif match := _PAIRS.match(text):
        run.conditions[f"pairs_{match[2]}"] = match[1]
    for test, metric, token in figures:
        value = measured(token)
        if value is None:
            return f"'{token[:40]}' is no measurement"
        factor = 1e3 if metric.startswith(_LATENCY) else 1.0
        run.figures[test, metric] = _Figure(number, value * factor, from_summary=False)
    return ""


def _tables(run: _Run) -> list[Table]:
    by_test: dict[str, dict[str, _Figure]] = {}
    for (test, metric), figure in run.figures.items():
        by_test.setdefault(test, {})[metric] = figure
    tables = []
    for test, figures in by_test.items():
        values = {metric: figure.value for metric, figure in figures.items()}
        line = min(figure.line for figure in figures.values())
        tables.append(_table(run, test, Row(line, run.sizes.get(_quantity(test)), values)))
    if run.others:
        tables.append(_table(run, "Summary", Row(run.others_line, None, {}, {}, run.others)))
    return tables


def _quantity(test: str) -> str:
    return "latency" if test.endswith("Latency") else "bandwidth"


def _table(run: _Run, test: str, row: Row) -> Table:
    is_pingpong = test.startswith("PingPong")
    quantity = _quantity(test)
    pairs = run.conditions.get(f"pairs_{quantity}")
    conditions = {"pairs": pairs} if is_pingpong and pairs else {}
    return Table(
        tool="hpcc",
        test=test,
        benchmark=_BENCHMARKS.get(test, ""),
        rows=(row,),
        first_line=run.first_line,
        version=run.version,
        memory="host",
        n_ranks=run.n_ranks,
        hosts=(run.host,) if run.host else (),
        conditions=MappingProxyType(conditions),
    )
