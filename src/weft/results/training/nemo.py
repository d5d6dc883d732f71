"""Steps of NeMo 1, in a progress bar, and of NeMo 2, a line each.

SOURCE: NVIDIA/dgxc-benchmarking, README of nemotron4: the bar of NeMo 1; NVIDIA-NeMo/NeMo,
nemo/lightning/pytorch/callbacks/progress_printer.py: the line of NeMo 2.
"""

import math
import re

from weft.results.training.log_format import LogFormat
from weft.results.training.model import NAN, Reading
from weft.results.training.values import field_of, number, pattern, stamp_in

_TIME = pattern(r"train_step_timing in s")
_STEP = pattern("global_step")
_ITERATION = re.compile(r"epoch (\d+), iteration (\d+)/(\d+)")
_BAR = re.compile(r"Epoch (\d+):.{0,200}?(\d+)/(\d+) \[")
_CONSUMED = re.compile(r"consumed_samples\s*[:=]\s*(\d+(?:\.0)?)(?![\d.e])")
"""Not as 1.63e+6, which is rounded."""
_BATCH = pattern("global_batch_size")
_TFLOPS = pattern(r"tflops_per_sec_per_gpu")
_LOSS = pattern("reduced_train_loss")


def _read(text: str) -> Reading | None:
    time = _TIME.search(text)
    if time is None:
        return None
    loss = _LOSS.search(text)
    return Reading(
        step=_step_of(text),
        time_s=number(time.group(1)),
        n_steps=1.0,
        batch=field_of(_BATCH.search(text)),
        consumed=field_of(_CONSUMED.search(text)),
        tflops=field_of(_TFLOPS.search(text)),
        stamp_s=stamp_in(text),
        loss=field_of(loss),
        has_loss=float(loss is not None),
    )


def _step_of(text: str) -> float:
    """The global step, else that of the epoch's bar or line."""
    step = field_of(_STEP.search(text))
    if math.isfinite(step):
        return step
    found = _ITERATION.search(text) or _BAR.search(text)
    if found is None:
        return NAN
    epoch, at, of_epoch = (float(one) for one in found.groups())
    return epoch * of_epoch + at


FORMAT = LogFormat("nemo", "NeMo", (b"train_step_timing in s",), _read)
