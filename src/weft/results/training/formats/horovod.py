"""Horovod's synthetic benchmarks: images a second of a GPU, the mean of some batches.

SOURCE: horovod/horovod, examples/pytorch/pytorch_synthetic_benchmark.py and its TensorFlow twin.
"""

import re

import numpy as np

from weft.results.training.formats.log_format import BRACKETS, Columns, LogFormat
from weft.results.training.formats.values import NUMBER, number, stamp_in
from weft.results.training.model import Remark, StepReading, TrainingFacts

_ITERATION = re.compile(rf"Iter #(\d+): ({NUMBER}) img/sec per \w+")


def _read(text: str) -> StepReading | None:
    found = _ITERATION.search(text)
    if found is None:
        return None
    step, rate = found.groups()
    return StepReading(step=number(step), time_s=np.nan, rate=number(rate), stamp_s=stamp_in(text))


def _timed(columns: Columns, facts: TrainingFacts) -> tuple[Columns, list[Remark]]:
    """A step is a batch of each GPU."""
    batch = facts.batch_per_gpu
    if batch is None:
        return columns, []
    with np.errstate(divide="ignore"):
        times = batch.value / columns["rate"]
    return columns | {"time_s": times}, []


FORMAT = LogFormat(
    "horovod",
    "Horovod",
    (b"img/sec per ",),
    _read,
    _timed,
    gate=b"#",
    sample="image",
    begin=re.compile(BRACKETS + rb"Iter #\d"),
    needs="keep the lines 'Batch size: N' and 'Number of GPUs: N' before the iterations",
)
