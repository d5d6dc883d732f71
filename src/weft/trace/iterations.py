"""Where the iterations of a program begin: a call that it makes again and again.

A program does not say what an iteration is. Its collectives of all ranks do nearly: all ranks make
the same ones in the same order, so the k-th of a kind is the same moment of the program everywhere.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import InputError
from weft.core.units import format_size, parse_size
from weft.core.words import counted
from weft.trace.rank_trace import RankTrace
from weft.trace.trace import COLLECTIVES, SENDS, Trace

FEWEST = 5
"""Iterations; fewer say nothing about their median."""
GRAMMAR = "CALL[:SIZE][*N], such as allreduce:8 or allreduce:8*2"
_WORD = re.compile(r"(?P<name>[a-z_]+)(?::(?P<size>[^*]+))?(?:\*(?P<every>\d+))?")

Times = NDArray[np.float64]
Signature = tuple[str, int]
"""A call and its size in bytes; of blocks that differ -1."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """`marks` are, by rank, the numbers of the calls at which an iteration begins, as many on each
    rank; `seconds` the recorded time of each iteration, by the last rank. `name` says which call it
    is; "" where none repeats six times or more on all ranks."""

    name: str
    marks: tuple[tuple[int, ...], ...]
    seconds: tuple[float, ...]

    @property
    def n(self) -> int:
        """Iterations: from each mark to the next."""
        return len(self.seconds)


def iterations_of(trace: Trace, wanted: str | None = None) -> Iterations:
    """The iterations, by the call that is `wanted` (GRAMMAR) or else by the collective of all ranks
    that divides the run best, or by messages to one partner. Raises InputError for a wanted call
    that does not come so often."""
    by_rank = [_calls_of_all(rank, trace.n_ranks) for rank in trace.ranks]
    if wanted is not None:
        signature, every = _parsed(wanted, by_rank[0])
        marks = _even(trace, [own.get(signature, [])[::every] for own in by_rank])
        if len(marks[0]) < 2:
            raise InputError(
                f"iterations by '{wanted}': {counted(len(marks[0]), 'call')} of all ranks",
                where=str(trace.path),
                expected=f"two or more; those of all ranks are: {_listed(by_rank[0])}",
            )
        return _found(trace, _words(signature, every), marks)
    common = set(by_rank[0]).intersection(*by_rank[1:])
    is_cut = not all(rank.is_whole for rank in trace.ranks)
    same = [one for one in common if is_cut or len({len(own[one]) for own in by_rank}) == 1]
    starts = _starts(trace.ranks[0])
    scored = sorted((-_score(starts, by_rank[0][one]), one) for one in same)
    if scored and scored[0][0] < 0:
        signature = scored[0][1]
        marks = _even(trace, [own[signature] for own in by_rank])
        return _found(trace, _words(signature, 1), marks)
    return _by_messages(trace)


def _even(trace: Trace, calls: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """As many calls on each rank: of ranks that were cut the last ones are missing. Raises
    InputError where another one has fewer."""
    least = min(map(len, calls))
    if all(rank.is_whole for rank in trace.ranks) and any(len(own) != least for own in calls):
        rank = min(range(len(calls)), key=lambda number: len(calls[number]))
        raise InputError(
            f"rank {rank} made {least} of these calls, another one {max(map(len, calls))}",
            where=str(trace.path),
            expected="a collective that all ranks make",
        )
    return tuple(tuple(own[:least]) for own in calls)


def _calls_of_all(rank: RankTrace, n_ranks: int) -> Mapping[Signature, list[int]]:
    """The numbers of a rank's collectives of all ranks, by what they are."""
    whole = {number for number, members in rank.groups.items() if len(members) == n_ranks}
    found: dict[Signature, list[int]] = defaultdict(list)
    for number, call in enumerate(rank.calls):
        if call.name in COLLECTIVES and call.of("group") in whole and not call.of("begun"):
            size = call.of("bytes") if "bytes" in call.words else -1
            found[call.name, size].append(number)
    return found


def _parsed(wanted: str, known: Mapping[Signature, Sequence[int]]) -> tuple[Signature, int]:
    match = _WORD.fullmatch(wanted)
    name = "" if match is None else match["name"]
    if match is None or name not in COLLECTIVES:
        raise InputError(
            f"iteration '{wanted}' names no collective",
            expected=GRAMMAR,
            hint=f"collectives: {', '.join(COLLECTIVES)}",
        )
    every = int(match["every"] or 1)
    if not 1 <= every <= 1_000_000:
        raise InputError(
            f"iteration '{wanted}': *{every} is out of range", expected="*1 to *1000000"
        )
    if match["size"] is not None:
        return (name, parse_size(match["size"])), every
    sizes = sorted((one for one in known if one[0] == name), key=lambda one: -len(known[one]))
    return (sizes[0] if sizes else (name, 0)), every


def _listed(known: Mapping[Signature, Sequence[int]]) -> str:
    most = sorted(known, key=lambda one: -len(known[one]))[:6]
    return ", ".join(f"{_words(one, 1)} ({len(known[one])})" for one in most) or "none"


def _words(signature: Signature, every: int) -> str:
    name, size = signature
    sized = (
        name if size < 0 or name == "barrier" else f"{name}:{format_size(size).replace(' ', '')}"
    )
    return sized if every == 1 else f"{sized}*{every}"


def _starts(rank: RankTrace) -> Times:
    """When each call began, in seconds from the first on."""
    gaps = np.asarray([call.gap_ns for call in rank.calls])
    times = np.asarray([call.time_ns for call in rank.calls])
    starts: Times = (np.cumsum(gaps) + np.cumsum(times) - times) / 1e9
    return starts


def _score(starts: Times, calls: Sequence[int]) -> float:
    """How well a call divides a run: the part that it covers, less where its intervals differ."""
    if len(calls) < FEWEST + 1:
        return 0.0
    at = starts[list(calls)]
    intervals = np.diff(at)
    covered = float((at[-1] - at[0]) / starts[-1]) if starts[-1] > 0 else 0.0
    mean = float(intervals.mean())
    return covered / (1 + float(intervals.std()) / mean) if mean > 0 else 0.0


def _found(trace: Trace, name: str, marks: tuple[tuple[int, ...], ...]) -> Iterations:
    passed = np.max(
        [_starts(rank)[list(own)] for rank, own in zip(trace.ranks, marks, strict=True)], axis=0
    )
    return Iterations(name, marks, tuple(float(time) for time in np.diff(passed)))


def _by_messages(trace: Trace) -> Iterations:
    """By the messages of each rank to one partner, where every rank has as many of such."""
    counts: list[dict[tuple[int, int], list[int]]] = []
    for rank in trace.ranks:
        own: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, call in enumerate(rank.calls):
            if call.name in SENDS:
                own[call.of("peer"), call.of("tag")].append(number)
        counts.append(own)
    numbers = set.intersection(*({len(calls) for calls in own.values()} for own in counts))
    most = max((n for n in numbers if n > FEWEST), default=0)
    if not most:
        return Iterations("", tuple(() for _ in trace.ranks), ())
    marks = tuple(
        tuple(next(calls for calls in own.values() if len(calls) == most)) for own in counts
    )
    return _found(trace, "messages to one partner", marks)
