"""A format of training logs: how its lines are found, read, and become step times."""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.results.training.model import Floats, Remark, StepReading, TrainingFacts

Columns = dict[str, Floats]
"""The figures of a run's readings by the field of `StepReading`, and "line" and "follows"."""
BRACKETS = rb"(?:\[[^\[\]\r\n]{1,60}\](?:<std\w{3}>)?:? ?){0,3} *"
"""Rank, clock and logger before a record."""
Timing = Callable[[Columns, TrainingFacts], tuple[Columns, list[Remark]]]


def as_printed(columns: Columns, _: TrainingFacts) -> tuple[Columns, list[Remark]]:
    """Of a format whose lines state the time of a step."""
    return columns, []


def _always(_: Columns) -> bool:
    return True


class LogFormat(NamedTuple):
    """`marks`: a line is looked at only where it holds one of these bytes. `read` takes the text of
    a line without colours and rank. `timed` fills `time_s` where lines state rates or clocks only.
    `is_of`: of formats with the same marks, whether a run is of this one. `gate`: a piece of a log
    without any of these bytes has no line of this format. `needs`: a hint for a log without usable
    times. `reads_shapes`: `read` finds numbers by the text before them alone, whatever they are.
    """

    name: str
    title: str
    marks: tuple[bytes, ...]
    read: Callable[[str], StepReading | None]
    timed: Timing = as_printed
    is_of: Callable[[Columns], bool] = _always
    gate: bytes = b""
    sample: str = "sequence"
    needs: str = ""
    begin: re.Pattern[bytes] | None = None
    reads_shapes: bool = False


def selected(columns: Columns, kept: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Columns:
    """The columns of some readings, by a mask or by their numbers."""
    return {name: column[kept] for name, column in columns.items()}


def steps_between(steps: Floats) -> Floats:
    """How many steps each reading covers, by the numbers of the readings around it; the first
    covers as many as the second, or fewer where the run began later."""
    if steps.size < 2:
        return np.ones(steps.size)
    gaps = np.diff(steps)
    usual = max(1.0, float(np.median(gaps)))
    first = min(usual, float(steps[0])) if steps[0] >= 1 else 1.0
    return np.concatenate([[max(1.0, first)], np.maximum(gaps, 1.0)])
