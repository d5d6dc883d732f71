"""Readings of a log, gathered by rank and run as they come."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from weft.results.training.formats.log_format import Columns, LogFormat
from weft.results.training.model import N_FIGURES, Floats, Remark, StepReading, TrainingFacts

MOST_REMARKS = 20
"""So many remarks of a run are kept with their text; the others are counted."""
MOST_RANKS = 100_000
_ALL_READ = 2000
"""So many readings are read of all ranks; then the rank with most of them is read alone."""
_PATIENCE = 4
"""The others are read again where that rank is silent for so many lines of each."""
_LONGER = 1.02
_MOST_STEPS = 1e15
"""Above, floats do not hold every whole number."""
NOTHING, CHECKPOINT, EVALUATION = 0.0, 1.0, 2.0
_FIELDS = StepReading._fields[:N_FIGURES]
RUN_WIDTH = N_FIGURES + 2
"""Figures of a reading, its line, and what it follows."""


@dataclass(slots=True)
class RunSoFar:
    """A run of one rank while its lines are read. `n_repeated` records state a step again,
    `n_repeated_lines` of them in another line, the first in the line and of the step of
    `first_repeated`; `repeated` has those steps. `n_torn` lines state a second step."""

    of: LogFormat
    facts: TrainingFacts
    figures: "array[float]" = field(default_factory=lambda: array("d"))
    before: float = -1.0
    last: float = -1.0
    last_line: int = 0
    last_time_s: float = 0.0
    unit: str = ""
    n_repeated: int = 0
    n_repeated_lines: int = 0
    first_repeated: tuple[int, float] = (0, 0.0)
    repeated: "array[float]" = field(default_factory=lambda: array("d"))
    n_torn: int = 0
    first_torn_line: int = 0
    remarks: list[Remark] = field(default_factory=list)
    n_remarks: int = 0

    def remark(self, line: int, text: str) -> None:
        """Note what is odd about a line."""
        self.n_remarks += 1
        if len(self.remarks) < MOST_REMARKS:
            self.remarks.append(Remark(line, text))

    def add(self, reading: StepReading, line: int, follows: float) -> None:
        """Add a reading of a step that comes after the last one."""
        if reading.unit != self.unit and isfinite(reading.time_s):
            if self.unit:
                self.remark(line, f"step times in {reading.unit} from here, in {self.unit} before")
            self.unit = reading.unit
        self.before, self.last = self.last, reading.step
        self.last_line, self.last_time_s = line, reading.time_s
        self.figures.extend(reading.figures)
        self.figures.append(line)
        self.figures.append(follows)

    @property
    def n_readings(self) -> int:
        """How many readings there are."""
        return len(self.figures) // RUN_WIDTH

    @property
    def first_step(self) -> float:
        """The number of the first step."""
        return self.figures[0]

    def repeat(self, step: float, line: int) -> None:
        """Note that a step is stated again."""
        self.n_repeated += 1
        if not self.repeated or self.repeated[-1] != step:
            self.repeated.append(step)
        # A bar paints a step again in the same line.
        if line != self.last_line:
            self.n_repeated_lines += 1
            if self.n_repeated_lines == 1:
                self.first_repeated = (line, step)
        self.last_line = line

    def tear(self, line: int) -> None:
        """Note that a line states a second step."""
        self.n_torn += 1
        self.first_torn_line = self.first_torn_line or line

    def readings(self) -> Floats:
        """A row a reading: its figures, its line, and what it follows."""
        return np.frombuffer(self.figures, dtype=np.float64).reshape(-1, RUN_WIDTH)

    def columns(self) -> Columns:
        """The figures by name."""
        matrix = self.readings()
        return {name: matrix[:, i] for i, name in enumerate((*_FIELDS, "line", "follows"))}


class Collector:
    """Runs by rank. A step whose number is lower than the one before the last begins a run, and so
    does the last number again behind a heading; else that is the same step, stated again."""

    def __init__(self) -> None:
        self.ranks: dict[str, list[RunSoFar]] = {}
        self.n_readings = 0
        self.main_format: LogFormat | None = None
        self._main: str | None = None
        self._n_passed = 0

    def passes_over(self, rank: str) -> bool:
        """Whether a line of this rank need not be read: another rank states the same steps, and
        did so a few lines ago."""
        if self._main is None or rank == self._main or rank not in self.ranks:
            return False
        self._n_passed += 1
        return self._n_passed < _PATIENCE * len(self.ranks)

    def is_slow(self, rank: str, reading: StepReading) -> bool:
        """Whether a step took longer than the one before: then what was done between them counts.
        Of a log with rates only this is not known."""
        runs = self.ranks.get(rank)
        return not runs or not reading.time_s <= _LONGER * runs[-1].last_time_s

    def is_new_run(
        self, rank: str, reading: StepReading, of: LogFormat, has_heading: Callable[[], bool]
    ) -> bool:
        """Whether this reading begins a run of its rank."""
        runs = self.ranks.get(rank)
        if not runs:
            return True
        run = runs[-1]
        if run.of is not of:
            return True
        if reading.step > run.last or not _is_number(reading.step):
            return False
        return reading.step not in (run.last, run.before) or has_heading()

    def add(self, rank: str, reading: StepReading, line: int, follows: float) -> None:
        """Add a reading to the run of its rank, unless it states a step again."""
        run = self.ranks[rank][-1]
        if not _is_number(reading.step):
            run.remark(line, "the number of the step is not one")
            return
        if reading.step <= run.last:
            run.repeat(reading.step, line)
            return
        run.add(reading, line, follows)
        self.n_readings += 1
        if rank == self._main:
            self._n_passed = 0
        elif self.n_readings >= _ALL_READ and (self._main is None or self._n_passed):
            self._main, self._n_passed = self.main_rank(), 0
            self.main_format = run.of

    def remark(self, rank: str, line: int, text: str) -> None:
        """Note what is odd about a line of a rank."""
        if rank in self.ranks:
            self.ranks[rank][-1].remark(line, text)

    def tear(self, rank: str, line: int) -> None:
        """Note that a line states a second step of a rank."""
        if rank in self.ranks:
            self.ranks[rank][-1].tear(line)

    def begin(self, rank: str, of: LogFormat, facts: TrainingFacts) -> RunSoFar | None:
        """Begin a run; None where there are too many ranks."""
        if rank not in self.ranks and len(self.ranks) >= MOST_RANKS:
            return None
        run = RunSoFar(of, facts)
        self.ranks.setdefault(rank, []).append(run)
        return run

    def main_rank(self) -> str:
        """The rank with most readings; of equals the first in the file. "" without any."""
        return max(
            self.ranks,
            key=lambda rank: sum(run.n_readings for run in self.ranks[rank]),
            default="",
        )


def _is_number(step: float) -> bool:
    return abs(step) <= _MOST_STEPS
