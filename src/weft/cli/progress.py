"""Progress of a run: a bar on a terminal, only failures elsewhere; always on standard error."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from weft.bench.model import Launch, Sample
from weft.check.trials import ALONE, SURVEY
from weft.cli.output import printable, talk
from weft.core.clock import system_clock
from weft.core.units import format_duration
from weft.core.words import counted
from weft.study.run.loop import Progress
from weft.study.run.store import Failure

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


class FailuresOnly(Progress):
    """One line a failure."""

    def started(self, n_launches: int, n_before: int) -> None:
        """Say what is left of a run that goes on."""
        if n_before:
            talk(f"{n_before} of {n_launches} launches were over before")

    def failed(self, launch: Launch, failure: Failure) -> None:
        """One line; the run directory has the whole message."""
        talk(f"{launch.name} {failure.state}: {_first_line(failure)}")


class Bar(Progress):
    """A bar with the launch in flight and the time left."""

    def __init__(self, bar: "RichProgress") -> None:
        self._bar = bar
        self._task = bar.add_task("preparing", total=None)

    def started(self, n_launches: int, n_before: int) -> None:
        """The bar gets its length."""
        self._bar.update(self._task, total=n_launches, completed=n_before)

    def launching(self, launch: Launch) -> None:
        """Show what runs now."""
        trial = launch.trial
        shown = f"{trial.benchmark}, repeat {launch.repeat + 1}, {trial.n_ranks} ranks"
        self._bar.update(self._task, description=shown)

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:  # noqa: ARG002
        """One further."""
        self._bar.advance(self._task)

    def failed(self, launch: Launch, failure: Failure) -> None:
        """One further, and a line above the bar."""
        self._bar.console.print(
            f"{launch.name} {failure.state}: {_first_line(failure)}", markup=False
        )
        self._bar.advance(self._task)


def _first_line(failure: Failure) -> str:
    return printable(failure.message.splitlines()[0]) if failure.message else "no message"


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """A bar where standard error is a terminal, else failures only."""
    if not sys.stderr.isatty():
        yield FailuresOnly()
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    text = rich.TextColumn("{task.description}")
    with rich.Progress(text, *columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar)


class CheckSteps(Progress):
    """The steps of a check, a line each; on a terminal, the time since a step began."""

    def __init__(self, ticking: "RichProgress | None" = None, planned: str | None = None) -> None:
        self._ticking = ticking
        self._planned = planned
        self._began = 0.0
        self._task = ticking.add_task("preparing", total=None) if ticking is not None else None

    def started(self, n_launches: int, n_before: int) -> None:
        """Say what is left of a check that goes on."""
        if n_before:
            self._say(f"{n_before} of {n_launches} launches were done before")

    def launching(self, launch: Launch) -> None:
        """Say what is measured now."""
        survey = launch.trial.id == SURVEY
        step = {
            SURVEY: "measuring pairs ...",
            ALONE: "measuring suspects again, each without other traffic ...",
        }.get(launch.trial.id, "measuring suspects again, together with other pairs ...")
        self._began = system_clock()
        if self._ticking is not None and self._task is not None:
            self._ticking.reset(self._task, description=step)
        elif survey:
            self._say(step)

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:
        """Say how many pairs were measured."""
        ends = {frozenset((s.pair.a, s.pair.b)) for s in samples if s.pair is not None}
        pairs = counted(len(ends), "pair")
        if launch.trial.id == SURVEY:
            planned = f" (planned: {self._planned} of fabric time)" if self._planned else ""
            self._say(f"{pairs} measured{self._took}{planned}")
        elif samples:
            how = "" if launch.trial.id == ALONE else " together with others"
            self._say(f"{pairs} measured again{how}{self._took}, to test what looks slow")

    def failed(self, launch: Launch, failure: Failure) -> None:
        """Name the launch; its error follows."""
        self._say(f"  {launch.name} {failure.state.value}")

    @property
    def _took(self) -> str:
        """The time of the launch; the planned time leaves out starting processes."""
        if self._planned is None:
            return ""
        return f" in {format_duration(system_clock() - self._began)}, with start-up"

    def _say(self, line: str) -> None:
        if self._ticking is not None:
            self._ticking.console.print(line, markup=False, highlight=False)
        else:
            talk(line)


@contextlib.contextmanager
def shown_check_progress(planned: str | None = None) -> Iterator[Progress]:
    """The steps of a check, with a clock where standard error is a terminal. `planned` is what the
    survey was announced to take."""
    if not sys.stderr.isatty():
        yield CheckSteps(planned=planned)
        return
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as ticking:
        yield CheckSteps(ticking, planned)
