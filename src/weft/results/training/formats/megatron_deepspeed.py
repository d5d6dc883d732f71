"""The iteration line of Megatron-DeepSpeed: that of Megatron-LM with samples/s and TFLOPs.

SOURCE: bigscience-workshop/Megatron-DeepSpeed and deepspeedai/Megatron-DeepSpeed,
megatron/training.py: training_log; the former prints seconds, the latter milliseconds.
"""

import numpy as np

from weft.results.training.formats import megatron_lm
from weft.results.training.formats.log_format import Columns, LogFormat


def _states_samples(columns: Columns) -> bool:
    return bool(np.isfinite(columns["samples_s"]).any())


FORMAT = LogFormat(
    "megatron-deepspeed",
    "Megatron-DeepSpeed",
    megatron_lm.FORMAT.marks,
    megatron_lm.read_iteration,
    begin=megatron_lm.BEGIN,
    is_of=_states_samples,
    reads_shapes=True,
)
