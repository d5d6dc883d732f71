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


class DetourFit:
    """Messages by row, with every cable in use; those of `entries` are without a path until one is
    chosen. `rate` is of all ports; `gain` the evidence that a row is so much slower."""

    def __init__(
        self,
        entries: Sequence[Entry],
        messages: Mapping[int, Message],
        rate: Floats,
        gain: Gain,
    ) -> None:
        self._entries = entries
        self._messages = messages
        self._rate = rate.tolist()
        self._gain_of = gain
        self._on: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._load: dict[tuple[int, int], float] = defaultdict(float)
        for row, message in messages.items():
            self._put(row, message.ports)
        self._before = {row: self._fullest(row) for row in messages}
        for entry in entries:
            for row in entry.rows:
                self._lift(row, entry.was)

    def settle(self) -> None:
        """Choose a path for each entry, given the earlier choices."""
        for entry in self._entries:
            gains = self._gains(entry)
            entry.taken = int(gains.argmax())
            self._take(entry)

    def slowed(self, entry: Entry) -> dict[int, float]:
        """How much slower than with every cable in use the rows are that an entry's path slows, as
        natural logarithms."""
        fuller = {row: self._fullest(row) / self._before[row] for row in self._touched(entry)}
        return {row: float(np.log(more)) for row, more in fuller.items() if more > 1}

    def _touched(self, entry: Entry) -> set[int]:
        """The rows on any of an entry's paths in its moments."""
        ports = {port for path in entry.paths for port in path}
        moments = {self._messages[row].moment for row in entry.rows}
        with_others = (self._on[moment, port] for moment in moments for port in ports)
        return set(entry.rows).union(*with_others)

    def _gains(self, entry: Entry) -> Floats:
        """By path of an entry the gain of all readings that any of its paths touches."""
        touched = self._touched(entry)
        gains = np.zeros(len(entry.paths))
        for place in range(gains.size):
            entry.taken = place
            self._take(entry)
            gains[place] = sum(self._gain(row) for row in touched)
            for row in entry.rows:
                self._lift(row, entry.path)
        return gains

    def _gain(self, row: int) -> float:
        fuller = self._fullest(row) / self._before[row]
        return self._gain_of(row, float(np.log(fuller))) if fuller > 1 else 0.0

    def _fullest(self, row: int) -> float:
        """The load of the fullest port of a path, as a share of its rate; 1 where none is full."""
        message, load, rate = self._messages[row], self._load, self._rate
        full = (load[message.moment, port] / rate[port] for port in message.ports)
        return float(max((1.0, *full)))

    def _take(self, entry: Entry) -> None:
        for row in entry.rows:
            self._messages[row].ports.update(entry.path)
            self._put(row, entry.path)

    def _put(self, row: int, ports: Iterable[int]) -> None:
        message = self._messages[row]
        for port in ports:
            self._on[message.moment, port].add(row)
            self._load[message.moment, port] += message.sent

    def _lift(self, row: int, ports: Iterable[int]) -> None:
        message = self._messages[row]
        message.ports.difference_update(ports)
        for port in ports:
            self._on[message.moment, port].discard(row)
            self._load[message.moment, port] -= message.sent
