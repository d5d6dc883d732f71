"""A trace as calls that the engine carries out (docs/reference/scenario.md, "Calls of a
program").

What a replay cannot repeat as it was is decided here: a collective that leaves a request is
carried out where the request is waited for, or before the next collective of the same ranks; blocks
of different sizes become messages; a message of which only one end was recorded is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.core.errors import InputError
from weft.core.words import counted
from weft.trace.blocks import Messages, messages_of
from weft.trace.rank_trace import CANCELLED, Call, RankTrace
from weft.trace.trace import COLLECTIVES, UNREPLAYED, Trace

Members = tuple[int, ...]
Choose = Callable[[str, int, int], str | None]
"""The algorithm of a collective by its name, size and number of ranks; None: the engine's own."""

OF_BLOCKS = ("gatherv", "scatterv", "allgatherv", "alltoallv")
ENGINE_NAMES = {"scan": "allreduce"}


@dataclass(frozen=True, slots=True)
class CollectivePart:
    """A rank's part in a collective: `size` in bytes, or `blocks` where they differ; `root` is a
    place among the members."""

    name: str
    members: Members
    size: int
    blocks: tuple[int, ...]
    root: int


@dataclass(slots=True)
class RankProgram:
    """What one rank does, in order: (kind, numbers). `numbers` of a send are destination, bytes,
    the number of its request (0 without one) and its channel, of a receive source, request and
    channel, of a wait the requests that are over, of `calc` ns. Messages of a pair meet in order
    on their channel."""

    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Program:
    """The calls of all ranks as a text for the engine, and how many messages were left out."""

    text: str
    n_left_out: int
    n_collectives_left_out: int


def program_of(
    trace: Trace,
    choose: Choose = lambda *_: None,
    *,
    compute: float = 1.0,
    marks: Sequence[Sequence[int]] = (),
) -> Program:
    """The program of a trace. `compute` multiplies all computing; `marks` are, by rank, the calls
    before which an iteration begins. Raises InputError for what is no order of calls: calls of
    several threads."""
    return written(rank_programs(trace, compute=compute, marks=marks), choose)


def rank_programs(
    trace: Trace, *, compute: float = 1.0, marks: Sequence[Sequence[int]] = ()
) -> list[RankProgram]:
    """What each rank does, as `program_of`. Raises InputError."""
    elsewhere = sum(rank.n_elsewhere for rank in trace.ranks)
    if elsewhere:
        raise InputError(
            f"{counted(elsewhere, 'call')} of other threads than the first",
            where=str(trace.path),
            expected="MPI calls of one thread a rank: those of several have no one order",
        )
    channels: dict[tuple[object, int], int] = {}
    return [
        RankProgram(
            list(_ProgramReader(rank, channels).steps(compute, marks[rank.rank] if marks else ()))
        )
        for rank in trace.ranks
    ]


def written(ranks: Sequence[RankProgram], choose: Choose) -> Program:
    """The text of what ranks do, without the messages and collectives that lack a partner."""
    messages, n_lost_messages = _whole_messages(ranks)
    instances, n_lost = _whole_collectives(ranks)
    groups: dict[Members, str] = {tuple(range(len(ranks))): "world"}
    lines = [f"num_ranks {len(ranks)}"]
    bodies = []
    for number, rank in enumerate(ranks):
        writer = _Writer(number, choose, groups, messages, instances)
        body = [line for step in rank.steps for line in writer.lines(*step)]
        bodies.append(f"rank {number} {{\n" + "".join(f"{line}\n" for line in body) + "}")
    for members, name in groups.items():
        if name != "world":
            lines.append(f"group {name} {' '.join(map(str, members))}")
    text = "\n".join([*lines, *bodies]) + "\n"
    return Program(text, n_lost_messages, n_lost)


def left_out(ranks: Sequence[RankProgram]) -> tuple[int, int]:
    """How many ends of messages, and parts in collectives, `written` leaves out."""
    return _whole_messages(ranks)[1], _whole_collectives(ranks)[1]


# ---- what a rank does ---------------------------------------------------------------------


class _ProgramReader:
    """Reads what one rank did. `channels` number the tags of groups, alike for all ranks."""

    def __init__(self, rank: RankTrace, channels: dict[tuple[object, int], int]) -> None:
        self.rank = rank
        self.channels = channels
        self.waiting: dict[int, CollectivePart] = {}
        self.sources: dict[int, int] = {}
        self.tags: dict[int, int] = {}
        for call in rank.calls:
            if call.name == "wait":
                done = call.of("done")
                for begun, source, tag in zip(done[::3], done[1::3], done[2::3], strict=True):
                    self.sources[begun], self.tags[begun] = source, tag

    def steps(self, compute: float, marks: Sequence[int]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """In order, with marks before the calls of these numbers."""
        mark_at = set(marks)
        for number, call in enumerate(self.rank.calls):
            computed = call.gap_ns + (call.time_ns if call.name in UNREPLAYED else 0.0)
            if computed * compute >= 1:
                yield "calc", (round(computed * compute),)
            if number in mark_at:
                yield "mark", ()
            if call.name in COLLECTIVES:
                yield from self._collective(call)
            elif call.name == "wait":
                done = set(call.of("done")[::3])
                # In the order in which they began: all members have the same one.
                yield from self._carried_out([one for one in done if one in self.waiting])
                yield "wait", (tuple(sorted(done)),)
            elif call.name not in UNREPLAYED:
                step = self._message(call)
                if step is not None:
                    yield step
        yield from self._carried_out([*self.waiting])
        end = self.rank.end
        if end is not None and end.gap_ns * compute >= 1:
            yield "calc", (round(end.gap_ns * compute),)

    def _collective(self, call: Call) -> Iterator[tuple[str, tuple[Any, ...]]]:
        part = _part(self.rank, call)
        if part is None:
            return
        if call.of("begun"):
            self.waiting[call.of("begun")] = part
            return
        same = [begun for begun, one in self.waiting.items() if one.members == part.members]
        yield from self._carried_out(same)
        yield "collective", (part,)

    def _carried_out(self, due: Sequence[int]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Collectives with a request, and all that began before the last of them."""
        for begun in [one for one in self.waiting if due and one <= max(due)]:
            yield "collective", (self.waiting.pop(begun),)

    def _message(self, call: Call) -> tuple[str, tuple[Any, ...]] | None:
        """None for a message to itself, one that was cancelled, and a receive that nothing ever
        came to."""
        begun = call.of("begun") if "begun" in call.words else 0
        source = self.sources.get(begun, 0)
        peer = (call.of("peer") or source) - 1
        if peer < 0 or peer == self.rank.rank or source == CANCELLED:
            return None
        tag = call.of("tag") or self.tags.get(begun, 0)
        key = (self.rank.groups[call.of("group")], tag)
        channel = self.channels.setdefault(key, len(self.channels))
        if call.name in ("send", "isend"):
            return "send", (peer, call.of("bytes"), begun, channel)
        return "recv", (peer, begun, channel)


def _part(rank: RankTrace, call: Call) -> CollectivePart | None:
    """None where nobody else takes part, or somebody outside of the world."""
    members = rank.groups[call.of("group")]
    if len(members) < 2 or any(member is None for member in members):
        return None
    ranks = tuple(member for member in members if member is not None)
    root = call.of("root")
    if rank.rank not in ranks or root >= len(ranks):
        return None
    blocks = call.of("blocks") if call.name in OF_BLOCKS else ()
    size = 0 if call.name in OF_BLOCKS else call.of("bytes")
    return CollectivePart(call.name, ranks, size, blocks, root)


# ---- partners -----------------------------------------------------------------------------


Key = tuple[int, int, int]
"""Source, destination and channel."""


def _whole_messages(ranks: Sequence[RankProgram]) -> tuple[dict[Key, int], int]:
    """How many messages have both ends, and how many ends have no other."""
    sent: Counter[Key] = Counter()
    received: Counter[Key] = Counter()
    for number, rank in enumerate(ranks):
        for kind, numbers in rank.steps:
            if kind == "send":
                sent[number, numbers[0], numbers[-1]] += 1
            elif kind == "recv":
                received[numbers[0], number, numbers[-1]] += 1
    whole = {key: min(n, received[key]) for key, n in sent.items()}
    return whole, sent.total() + received.total() - 2 * sum(whole.values())


def _whole_collectives(
    ranks: Sequence[RankProgram],
) -> tuple[dict[Members, list[dict[int, CollectivePart]]], int]:
    """By members: the collectives that all of them came to, with the part of each; and how many
    parts have none."""
    found: dict[Members, dict[int, list[CollectivePart]]] = defaultdict(lambda: defaultdict(list))
    for number, rank in enumerate(ranks):
        for kind, numbers in rank.steps:
            if kind == "collective":
                found[numbers[0].members][number].append(numbers[0])
    whole, n_lost = {}, 0
    for members, parts in found.items():
        least = min(len(parts[member]) for member in members)
        n_lost += sum(len(parts[member]) - least for member in members)
        whole[members] = [{member: parts[member][at] for member in members} for at in range(least)]
    return whole, n_lost


# ---- the text -----------------------------------------------------------------------------


class _Writer:
    """Writes one rank: what is open, and how many messages of each channel it has written."""

    def __init__(
        self,
        rank: int,
        choose: Choose,
        groups: dict[Members, str],
        messages: Mapping[Key, int],
        instances: Mapping[Members, list[dict[int, CollectivePart]]],
    ) -> None:
        self.rank = rank
        self.choose = choose
        self.groups = groups
        self.messages = messages
        self.instances = instances
        self.open: set[int] = set()
        self.written: Counter[Key] = Counter()
        self.done: Counter[Members] = Counter()

    def lines(self, kind: str, numbers: tuple[Any, ...]) -> list[str]:
        """The lines of a step."""
        if kind == "calc":
            return [f"calc {numbers[0]}"]
        if kind == "mark":
            return ["mark"]
        if kind == "wait":
            return self._wait(numbers[0])
        if kind == "collective":
            return self._collective(numbers[0])
        return self._transfer(kind, numbers)

    def _transfer(self, kind: str, numbers: tuple[Any, ...]) -> list[str]:
        peer, begun, channel = numbers[0], numbers[-2], numbers[-1]
        key = (self.rank, peer, channel) if kind == "send" else (peer, self.rank, channel)
        self.written[key] += 1
        if self.written[key] > self.messages.get(key, 0):
            return []
        if begun:
            self.open.add(begun)
        label = f"q{begun}: i" if begun else ""
        tag = f" tag {channel}" if channel else ""
        what = f"send {numbers[1]}b to {peer}" if kind == "send" else f"recv from {peer}"
        return [f"{label}{what}{tag}"]

    def _wait(self, done: Sequence[int]) -> list[str]:
        over = [begun for begun in done if begun in self.open]
        self.open.difference_update(over)
        return [f"wait {' '.join(f'q{begun}' for begun in over)}"] if over else []

    def _collective(self, part: CollectivePart) -> list[str]:
        at = self.done[part.members]
        self.done[part.members] += 1
        parts = self.instances[part.members]
        if at >= len(parts):
            return []
        group = self.groups.setdefault(part.members, f"g{len(self.groups)}")
        if part.name in OF_BLOCKS:
            blocks = [parts[at][member].blocks for member in part.members]
            place = part.members.index(self.rank)
            return _block_lines(part, group, messages_of(part.name, blocks, place, part.root))
        name = ENGINE_NAMES.get(part.name, part.name)
        size = "" if name == "barrier" else f" {part.size}b"
        where = "" if group == "world" else f" in {group}"
        root = f" root {part.root}" if part.root else ""
        algorithm = self.choose(name, part.size, len(part.members))
        by = "" if algorithm is None else f" by {algorithm}"
        return [f"{name}{size}{where}{root}{by}"]


def _block_lines(part: CollectivePart, group: str, rounds: Messages) -> list[str]:
    """The messages of a round are posted at once, and waited for."""
    lines: list[str] = []
    for receives, sends in rounds:
        posted = [f"irecv from {part.members[place]} tag {group}" for place in receives]
        posted += [f"isend {size}b to {part.members[place]} tag {group}" for place, size in sends]
        lines += [f"v{number}: {one}" for number, one in enumerate(posted)]
        if posted:
            lines.append(f"wait {' '.join(f'v{number}' for number in range(len(posted)))}")
    return lines
