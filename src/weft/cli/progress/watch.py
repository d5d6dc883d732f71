"""The one place that shows progress: a thread that reads where the work of a command stands.

Nothing is shown in the first seconds, with `weft --quiet`, or on standard output. On a terminal a
bar disappears when the work is over; elsewhere each minute leaves a line.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.cli import output
from weft.core.units import format_duration
from weft.core.words import counted
from weft.core.work import progress
from weft.core.work.progress import WorkStanding

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHORT_S = 3.0
"""A command that takes no longer shows nothing."""
DRAW_EVERY_S = 0.5
LINE_EVERY_S = 60.0
"""Of a log. Until then the thread sleeps: it shares the cores with what is measured."""


class ProgressWatch:
    """Shows progress until it is closed. `on_terminal`: a bar, else lines."""

    def __init__(self, *, on_terminal: bool, line_every_s: float = LINE_EVERY_S) -> None:
        self.quiet = False
        self._on_terminal = on_terminal
        self._line_every_s = line_every_s
        self._began = time.monotonic()
        self._over = threading.Event()
        self._lock = threading.Lock()
        # INVARIANT: the thread writes, draws and imports only while it holds this.
        self.no_drawing = threading.Lock()
        self._bar: Progress | None = None
        self._row: TaskID | None = None
        self._is_shown = False
        self._thread = threading.Thread(target=self._watch, name="progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Show nothing more."""
        self._over.set()
        self._thread.join()
        self.clear()

    def clear(self) -> None:
        """Take the bar away, until the thread looks again: something else is printed."""
        with self._lock:
            if self._bar is not None and self._is_shown:
                self._bar.stop()
                self._is_shown = False

    def _watch(self) -> None:
        every_s = DRAW_EVERY_S if self._on_terminal else self._line_every_s
        while not self._over.wait(every_s):
            elapsed_s = time.monotonic() - self._began
            standing = WorkStanding.now()
            if self.quiet:
                continue
            if not self._on_terminal:
                with self.no_drawing:
                    output.talk(standing_line(standing, elapsed_s))
            elif standing is not None and elapsed_s >= SHORT_S:
                self._draw(standing)

    def _draw(self, standing: WorkStanding) -> None:
        with self.no_drawing, self._lock:
            if self._bar is None:
                self._bar, self._row = _rich_bar()
            assert self._row is not None
            self._bar.update(
                self._row,
                description=output.printable(standing.task.what),
                completed=standing.share,
                count=_count(standing),
                left=_left(standing, ""),
            )
            if not self._is_shown:
                self._bar.start()
                self._is_shown = True
            self._bar.refresh()
            # The work may have ended, and its end have been told, before the bar was drawn.
            if WorkStanding.now() is None:
                self._bar.stop()
                self._is_shown = False


def standing_line(standing: WorkStanding | None, elapsed_s: float) -> str:
    """'3 of 10 launches over in 1 min 15 s, at this pace 2 min 55 s left'; without any work whose
    extent is known, the time of the command so far."""
    if standing is None:
        return f"{format_duration(elapsed_s)} so far, the time left is unknown"
    count = f"{_count(standing)} over" if standing.task.unit else _count(standing)
    head = "" if standing.task.unit else f"{standing.task.what}: "
    took = format_duration(standing.elapsed_s)
    return f"{head}{count} in {took}, {_left(standing, 'at this pace ')}"


def _count(standing: WorkStanding) -> str:
    """'3 of 10 launches', or '37 %'."""
    task = standing.task
    if not task.unit:
        return f"{standing.share:.0%}".replace("%", " %")
    return f"{task.done:.0f} of {counted(round(task.total), task.unit)}"


def _left(standing: WorkStanding, head: str) -> str:
    left_s = standing.left_s
    return "the time left is unknown" if left_s is None else f"{head}{format_duration(left_s)} left"


def _rich_bar() -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.fields[left]}", markup=False),
    )
    bar = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
        # Data goes to standard output as it is, also while there is a bar.
        redirect_stdout=False,
        redirect_stderr=False,
    )
    return bar, bar.add_task("", total=1.0, count="", left="")


_WATCH: ProgressWatch | None = None


def _before_fork() -> None:
    """A lock that the thread held at a fork would never be free in the child: it waits."""
    if _WATCH is not None:
        _WATCH.no_drawing.acquire()


def _after_fork() -> None:
    if _WATCH is not None:
        _WATCH.no_drawing.release()


def _in_child() -> None:
    """The thread is not there. The parent's bar is not the child's to clear."""
    global _WATCH
    _after_fork()
    _WATCH, output.BEFORE_OUTPUT = None, _nothing


def _nothing() -> None:
    """Nothing is drawn."""


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


def silence() -> None:
    """Show no progress of this command: `weft --quiet`."""
    if _WATCH is not None:
        _WATCH.quiet = True


@contextmanager
def watched_progress() -> Iterator[None]:
    """Meanwhile progress of the command is shown."""
    global _WATCH  # noqa: PLW0603
    watch = ProgressWatch(on_terminal=sys.stderr.isatty())
    _WATCH = watch
    output.BEFORE_OUTPUT = progress.WHEN_OVER = watch.clear
    try:
        yield
    finally:
        watch.close()
        _WATCH, output.BEFORE_OUTPUT, progress.WHEN_OVER = None, _nothing, _nothing
