"""Paths of which each was chosen among several, so that the readings are as likely as can be."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from weft.check.readings.readings import Floats

Tail = tuple[int, ...]
"""Ports from a switch to a destination."""

Gain = Callable[[int, float], float]
"""The evidence that a row is so much slower, as a natural logarithm."""


@dataclass
class Entry:
    """A switch's entry for a destination that led over a cable out of use. Its `rows` left the path
    `was` for one of `paths`, the number `taken`."""

    was: Tail
    paths: tuple[Tail, ...]
    rows: list[int] = field(default_factory=list)
    taken: int = 0

    @property
    def path(self) -> Tail:
        """The path that is taken."""
        return self.paths[self.taken]


@dataclass
class Message:
    """When a row was measured, at what rate it sends, and the ports of its path."""

    moment: int
    sent: float
    ports: set[int]


class Crowd:
    """Messages by row, the ports they cross in their moments, and the load of these; `rate` is of
    all ports."""

    def __init__(self, rate: Floats) -> None:
        self.messages: dict[int, Message] = {}
        self._rate = rate.tolist()
        self._on: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._load: dict[tuple[int, int], float] = defaultdict(float)
        self.before: dict[int, float] = {}
        """By row: `fullest` when it was added."""

    def add(self, messages: Mapping[int, Message]) -> None:
        """Add all messages of some moments."""
        self.messages.update(messages)
        for row, message in messages.items():
            self._cross(row, message.ports)
        self.before |= {row: self.fullest(row) for row in messages}

    def on(self, moment: int, port: int) -> set[int]:
        """The rows that cross a port in a moment."""
        return self._on.get((moment, port), set())

    def fullest(self, row: int) -> float:
        """The load of the fullest port of a path, as a share of its rate; 1 where none is full."""
        message, load, rate = self.messages[row], self._load, self._rate
        fullest = 1.0
        for port in message.ports:
            fullest = max(fullest, load[message.moment, port] / rate[port])
        return fullest

    def put(self, row: int, ports: Iterable[int]) -> None:
        """A message crosses these ports as well."""
        self.messages[row].ports.update(ports)
        self._cross(row, ports)

    def lift(self, row: int, ports: Iterable[int]) -> None:
        """A message no longer crosses these ports."""
        message = self.messages[row]
        message.ports.difference_update(ports)
        for port in ports:
            self._on[message.moment, port].discard(row)
            self._load[message.moment, port] -= message.sent

    def _cross(self, row: int, ports: Iterable[int]) -> None:
        message = self.messages[row]
        for port in ports:
            self._on[message.moment, port].add(row)
            self._load[message.moment, port] += message.sent


class DetourFit:
    """Messages of `entries` in a crowd, without a path until one is chosen; the crowd is as it was
    after `undo`. `gain` is the evidence that a row is so much slower."""

    def __init__(self, entries: Sequence[Entry], crowd: Crowd, gain: Gain) -> None:
        self._entries = entries
        self._crowd = crowd
        self._gain_of = gain
        self._settled: list[Entry] = []
        for entry in entries:
            for row in entry.rows:
                crowd.lift(row, entry.was)

    def settle(self) -> None:
        """Choose a path for each entry, given the earlier choices."""
        for entry in self._entries:
            entry.taken = int(self._gains(entry).argmax()) if len(entry.paths) > 1 else 0
            self._take(entry)
            self._settled.append(entry)

    def undo(self) -> None:
        """Lead all messages back to where they were."""
        for entry in self._settled:
            self._leave(entry)
        for entry in self._entries:
            for row in entry.rows:
                self._crowd.put(row, entry.was)

    def slowed(self, entry: Entry) -> dict[int, float]:
        """How much slower than with every cable in use the rows are that an entry's path slows, as
        natural logarithms."""
        touched = set(entry.rows).union(*(self._others(entry, path) for path in entry.paths))
        fuller = {row: self._fuller(row) for row in touched}
        return {row: float(np.log(more)) for row, more in fuller.items() if more > 1}

    def _others(self, entry: Entry, path: Tail) -> set[int]:
        """The rows of other entries on a path in an entry's moments."""
        moments = {self._crowd.messages[row].moment for row in entry.rows}
        on = (self._crowd.on(moment, port) for moment in moments for port in path)
        return set[int]().union(*on).difference(entry.rows)

    def _gains(self, entry: Entry) -> Floats:
        """By path of an entry what the readings gain that it touches: its own, and more than
        without it those it meets."""
        others = [sorted(self._others(entry, path)) for path in entry.paths]
        free = {row: self._gain(row) for row in set[int]().union(*others)}
        gains = np.zeros(len(entry.paths))
        for place, met in enumerate(others):
            entry.taken = place
            self._take(entry)
            own = sum(self._gain(row) for row in entry.rows)
            gains[place] = own + sum(self._gain(row) - free[row] for row in met)
            self._leave(entry)
        return gains

    def _gain(self, row: int) -> float:
        fuller = self._fuller(row)
        return self._gain_of(row, float(np.log(fuller))) if fuller > 1 else 0.0

    def _fuller(self, row: int) -> float:
        return self._crowd.fullest(row) / self._crowd.before[row]

    def _take(self, entry: Entry) -> None:
        for row in entry.rows:
            self._crowd.put(row, entry.path)

    def _leave(self, entry: Entry) -> None:
        for row in entry.rows:
            self._crowd.lift(row, entry.path)
