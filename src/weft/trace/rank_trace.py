"""The trace of one rank (docs/reference/trace.md): a line of JSON, then numbers.

A number has 7 bits a byte, the lowest first. The first line lists the calls with the names of their
numbers, so a trace of another version is read by its own list.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

from weft.core.documents.text_file import read_file_bytes
from weft.core.errors import InputError

SCHEMA = "weft.trace/1"
MOST_BYTES = 1 << 29
"""Of a rank's trace, unpacked."""
MOST_HEADER_BYTES = 1 << 16
EXPECTED = "a trace of 'weft record'"
PACKED = ".zst"
LISTS = {"blocks": 1, "ranks": 1, "done": 3}
"""How many numbers an entry has, by the name of each list in a call."""
CANCELLED = 2**32 - 1
"""The source of a call that is over because it was cancelled."""
KNOWN = frozenset(
    {
        *("begun", "blocks", "bytes", "done", "elsewhere", "group", "ns", "number", "peer"),
        *("ranks", "root", "tag", "ticks"),
    }
)


class Call(NamedTuple):
    """A call: its name, the time in ns that the rank computed before it, and its own time.

    `words` are the names of its numbers (`peer`, `bytes`, `group`, `begun` ...), `values` these
    numbers, those of lists as tuples. A trace has millions of calls.
    """

    name: str
    gap_ns: float
    time_ns: float
    words: tuple[str, ...]
    values: tuple[Any, ...]

    def of(self, word: str) -> Any:
        """The number of that name."""
        return self.values[self.words.index(word)]


@dataclass(frozen=True, slots=True)
class RankTrace:
    """What one rank did. `groups` are its communicators by number, as ranks of the world (None for
    one outside of it). `is_whole`: it has an end; else it was cut, by a crash. `end` is the record
    at the end; its `elsewhere` counts calls of other threads than the first."""

    path: Path
    rank: int
    n_ranks: int
    host: str
    n_cpus: int
    mpi: str
    calls: tuple[Call, ...]
    groups: Mapping[int, tuple[int | None, ...]]
    is_whole: bool
    end: Call | None

    @property
    def n_elsewhere(self) -> int:
        """Calls of other threads than the first."""
        return 0 if self.end is None else int(self.end.of("elsewhere"))

    @property
    def seconds(self) -> float:
        """From the end of MPI_Init to the beginning of MPI_Finalize, or to the last call."""
        calls = self.calls if self.end is None else (*self.calls, self.end)
        return sum(call.gap_ns + call.time_ns for call in calls) / 1e9


def read_rank_trace(path: Path) -> RankTrace:
    """The trace in a file, packed by zstd or not. Raises InputError."""
    content = read_file_bytes(path, expected=EXPECTED, most_bytes=MOST_BYTES)
    if path.suffix == PACKED:
        content = _unpacked(path, content)
    line, newline, body = content[:MOST_HEADER_BYTES].partition(b"\n")
    if not newline:
        raise _wrong(path, "has no first line")
    body = content[len(line) + 1 :]
    header = _header(path, line)
    kinds = [_Kind.of(path, str(name), str(words)) for name, words in header["calls"]]
    numbers = _numbers(path, body)
    calls, end = [], None
    groups: dict[int, tuple[int | None, ...]] = {}
    ns_a_tick = _ns_a_tick(header, kinds, numbers)
    known = _Known(groups, header["n_ranks"])
    for call in _calls(path, kinds, numbers, ns_a_tick, known):
        if call.name == "group":
            members = call.of("ranks")
            if max(members, default=0) > header["n_ranks"]:
                raise _wrong(path, f"has a group of ranks beyond {header['n_ranks']}")
            groups[call.of("number")] = tuple(None if at == 0 else at - 1 for at in members)
        elif call.name == "end":
            end = call
        else:
            calls.append(call)
    return RankTrace(
        path,
        header["rank"],
        header["n_ranks"],
        str(header["host"]),
        header["n_cpus"],
        str(header["mpi"]).strip(),
        tuple(calls),
        groups,
        end is not None,
        end,
    )


class _Known(NamedTuple):
    """What calls may name: the groups that were written down so far, and how many ranks."""

    groups: Mapping[int, object]
    n_ranks: int


class _Kind(NamedTuple):
    """A call of the first line: its name and those of its numbers; the places of `peer` and
    `group` among them, or -1."""

    name: str
    words: tuple[str, ...]
    has_lists: bool
    peer_at: int
    group_at: int

    @classmethod
    def of(cls, path: Path, name: str, text: str) -> "_Kind":
        words = tuple(text.split())
        if not KNOWN.issuperset(words):
            raise _wrong(path, f"has numbers '{text}' of call '{name}'")
        at = [words.index(word) if word in words else -1 for word in ("peer", "group")]
        return cls(name, words, not LISTS.keys().isdisjoint(words), *at)


def _wrong(path: Path, what: str) -> InputError:
    return InputError(f"the trace {what}", where=str(path), expected=EXPECTED)


def _unpacked(path: Path, content: bytes) -> bytes:
    try:
        with zstandard.ZstdDecompressor().stream_reader(content) as stream:
            found = stream.read(MOST_BYTES + 1)
    except zstandard.ZstdError as error:
        raise _wrong(path, f"does not unpack ({error})") from error
    if len(found) > MOST_BYTES:
        raise _wrong(path, f"has more than {MOST_BYTES} bytes")
    return found


def _header(path: Path, line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, "has a first line that is no JSON") from error
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise _wrong(path, f"is not of schema {SCHEMA}")
    kinds = {"rank": int, "n_ranks": int, "host": str, "n_cpus": int, "mpi": str, "calls": list}
    for key, kind in kinds.items():
        if not isinstance(header.get(key), kind) or isinstance(header[key], bool):
            raise _wrong(path, f"has no '{key}'")
    if not all(isinstance(one, list) and len(one) == 2 for one in header["calls"]):
        raise _wrong(path, "has calls that are no pairs of a name and its numbers")
    ns_a_tick = header.get("ns_a_tick")
    if not isinstance(ns_a_tick, int | float) or not 0 < ns_a_tick < 1e6:
        raise _wrong(path, "has no 'ns_a_tick'")
    if not 0 <= header["rank"] < header["n_ranks"]:
        raise _wrong(path, f"is of rank {header['rank']} of {header['n_ranks']}")
    return header


def _numbers(path: Path, body: bytes) -> list[int]:
    """All numbers of the body; a number that is cut at the end is none."""
    bytes_: NDArray[np.uint8] = np.frombuffer(body, dtype=np.uint8)
    ends = np.flatnonzero(bytes_ < 128)
    if not ends.size:
        return []
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > 10:
        raise _wrong(path, f"has a number of {lengths.max()} bytes")
    values = np.zeros(ends.size, dtype=np.uint64)
    for place in range(int(lengths.max())):
        has = lengths > place
        part = (bytes_[starts[has] + place] & 127).astype(np.uint64)
        values[has] |= part << np.uint64(7 * place)
    found: list[int] = values.tolist()
    return found


def _ns_a_tick(header: Mapping[str, Any], kinds: Sequence[_Kind], numbers: list[int]) -> float:
    """The rate of the counter over the whole run, where the trace has its end."""
    known = [kind.name for kind in kinds]
    if "end" in known and len(numbers) >= 6:
        number, *_, elapsed_ns, ticks = numbers[-6:]
        if number == known.index("end") and ticks > 0 and elapsed_ns > 0:
            measured = elapsed_ns / ticks
            # Both rates are of one clock: another ratio is no end.
            if 0.9 < measured / header["ns_a_tick"] < 1.1:
                return measured
    return float(header["ns_a_tick"])


def _calls(
    path: Path, kinds: Sequence[_Kind], numbers: list[int], ns_a_tick: float, known: "_Known"
) -> Iterator[Call]:
    """The calls, up to where the trace was cut."""
    at, n = 0, len(numbers)
    while at + 3 <= n:
        number = numbers[at]
        if number == 0:
            return
        if number >= len(kinds):
            raise _wrong(path, f"has call {number} of {len(kinds)}, number {at} of its numbers")
        name, words, has_lists, peer_at, group_at = kinds[number]
        gap_ns, time_ns = numbers[at + 1] * ns_a_tick, numbers[at + 2] * ns_a_tick
        at += 3
        if has_lists:
            values, at = _with_lists(words, numbers, at)
        else:
            values = tuple(numbers[at : at + len(words)])
            at += len(words)
        if at > n or len(values) < len(words):
            return
        if peer_at >= 0 and values[peer_at] > known.n_ranks:
            raise _wrong(path, f"has rank {values[peer_at] - 1} of {known.n_ranks}")
        if group_at >= 0 and values[group_at] not in known.groups:
            raise _wrong(path, f"has no group {values[group_at]} before a call of it")
        yield Call(name, gap_ns, time_ns, words, values)
        if name == "end":
            return


def _with_lists(words: Sequence[str], numbers: list[int], at: int) -> tuple[tuple[Any, ...], int]:
    """The numbers of a call from `at` on, and where they end; fewer where the trace was cut."""
    values: list[Any] = []
    for word in words:
        if at >= len(numbers):
            break
        if word not in LISTS:
            values.append(numbers[at])
            at += 1
            continue
        end = at + 1 + LISTS[word] * numbers[at]
        values.append(tuple(numbers[at + 1 : end]))
        at = end
    return tuple(values), at
