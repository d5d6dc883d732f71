"""The iteration line of Megatron-LM.

SOURCE: NVIDIA/Megatron-LM, megatron/training/training.py: training_log. AMD's Primus prints the
mean so far behind each value, as `1650.0/1648.2`.
"""

import re
from math import isnan

from weft.results.training.formats.log_format import LogFormat
from weft.results.training.formats.values import number, stamp_in, value_after
from weft.results.training.model import NAN, StepReading

_TIME = "lapsed time per iteration ("
_STEP = re.compile(r"teration:?\s+(\d{1,15})(?:\s*/\s*\d+)?\s*\|")
_TFLOPS = ("throughput per GPU (TFLOP/s/GPU)", "TFLOPs")
_LOSSES = ("lm loss", "| loss", "total loss")
_UNITS = {"ms)": ("ms", 1e-3), "s):": ("s", 1.0), "s) ": ("s", 1.0)}


def read_iteration(text: str) -> StepReading | None:
    """The iteration of a line; None where it states none."""
    at = text.find(_TIME)
    end = at + len(_TIME)
    unit, seconds = _UNITS.get(text[end : end + 3], ("", 0.0))
    step = _STEP.search(text, 0, max(at, 0))
    if step is None or not unit:
        return None
    end += len(unit) + 1
    loss = next((name for name in _LOSSES if name in text), "")
    batch = value_after(text, "l batch size", end)
    return StepReading(
        step=number(step.group(1)),
        time_s=value_after(text, "", end) * seconds,
        batch=batch,
        consumed=value_after(text, "onsumed samples") if isnan(batch) else NAN,
        tflops=next((value_after(text, name, end) for name in _TFLOPS if name in text), NAN),
        samples_s=value_after(text, "samples per second", end),
        stamp_s=stamp_in(text),
        loss=value_after(text, loss) if loss else NAN,
        has_loss=float(loss != ""),
        unit=unit,
    )


FORMAT = LogFormat("megatron-lm", "Megatron-LM", (_TIME.encode(),), read_iteration)
