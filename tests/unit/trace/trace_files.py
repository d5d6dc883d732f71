"""Traces as a recorder writes them, made by hand: ticks are nanoseconds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CALLS = (
    *(("none", ""), ("end", "elsewhere ns ticks"), ("group", "number ranks")),
    *(("send", "peer bytes tag group"), ("recv", "peer bytes tag group")),
    *(("isend", "begun peer bytes tag group"), ("irecv", "begun peer bytes tag group")),
    ("wait", "done"),
    *(
        (name, "bytes root group begun")
        for name in ("barrier", "broadcast", "reduce", "allreduce", "alltoall", "scan")
    ),
    *(
        (name, "blocks root group begun")
        for name in ("gatherv", "scatterv", "allgatherv", "alltoallv")
    ),
    ("one_sided", "bytes"),
)
NUMBERS = {name: number for number, (name, _) in enumerate(CALLS)}


def number(value: int) -> bytes:
    """7 bits a byte, the lowest first."""
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def record(name: str, *values: Any, gap: int = 0, time: int = 0) -> bytes:
    """A call; a list among its values has its length before it."""
    numbers = [NUMBERS[name], gap, time]
    for value in values:
        if isinstance(value, Sequence):
            width = 3 if name == "wait" else 1
            numbers += [len(value) // width, *value]
        else:
            numbers.append(value)
    return b"".join(map(number, numbers))


def header(of_rank: int, of_ranks: int, **more: Any) -> bytes:
    """The first line."""
    line = {
        "schema": "weft.trace/1",
        "rank": of_rank,
        "n_ranks": of_ranks,
        "host": f"h{of_rank}",
        "n_cpus": 8,
        "mpi": "Open MPI v4.1.4, package",
        "has_threads": False,
        "ns_a_tick": 1.0,
        "calls": [list(one) for one in CALLS],
    }
    return json.dumps({**line, **more}).encode() + b"\n"


def world(n_ranks: int) -> bytes:
    """Group 0: all ranks."""
    return record("group", 0, [rank + 1 for rank in range(n_ranks)])


def write(folder: Path, bodies: Sequence[bytes], *, end: bytes | None = None) -> Path:
    """A trace of as many ranks as there are bodies, each with an end unless that is b""."""
    folder.mkdir()
    last = record("end", 0, 1000, 1000) if end is None else end
    for rank, body in enumerate(bodies):
        whole = header(rank, len(bodies)) + world(len(bodies)) + body + last
        (folder / f"rank-{rank:05d}.trace").write_bytes(whole)
    return folder


def ring(rank: int, n: int, size: int, begun: int) -> bytes:
    """Receive from the left and send to the right at once."""
    left, right = (rank - 1) % n, (rank + 1) % n
    receive = record("irecv", begun, left + 1, size, 1, 0)
    send = record("isend", begun + 1, right + 1, size, 1, 0, gap=10)
    return receive + send + record("wait", [begun, 0, 0, begun + 1, 0, 0], time=500)
