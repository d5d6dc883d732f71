"""Time and randomness come in through parameters, so that a run can be replayed."""

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the Unix epoch."""


def system_clock() -> float:
    """The machine's clock, seconds since the Unix epoch."""
    return time.time()
