"""Metrics of torchtitan: tokens/s of a GPU, TFLOP/s and MFU, with the clock of the line.

`tps` (`wps` before 2025) counts the tokens of a data-parallel rank over the ranks that share them,
so that tps x GPUs is tokens/s of all. SOURCE: pytorch/torchtitan, torchtitan/components/metrics.py.
"""

import re

import numpy as np

from weft.results.training.collector import NOTHING
from weft.results.training.formats.log_format import BRACKETS, Columns, LogFormat, selected
from weft.results.training.formats.values import number, stamp_in, value_after
from weft.results.training.model import Floats, Remark, StepReading, TrainingFacts

_STEP = re.compile(r"(?<!validate )step:\s*(\d+)\s.*?(?:tps|wps):\s*([\d,]+(?:\.\d+)?|nan)")
_BEGIN = re.compile(
    BRACKETS + rb"(?:[\d-]{10} [\d:,.]{8,15} - root - INFO - )?(?:\x1b\[[\d;]*m)*step:\s*\d"
)
DISAGREEMENT = 0.05
"""The clock and the stated tokens/s differ by rounding and by the work of printing; by more, one of
them is about something else."""


def _read(text: str) -> StepReading | None:
    found = _STEP.search(text)
    if found is None:
        return None
    return StepReading(
        step=number(found.group(1)),
        time_s=np.nan,
        rate=number(found.group(2)),
        tflops=value_after(text, "tflops:"),
        stamp_s=stamp_in(text),
        loss=value_after(text, "loss:"),
        has_loss=float("loss:" in text),
    )


def _timed(columns: Columns, facts: TrainingFacts) -> tuple[Columns, list[Remark]]:
    """Times by tokens/s where sequence, batch and GPUs are stated, else by the clock: the first
    reading has none then."""
    steps, stamps = columns["step"], columns["stamp_s"]
    by_clock = np.full(steps.size, np.nan)
    by_clock[1:] = np.diff(stamps) / np.maximum(np.diff(steps), 1.0)
    if facts.sequence is None or facts.batch is None or facts.gpus is None:
        return _by_clock(columns, by_clock)
    tokens = facts.sequence.value * facts.batch.value
    with np.errstate(divide="ignore"):
        by_rate = tokens / (columns["rate"] * facts.gpus.value)
    both = np.isfinite(by_clock) & np.isfinite(by_rate) & (by_clock > 0)
    if both.sum() >= 3:
        apart = float(np.median(by_clock[both] / by_rate[both]))
        if abs(apart - 1) > DISAGREEMENT:
            text = (
                f"{facts.gpus.value:g} GPUs x tokens/s and the clock differ by a factor of "
                f"{apart:.3g}: times are those of the clock"
            )
            timed, jumps = _by_clock(columns, by_clock)
            return timed, [Remark(facts.gpus.line, text), *jumps]
    remarks = [
        Remark(int(columns["line"][at]), f"the clock jumps by {_jump(columns, by_rate, at):+.3g} s")
        for at in np.flatnonzero(both & (np.abs(by_clock / by_rate - 1) > DISAGREEMENT)).tolist()
        if abs(_jump(columns, by_rate, at)) > 1
    ]
    return columns | {"time_s": by_rate}, remarks


def _jump(columns: Columns, by_rate: Floats, at: int) -> float:
    """How much later the clock is than the steps took."""
    n_steps = max(1.0, columns["step"][at] - columns["step"][at - 1])
    return float(columns["stamp_s"][at] - columns["stamp_s"][at - 1] - n_steps * by_rate[at])


def _by_clock(columns: Columns, by_clock: Floats) -> tuple[Columns, list[Remark]]:
    """Times by the clock. Tokens of a step are the same in all: where time x tokens/s says others,
    the clock jumped, and weft leaves the reading out."""
    tokens = by_clock * columns["rate"]
    # Behind a validation the clock has its time, too.
    known = np.isfinite(tokens) & (tokens > 0) & (columns["follows"] == NOTHING)
    usual = float(np.median(tokens[known])) if known.any() else np.nan
    by_rate = usual / columns["rate"]
    off = known & (np.abs(tokens / usual - 1) > DISAGREEMENT)
    off |= (by_clock < 0) & (columns["rate"] > 0)
    jumps = [(at, _jump(columns, by_rate, at)) for at in np.flatnonzero(off).tolist()]
    odd = [(at, by) for at, by in jumps if abs(by) > 1]
    kept = np.ones(by_clock.size, dtype=np.bool_)
    kept[:1] = False
    kept[np.array([at for at, _ in odd], dtype=np.intp)] = False
    remarks = [
        Remark(
            int(columns["line"][at]),
            f"the clock jumps by {by:+.3g} s, tokens/s says that a step took {by_rate[at]:.3g} s: "
            "left out",
        )
        for at, by in odd
    ]
    return selected(columns | {"time_s": by_clock}, kept), remarks


FORMAT = LogFormat(
    "torchtitan", "torchtitan", (b"memory: ",), _read, _timed, gate=b"%", begin=_BEGIN
)
