"""A fresh run directory under runs/, for a verb that was given none."""

import time
from pathlib import Path

from weft.core.clock import Clock, system_clock


def fresh_run_dir(name: str, clock: Clock = system_clock) -> Path:
    """runs/NAME-DATE-TIME, with -2, -3 ... behind it where runs start within one second."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(clock()))
    first = Path("runs") / f"{name}-{stamp}"
    candidate, number = first, 1
    while candidate.exists():
        number += 1
        candidate = first.with_name(f"{first.name}-{number}")
    return candidate
