"""The trace of a program: a directory with a file a rank."""

import gc
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from weft.core.errors import InputError
from weft.core.words import counted
from weft.trace.otf2.archive import anchor_of, read_archive
from weft.trace.rank_trace import RankTrace, read_rank_trace

MOST_RANKS = 65_536
NAME = re.compile(r"rank-(\d{5,})\.trace(?:\.zst)?")
COLLECTIVES = (
    *("barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
    *("reduce_scatter", "scan", "gatherv", "scatterv", "allgatherv", "alltoallv"),
)
SENDS = ("send", "isend")
UNREPLAYED = (*("one_sided", "neighbour_collective", "intercommunicator_collective", "spawn"),)
"""Calls that are counted, and that no replay repeats."""


@dataclass(frozen=True)
class Trace:
    """What all ranks did, in the order of ranks. `notes` say what its format did not keep."""

    path: Path
    ranks: tuple[RankTrace, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_ranks(self) -> int:
        """Of the program."""
        return len(self.ranks)

    @property
    def mpi(self) -> str:
        """The MPI library in its own words."""
        return self.ranks[0].mpi

    @property
    def seconds(self) -> float:
        """Of the rank that took longest."""
        return max(rank.seconds for rank in self.ranks)

    @cached_property
    def tasks_by_host(self) -> Mapping[str, int]:
        """Ranks of each host."""
        return Counter(rank.host for rank in self.ranks)

    @cached_property
    def calls(self) -> Mapping[str, int]:
        """How often each call was made, by all ranks."""
        return Counter(call.name for rank in self.ranks for call in rank.calls)

    @cached_property
    def n_messages(self) -> int:
        """Messages sent point to point."""
        return sum(self.calls[name] for name in SENDS)

    @cached_property
    def message_bytes(self) -> int:
        """Bytes of those messages."""
        return sum(
            call.of("bytes") for rank in self.ranks for call in rank.calls if call.name in SENDS
        )

    @property
    def computing_share(self) -> float:
        """Of the time of all ranks, what passed outside of MPI."""
        whole = sum(rank.seconds for rank in self.ranks)
        computed = sum(call.gap_ns for rank in self.ranks for call in rank.calls) + sum(
            rank.end.gap_ns for rank in self.ranks if rank.end is not None
        )
        return computed / 1e9 / whole if whole else 1.0

    def caveats(self) -> list[str]:
        """What a reader has to know: traces that were cut, calls that no replay repeats."""
        found = []
        cut = [rank.rank for rank in self.ranks if not rank.is_whole]
        if cut:
            found.append(
                f"{counted(len(cut), 'rank')} of {self.n_ranks} did not end in MPI_Finalize "
                f"(first: rank {cut[0]}): read to the last call"
            )
        n_cpus = {rank.host: rank.n_cpus for rank in self.ranks}
        full = [host for host, tasks in self.tasks_by_host.items() if tasks > n_cpus[host] > 0]
        if full:
            found.append(
                f"{counted(self.tasks_by_host[full[0]], 'rank')} on {n_cpus[full[0]]} CPUs of "
                f"{full[0]}: computing includes the time that ranks waited for one"
            )
        found += [
            f"{counted(self.calls[name], name.replace('_', ' ') + ' call')}: not replayed"
            for name in UNREPLAYED
            if self.calls[name]
        ]
        elsewhere = sum(rank.n_elsewhere for rank in self.ranks)
        if elsewhere:
            found.append(
                f"{counted(elsewhere, 'call')} by threads other than the first: weft replay "
                "refuses this trace"
            )
        if self.calls["scan"]:
            found.append(f"{counted(self.calls['scan'], 'scan')}: replayed as allreduces")
        return found + list(self.notes)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Millions of calls are made and none is let go: the collector would go through them for
    half of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_trace(path: Path) -> Trace:
    """The trace in a directory, or in an OTF2 archive. Raises InputError where a rank is missing or
    twice there, and MissingError where the library of OTF2 is."""
    anchor = anchor_of(path)
    if anchor is not None:
        with _without_collection():
            ranks, notes = read_archive(anchor)
        return Trace(path, tuple(ranks), notes)
    found: dict[int, Path] = {}
    try:
        names = sorted(path.iterdir())
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            where=str(path),
            expected="a directory of traces",
        ) from error
    for name in names:
        match = NAME.fullmatch(name.name)
        if match is None:
            continue
        rank = int(match[1])
        if rank in found:
            raise InputError(
                f"rank {rank} is there twice",
                where=f"{found[rank]}, {name}",
                expected="one of them",
            )
        found[rank] = name
    if not found:
        raise InputError(
            "no trace of a rank", where=str(path), expected="rank-00000.trace and further ones"
        )
    first = read_rank_trace(found[min(found)])
    if first.n_ranks > MOST_RANKS:
        raise InputError(
            f"a trace of {first.n_ranks} ranks", where=str(path), expected=f"at most {MOST_RANKS}"
        )
    missing = sorted(set(range(first.n_ranks)) - set(found))
    if missing:
        raise InputError(
            f"{counted(len(missing), 'rank')} of {first.n_ranks} without a trace: first rank "
            f"{missing[0]}",
            where=str(path),
            expected="a file for each rank",
            hint="the directory must be the same on all nodes while the program runs",
        )
    with _without_collection():
        ranks = [read_rank_trace(found[number]) for number in range(first.n_ranks)]
    for number, one in enumerate(ranks):
        if (one.rank, one.n_ranks) != (number, first.n_ranks):
            raise InputError(
                f"it says rank {one.rank} of {one.n_ranks}",
                where=str(one.path),
                expected=f"rank {number} of {first.n_ranks}: traces of one run",
            )
    return Trace(path, tuple(ranks))
