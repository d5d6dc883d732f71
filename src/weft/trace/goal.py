"""Calls of a program as GOAL, the text that LogGOPSim and others read.

SOURCE: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language" (ICPP 2009).

GOAL has no order but what `requires` says, so each operation requires what its rank has waited for.
Where that is more than one operation, a computation of 0 ns joins them. Collectives become their
messages, and each message has a tag of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

Expand = Callable[[Mapping[str, Any], int], Mapping[str, Any]]
"""What every rank exchanges in a step of a scenario's work: columns `rank`, `index`, `is_send`,
`peer` and `size_bytes` (weft._engine.expand_collective)."""

Exchange = tuple[int, bool, int, int]
"""Of a collective, one end of a message: the number of the move, whether it is the sender's, the
partner's place in the group, bytes."""


def goal_text(calls: str, expand: Expand) -> Iterator[str]:
    """GOAL, line by line, of calls of a program (docs/reference/scenario.md)."""
    program = _Parsed(calls, _Collectives(expand))
    sizes: dict[Key, list[int]] = defaultdict(list)
    tags: dict[tuple[str, int], int] = {}
    for rank in program.ranks:
        for part in program.parts(rank):
            for kind, peer, channel, size in part.messages:
                if kind == "send":
                    sizes[rank, peer, channel].append(size)
    yield f"num_ranks {program.n_ranks}"
    for rank in program.ranks:
        writer = _RankWriter(rank, sizes, tags)
        yield f"rank {rank} {{"
        for part in program.parts(rank):
            yield from writer.lines(part)
        yield "}"


@dataclass(frozen=True, slots=True)
class _Part:
    """A statement: one that waits for all of its messages, or leaves one open under a `label`; a
    computation in ns; or a wait for labels. `messages`: kind, peer, channel, bytes."""

    messages: tuple[tuple[str, int, str, int], ...] = ()
    label: str = ""
    compute_ns: int = 0
    over: tuple[str, ...] = ()
    is_send: bool = False


class _Parsed:
    """The statements of each rank, collectives as parts of one move each."""

    def __init__(self, calls: str, collectives: "_Collectives") -> None:
        self.n_ranks = 0
        self._collectives = collectives
        self._groups: dict[str, tuple[int, ...]] = {}
        self._lines: dict[int, list[list[str]]] = {}
        rank = -1
        for line in calls.splitlines():
            words = line.split()
            if words[0] == "num_ranks":
                self.n_ranks = int(words[1])
                self._groups["world"] = tuple(range(self.n_ranks))
            elif words[0] == "group":
                self._groups[words[1]] = tuple(map(int, words[2:]))
            elif words[0] == "rank":
                rank = int(words[1])
                self._lines[rank] = []
            elif words[0] not in ("}", "mark"):
                self._lines[rank].append(words)

    @property
    def ranks(self) -> list[int]:
        """Those that do anything, in order."""
        return sorted(self._lines)

    def parts(self, rank: int) -> Iterator[_Part]:
        """What a rank does, in order."""
        for line in self._lines[rank]:
            words = [*line]
            label = words.pop(0).rstrip(":") if words[0].endswith(":") else ""
            kind = words[0].removeprefix("i")
            if words[0] == "calc":
                yield _Part(compute_ns=int(words[1]))
            elif words[0] == "wait":
                yield _Part(over=tuple(words[1:]))
            elif kind in ("send", "recv"):
                size = int(words[1].removesuffix("b")) if kind == "send" else 0
                channel = words[-1] if words[-2] == "tag" else ""
                peer = int(words[-3] if channel else words[-1])
                yield _Part(((kind, peer, channel, size),), label, is_send=words[0] == "send")
            else:
                yield from self._moves(words, rank)

    def _moves(self, words: list[str], rank: int) -> Iterator[_Part]:
        name, *options = words
        size = int(options.pop(0).removesuffix("b")) if options and options[0][0].isdigit() else 0
        named = dict(zip(options[::2], options[1::2], strict=True))
        group = named.pop("in", "world")
        members = self._groups[group]
        step = {"benchmark": name, "size_bytes": size}
        step |= {"algorithm": named["by"]} if "by" in named else {}
        step |= {"root": int(named["root"])} if "root" in named else {}
        exchanges = self._collectives.of(step, len(members), members.index(rank))
        for _, ends in groupby(exchanges, key=lambda one: one[0]):
            sides = (("send" if is_send else "recv", place, n) for _, is_send, place, n in ends)
            yield _Part(tuple((side, members[place], f"in {group}", n) for side, place, n in sides))


class _Collectives:
    """The messages of collectives, each kind expanded once."""

    def __init__(self, expand: Expand) -> None:
        self._expand = expand
        self._known: dict[tuple[Any, ...], dict[int, list[Exchange]]] = {}

    def of(self, step: Mapping[str, Any], n_ranks: int, place: int) -> list[Exchange]:
        """What the rank at this place of a group exchanges, in order."""
        key = (n_ranks, *sorted(step.items()))
        if key not in self._known:
            moves = self._expand(step, n_ranks)
            by_rank: dict[int, list[Exchange]] = defaultdict(list)
            names = ("rank", "index", "is_send", "peer", "size_bytes")
            for rank, *end in zip(*(moves[name].tolist() for name in names), strict=True):
                by_rank[rank].append((end[0], bool(end[1]), end[2], end[3]))
            self._known[key] = by_rank
        return self._known[key].get(place, [])


Key = tuple[int, int, str]
"""Source, destination and channel."""


class _RankWriter:
    """Writes one rank: what operations that come next have to wait for, and what is open."""

    def __init__(
        self, rank: int, sizes: Mapping[Key, list[int]], tags: dict[tuple[str, int], int]
    ) -> None:
        self.rank = rank
        self.sizes = sizes
        self.tags = tags
        self.n_labels = 0
        self.required: list[str] = []
        self.begun: list[str] = []
        self.open: dict[str, str] = {}
        self.n_messages: Counter[tuple[str, int, str]] = Counter()

    def lines(self, part: _Part) -> Iterator[str]:
        """The lines of a statement."""
        if part.compute_ns:
            yield from self._joined(f"calc {part.compute_ns}")
        labels = []
        for kind, peer, channel, size in part.messages:
            labels.append(f"l{self.n_labels}")
            yield from self._operation(self._message(kind, peer, channel, size))
        if part.label:
            self.open[part.label] = labels[0]
        elif part.is_send:
            # Whether a send waits for its receive is its size's business: LogGOPSim's S.
            self.required, self.begun = [], labels
        elif labels:
            yield from self._wait_for(labels)
        if part.over:
            closed = [self.open.pop(label) for label in part.over]
            yield from self._wait_for([*self.required, *closed])

    def _message(self, kind: str, peer: int, channel: str, size: int) -> str:
        """A receive is of the size of the message that meets it: the next one of its channel."""
        n = self.n_messages[kind, peer, channel]
        self.n_messages[kind, peer, channel] += 1
        if kind == "recv":
            size = self.sizes[peer, self.rank, channel][n]
        tag = self.tags.setdefault((channel, n), len(self.tags))
        return f"{kind} {size}b {'to' if kind == 'send' else 'from'} {peer} tag {tag}"

    def _operation(self, text: str) -> Iterator[str]:
        label = f"l{self.n_labels}"
        self.n_labels += 1
        yield f"{label}: {text}"
        for earlier in self.required:
            yield f"{label} requires {earlier}"
        for earlier in self.begun:
            yield f"{label} irequires {earlier}"

    def _joined(self, text: str) -> Iterator[str]:
        label = f"l{self.n_labels}"
        yield from self._operation(text)
        self.required, self.begun = [label], []

    def _wait_for(self, labels: list[str]) -> Iterator[str]:
        """What comes next requires these, which require what came before them."""
        if len(labels) == 1 and not self.begun:
            self.required = labels
        elif labels:
            self.required = labels
            yield from self._joined("calc 0")
