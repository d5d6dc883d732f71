"""qperf: tests of sockets and of verbs, a heading and a few values each.

SOURCE: runs of qperf 0.4.11: units count in 1000, a latency is the time of one message one way (its
message rate is the inverse), and a bandwidth test sends 64 KiB, over UDP 32 KiB.
"""

import re
from dataclasses import dataclass, field

from weft.results.lines.cursor import Cursor
from weft.results.lines.number import counted, measured
from weft.results.model import INTERFACE, ONE_A_RUN, ROWS, Row, Table

_HEADING = re.compile(
    r"\s{0,8}(?P<test>(?P<family>tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc)_(?:bi_|rdma_read_|rdma_write_"
    r"|rdma_write_poll_|compare_swap_|fetch_add_)?(?P<what>bw|lat|mr)):$"
)
_VALUE = re.compile(
    r"\s{1,12}(?P<name>[a-z][a-z0-9_]{1,30}) {1,24}= {1,12}(?P<value>[\d.,]{1,18})"
    r" ?(?P<unit>\S{0,12})(?: ?\((?P<exact>[\d,]{1,15})\))?"
)
_MB_S = {"bytes": 1e-6, "KB": 1e-3, "MB": 1.0, "GB": 1e3, "TB": 1e6}
_MB_S |= {f"{prefix}b": unit / 8 for prefix, unit in (("K", 1e-3), ("M", 1.0), ("G", 1e3))}
_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "sec": 1e6}
_PER_SECOND = {"/sec": 1.0, "K/sec": 1e3, "M/sec": 1e6, "G/sec": 1e9}
_BYTES = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "KB": 1000, "MB": 10**6}
_SOCKETS = ("tcp", "udp", "sctp")
_BLOCK_BYTES, _UDP_BLOCK_BYTES = 65536, 32768


@dataclass(slots=True)
class _Test:
    """One test while its lines are read."""

    first_line: int
    name: str
    family: str
    what: str
    line: int = 0
    size_bytes: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)


def opens(line: str) -> bool:
    """Whether the heading of a test stands here."""
    return line[-1:] == ":" and len(line) < 50 and _HEADING.match(line) is not None


def read(cursor: Cursor) -> list[Table]:
    """The tables of consecutive tests: those of one name, as of a loop over sizes, are one."""
    tests: list[_Test] = []
    while (line := cursor.look()) is not None:
        heading = _HEADING.match(line.text)
        if heading is not None:
            tests.append(_Test(line.number, heading["test"], heading["family"], heading["what"]))
        elif not tests or (value := _VALUE.match(line.text)) is None or not line.ended:
            break
        else:
            _take(tests[-1], line.number, value)
        cursor.take()
    found = [test for test in tests if test.line]
    names = dict.fromkeys(test.name for test in found)
    return [_table([test for test in found if test.name == name]) for name in names]


def _take(test: _Test, number: int, value: re.Match[str]) -> None:
    name, unit = value["name"], value["unit"]
    amount = measured(value["value"].replace(",", ""))
    if amount is None:
        return
    if name == "msg_size":
        exact = counted((value["exact"] or "").replace(",", ""))
        test.size_bytes = exact or round(amount * _BYTES.get(unit, 0)) or None
    elif name in ("bw", "recv_bw") and unit.endswith("/sec") and unit[:-4] in _MB_S:
        # What arrived counts, where both ends tell.
        test.metrics["bandwidth_mb_s"] = amount * _MB_S[unit[:-4]]
        test.line = number
    elif name == "latency" and unit in _US:
        test.metrics["latency_us"] = amount * _US[unit]
        test.line = number
    elif name == "msg_rate" and unit in _PER_SECOND:
        test.metrics["msg_rate_mps"] = amount * _PER_SECOND[unit] / 1e6
        if test.what == "mr":
            test.line = number


def _table(tests: list[_Test]) -> Table:
    test = tests[0]
    both = "_bi_" in test.name
    conditions = {INTERFACE: "sockets" if test.family in _SOCKETS else "verbs"}
    conditions |= {ROWS: ONE_A_RUN, "transport": test.family.upper()}
    if test.what == "bw":
        conditions["directions"] = "2" if both else "1"
    if test.family in ("sdp", "rds"):
        del conditions[INTERFACE]
    benchmark = {"bw": "bidirectional" if both else "bandwidth", "lat": "latency"}.get(test.what)
    return Table(
        tool="qperf",
        test=test.name,
        benchmark=benchmark or "",
        rows=tuple(Row(one.line, _size(one), one.metrics) for one in tests),
        first_line=test.first_line,
        memory="host",
        n_ranks=2,
        conditions=conditions,
    )


def _size(test: _Test) -> int:
    if test.size_bytes is not None:
        return test.size_bytes
    if test.what != "bw":
        return 1
    return _UDP_BLOCK_BYTES if test.family == "udp" else _BLOCK_BYTES
