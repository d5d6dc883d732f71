"""The iteration line of Megatron-LM.

SOURCE: NVIDIA/Megatron-LM, megatron/training/training.py: training_log. AMD's Primus prints the
mean so far behind each value, as `1650.0/1648.2`.
"""

import re

from weft.results.training.log_format import LogFormat
from weft.results.training.model import Reading
from weft.results.training.values import NUMBER, field_of, number, pattern, stamp_in

MARKS = (b"lapsed time per iteration (",)
_STEP = re.compile(
    rf"[Ii]teration:?\s+(\d+)(?:\s*/\s*\d+)?\s*\|.*?"
    rf"[Ee]lapsed time per iteration \((ms|s)\)\s*:\s*({NUMBER})"
)
_CONSUMED = pattern("[Cc]onsumed samples")
_BATCH = pattern("(?:global|gloabl) batch size")
_TFLOPS = re.compile(rf"(?:throughput per GPU \(TFLOP/s/GPU\)|TFLOPs)\s*:\s*({NUMBER})")
_SAMPLES = pattern("samples per second")
_LOSS = re.compile(rf"\|\s*(?:lm |total )?loss\s*:\s*({NUMBER})")
_SECONDS = {"ms": 1e-3, "s": 1.0}


def read_iteration(text: str) -> Reading | None:
    """The iteration of a line; None where it states none."""
    found = _STEP.search(text)
    if found is None:
        return None
    step, unit, time = found.groups()
    end = found.end()
    loss = _LOSS.search(text, end)
    return Reading(
        step=number(step),
        time_s=number(time) * _SECONDS[unit],
        batch=field_of(_BATCH.search(text, end)),
        consumed=field_of(_CONSUMED.search(text)),
        tflops=field_of(_TFLOPS.search(text, end)),
        samples_s=field_of(_SAMPLES.search(text, end)),
        stamp_s=stamp_in(text),
        loss=field_of(loss),
        has_loss=float(loss is not None),
        unit=unit,
    )


FORMAT = LogFormat("megatron-lm", "Megatron-LM", MARKS, read_iteration)
