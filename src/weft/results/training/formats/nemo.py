"""Steps of NeMo 1, in a progress bar, and of NeMo 2, a line each; of both by DLLogger, as JSON.

SOURCE: NVIDIA/dgxc-benchmarking, README of nemotron4: the bar of NeMo 1; NVIDIA-NeMo/NeMo,
nemo/lightning/pytorch/callbacks/progress_printer.py: the line of NeMo 2;
AI-Hypercomputer/gpu-recipes, README of a3ultra llama3.1-405b nemo: the line of DLLogger.
"""

import math
import re

from weft.results.training.formats.log_format import LogFormat
from weft.results.training.formats.values import number, stamp_in, value_after
from weft.results.training.model import NAN, StepReading

_TIME = "train_step_timing in s"
_ITERATION = re.compile(r"epoch (\d+), iteration (\d+)/(\d+)")
_BAR = re.compile(r"Epoch (\d+):.{0,200}?(\d+)/(\d+) \[")
_BEGIN = re.compile(rb"(?:Training e|E)poch \d|DLLL \{")
_CONSUMED = re.compile(r"consumed_samples\s*[:=]\s*(\d+(?:\.0)?)(?![\d.e])")
"""Not as 1.63e+6, which is rounded."""


def _read(text: str) -> StepReading | None:
    if _TIME not in text:
        return None
    if "DLLL {" in text:
        text = text.replace('"', "")
    consumed = _CONSUMED.search(text)
    return StepReading(
        step=_step_of(text),
        time_s=value_after(text, _TIME),
        n_steps=1.0,
        batch=value_after(text, "global_batch_size"),
        consumed=number(consumed.group(1)) if consumed else NAN,
        tflops=value_after(text, "tflops_per_sec_per_gpu"),
        stamp_s=stamp_in(text),
        loss=value_after(text, "reduced_train_loss"),
        has_loss=float("reduced_train_loss" in text),
    )


def _step_of(text: str) -> float:
    """The global step, else that of the epoch's bar or line."""
    step = value_after(text, "global_step")
    if math.isfinite(step):
        return step
    found = _ITERATION.search(text) or _BAR.search(text)
    if found is None:
        return NAN
    epoch, at, of_epoch = (float(one) for one in found.groups())
    return epoch * of_epoch + at


FORMAT = LogFormat("nemo", "NeMo", (_TIME.encode(),), _read, begin=_BEGIN)
