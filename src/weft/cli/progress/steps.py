"""The lines of a run on its way: failures, and the steps of a check and of a bisect."""

import contextlib
from collections.abc import Iterator, Sequence

from weft.bench.model import Launch, Sample
from weft.check.launches import is_follow_up
from weft.check.nccl.trials import OF_NCCL
from weft.check.trials import ALONE, SURVEY
from weft.cli.output import printable, talk
from weft.core.clock import system_clock
from weft.core.units import format_duration
from weft.core.words import counted
from weft.core.work.progress import WorkUnderWay, by_time, working
from weft.study.run.loop import Progress
from weft.study.run.store import Failure

FOLLOW_UP_SHARE = 0.1
"""Each part of the follow-up, compared with the survey: without a suspect it takes no time."""
SHOWN_NAMES = 4
ENDS_LAUNCHES, HALVING_LAUNCHES, SURE_LAUNCHES = 9, 3, 10
"""Launches of a bisect with a clear effect, medians of benches/bisect_search.py: until GOOD and BAD
differ, for each halving, and for the last two environments."""


class LaunchLines(Progress):
    """What a run says of its launches besides its progress: a line each failure."""

    def started(self, todo: Sequence[Launch], n_before: int) -> None:
        """Say what is left of a run that goes on."""
        if n_before:
            talk(f"{n_before} of {n_before + len(todo)} launches were over before")

    def failed(self, launch: Launch, failure: Failure) -> None:
        """One line; the run directory has the whole message."""
        first = printable(failure.message.splitlines()[0]) if failure.message else "no message"
        talk(f"{launch.name} {failure.state}: {first}")


class CheckSteps(Progress):
    """The steps of a check, a line each. `planned_s` is what the survey was announced to take."""

    unit = ""

    def __init__(self, planned_s: float | None = None) -> None:
        self._planned_s = planned_s
        self._began = 0.0

    def weight(self, launch: Launch) -> float:
        """The survey is nearly all of a check."""
        return FOLLOW_UP_SHARE if is_follow_up(launch.trial) else 1.0

    def working(self, work: WorkUnderWay, launch: Launch) -> None:
        """A machine takes the announced time for the survey; a twin tells how far it is."""
        work.what, work.step = _check_step(launch).rstrip(" ."), self.weight(launch)
        timed = launch.trial.id == SURVEY and self._planned_s is not None
        work.ask = by_time(self._planned_s or 0.0) if timed else None

    def started(self, todo: Sequence[Launch], n_before: int) -> None:
        """Say what is left of a check that goes on."""
        if n_before:
            talk(f"{n_before} of {n_before + len(todo)} launches were done before")

    def launching(self, launch: Launch) -> None:
        """Say what is measured now."""
        self._began = system_clock()
        if launch.trial.id == SURVEY or launch.trial.id in OF_NCCL:
            talk(_check_step(launch))

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:
        """Say how many pairs were measured."""
        ends = {frozenset((s.pair.a, s.pair.b)) for s in samples if s.pair is not None}
        pairs = counted(len(ends), "pair")
        if launch.trial.id == SURVEY:
            talk(f"{pairs} measured{self._took}{self._planned}")
        elif launch.trial.id in OF_NCCL:
            talk(f"{counted(len(samples), 'launch')} over{self._took}")
        elif samples:
            how = "" if launch.trial.id == ALONE else " together with others"
            talk(f"{pairs} measured again{how}{self._took}, to test what looks slow")

    def failed(self, launch: Launch, failure: Failure) -> None:
        """Name the launch; its error follows."""
        talk(f"  {launch.name} {failure.state.value}")

    @property
    def _planned(self) -> str:
        if self._planned_s is None:
            return ""
        return f" (planned: about {format_duration(self._planned_s)} of fabric time)"

    @property
    def _took(self) -> str:
        """The time of the launch; the planned time leaves out starting processes."""
        if self._planned_s is None:
            return ""
        return f" in {format_duration(system_clock() - self._began)}, with start-up"


def _check_step(launch: Launch) -> str:
    return {
        SURVEY: "measuring pairs ...",
        ALONE: "measuring suspects again, each without other traffic ...",
        **OF_NCCL,
    }.get(launch.trial.id, "measuring suspects again, together with other pairs ...")


class BisectSteps:
    """A line for each halving of a bisect."""

    def __init__(self, n_variables: int, work: WorkUnderWay) -> None:
        self._n_variables = self._n_among = n_variables
        self._work = work
        self._n_over = 0
        work.total = self._launches_left()

    def over(self, _: Launch) -> None:
        """A launch is over."""
        self._n_over += 1
        work = self._work
        work.done, work.total = self._n_over, self._n_over + self._launches_left()
        if self._n_among < self._n_variables or self._n_among == 1:
            work.what = f"cause among {self._n_among} of {self._n_variables}"

    def among(self, names: Sequence[str]) -> None:
        """The cause is among these variables."""
        self._n_among = len(names)
        shown = ", ".join(names[:SHOWN_NAMES]) + (" ..." if len(names) > SHOWN_NAMES else "")
        line = f"{self._n_over} launches: the cause is among {counted(len(names), 'variable')}"
        talk(f"{line}: {shown}")

    def _launches_left(self) -> int:
        """For a single cause: the ends, a few for each halving, and twice the launches of a sure
        decision."""
        ends = max(0, ENDS_LAUNCHES - self._n_over)
        halvings = max(0, self._n_among - 1).bit_length()
        return ends + HALVING_LAUNCHES * halvings + SURE_LAUNCHES


@contextlib.contextmanager
def shown_bisect(n_variables: int) -> Iterator[BisectSteps]:
    """The steps of a bisect."""
    with working("GOOD and BAD", unit="launch") as work:
        yield BisectSteps(n_variables, work)
