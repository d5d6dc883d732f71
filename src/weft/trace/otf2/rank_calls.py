"""The calls of one rank from the events of its location.

A function of MPI is a region; what it did are events within: messages, requests that begin and end,
collectives. Time between such functions is computing.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from weft.trace.otf2.definitions import UNDEFINED, Definitions, Members
from weft.trace.otf2.records import Record
from weft.trace.otf2.sizes import OPERATIONS
from weft.trace.rank_trace import CANCELLED

SHORT_GAP_NS = 1000
"""As in `weft record`: a poll this soon after another call is waiting, not computing."""
STARTS = ("mpi_init", "mpi_init_thread")
END = "mpi_finalize"
POLLS = ("mpi_test", "mpi_wait", "mpi_probe", "mpi_iprobe", "mpi_mprobe", "mpi_improbe")
UNREPLAYED = {"mpi_neighbor_": "neighbour_collective", "mpi_comm_spawn": "spawn"}
TALKS = (
    *("mpi_send", "mpi_bsend", "mpi_rsend", "mpi_ssend", "mpi_isend", "mpi_ibsend", "mpi_irsend"),
    *("mpi_issend", "mpi_recv", "mpi_irecv", "mpi_start", "mpi_barrier", "mpi_bcast"),
    *("mpi_gather", "mpi_scatter", "mpi_allgather", "mpi_alltoall", "mpi_allreduce"),
    *("mpi_reduce", "mpi_scan", "mpi_exscan", "mpi_ibarrier", "mpi_ibcast", "mpi_igather"),
    *("mpi_iscatter", "mpi_iallgather", "mpi_ialltoall", "mpi_iallreduce", "mpi_ireduce"),
)
"""How functions begin that send and receive; one without events did so with nobody, or the tool
did not write it down."""
NOT_TALKS = ("mpi_recv_init", "mpi_send_init", "mpi_reduce_local")


class Envelope(NamedTuple):
    """Of a message: the partner's place in the communicator, its tag and size."""

    peer: int
    comm: int
    tag: int
    n_bytes: int


NOBODY = Envelope(UNDEFINED, UNDEFINED, 0, 0)


class CollectiveEnd(NamedTuple):
    """What a rank says at the end of a collective."""

    operation: int
    comm: int
    root: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class RankPart:
    """A rank's part in a collective of ranks of the world."""

    end: CollectiveEnd
    members: tuple[int, ...]


class RankCalls:
    """Takes a rank's events in their order, with times in ticks."""

    def __init__(self, rank: int, definitions: Definitions) -> None:
        self.rank = rank
        self.records: list[Record] = []
        self.parts: list[tuple[Record, RankPart]] = []
        self.groups: dict[tuple[int, ...], int] = {}
        self.silent: Counter[str] = Counter()
        self.n_elsewhere = 0
        self.n_lost = 0
        self.has_ended = False
        self.end_gap_ns = 0
        self._definitions = definitions
        self._group(tuple(range(len(definitions.locations))))
        self._members: dict[int, Members | None] = {}
        self._first_ns: int | None = None
        self._last_ns = self._entered_ns = 0
        self._gap_ns = self._polled_ns = 0
        self._depth = 0
        self._region = ""
        self._begun: list[Record] = []
        self._done: list[int] = []
        self._open: dict[int, Record] = {}
        self._n_begun = 0
        self._matched: dict[int, Envelope] = {}

    # ---- regions --------------------------------------------------------------------------

    def enter(self, time: int, name: str, *, is_mpi: bool) -> None:
        """A region begins."""
        now = self._now(time)
        if not is_mpi:
            return
        if self._depth == 0:
            self._entered_ns, self._region = now, name.lower()
            if self._region == END and not self.has_ended:
                self.has_ended = True
                self.end_gap_ns = self._gap_ns + max(0, now - self._last_ns)
        self._depth += 1

    def leave(self, time: int, *, is_mpi: bool) -> None:
        """A region ends."""
        now = self._now(time)
        if is_mpi and self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._finish(now)

    def flush(self, time: int, until: int) -> None:
        """The tool wrote its buffer: that is no computing of the program."""
        if self._depth == 0:
            self._gap_ns -= max(0, self._now(until) - self._now(time))

    @property
    def is_within(self) -> bool:
        """Whether the last event lies within a function of MPI that did not end."""
        return self._depth > 0 and not self.has_ended

    def close(self) -> None:
        """No events come any more."""
        self.n_lost += sum(_is_lost(record) for record in self._open.values())
        self.records = [record for record in self.records if record.name]

    # ---- messages -------------------------------------------------------------------------

    def send(self, time: int, message: Envelope) -> None:
        """A send without request."""
        self._note(time, Record("send", self._message(message)))

    def recv(self, time: int, message: Envelope) -> None:
        """A receive without request."""
        self._note(time, Record("recv", self._message(message)))

    def isend(self, time: int, message: Envelope, request: int) -> None:
        """A send with a request."""
        self._begin(time, request, "isend", self._message(message))

    def irecv_request(self, time: int, request: int) -> None:
        """A receive begins; from whom is known at its end."""
        self._begin(time, request, "irecv", [0, 0, 0, 0])

    def irecv(self, time: int, message: Envelope, request: int) -> None:
        """A receive with a request is over."""
        record = self._open.get(request)
        if record is not None and record.name == "irecv":
            record.values[1:] = self._message(message)
        self.complete(time, request)

    def complete(self, time: int, request: int, source: int = 0) -> None:
        """A request is over; one that is freed is waited for by nobody."""
        record = self._open.pop(request, None)
        if record is None or self._region == "mpi_request_free":
            return
        begun = record.values[0] if record.name in ("isend", "irecv") else _begun(record)
        if begun:
            self._note(time, None, [begun, source, 0])

    def cancelled(self, time: int, request: int) -> None:
        """A request was cancelled."""
        self.complete(time, request, CANCELLED)

    def probe(self, _: int, message: Envelope, number: int) -> None:
        """A message was matched, to be received by its number."""
        self._matched[number] = message

    def mrecv(self, time: int, number: int, n_bytes: int) -> None:
        """A matched message is received."""
        self.recv(time, self._matched.pop(number, NOBODY)._replace(n_bytes=n_bytes))

    def imrecv_request(self, time: int, number: int, request: int) -> None:
        """A receive of a matched message begins."""
        message = self._message(self._matched.pop(number, NOBODY))
        self._begin(time, request, "irecv", message)

    def imrecv(self, time: int, request: int, n_bytes: int) -> None:
        """It is over."""
        record = self._open.get(request)
        if record is not None and record.name == "irecv":
            record.values[2] = n_bytes
        self.complete(time, request)

    def one_sided(self, time: int, n_bytes: int) -> None:
        """An operation on a window."""
        self._note(time, Record("one_sided", [n_bytes]))

    # ---- collectives ----------------------------------------------------------------------

    def collective(self, time: int, end: CollectiveEnd) -> None:
        """A collective is over."""
        record = self._part(Record("", []), end)
        if record is not None:
            self._note(time, record)

    def icollective_request(self, time: int, request: int) -> None:
        """A collective with a request begins; which one is known at its end."""
        self._n_begun += 1
        self._open_request(time, request, Record("", [0, 0, 0, self._n_begun]))

    def icollective(self, time: int, end: CollectiveEnd, request: int) -> None:
        """It is over."""
        record = self._open.get(request)
        if record is not None and not record.name:
            self._part(record, end)
        self.complete(time, request)

    def _part(self, record: Record, end: CollectiveEnd) -> Record | None:
        """The record of a collective, without its size; None of what makes a handle."""
        members = self._members_of(end.comm)
        if end.operation not in OPERATIONS or members is None:
            return None
        if members.is_inter:
            record.name, record.values = "intercommunicator_collective", [end.sent]
            return record
        begun = _begun(record)
        record.name = OPERATIONS[end.operation]
        root = end.root if end.root < len(members.all) else 0
        record.values = [0, root, self._group(members.all), begun]
        self.parts.append((record, RankPart(end._replace(root=root), members.all)))
        return record

    # ---- one function of MPI --------------------------------------------------------------

    def _note(self, time: int, record: Record | None, done: list[int] | None = None) -> None:
        """An event; one outside of a function of MPI is a function of its own."""
        now = self._now(time)
        if self._depth == 0:
            self._entered_ns, self._region = now, ""
        if record is not None:
            self._begun.append(record)
        self._done += done or []
        if self._depth == 0:
            self._finish(now)

    def _begin(self, time: int, request: int, name: str, values: list[Any]) -> None:
        self._n_begun += 1
        self._open_request(time, request, Record(name, [self._n_begun, *values]))

    def _open_request(self, time: int, request: int, record: Record) -> None:
        """The number of a request is used again after its end; EZTrace leaves ends out."""
        before = self._open.get(request)
        self.n_lost += before is not None and _is_lost(before)
        self._open[request] = record
        self._note(time, record)

    def _finish(self, now: int) -> None:
        calls = self._calls()
        gap = max(0, self._entered_ns - self._last_ns)
        if self._region in STARTS:
            self._gap_ns = self._polled_ns = 0
        elif calls:
            calls[0].gap_ns = max(0, self._gap_ns + gap)
            calls[-1].time_ns = self._polled_ns + now - self._entered_ns
            self._gap_ns = self._polled_ns = 0
            self.records += calls
        elif self._region.startswith(POLLS):
            self._polled_ns += now - self._entered_ns
            if gap > SHORT_GAP_NS:
                self._gap_ns += gap
            else:
                self._polled_ns += gap
        else:
            if self._region.startswith(TALKS) and self._region not in NOT_TALKS:
                self.silent[self._region] += 1
            return
        self._last_ns = now

    def _calls(self) -> list[Record]:
        """The calls of a function that ends, in order."""
        begun, done, name = self._begun, self._done, self._region
        self._begun, self._done = [], []
        kinds = {record.name for record in begun}
        if {"send", "recv"} <= kinds:
            # Both at once: receive, send, and wait for them.
            begun = sorted(begun, key=lambda record: record.name != "recv")
            for record in begun:
                self._n_begun += 1
                record.name = f"i{record.name}"
                record.values.insert(0, self._n_begun)
                done += [self._n_begun, 0, 0]
        if "one_sided" in kinds:
            begun = [Record("one_sided", [sum(one.values[0] for one in begun)])]
        if not begun:
            kind = next((to for sign, to in UNREPLAYED.items() if name.startswith(sign)), None)
            begun = [] if kind is None else [Record(kind, [0])]
        return [*begun, *([Record("wait", [done])] if done else [])]

    def _message(self, message: Envelope) -> list[Any]:
        """The numbers of a message; a peer of 0 where none is known."""
        members = self._members_of(message.comm)
        if members is None or message.peer >= len(members.peers):
            return [0, message.n_bytes, 0, 0]
        peer = members.peers[message.peer] + 1
        return [peer, message.n_bytes, message.tag + 1, self._group(members.all)]

    def _members_of(self, comm: int) -> Members | None:
        if comm not in self._members:
            self._members[comm] = self._definitions.members(comm, self.rank)
        return self._members[comm]

    def _group(self, members: tuple[int, ...]) -> int:
        return self.groups.setdefault(members, len(self.groups))

    def _now(self, time: int) -> int:
        """In ns from the first event on."""
        now = time * 1_000_000_000 // self._definitions.ticks_a_second
        if self._first_ns is None:
            self._first_ns = self._last_ns = now
        return now


def _is_lost(record: Record) -> bool:
    """Whether a call with a request says at its end only what it was."""
    return record.name in ("irecv", "")


def _begun(record: Record) -> int:
    """The number of a collective's request; 0 of one that is not replayed."""
    return int(record.values[3]) if len(record.values) > 3 else 0
