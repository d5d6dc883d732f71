"""The same work for many items in threads, whose commands an interrupt ends."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_NEVER = threading.Event()
INTERRUPTED: ContextVar[threading.Event] = ContextVar("INTERRUPTED", default=_NEVER)
"""Set in the threads of an interrupted `in_parallel`: their commands end (`weft.core.process`)."""


def in_parallel(items: Iterable[T], do: Callable[[T], R], *, at_once: int) -> list[R]:
    """The results of `do` for each item, in their order, from so many threads at a time.

    An interrupt is raised only once the commands of all threads are over.
    """
    work = list(items)
    interrupted = threading.Event()

    def do_one(item: T) -> R:
        INTERRUPTED.set(interrupted)
        return do(item)

    with ThreadPoolExecutor(max_workers=min(at_once, max(1, len(work)))) as pool:
        try:
            return list(pool.map(do_one, work))
        except KeyboardInterrupt:
            interrupted.set()
            raise
