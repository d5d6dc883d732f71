"""Long streams read at once, each in a thread, and handed out one after another."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_THREADS = 16
MOST_WAITING = 200_000
"""Items of streams whose turn has not come: members of layers have 330 bytes (measured)."""
_BATCH = 128
_MOST_BATCHES = 2
"""That wait of the stream whose turn it is."""


class OrderedPasses(Generic[T]):
    """The items of some streams, in the order of the streams. Close it in any case.

    Each stream gets a function that tells whether nobody waits for it any more.
    INVARIANT: the stream whose turn it is was begun before all later ones and waits for none.
    """

    def __init__(self, streams: Sequence[Callable[[Callable[[], bool]], Iterable[T]]]) -> None:
        self._streams = streams
        self._changed = threading.Condition()
        self._waiting: list[deque[list[T] | BaseException]] = [deque() for _ in streams]
        self._n_begun = self._n_waiting = self._turn = 0
        self._is_over = False
        n_threads = min(len(streams), MOST_THREADS, len(os.sched_getaffinity(0)))
        self._threads: list[threading.Thread] = []
        for _ in range(n_threads):
            one = threading.Thread(target=self._work, daemon=True)
            try:
                one.start()
            except RuntimeError:
                # A limit on threads: one is enough, for each takes the next stream in order.
                if not self._threads:
                    raise
                break
            self._threads.append(one)

    def items(self, number: int) -> Iterator[T]:
        """The items of a stream; streams are asked for in their order. Raises what it raised."""
        with self._changed:
            self._turn = number
            self._changed.notify_all()
        waiting = self._waiting[number]
        while True:
            with self._changed:
                self._changed.wait_for(lambda: waiting)
                batch = waiting.popleft()
                self._n_waiting -= _n_items(batch)
                self._changed.notify_all()
            if isinstance(batch, BaseException):
                raise batch
            if not batch:
                return
            yield from batch

    def close(self) -> None:
        """End all threads."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        for one in self._threads:
            one.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                number = self._n_begun
                self._n_begun += 1
            if self._is_over or number >= len(self._streams):
                return
            try:
                found = iter(self._streams[number](lambda: self._is_over))
                while batch := list(islice(found, _BATCH)):
                    self._put(number, batch)
                self._put(number, [])
            except BaseException as error:
                self._put(number, error)

    def _put(self, number: int, batch: list[T] | BaseException) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._has_room(number))
            self._waiting[number].append(batch)
            self._n_waiting += _n_items(batch)
            self._changed.notify_all()

    def _has_room(self, number: int) -> bool:
        if number == self._turn:
            return len(self._waiting[number]) < _MOST_BATCHES
        return self._n_waiting < MOST_WAITING


def _n_items(batch: object) -> int:
    return len(batch) if isinstance(batch, list) else 0
