"""The iteration line of Megatron-LM.

SOURCE: NVIDIA/Megatron-LM, megatron/training/training.py: training_log. AMD's Primus prints the
mean so far behind each value, as `1650.0/1648.2`.

Of the two Megatrons only this one puts a clock before its line or prints TFLOP/s/GPU (with
--log-throughput); Megatron-DeepSpeed alone prints samples per second. A line without any of them
may be of either.
"""

import re
from math import isnan

import numpy as np

from weft.results.training.formats.log_format import BRACKETS, Columns, LogFormat
from weft.results.training.formats.values import stamp_in, value_after
from weft.results.training.model import NAN, StepReading

_TIME = "lapsed time per iteration ("
_STEP = re.compile(r"teration:?\s+(\d{1,15})(?:\s*/\s*\d+)?\s*\|")
BEGIN = re.compile(BRACKETS + rb"[Ii]teration:?\s+\d")
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
    has_loss = "loss: " in text
    batch = value_after(text, "l batch size", end)
    tflops = value_after(text, "(TFLOP/s/GPU)", end)
    # By position: a log has millions of lines, and names cost as much as all the rest.
    return StepReading(
        float(step.group(1)),
        value_after(text, "", end) * seconds,
        0.0,
        batch,
        value_after(text, "onsumed samples") if isnan(batch) else NAN,
        value_after(text, "TFLOPs", end) if isnan(tflops) else tflops,
        NAN,
        value_after(text, "samples per second", end),
        stamp_in(text),
        value_after(text, _loss_of(text)) if has_loss else NAN,
        float(has_loss),
        unit,
    )


def _loss_of(text: str) -> str:
    """The name of the loss of a whole model: others, as of its parts, are printed too."""
    return "lm loss" if "lm loss" in text else "| loss" if "| loss" in text else "loss"


def _states_clock_or_tflops(columns: Columns) -> bool:
    return bool((np.isfinite(columns["stamp_s"]) | np.isfinite(columns["tflops"])).any())


FORMAT = LogFormat(
    "megatron-lm",
    "Megatron-LM",
    (_TIME.encode(),),
    read_iteration,
    begin=BEGIN,
    is_of=_states_clock_or_tflops,
    reads_shapes=True,
)
