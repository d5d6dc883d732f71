"""What a training log holds: runs, and of each its steps with the lines that they come from."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NAN = math.nan


class StepReading(NamedTuple):
    """One statement of a log about a step, or about the mean of some. NaN is what it lacks.

    `step` is the tool's own number; `n_steps` the steps that the time is the mean of, 0 where the
    numbers of the readings around it show them. `rate` is the tool's own: tokens/s or images/s of a
    GPU, or seconds into an epoch; `samples_s` samples/s of all GPUs. `stamp_s` is the clock of the
    line, in seconds since an arbitrary day. `unit` is that of the time as printed.
    """

    step: float
    time_s: float
    n_steps: float = 0.0
    batch: float = NAN
    consumed: float = NAN
    tflops: float = NAN
    rate: float = NAN
    samples_s: float = NAN
    stamp_s: float = NAN
    loss: float = NAN
    has_loss: float = 0.0
    unit: str = "s"

    @property
    def figures(self) -> tuple[float, ...]:
        """All but the unit."""
        return self[:-1]


N_FIGURES = len(StepReading._fields) - 1
"""All but the unit."""


class Stated(NamedTuple):
    """A figure of a log and the line that states it; line 0: an option of the command."""

    value: float
    line: int

    @property
    def source(self) -> str:
        """'line 12' or 'given'."""
        return f"line {self.line}" if self.line else "given"


class Remark(NamedTuple):
    """What is odd about a line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """What a log states of a job outside its steps; None where it does not. `tp`, `pp`, `cp`, `ep`,
    `vp` and `micro_batch` are its layout."""

    sequence: Stated | None = None
    batch: Stated | None = None
    batch_per_gpu: Stated | None = None
    gpus: Stated | None = None
    peak_flops: Stated | None = None
    tp: Stated | None = None
    pp: Stated | None = None
    cp: Stated | None = None
    ep: Stated | None = None
    vp: Stated | None = None
    micro_batch: Stated | None = None
    model: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """One run. Columns have one entry a reading, in the order of the file, NaN where not stated:
    `steps` the last step of the reading, `n_steps` how many it is the mean of, `times_s` seconds a
    step, `batches` the global batch in samples, `tflops` TFLOP/s a GPU as the log states them,
    `stamps_s` the clock, `lines` the lines, `follows` 1 where a checkpoint and 2 where an
    evaluation stands between the reading before and this one.

    `sample` is what a batch counts: "sequence" or "image". `rank` is the prefix of the lines that
    were read, of `n_ranks`; `n_repeated` lines stated a step again. `loss_nan_line` is the first
    line whose loss is no number, 0 without any; `has_loss`: whether a loss was printed at all.
    """

    tool: str
    title: str
    facts: TrainingFacts
    steps: Floats
    n_steps: Floats
    times_s: Floats
    batches: Floats
    tflops: Floats
    stamps_s: Floats
    lines: Floats
    follows: Floats
    sample: str = "sequence"
    rank: str = ""
    n_ranks: int = 1
    n_repeated: int = 0
    has_loss: bool = False
    loss_nan_line: int = 0
    remarks: tuple[Remark, ...] = ()
    n_remarks: int = 0

    @property
    def first_line(self) -> int:
        """The line of the first reading."""
        return int(self.lines.min())

    @property
    def last_line(self) -> int:
        """The line of the last reading."""
        return int(self.lines.max())


@dataclass(frozen=True, slots=True)
class TrainingLog:
    """A file: its runs in order, and the number of its lines."""

    path: str
    runs: tuple[TrainingRun, ...]
    n_lines: int


def stated_record(stated: Stated | None) -> dict[str, Any] | None:
    """A stated figure as plain JSON values."""
    return None if stated is None else {"value": stated.value, "line": stated.line}
