"""ibv_rc_pingpong and its kin: two lines, bytes and iterations.

SOURCE: linux-rdma/rdma-core, libibverbs/examples/rc_pingpong.c: an iteration is one message each
way, and the bytes count both.
"""

import re

from weft.results.lines.cursor import Cursor
from weft.results.lines.number import counted, measured
from weft.results.model import INTERFACE, ONE_A_RUN, ROWS, Row, Table

_PROGRAM = re.compile(r"(?:^|[\s/`])(ibv_(?:rc|srq|uc|ud|xsrq)_pingpong)\b")
_BYTES = re.compile(r"\s{0,8}(\d{1,15}) bytes in ([\d.]{1,12}) seconds = ([\d.]{1,18}) Mbit/sec")
_ITERATIONS = re.compile(
    r"\s{0,8}(\d{1,12}) iters in ([\d.]{1,12}) seconds = ([\d.]{1,18}) usec/iter"
)
_ADDRESS = re.compile(r"\s{0,8}(?:local|remote) address: {1,4}LID ")


def opens(line: str) -> bool:
    """Whether a command that starts one, or a line of its results, stands here."""
    if "Mbit/sec" in line[-12:]:
        return _BYTES.match(line) is not None
    return "_pingpong" in line[:300] and _PROGRAM.search(line[:300]) is not None


def read(cursor: Cursor) -> list[Table]:
    """The table of one run: one row."""
    first = cursor.take()
    program = _PROGRAM.search(first.text[:300])
    text = first.text
    while _BYTES.match(text) is None:
        line = cursor.peek()
        is_other = line is None or not (_ADDRESS.match(line.text) or line.text.strip(" .") == "")
        if is_other and (line is None or _BYTES.match(line.text) is None):
            break
        text = cursor.take().text
    # The line with the bytes opens, too, when another command stands above it.
    line = cursor.look()
    if line is not None and _BYTES.match(text) is None and _BYTES.match(line.text):
        text = cursor.take().text
    n_bytes, line = _BYTES.match(text), cursor.look()
    times = None if line is None or not line.ended else _ITERATIONS.match(line.text)
    if n_bytes is None or line is None or times is None:
        return []
    cursor.take()
    total, n, us = counted(n_bytes[1]), counted(times[1]), measured(times[3])
    if not total or not n or not us or total % (2 * n):
        return []
    row = Row(line.number, total // (2 * n), {"latency_us": us / 2, "iterations": float(n)})
    return [
        Table(
            tool="verbs-pingpong",
            test=program[1] if program else "ibv_pingpong",
            benchmark="latency",
            rows=(row,),
            first_line=first.number,
            memory="host",
            n_ranks=2,
            conditions={
                INTERFACE: "verbs",
                ROWS: ONE_A_RUN,
                "latency_is": "half the round trip",
            },
        )
    ]
