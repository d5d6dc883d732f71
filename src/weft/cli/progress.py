"""Progress of a run: bars on a terminal, lines elsewhere; always on standard error."""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from weft.bench.model import Launch, Sample
from weft.check.nccl.trials import OF_NCCL
from weft.check.trials import ALONE, SURVEY
from weft.cli.output import printable, talk
from weft.core.clock import Clock, system_clock
from weft.core.units import format_duration
from weft.core.words import counted
from weft.study.run.loop import Progress
from weft.study.run.store import Failure

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


LINE_EVERY_S = 60.0
"""In a log, a line on how far the run is."""
MOST_CELLS = 8
"""Cells with a bar of their own: those in which most was done last."""

SHOWN_NAMES = 4
ENDS_LAUNCHES, HALVING_LAUNCHES, SURE_LAUNCHES = 9, 3, 10
"""Launches of a bisect with a clear effect, medians of benches/bisect_search.py: until GOOD and BAD
differ, for each halving, and for the last two environments."""


class MinuteLines(Progress):
    """One line a failure, and one a minute."""

    def __init__(self, clock: Clock = system_clock) -> None:
        self._clock = clock
        self._n_begun = 0
        self._began = self._said = clock()
        self._n_todo = self._n_over = 0

    def started(self, todo: Sequence[Launch], n_before: int) -> None:
        """Say what is left of a run that goes on."""
        self._began = self._said = self._clock()
        self._n_todo = len(todo)
        if n_before:
            talk(f"{n_before} of {n_before + len(todo)} launches were over before")

    def together(self, n_launches: int) -> None:
        """They end together: before the last of them no pace can be told."""
        self._n_begun = self._n_over + n_launches

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:  # noqa: ARG002
        """Once a minute, how many are over and how long the others take at this pace."""
        self._n_over += 1
        now = self._clock()
        if (
            self._n_over < self._n_begun
            or now - self._said < LINE_EVERY_S
            or self._n_over == self._n_todo
        ):
            return
        self._said = now
        left = (now - self._began) / self._n_over * (self._n_todo - self._n_over)
        talk(
            f"{self._n_over} of {self._n_todo} launches over in "
            f"{format_duration(now - self._began)}, at this pace {format_duration(left)} left"
        )

    def failed(self, launch: Launch, failure: Failure) -> None:
        """One line; the run directory has the whole message."""
        talk(f"{launch.name} {failure.state}: {_first_line(failure)}")
        self.measured(launch, ())


class Bars(Progress):
    """A bar of the whole run with the time left, and one of each cell in progress."""

    def __init__(self, bars: "RichProgress") -> None:
        self._bars = bars
        self._whole = bars.add_task("preparing", total=None)
        self._cells: dict[str, TaskID] = {}
        self._totals: Counter[str] = Counter()

    def started(self, todo: Sequence[Launch], n_before: int) -> None:
        """The bars get their lengths."""
        total = n_before + len(todo)
        self._bars.update(self._whole, total=total, completed=n_before)
        self._totals = Counter(_cell(launch) for launch in todo)

    def launching(self, launch: Launch) -> None:
        """Show what runs now."""
        self._bars.update(self._whole, description=_cell(launch))

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:  # noqa: ARG002
        """One further."""
        self._bars.advance(self._whole)
        if len(self._totals) == 1:
            return
        name = _cell(launch)
        task = self._cells.pop(name, None)
        if task is None:
            task = self._bars.add_task(f"  {name}", total=self._totals[name])
        self._bars.advance(task)
        if self._bars.tasks[self._bars.task_ids.index(task)].finished:
            self._bars.remove_task(task)
        else:
            self._cells[name] = task  # The last one.
        shown = list(self._cells.values())[-MOST_CELLS:]
        for one in self._cells.values():
            self._bars.update(one, visible=one in shown)

    def failed(self, launch: Launch, failure: Failure) -> None:
        """One further, and a line above the bars."""
        self._bars.console.print(
            f"{launch.name} {failure.state}: {_first_line(failure)}", markup=False
        )
        self.measured(launch, ())


def _cell(launch: Launch) -> str:
    """'alltoall 512 x 1': benchmark, nodes and ranks a node."""
    trial = launch.trial
    return f"{trial.benchmark} {len(trial.nodes)} x {trial.tasks_per_node}"


def _first_line(failure: Failure) -> str:
    return printable(failure.message.splitlines()[0]) if failure.message else "no message"


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """Bars where standard error is a terminal, else failures and a line a minute."""
    if not sys.stderr.isatty():
        yield MinuteLines()
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn())
    text = rich.TextColumn("{task.description}")
    with rich.Progress(text, *columns, console=Console(stderr=True), transient=True) as bar:
        yield Bars(bar)


class CheckSteps(Progress):
    """The steps of a check, a line each; on a terminal, the time since a step began."""

    def __init__(self, ticking: "RichProgress | None" = None, planned: str | None = None) -> None:
        self._ticking = ticking
        self._planned = planned
        self._began = 0.0
        self._task = ticking.add_task("preparing", total=None) if ticking is not None else None

    def started(self, todo: Sequence[Launch], n_before: int) -> None:
        """Say what is left of a check that goes on."""
        if n_before:
            self._say(f"{n_before} of {n_before + len(todo)} launches were done before")

    def launching(self, launch: Launch) -> None:
        """Say what is measured now."""
        survey = launch.trial.id == SURVEY
        step = {
            SURVEY: "measuring pairs ...",
            ALONE: "measuring suspects again, each without other traffic ...",
            **OF_NCCL,
        }.get(launch.trial.id, "measuring suspects again, together with other pairs ...")
        self._began = system_clock()
        if self._ticking is not None and self._task is not None:
            self._ticking.reset(self._task, description=step)
        elif survey or launch.trial.id in OF_NCCL:
            self._say(step)

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:
        """Say how many pairs were measured."""
        ends = {frozenset((s.pair.a, s.pair.b)) for s in samples if s.pair is not None}
        pairs = counted(len(ends), "pair")
        if launch.trial.id == SURVEY:
            planned = f" (planned: {self._planned} of fabric time)" if self._planned else ""
            self._say(f"{pairs} measured{self._took}{planned}")
        elif launch.trial.id in OF_NCCL:
            self._say(f"{counted(len(samples), 'launch', 'launches')} over{self._took}")
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


class BisectSteps:
    """A line for each halving of a bisect, and one a minute; on a terminal a clock, too."""

    def __init__(self, n_variables: int, ticking: "RichProgress | None" = None) -> None:
        self._n_variables = self._n_among = n_variables
        self._ticking = ticking
        self._task = ticking.add_task("GOOD and BAD", total=None) if ticking is not None else None
        self._began = self._said = system_clock()
        self._n_over = 0

    def over(self, _: Launch) -> None:
        """A launch is over."""
        self._n_over += 1
        now = system_clock()
        text = counted(self._n_over, "launch", "launches")
        if self._n_among < self._n_variables or self._n_among == 1:
            text += f", cause among {self._n_among} of {self._n_variables}"
        left = (now - self._began) / self._n_over * self._launches_left()
        text += f", about {format_duration(left)} left"
        if self._ticking is not None and self._task is not None:
            self._ticking.update(self._task, description=text)
        elif now - self._said >= LINE_EVERY_S:
            self._said = now
            talk(text)

    def among(self, names: Sequence[str]) -> None:
        """The cause is among these variables."""
        self._n_among = len(names)
        shown = ", ".join(names[:SHOWN_NAMES]) + (" ..." if len(names) > SHOWN_NAMES else "")
        line = f"{self._n_over} launches: the cause is among {counted(len(names), 'variable')}"
        line = f"{line}: {shown}"
        if self._ticking is not None:
            self._ticking.console.print(line, markup=False, highlight=False)
        else:
            talk(line)

    def _launches_left(self) -> int:
        """For a single cause: the ends, a few for each halving, and twice the launches of a sure
        decision."""
        ends = max(0, ENDS_LAUNCHES - self._n_over)
        halvings = max(0, self._n_among - 1).bit_length()
        return ends + HALVING_LAUNCHES * halvings + SURE_LAUNCHES


@contextlib.contextmanager
def shown_bisect(n_variables: int) -> Iterator[BisectSteps]:
    """The steps of a bisect, with a clock where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield BisectSteps(n_variables)
        return
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as ticking:
        yield BisectSteps(n_variables, ticking)
