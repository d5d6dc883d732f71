"""The iteration line of Megatron-DeepSpeed: that of Megatron-LM with samples/s and TFLOPs.

SOURCE: bigscience-workshop/Megatron-DeepSpeed and deepspeedai/Megatron-DeepSpeed,
megatron/training.py: training_log; the former prints seconds, the latter milliseconds.
"""

from weft.results.training.log_format import LogFormat
from weft.results.training.megatron_lm import MARKS, read_iteration
from weft.results.training.model import Reading


def _read(text: str) -> Reading | None:
    if "samples per second" not in text and "TFLOPs:" not in text:
        return None
    return read_iteration(text)


FORMAT = LogFormat("megatron-deepspeed", "Megatron-DeepSpeed", MARKS, _read)
