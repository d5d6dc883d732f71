"""The formats of training logs there are, by name. Where two read a line, the first one counts."""

from weft.results.training.formats import (
    horovod,
    lightning,
    megatron_deepspeed,
    megatron_lm,
    nemo,
    torchtitan,
)
from weft.results.training.formats.log_format import Columns, LogFormat

_MODULES = (nemo, megatron_deepspeed, megatron_lm, torchtitan, horovod, lightning)
FORMATS: dict[str, LogFormat] = {module.FORMAT.name: module.FORMAT for module in _MODULES}
SCANNED = tuple({one.marks: one for one in reversed(FORMATS.values())}.values())[::-1]
"""One format for each set of marks: the others differ by what a whole run states."""


def format_of(scanned: LogFormat, columns: Columns) -> LogFormat:
    """The format of a run that was read as this one."""
    alike = (one for one in FORMATS.values() if one.marks == scanned.marks)
    return next((one for one in alike if one.is_of(columns)), scanned)


EXPECTED = (
    "steps as "
    + ", ".join(one.title for one in FORMATS.values())
    + " print them, or CSV with a column step_time_s"
)
