"""ucx_perftest: the last line of each test.

SOURCE: runs of ucx_perftest 1.13 and openucx/ucx, src/tools/perf: MB are 2^20 bytes, and a latency
is half the round trip. The size stands in the command line; else the row tells it: rate x time.
"""

import re
from dataclasses import dataclass, field

from weft.results.lines.cursor import Cursor, Line
from weft.results.lines.number import counted, measured
from weft.results.model import ONE_A_RUN, ROWS, Row, Table

_PROGRAM = re.compile(r"(?:^|[\s/`])ucx_perftest(?= |$)")
_TEST = re.compile(r"\s-t ?([a-z_]{2,40})")
_SIZE = re.compile(r"\s-s ?(\d{1,12})(?=\s|$)")
_GPU = re.compile(r"\s-m ?(?:cuda|rocm)|(?:Send|Recv) memory: +(?:cuda|rocm)")
_BOX = re.compile(
    r"\| (?P<name>API|Test|Data layout|Send memory|Recv memory|Message size): +"
    r"(?P<value>\S.*?) *\|$"
)
_HEADER = re.compile(r"\|(?: {1,20}\|){1,2} {1,20}(?P<what>overhead|latency) \(usec\) ")
_ROW = re.compile(
    r"(?:(?P<stage>Final:|\[thread \d{1,4}\]) {1,30})?(?P<n>\d{1,15})"
    r"(?P<numbers>(?: {1,20}[\d.]{1,18}){7})$"
)
"""Old versions have no stages: their last line counts."""
_RULE = re.compile(r"\+-[-+]{10,200}$")
_MOST_SLACK = 1e-3
"""A size that rate x time gives to this share still tells a large message from a small one."""
_STARTS = ("Waiting for connection", "Accepted connection")


@dataclass(slots=True)
class _Run:
    """One test while its lines are read."""

    first_line: int
    what: str = ""
    test: str = ""
    size_bytes: int | None = None
    memory: str = "host"
    last: tuple[int, re.Match[str]] | None = None
    sizes: list[int] = field(default_factory=list)


def opens(line: str) -> bool:
    """Whether a command that starts it, or its heading, stands here."""
    text = line.lstrip()
    if text[:1] == "|":
        return _HEADER.match(text) is not None or _BOX.match(text[:200]) is not None
    return "ucx_perftest" in line[:300] and _PROGRAM.search(line[:300]) is not None


def read(cursor: Cursor) -> list[Table]:
    """The table of one test: one row, its last."""
    first = cursor.look()
    run = _Run(0 if first is None else first.number)
    while (line := cursor.look()) is not None:
        text = line.text.strip()
        row = _ROW.match(text)
        if row is not None and run.what:
            if line.ended:
                run.last = (line.number, row)
            cursor.take()
            if row["stage"] == "Final:":
                break
        elif run.last is not None and not _RULE.match(text):
            break
        elif _take(run, line, text):
            cursor.take()
        else:
            break
    table = _table(run)
    return [table] if table is not None else []


def _take(run: _Run, line: Line, text: str) -> bool:
    if header := _HEADER.match(text):
        run.what = header["what"]
        return True
    if _GPU.search(text[:300]):
        run.memory = "gpu"
    if _PROGRAM.search(line.text[:300]):
        test, size = _TEST.search(text[:300]), _SIZE.search(text[:300])
        run.test = test[1] if test else run.test
        run.size_bytes = counted(size[1]) if size else run.size_bytes
        return True
    if box := _BOX.match(text[:200]):
        if box["name"] == "Message size":
            run.size_bytes = counted(box["value"])
        elif box["name"] == "Test" and not run.test:
            run.test = box["value"]
        return True
    return text.startswith(("|", *_STARTS)) or _RULE.match(text) is not None


def _table(run: _Run) -> Table | None:
    if run.last is None:
        return None
    number, row = run.last
    numbers = [measured(token) for token in row["numbers"].split()]
    if any(value is None for value in numbers):
        return None
    _, average, overall, _, rate, _, messages = (value or 0.0 for value in numbers)
    metrics = {
        "bandwidth_mb_s": rate * 2**20 / 1e6,
        "msg_rate_mps": messages / 1e6,
        "iterations": float(row["n"]),
    }
    is_latency = run.what == "latency"
    if is_latency:
        metrics["latency_us"] = overall or average
    conditions = {"latency_is": "half the round trip"} if is_latency else {"directions": "1"}
    conditions[ROWS] = ONE_A_RUN
    size = run.size_bytes if run.size_bytes is not None else _size_of(row["numbers"].split())
    return Table(
        tool="ucx-perftest",
        test=run.test or "ucx_perftest",
        benchmark="latency" if is_latency else "bandwidth",
        rows=(Row(number, size, metrics),),
        first_line=run.first_line,
        memory=run.memory,
        n_ranks=2,
        conditions=conditions,
    )


def _size_of(tokens: list[str]) -> int | None:
    """The size that rate x time gives, a power of two where one lies within the printed digits."""
    time, rate = tokens[2], tokens[4]
    size = (measured(time) or 0.0) * (measured(rate) or 0.0) * 2**20 / 1e6
    if size < 0.5:
        return None
    slack = size * sum(0.5 * 10.0 ** -len(t.partition(".")[2]) / float(t) for t in (time, rate))
    power = 1 << max(0, round(size).bit_length() - 1)
    for candidate in (power, 2 * power):
        if abs(size - candidate) <= slack:
            return candidate
    if slack > _MOST_SLACK * size:
        return None
    # The roundest size that the printed digits allow.
    steps = (10**k for k in range(len(str(round(size))), -1, -1))
    rounded = (round(size / step) * step for step in steps)
    return next((one for one in rounded if abs(size - one) <= max(slack, 0.5)), None)
