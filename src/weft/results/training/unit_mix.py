"""Step times of two units in one log, where no line says so."""

import numpy as np

from weft.core.errors import InputError
from weft.results.training.collector import NOTHING
from weft.results.training.model import TrainingRun

_APART = (900.0, 1100.0)
"""Seconds read as milliseconds, or the other way, lie a thousand times apart."""
LEAST_MIXED = 3
"""So many readings at this distance are no hang of a job: hangs last as long as they like."""
_FAR = 10.0


def refuse_mixed_units(run: TrainingRun, name: str) -> None:
    """Raises InputError where step times lie in two groups a thousand times apart."""
    # A reading, not the mean of two: half of them may have the other unit.
    level = np.sort(run.times_s)[run.times_s.size // 2]
    ratio = run.times_s / level
    apart = np.maximum(ratio, 1 / ratio)
    # What a checkpoint takes is known to be no other unit.
    mixed = (apart > _APART[0]) & (apart < _APART[1]) & (run.follows == NOTHING)
    n_mixed = int(mixed.sum())
    if n_mixed < LEAST_MIXED or 2 * n_mixed < int((apart > _FAR).sum()):
        return
    at = int(np.flatnonzero(mixed)[0])
    usual = int(np.flatnonzero(apart <= _FAR)[0])
    scale = 1000.0 if ratio[at] < 1 else 0.001
    raise InputError(
        f"line {int(run.lines[at])}: {run.times_s[at]:.4g} s a step,"
        f" {run.times_s[usual]:.4g} s in line {int(run.lines[usual])}:"
        f" units are mixed in {n_mixed} of {run.times_s.size} readings",
        where=name,
        expected="one unit, or the unit of each time in its line",
        hint=f"the nearest possible value of line {int(run.lines[at])} is"
        f" {run.times_s[at] * scale:.4g} s",
    )
