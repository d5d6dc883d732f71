"""OTF2 archives as Score-P writes them, made by the format's own library from traces of weft.

The bytes of collectives are those of Score-P. SOURCE: score-p/scorep,
src/adapters/mpi/SCOREP_Mpi_Coll.c; a call in place counts `n - 1` where others count `n`.
"""

import importlib
import os
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.needs import absent

from weft.trace.rank_trace import CANCELLED, Call, RankTrace
from weft.trace.trace import COLLECTIVES, Trace

LIBRARIES = (
    Path(sysconfig.get_path("purelib")).parents[2] / "opt/exports",
    Path("/usr/lib/python3/dist-packages"),
)
UNDEFINED = 2**32 - 1
TICKS_A_SECOND = 4_000_000_000
TICKS_A_NS = TICKS_A_SECOND // 1_000_000_000
REGIONS = {
    **{"send": "MPI_Send", "recv": "MPI_Recv", "isend": "MPI_Isend", "irecv": "MPI_Irecv"},
    **{"wait": "MPI_Waitall", "broadcast": "MPI_Bcast", "one_sided": "MPI_Put"},
}
OPERATIONS = {
    **{"broadcast": "BCAST"},
    **{name: name.upper() for name in COLLECTIVES if name != "broadcast"},
}


def library_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """A folder with nothing but the library of OTF2, on the path of this process and of its
    children."""
    given = os.environ.get("WEFT_OTF2")
    places = [Path(given)] if given else LIBRARIES
    found = [place for place in places if any(place.glob("_otf2/_otf2*.so"))]
    if not found:
        absent("needs the Python package otf2 (Debian: python3-otf2 python3-six)")
    # Debian's 3.0.2 needs six, and does not say so.
    for name in ("otf2", "_otf2", "six.py"):
        if (found[0] / name).exists():
            (folder / name).symlink_to(found[0] / name)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.syspath_prepend(str(folder))
    return folder


class Writer:
    """Writes an archive: events of locations, with times in ns."""

    def __init__(self, folder: Path, hosts: Sequence[str], n_threads: int = 1) -> None:
        self.otf2: Any = importlib.import_module("otf2")
        self.enums: Any = importlib.import_module("otf2.enums")
        self.events: Any = importlib.import_module("otf2.events")
        otf2, enums = self.otf2, self.enums
        self.archive = otf2.writer.Writer(str(folder), timer_resolution=TICKS_A_SECOND)
        known = self.archive.definitions
        machine = known.system_tree_node("machine", class_name="machine")
        nodes = {
            host: known.system_tree_node(host, class_name="node", parent=machine)
            for host in dict.fromkeys(hosts)
        }
        self.mpi = enums.Paradigm.MPI
        self.threads: list[list[Any]] = []
        self.locations: list[Any] = []
        for rank, host in enumerate(hosts):
            process = known.location_group(f"MPI Rank {rank}", system_tree_parent=nodes[host])
            threads = [
                known.location(f"thread {thread} of {rank}", group=process)
                for thread in range(n_threads)
            ]
            self.locations.append(threads[0])
            self.threads.append([*map(self.archive.event_writer_from_location, threads)])
        self.known = known
        kind = enums.GroupType.COMM_LOCATIONS
        known.group("MPI", group_type=kind, paradigm=self.mpi, members=self.locations)
        self.world = self.comm(tuple(range(len(hosts))))

    def comm(self, members: Sequence[int]) -> Any:
        """The communicator of ranks."""
        name = f"comm {' '.join(map(str, members))}"
        return self.known.comm(name, group=self.group(members), parent=None)

    def between(self, sides: Sequence[Sequence[int]]) -> Any:
        """The intercommunicator of two groups of ranks."""
        inter = _InterComm(self, [self.group(side) for side in sides])
        self.known._comms._register(inter)
        return inter

    def group(self, members: Sequence[int]) -> Any:
        """The group of ranks."""
        name = f"group {' '.join(map(str, members))}"
        return self.known.group(
            name,
            group_type=self.enums.GroupType.COMM_GROUP,
            paradigm=self.mpi,
            members=[self.locations[rank] for rank in members],
        )

    def put(self, rank: int, ns: int, kind: str, *numbers: Any, thread: int = 0) -> None:
        """An event of a rank, by its name in the library."""
        event = getattr(self.events, kind)(ns * TICKS_A_NS, *numbers)
        self.threads[rank][thread](event)

    def call(self, rank: int, ns: int, until: int, name: str, *events: Sequence[Any]) -> None:
        """A function of MPI with events that begin with their kind."""
        region = self.known.region(name, paradigm=self.mpi)
        self.put(rank, ns, "Enter", region)
        for kind, *numbers in events:
            self.put(rank, until if kind in LATE else ns, kind, *numbers)
        self.put(rank, until, "Leave", region)

    def close(self) -> None:
        """Write what is left."""
        self.archive.close()


class _InterComm:
    """An intercommunicator as a definition: the library's own class takes no groups (OTF2 3.2)."""

    def __init__(self, writer: Writer, groups: Sequence[Any]) -> None:
        self._ref = writer.known._comms._next_ref()
        self._key = ("between", self._ref)
        self.name = writer.known.strings.get_ref("between")
        self.groups = groups
        self.flags = writer.enums.CommFlag.NONE

    def write(self, writer: Any, _: Any) -> None:
        a, b = (group._ref for group in self.groups)
        writer.write_inter_comm(self._ref, self.name, a, b, UNDEFINED, self.flags)


LATE = (
    *("MpiRecv", "MpiIrecv", "MpiIsendComplete", "MpiCollectiveEnd", "MpiRequestCancelled"),
    "NonBlockingCollectiveComplete",
)
"""Events at the end of a function."""


def convert(trace: Trace, folder: Path) -> Path:
    """The anchor of an archive with the calls of a trace."""
    writer = Writer(folder, [rank.host for rank in trace.ranks])
    for rank in trace.ranks:
        _Converter(writer, trace, rank).write()
    writer.close()
    return folder / "traces.otf2"


class _Converter:
    """Writes the calls of a rank."""

    def __init__(self, writer: Writer, trace: Trace, rank: RankTrace) -> None:
        self.writer, self.trace, self.rank = writer, trace, rank
        self.begun: dict[int, Call] = {}
        self.at: dict[tuple[int, ...], int] = {}
        self.instances: dict[int, int] = {}

    def write(self) -> None:
        """Everything between MPI_Init and MPI_Finalize."""
        put, number = self.writer, self.rank.rank
        put.call(number, 0, 1000, "MPI_Init")
        now = 1000
        for call in self.rank.calls:
            now += round(call.gap_ns)
            until = now + round(call.time_ns)
            events = list(self._events(call))
            put.call(number, now, until, REGIONS.get(call.name, f"MPI_{call.name}"), *events)
            now = until
        assert self.rank.end is not None
        now += round(self.rank.end.gap_ns)
        put.call(number, now, now + 1000, "MPI_Finalize")

    def _events(self, call: Call) -> Iterator[list[Any]]:
        if call.name in COLLECTIVES:
            yield from self._collective(call)
        elif call.name == "wait":
            done = call.of("done")
            for begun, source, tag in zip(done[::3], done[1::3], done[2::3], strict=True):
                yield self._complete(begun, source, tag)
        elif call.name == "isend":
            self.begun[call.of("begun")] = call
            yield ["MpiIsend", *self._message(call, 0, 0), call.of("begun")]
        elif call.name == "irecv":
            self.begun[call.of("begun")] = call
            yield ["MpiIrecvRequest", call.of("begun")]
        else:
            kind = {"send": "MpiSend", "recv": "MpiRecv"}[call.name]
            yield [kind, *self._message(call, 0, 0)]

    def _message(self, call: Call, source: int, tag: int) -> list[Any]:
        members = self._members(call)
        peer = (call.of("peer") or source) - 1
        comm = self.writer.comm(members)
        return [members.index(peer), comm, (call.of("tag") or tag) - 1, call.of("bytes")]

    def _members(self, call: Call) -> tuple[int, ...]:
        members = self.rank.groups[call.of("group")]
        return tuple(member for member in members if member is not None)

    def _complete(self, begun: int, source: int, tag: int) -> list[Any]:
        call = self.begun[begun]
        if source == CANCELLED:
            return ["MpiRequestCancelled", begun]
        if call.name == "isend":
            return ["MpiIsendComplete", begun]
        if call.name == "irecv":
            return ["MpiIrecv", *self._message(call, source, tag), begun]
        return ["NonBlockingCollectiveComplete", *self._numbers(call), begun]

    def _collective(self, call: Call) -> Iterator[list[Any]]:
        members = self._members(call)
        # The how manieth of its group: the same one on all ranks.
        self.at[members] = self.at.get(members, -1) + 1
        self.instances[id(call)] = self.at[members]
        if call.of("begun"):
            self.begun[call.of("begun")] = call
            yield ["NonBlockingCollectiveRequest", call.of("begun")]
            return
        yield ["MpiCollectiveBegin"]
        yield ["MpiCollectiveEnd", *self._numbers(call)]

    def _numbers(self, call: Call) -> list[Any]:
        members = self._members(call)
        at = self.instances[id(call)]
        parts = [_nth(self.trace.ranks[member], members, at) for member in members]
        place = members.index(self.rank.rank)
        root = call.of("root")
        name = OPERATIONS[call.name]
        has_root = call.name in ("broadcast", "reduce", "gather", "scatter", "gatherv", "scatterv")
        return [
            getattr(self.writer.enums.CollectiveOp, name),
            self.writer.comm(members),
            root if has_root else self.writer.enums.CollectiveRoot.NONE.value,
            *score_p_bytes(call.name, parts, place, root),
        ]


def _nth(rank: RankTrace, members: tuple[int, ...], at: int) -> Any:
    """What a rank wrote down of the collective of this number in a group: bytes, or blocks."""
    own = [
        call
        for call in rank.calls
        if call.name in COLLECTIVES and rank.groups[call.of("group")] == members
    ]
    return own[at].of("blocks" if "blocks" in own[at].words else "bytes")


def score_p_bytes(
    name: str, parts: Sequence[Any], place: int, root: int, *, in_place: bool = False
) -> tuple[int, int]:
    """What the rank at a place sends and receives, by Score-P's formulas. `parts` are sizes of
    traces (docs/reference/trace.md) of all ranks."""
    n, own = len(parts), parts[place]
    is_root = place == root
    of_root = in_place and is_root
    most = n - 1 if in_place else n
    if name in ("allreduce", "allgather", "alltoall"):
        return most * own, most * own
    if name == "reduce_scatter":  # in equal blocks
        block = own // n
        return own - block * in_place, most * block
    rows: Mapping[str, tuple[int, int]] = {
        "barrier": (0, 0),
        "broadcast": (n * own if is_root else 0, own),
        "reduce": (0 if of_root else own, (n - of_root) * own if is_root else 0),
        "gather": (0 if of_root else own, (n - of_root) * own if is_root else 0),
        "scatter": ((n - of_root) * own if is_root else 0, 0 if of_root else own),
        "scan": ((most - place) * own, (place + 1 - in_place) * own),
    } if isinstance(own, int) else {}  # fmt: skip
    return rows[name] if name in rows else _of_blocks(name, parts, place, root, in_place=in_place)


def _of_blocks(
    name: str, parts: Sequence[Sequence[int]], place: int, root: int, *, in_place: bool
) -> tuple[int, int]:
    n, own, is_root = len(parts), parts[place], place == root
    kept = in_place and is_root
    if name == "gatherv":
        received = sum(part[0] for part in parts) - kept * own[0]
        return (0 if kept else own[0]), received if is_root else 0
    if name == "scatterv":
        blocks = parts[root]
        sent = sum(blocks) - kept * blocks[root]
        return (sent if is_root else 0), 0 if kept else blocks[place]
    if name == "allgatherv":
        return (n - in_place) * own[place], sum(own) - in_place * own[place]
    assert name == "alltoallv"
    lost = own[place] if in_place else 0
    return sum(part[place] for part in parts) - lost, sum(own) - lost
