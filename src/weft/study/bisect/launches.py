"""Launches of the command under test: in the environment of a cell, kept in a run directory."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.bench.live.failure import exit_text, tail
from weft.bench.model import Launch, Sample, State, Trial
from weft.core.clock import Clock, system_clock
from weft.core.errors import BenchmarkError, InputError, MissingError, StorageError
from weft.core.files import write_part
from weft.core.process import Command, CommandEnd, Ending, Limits, run
from weft.core.shell_line import quoted
from weft.core.units import format_duration
from weft.launch.redact_text import redact_output
from weft.launch.secret_text import mask_text, mask_words
from weft.study.bisect.decision import BisectCell, LaunchReading
from weft.study.bisect.figures import (
    WALL,
    FigureChoice,
    LaunchFigure,
    NoFigureError,
    TwiceError,
    figures_of,
    has_tables,
)
from weft.study.bisect.variables import DifferingVariable, masked
from weft.study.run.launch_record import launch_to_record
from weft.study.run.store import Key, RunStore, read_run

FIRST_LIMIT_S = 600.0
"""For the first launch of GOOD, before its time is known."""
SLOWEST_TIMES, LEAST_LIMIT_S = 20.0, 10.0
"""Without --timeout, a launch has hung that takes so many times as long as the slowest of GOOD, and
at least so many seconds."""
END_NAMES = ("good", "bad")
BENCHMARK = "command"
SHOWN_LINES = 4


@dataclass(frozen=True, slots=True)
class CommandUnderTest:
    """The command, its environments and its limit. `environment` gives the whole environment of a
    launch with some variables as in BAD."""

    argv: tuple[str, ...]
    variables: tuple[DifferingVariable, ...]
    environment: Callable[[Sequence[DifferingVariable]], Mapping[str, str]]
    choice: FigureChoice
    timeout_s: float | None = None
    host: str = "localhost"

    def recipe(self, changed: frozenset[int]) -> str:
        """The command line of a cell: `env` with each differing variable, secrets masked."""
        return self._with_env(range(len(self.variables)), changed)

    def fixed(self, cause: Sequence[int]) -> str:
        """The command line that BAD's user tries: with these variables as in GOOD."""
        return self._with_env(cause, frozenset())

    def _with_env(self, numbers: Iterable[int], changed: frozenset[int]) -> str:
        unset, assigned = [], []
        for number in numbers:
            one = self.variables[number]
            value = masked(one.name, one.bad if number in changed else one.good)
            if value is None:
                unset += ["-u", one.name]
            else:
                assigned.append(f"{one.name}={value}")
        return " ".join(map(quoted, ("env", *unset, *assigned, *mask_words(self.argv))))


class CommandLaunches:
    """The launches of one bisect, each once: those that a run directory holds are read from it."""

    def __init__(
        self,
        command: CommandUnderTest,
        store: RunStore,
        *,
        over: Callable[[Launch], object] = lambda _: None,
        clock: Clock = system_clock,
    ) -> None:
        self.command = command
        self.store = store
        self.choice = command.choice
        self._known = readings_of(store.run_dir)
        self._launches: list[Launch] = []
        self._slowest_good_s = 0.0
        self.seconds = 0.0
        """That all launches took together."""
        self._over = over
        self._clock = clock

    def __call__(self, cell: BisectCell) -> LaunchReading:
        """One launch of a cell. Raises InputError where the figure is not clear, BenchmarkError
        where the first launch of GOOD fails."""
        launch = self._launch(cell)
        known = self._known.get(launch.key)
        if known is None:
            reading, seconds = self._run(launch, is_first=len(self._launches) == 1)
        else:
            reading, seconds = known
            self._choose(cell, reading)
        self.seconds += seconds
        if cell.number == 0:
            self._slowest_good_s = max(self._slowest_good_s, seconds)
        self._over(launch)
        return reading

    @property
    def limit_s(self) -> float:
        """The seconds that the next launch may take."""
        if self.command.timeout_s is not None:
            return self.command.timeout_s
        if not self._slowest_good_s:
            return FIRST_LIMIT_S
        return max(SLOWEST_TIMES * self._slowest_good_s, LEAST_LIMIT_S)

    def _choose(self, cell: BisectCell, reading: LaunchReading) -> None:
        """A run that goes on judges by the figures that it began with."""
        if not self.choice.metric and cell.number == 0 and WALL in reading.figures:
            self.choice = FigureChoice(metric=WALL)

    def _launch(self, cell: BisectCell) -> Launch:
        name = END_NAMES[cell.number] if cell.number < len(END_NAMES) else "between"
        variables = self.command.variables
        values = {one.name: one.bad if n in cell.changed else one.good
                  for n, one in enumerate(variables)}  # fmt: skip
        trial = Trial(
            f"c{cell.number:02d}-{name}",
            BENCHMARK,
            (0,),
            (self.command.host,),
            1,
            arm={"environment": name if name in END_NAMES else f"c{cell.number:02d}"},
            env={n: masked(n, v) or "" for n, v in values.items() if v is not None},
            options={
                "as_in_bad": [variables[one].name for one in sorted(cell.changed)],
                "unset": [n for n, value in values.items() if value is None],
            },
            timeout_s=0.0,
        )
        repeat = sum(one.trial.id == trial.id for one in self._launches)
        launch = Launch(trial, repeat, order=len(self._launches))
        self._launches.append(launch)
        return launch

    def _run(self, launch: Launch, *, is_first: bool) -> tuple[LaunchReading, float]:
        self._write_plan()
        run_dir, changed = self.store.run_dir, self._changed(launch)
        recipe = self.command.recipe(changed)
        write_part(run_dir / "recipes" / f"{launch.name}.txt", f"{recipe}\n", what="recipe")
        out, err = (run_dir / "raw" / f"{launch.name}.{end}" for end in ("out", "err"))
        chosen = [self.command.variables[one] for one in sorted(changed)]
        environment = self.command.environment(chosen)
        began, limit_s = self._clock(), self.limit_s
        command = Command(self.command.argv, environment, out=out, err=err, ends_tree=True)
        try:
            with _masked_output(out, err):
                ended = run(command, Limits(limit_s))
        except MissingError as error:
            # Another PATH than GOOD's may be the cause.
            if is_first or isinstance(error, StorageError):
                raise
            kept = self.store.failed(launch, State.FAILED, error.what)
            return LaunchReading(State.FAILED, {}, kept.message), 0.0
        self.store.folder.refuse_full()
        figures: dict[LaunchFigure, float] = {}
        state, message = _state_of(ended, limit_s)
        if state is State.OK:
            state, message, figures = self._figures(launch, ended, (out, err), is_first=is_first)
        if state is not State.OK:
            if is_first:
                raise _good_fails(message, out, err, recipe)
            kept = self.store.failed(launch, state, message)
            return LaunchReading(state, {}, kept.message), ended.seconds
        for figure, value in figures.items():
            self.store.append(_sample(launch, figure, value, began), started_unix_s=began)
        self.store.done(launch, n_samples=len(figures), seconds=ended.seconds)
        named = {figure.name: value for figure, value in figures.items()}
        return LaunchReading(State.OK, named), ended.seconds

    def _figures(
        self, launch: Launch, ended: CommandEnd, files: tuple[Path, Path], *, is_first: bool
    ) -> tuple[State, str, dict[LaunchFigure, float]]:
        """The figures of a launch that ended well. Without one it failed: its output is wrong, or
        of another form than in the first launch."""
        out, err = files
        asked = self.choice.metric or self.choice.printed
        if is_first and not asked and not has_tables(out):
            self.choice = FigureChoice(metric=WALL)
        try:
            return State.OK, "", figures_of(out, err, ended.seconds, self.choice)
        except TwiceError as error:
            if is_first:
                raise _twice(error, out) from error
            return State.FAILED, str(error), {}
        except NoFigureError as error:
            where = "" if is_first else f"; {self._launches[0].name} had one"
            return State.FAILED, f"{launch.name} has no figure: {error}{where}", {}

    def _changed(self, launch: Launch) -> frozenset[int]:
        names = set(launch.trial.options["as_in_bad"])
        return frozenset(n for n, one in enumerate(self.command.variables) if one.name in names)

    def _write_plan(self) -> None:
        """The launches so far: which comes next, only the figures tell."""
        records = map(launch_to_record, self._launches)
        text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records)
        self.store.folder.write_part("plan.jsonl", text, what="plan of the run")


def readings_of(run_dir: Path) -> dict[Key, tuple[LaunchReading, float]]:
    """The readings that a run directory holds, with the seconds of each launch."""
    kept = read_run(run_dir, with_fabric=False)
    figures: dict[Key, dict[str, float]] = {}
    for sample in kept.samples:
        of_launch = figures.setdefault((sample.trial, sample.repeat), {})
        for metric, value in sample.metrics.items():
            row = str(sample.evidence.get("row", ""))
            of_launch[LaunchFigure(metric, sample.size_bytes, row).name] = value
    found = {
        key: (LaunchReading(State.OK, figures[key]), kept.seconds.get(key, 0.0))
        for key in kept.done
    }
    for one in kept.failures:
        found[one.trial, one.repeat] = (LaunchReading(one.state, {}, one.message), 0.0)
    return found


def _sample(launch: Launch, figure: LaunchFigure, value: float, began: float) -> Sample:
    return Sample(
        trial=launch.trial.id,
        repeat=launch.repeat,
        benchmark=launch.trial.benchmark,
        size_bytes=figure.size_bytes,
        metrics={figure.metric: value},
        iterations=1,
        started_unix_s=began,
        evidence={"row": figure.row} if figure.row else {},
    )


def _state_of(ended: CommandEnd, limit_s: float) -> tuple[State, str]:
    if ended.ending is Ending.TIMED_OUT:
        return State.HUNG, f"no end after {format_duration(limit_s)}"
    if ended.ending is Ending.OUTPUT_LIMIT:
        return State.FAILED, "it wrote more than is kept of one launch and was ended"
    return (State.FAILED, exit_text(ended.exit_code)) if ended.exit_code else (State.OK, "")


@contextlib.contextmanager
def _masked_output(*files: Path) -> Iterator[None]:
    try:
        yield
    finally:
        for path in files:
            redact_output(path)


def _good_fails(message: str, out: Path, err: Path, recipe: str) -> BenchmarkError:
    lines = [
        line
        for path in (err, out)
        for line in mask_text(tail(path))[0].splitlines()
        if line.strip()
    ]
    shown = "".join(f"\n  | {line[:200]}" for line in lines[-SHOWN_LINES:])
    return BenchmarkError(
        f"the command does not work with GOOD: {message}{shown}",
        where=recipe,
        expected="an environment in which the command works and ends",
        hint="a longer --timeout, or --metric and --figure if its output is of another kind",
    )


def _twice(error: TwiceError, out: Path) -> InputError:
    return InputError(
        str(error),
        where=str(out),
        expected="each figure once in a launch",
        hint="--take first or --take last says which counts; --size picks a row",
    )
