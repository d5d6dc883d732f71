"""The formats of training logs there are, by name. Where two read a line, the first one counts."""

import numpy as np

from weft.results.training.formats import (
    horovod,
    lightning,
    megatron_deepspeed,
    megatron_lm,
    nemo,
    torchtitan,
)
from weft.results.training.formats.log_format import Columns, LogFormat
from weft.results.training.model import N_FIGURES, StepReading

_MODULES = (nemo, megatron_deepspeed, megatron_lm, torchtitan, horovod, lightning)
FORMATS: dict[str, LogFormat] = {module.FORMAT.name: module.FORMAT for module in _MODULES}
SCANNED = tuple({one.marks: one for one in reversed(FORMATS.values())}.values())[::-1]
"""One format for each set of marks: the others differ by what a whole run states."""


def format_of(scanned: LogFormat, columns: Columns) -> LogFormat:
    """The format of a run that was read as this one; where its lines fit several, one that is
    called by all their names."""
    alike = [one for one in FORMATS.values() if one.marks == scanned.marks]
    both = scanned._replace(
        name=" or ".join(sorted(one.name for one in alike)) or scanned.name,
        title=" or ".join(sorted(one.title for one in alike)) or scanned.title,
    )
    return next((one for one in alike if one.is_of(columns)), both)


def format_of_step(scanned: LogFormat, reading: StepReading) -> LogFormat:
    """As `format_of`, of one line."""
    names = StepReading._fields[:N_FIGURES]
    return format_of(scanned, dict(zip(names, np.array(reading.figures)[:, None], strict=True)))


EXPECTED = (
    "steps as "
    + ", ".join(one.title for one in FORMATS.values())
    + " print them, or CSV with a column step_time_s"
)
