"""The formats of training logs there are, by name. Where two read a line, the first one counts."""

from weft.results.training import (
    horovod,
    lightning,
    megatron_deepspeed,
    megatron_lm,
    nemo,
    torchtitan,
)
from weft.results.training.log_format import LogFormat

FORMATS: dict[str, LogFormat] = {
    module.FORMAT.name: module.FORMAT
    for module in (nemo, megatron_deepspeed, megatron_lm, torchtitan, horovod, lightning)
}
EXPECTED = (
    "steps as "
    + ", ".join(one.title for one in FORMATS.values())
    + " print them, or CSV with a column step_time_s"
)
