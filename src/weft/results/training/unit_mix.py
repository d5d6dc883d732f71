"""Step times of two units in one log, where no line says so.

The rates here are of runs that benches/training_thresholds.py draws: 8 to 2,000 steps whose times
spread by 1 to 30 %, with up to five slow first steps, slow steps of ten times as long at most, and
stalls that no line explains. Of 10,000 in one unit weft refuses: without stalls 0.1 %, with stalls
of any length 0.7 %, of one length 0.6 %, with periodic stalls 0.1 %, where 3 to 10 stalls take a
thousand steps each 4 %. Of 8,000 in two units, three steps or more in each, it misses: where the
unit changes once 13 %, a block of 3 to 30 steps 16 %, a share of 10 to 50 % of the steps 24 %, 3 %
of the steps 59 %, most of them longer ones, which it reads as stalls.
"""

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import InputError
from weft.results.training.collector import NOTHING
from weft.results.training.model import Floats, TrainingRun

_THOUSAND = float(np.log(1000))
"""Seconds read as milliseconds, or the other way, lie so far apart, in logarithms."""
_FAR = float(np.log(100))
"""Nearer steps are of the usual unit. With 10 the refused thousandfold stalls are 9 %; with 300
weft misses 17 % of single changes."""
LEAST_MIXED = 3
"""Steps of the other unit. With 2 weft finds 1 % more, with 5 it misses 21 % of single changes."""
_TOLERANCE = 0.1
"""Of the distance from a thousand. With 0.2 weft refuses 0.9 % of stalls of one length, and with
0.05 it misses 26 % of blocks whose times spread by 30 %, not 20 %."""
_SPREAD = (3.0, 0.05)
"""The other steps spread at most so many times as much as the usual ones, and so much more. Without
this limit weft refuses 3 % of stalls of any length."""
LEAST_STREAK, LEAST_SHARE = 5, 0.25
"""Longer steps are of another unit where so many follow one another, or such a share is longer.
With a streak of 3 weft misses 9 % of blocks, not 14 %, and refuses 10 % of thousandfold stalls."""
_CLOCK_SHARE = 0.5
"""Of the time of a reading that passed by the clock of its line, so much or more: no other unit."""
_OF_NORMAL = 1.4826
"""Standard deviation of a normal sample over its median absolute deviation."""


def refuse_mixed_units(run: TrainingRun, name: str) -> None:
    """Raises InputError where step times lie in two groups a thousand times apart."""
    # The log knows what these steps waited for, in any unit.
    is_known = (run.follows != NOTHING) | _agrees_with_clock(run)
    mixed = mixed_readings(run.times_s, is_known)
    n_mixed = int(mixed.sum())
    if not n_mixed:
        return
    at, usual = int(np.flatnonzero(mixed)[0]), int(np.flatnonzero(~mixed)[0])
    scale = 1000.0 if run.times_s[at] < run.times_s[usual] else 0.001
    raise InputError(
        f"line {int(run.lines[at])}: {run.times_s[at]:.4g} s a step,"
        f" {run.times_s[usual]:.4g} s in line {int(run.lines[usual])}:"
        f" units are mixed in {n_mixed} of {run.times_s.size} readings",
        where=name,
        expected="one unit, or the unit of each time in its line",
        hint=f"the nearest possible value of line {int(run.lines[at])} is"
        f" {run.times_s[at] * scale:.4g} s",
    )


def mixed_readings(times_s: Floats, is_known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which readings are of another unit than most; none where all may be of one. `is_known`: slow
    for a reason that the log states."""
    none: NDArray[np.bool_] = np.zeros(times_s.size, dtype=bool)
    # A reading, not the mean of two: half of them may have the other unit.
    x = np.log(times_s)
    x -= np.sort(x)[x.size // 2]
    x -= np.median(x[np.abs(x) < _FAR])
    usual = x[np.abs(x) < _FAR]
    for sign in (1, -1):
        other: NDArray[np.bool_] = (sign * x > _FAR) & ~is_known
        # No job has steps a thousand times shorter than usual; longer ones may be stalls.
        lasts = sign < 0 or other.mean() >= LEAST_SHARE or _streak(other) >= LEAST_STREAK
        if lasts and other.sum() >= LEAST_MIXED and _is_a_thousand(sign * x[other], usual):
            return other
    return none


def _is_a_thousand(other: Floats, usual: Floats) -> bool:
    """Whether the medians lie a thousand apart, within the tolerance and a standard error (that of
    a median of normal values), and both groups spread alike."""
    spread, own_spread = _spread(usual), _spread(other)
    error = np.sqrt(np.pi / 2 * (spread**2 / usual.size + own_spread**2 / other.size))
    factor, more = _SPREAD
    is_near = abs(float(np.median(other)) - _THOUSAND) <= _TOLERANCE + error
    return bool(is_near and own_spread <= factor * spread + more)


def _spread(x: Floats) -> float:
    return _OF_NORMAL * float(np.median(np.abs(x - np.median(x))))


def _streak(chosen: NDArray[np.bool_]) -> int:
    """How many chosen readings follow one another at most."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]])))
    return int((ends[1::2] - ends[::2]).max(initial=0))


def _agrees_with_clock(run: TrainingRun) -> NDArray[np.bool_]:
    """Readings between whose line and the one before as much time passed as their steps took."""
    passed = np.diff(run.stamps_s, prepend=np.nan)
    agrees: NDArray[np.bool_] = passed >= _CLOCK_SHARE * run.times_s * run.n_steps
    return agrees
