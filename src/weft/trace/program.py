"""A trace told again as calls that the engine carries out (docs/reference/scenario.md, "Calls of a
program").

What the trace cannot tell again is decided here: a collective that leaves a request is carried out
where the request is waited for; blocks of different sizes become messages; a message of which only
one end was recorded is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.core.errors import InputError
from weft.core.words import counted
from weft.trace.blocks import Messages, messages_of
from weft.trace.rank_trace import Call, RankTrace
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
    """What one rank does, in order: (kind, numbers). `numbers` of a send are destination, bytes
    and the number of its request (0 without one), of a receive source and request, of a wait the
    requests that are over, of `calc` ns."""

    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Program:
    """The calls of all ranks as a text for the engine, and how many messages were left out."""

    text: str
    n_ranks: int
    n_marks: int
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
    return written(told(trace, compute=compute, marks=marks), choose)


def told(
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
    return [
        RankProgram(list(_steps(rank, compute, marks[rank.rank] if marks else ())))
        for rank in trace.ranks
    ]


def written(ranks: Sequence[RankProgram], choose: Choose) -> Program:
    """The text of what ranks do, without the messages and collectives that lack a partner."""
    messages = _whole_messages(ranks)
    instances, n_lost = _whole_collectives(ranks)
    groups: dict[Members, str] = {tuple(range(len(ranks))): "world"}
    lines = [f"num_ranks {len(ranks)}"]
    bodies = []
    n_left_out = 0
    for number, rank in enumerate(ranks):
        writer = _Writer(number, choose, groups, messages, instances)
        body = [line for step in rank.steps for line in writer.lines(*step)]
        n_left_out += writer.n_left_out
        bodies.append(f"rank {number} {{\n" + "".join(f"{line}\n" for line in body) + "}")
    for members, name in groups.items():
        if name != "world":
            lines.append(f"group {name} {' '.join(map(str, members))}")
    n_marks = max((sum(kind == "mark" for kind, _ in rank.steps) for rank in ranks), default=0)
    text = "\n".join([*lines, *bodies]) + "\n"
    return Program(text, len(ranks), n_marks, n_left_out, n_lost)


# ---- what a rank does ---------------------------------------------------------------------


def _steps(
    rank: RankTrace, compute: float, marks: Sequence[int]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    sources = _sources(rank)
    waiting: dict[int, CollectivePart | None] = {}
    mark_at = set(marks)
    for number, call in enumerate(rank.calls):
        computed = call.gap_ns + (call.time_ns if call.name in UNREPLAYED else 0.0)
        if computed * compute >= 1:
            yield "calc", (round(computed * compute),)
        if number in mark_at:
            yield "mark", ()
        if call.name in COLLECTIVES:
            part = _part(rank, call)
            if call.of("begun"):
                waiting[call.of("begun")] = part
            elif part is not None:
                yield "collective", (part,)
        elif call.name == "wait":
            # In the order in which they began: all members have the same one.
            done = set(call.of("done")[::2])
            last = max((one for one in done if one in waiting), default=0)
            for begun in [one for one in waiting if one <= last]:
                part = waiting.pop(begun)
                if part is not None:
                    yield "collective", (part,)
            yield "wait", (tuple(sorted(done)),)
        elif call.name not in UNREPLAYED:
            step = _message(rank, call, sources)
            if step is not None:
                yield step
    if rank.end is not None and rank.end.gap_ns * compute >= 1:
        yield "calc", (round(rank.end.gap_ns * compute),)


def _sources(rank: RankTrace) -> dict[int, int]:
    """By request of a receive from any source: the source that it had."""
    found: dict[int, int] = {}
    for call in rank.calls:
        if call.name == "wait":
            done = call.of("done")
            found.update(
                (begun, source - 1)
                for begun, source in zip(done[::2], done[1::2], strict=True)
                if source
            )
    return found


def _message(
    rank: RankTrace, call: Call, sources: Mapping[int, int]
) -> tuple[str, tuple[Any, ...]] | None:
    """None for a message to itself, and for a receive that nothing ever came to."""
    begun = call.of("begun") if "begun" in call.words else 0
    peer = call.of("peer") - 1
    if peer < 0:
        peer = sources.get(begun, -1)
    if peer < 0 or peer == rank.rank:
        return None
    if call.name in ("send", "isend"):
        return "send", (peer, call.of("bytes"), begun)
    return "recv", (peer, begun)


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


def _whole_messages(ranks: Sequence[RankProgram]) -> dict[tuple[int, int], int]:
    """By source and destination: how many messages have both ends."""
    sent: Counter[tuple[int, int]] = Counter()
    received: Counter[tuple[int, int]] = Counter()
    for number, rank in enumerate(ranks):
        for kind, numbers in rank.steps:
            if kind == "send":
                sent[number, numbers[0]] += 1
            elif kind == "recv":
                received[numbers[0], number] += 1
    return {pair: min(n, received[pair]) for pair, n in sent.items()}


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
    """Writes one rank: what is open, and how many messages of each pair it has written."""

    def __init__(
        self,
        rank: int,
        choose: Choose,
        groups: dict[Members, str],
        messages: Mapping[tuple[int, int], int],
        instances: Mapping[Members, list[dict[int, CollectivePart]]],
    ) -> None:
        self.rank = rank
        self.choose = choose
        self.groups = groups
        self.messages = messages
        self.instances = instances
        self.open: dict[int, str] = {}
        self.n_open = {"recv": 0, "send": 0}
        self.written: Counter[tuple[int, int]] = Counter()
        self.done: Counter[Members] = Counter()
        self.n_left_out = 0

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
        peer, begun = numbers[0], numbers[-1]
        pair = (self.rank, peer) if kind == "send" else (peer, self.rank)
        self.written[pair] += 1
        if self.written[pair] > self.messages.get(pair, 0):
            self.n_left_out += 1
            return []
        if begun:
            self.open[begun] = kind
            self.n_open[kind] += 1
        i = "i" if begun else ""
        return [f"{i}send {numbers[1]}b to {peer}" if kind == "send" else f"{i}recv from {peer}"]

    def _wait(self, done: Sequence[int]) -> list[str]:
        kinds = [self.open.pop(begun) for begun in done if begun in self.open]
        for kind in kinds:
            self.n_open[kind] -= 1
        return [self._until_open()] if kinds else []

    def _until_open(self) -> str:
        return f"wait {self.n_open['recv']} {self.n_open['send']}"

    def _collective(self, part: CollectivePart) -> list[str]:
        at = self.done[part.members]
        self.done[part.members] += 1
        parts = self.instances[part.members]
        if at >= len(parts):
            return []
        if part.name in OF_BLOCKS:
            blocks = [parts[at][member].blocks for member in part.members]
            place = part.members.index(self.rank)
            found = messages_of(part.name, blocks, place, part.root)
            return self._blocks(part, found)
        group = self.groups.setdefault(part.members, f"g{len(self.groups)}")
        name = ENGINE_NAMES.get(part.name, part.name)
        size = "" if name == "barrier" else f" {part.size}b"
        where = "" if group == "world" else f" in {group}"
        root = f" root {part.root}" if part.root else ""
        algorithm = self.choose(name, part.size, len(part.members))
        by = "" if algorithm is None else f" by {algorithm}"
        return [f"{name}{size}{where}{root}{by}"]

    def _blocks(self, part: CollectivePart, rounds: Messages) -> list[str]:
        lines = []
        for receives, sends in rounds:
            lines += [f"irecv from {part.members[place]}" for place in receives]
            lines += [f"isend {size}b to {part.members[place]}" for place, size in sends]
            if receives or sends:
                lines.append(self._until_open())
        return lines
