"""Calls of a rank in the form of a trace that `weft record` wrote (docs/reference/trace.md)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.trace.program import OF_BLOCKS
from weft.trace.rank_trace import LISTS, SCHEMA
from weft.trace.trace import COLLECTIVES, UNREPLAYED

_MESSAGE = "peer bytes tag group"
CALLS = {
    "none": "",
    "end": "elsewhere ns ticks",
    "group": "number ranks",
    **dict.fromkeys(("send", "recv"), _MESSAGE),
    **dict.fromkeys(("isend", "irecv"), f"begun {_MESSAGE}"),
    "wait": "done",
    **{
        name: f"{'blocks' if name in OF_BLOCKS else 'bytes'} root group begun"
        for name in COLLECTIVES
    },
    **dict.fromkeys(UNREPLAYED, "bytes"),
}
"""The numbers of each call."""
_NUMBERS = {name: number for number, name in enumerate(CALLS)}
_WORDS = {name: tuple(words.split()) for name, words in CALLS.items()}


@dataclass(slots=True)
class Record:
    """A call, with the ns that the rank computed before it, those within it, and its numbers."""

    name: str
    values: list[Any]
    gap_ns: int = 0
    time_ns: int = 0


def header(rank: int, n_ranks: int, host: str) -> bytes:
    """The first line; ticks are ns, and nothing says how many CPUs a host has."""
    line = {
        "schema": SCHEMA,
        "rank": rank,
        "n_ranks": n_ranks,
        "host": host,
        "n_cpus": 0,
        "mpi": "",
        "ns_a_tick": 1.0,
        "calls": [list(one) for one in CALLS.items()],
    }
    return json.dumps(line).encode() + b"\n"


def groups(numbers: Mapping[tuple[int, ...], int]) -> Iterator[Record]:
    """The records of groups, by the ranks of each."""
    for members, number in numbers.items():
        yield Record("group", [number, [rank + 1 for rank in members]])


def encoded(records: Iterator[Record]) -> bytes:
    """Records as numbers of 7 bits a byte, the lowest first."""
    found = bytearray()
    for record in records:
        for value in _flat(record):
            rest = value
            while rest >= 128:
                found.append(rest & 127 | 128)
                rest >>= 7
            found.append(rest)
    return bytes(found)


def _flat(record: Record) -> Iterator[int]:
    yield _NUMBERS[record.name]
    yield record.gap_ns
    yield record.time_ns
    for word, value in zip(_WORDS[record.name], record.values, strict=True):
        if word in LISTS:
            numbers: Sequence[int] = value
            yield len(numbers) // LISTS[word]
            yield from numbers
        else:
            yield value
