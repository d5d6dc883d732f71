"""How far the work under way is: kept by the code that does it, read by whoever shows it.

Work is a stack of tasks: a study of launches, in it a launch of several simulations, in it one
simulation. A task that begins inside another is a part of the step that the other is at.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol, Self, TypeVar

T = TypeVar("T")

Share = Callable[[], float | None]
"""The part of a task that is done, from 0 to 1; None where it cannot be told now."""

PACE_S = 0.1
"""Phases that took less tell nothing of the pace."""
NEARLY = 0.99
"""Most of a task that is done by its expected time while it still goes on."""


@dataclass(slots=True)
class WorkUnderWay:
    """One task. `total` and `done` count `unit`s; `step` is what the step under way counts.
    Without a unit the share alone is meaningful. `ask` tells the share of the step under way. Of a
    frame the task within it is shown, where there is one."""

    what: str
    unit: str = ""
    total: float = 1.0
    done: float = 0.0
    step: float = 1.0
    ask: Share | None = None
    is_frame: bool = False
    began: float = field(default_factory=time.monotonic)

    def advance(self, step: float | None = None) -> None:
        """The step under way is over, or so much is."""
        self.done += self.step if step is None else step

    def share(self, of_step: float) -> float:
        """The part that is done, with this part of the step under way."""
        if self.ask is not None:
            of_step = max(of_step, self.ask() or 0.0)
        within = min(max(of_step, 0.0), 1.0) * self.step
        return min((self.done + within) / self.total, 1.0) if self.total > 0 else 0.0


@dataclass(frozen=True, slots=True)
class WorkStanding:
    """Where all work under way stands: the outermost task that is known by name, the share of all,
    and the seconds since it began."""

    task: WorkUnderWay
    share: float
    elapsed_s: float

    @classmethod
    def now(cls) -> Self | None:
        """None where nothing is under way."""
        tasks = list(_TASKS)
        if not tasks:
            return None
        share = 0.0
        for task in reversed(tasks):
            share = task.share(share)
        named = next((task for task in tasks if not task.is_frame), tasks[0])
        return cls(named, share, time.monotonic() - tasks[0].began)

    @property
    def left_s(self) -> float | None:
        """Seconds that are left at the pace so far; None before there is one."""
        return self.elapsed_s * (1.0 - self.share) / self.share if self.share > 0 else None


_TASKS: list[WorkUnderWay] = []
"""Tasks of the main thread, the outermost first. Others only read it."""
STARTED = time.monotonic()
"""About when the command began: this module is one of the first that it loads."""
WHEN_OVER: Callable[[], object] = lambda: None  # noqa: E731
"""Called when no work is under way any more; whoever shows progress sets it."""


@contextmanager
def working(
    what: str,
    *,
    unit: str = "",
    total: float = 1.0,
    ask: Share | None = None,
) -> Iterator[WorkUnderWay]:
    """A task meanwhile. Tasks of other threads are parts of what the main thread does, and unknown
    here."""
    task = WorkUnderWay(what, unit, total, ask=ask)
    if threading.current_thread() is not threading.main_thread():
        yield task
        return
    _TASKS.append(task)
    try:
        yield task
    finally:
        _TASKS.remove(task)
        if not _TASKS:
            WHEN_OVER()


def each(
    items: Iterable[T], what: str, *, unit: str = "", weights: Sequence[float] | None = None
) -> Iterator[T]:
    """The items, one step each; steps of different length have `weights`, in any unit of time."""
    todo = list(items)
    steps = [1.0] * len(todo) if weights is None else list(weights)
    with working(what, unit=unit, total=sum(steps)) as task:
        for item, step in zip(todo, steps, strict=True):
            task.step = step
            yield item
            task.advance()


def _forget() -> None:
    """In a process that was forked: its parent shows this work."""
    global WHEN_OVER  # noqa: PLW0603
    _TASKS.clear()
    WHEN_OVER = lambda: None  # noqa: E731


os.register_at_fork(after_in_child=_forget)


class BeginPhase(Protocol):
    """Begins a phase by its name. `expected_s`: the seconds that it will take, where they are
    known; phases before it then count as long as they took."""

    def __call__(self, name: str, expected_s: float | None = None) -> None:
        """The phase begins."""


@contextmanager
def phases(what: str, *, since: float | None = None, **seconds: float) -> Iterator[BeginPhase]:
    """A task of phases that follow each other, with about how long each takes: their ratio counts.
    The function that it gives begins a phase by its name. It is a frame of the tasks within. The
    first phase began now, or at `since`."""
    names = list(seconds)
    with working(what, total=sum(seconds.values())) as task:
        task.is_frame = True
        task.began = task.began if since is None else since

        def begin(name: str, expected_s: float | None = None) -> None:
            at = names.index(name)
            if expected_s is not None:
                # Of the phases before only the sum counts.
                took_s = (time.monotonic() - task.began) / max(at, 1)
                seconds.update({**dict.fromkeys(names[:at], took_s), name: expected_s})
            task.done = sum(seconds[one] for one in names[:at])
            task.step = seconds[name]
            task.total = task.done + sum(seconds[one] for one in names[at:])
            task.ask = _at_pace(task)

        begin(names[0])
        yield begin


def _at_pace(task: WorkUnderWay) -> Share:
    """The share of a phase that began now, at the pace of those before, while no task within it
    tells more."""
    took_s = time.monotonic() - task.began
    if not task.done or took_s < PACE_S:
        return lambda: None
    share = by_time(took_s * task.step / task.done)
    return lambda: share() if _TASKS and _TASKS[-1] is task else None


def share_read(file: BinaryIO) -> Share:
    """The share of a regular file that was read from its descriptor; of another none is known."""
    try:
        descriptor, n_bytes = file.fileno(), os.fstat(file.fileno()).st_size
    except (OSError, AttributeError):
        return lambda: None

    def share() -> float | None:
        try:
            return os.lseek(descriptor, 0, os.SEEK_CUR) / n_bytes if n_bytes else None
        except OSError:
            return None

    return share


def by_time(expected_s: float) -> Share:
    """The share of a task that was announced to take so many seconds from now."""
    began = time.monotonic()
    return lambda: min((time.monotonic() - began) / expected_s, NEARLY) if expected_s > 0 else None
