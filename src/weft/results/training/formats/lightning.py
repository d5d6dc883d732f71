"""Progress bars of Lightning without a step time: the batch, the time so far, the mean rate.

The bar prints the time in whole seconds, and the mean rate since the epoch began with a few digits;
both bound when a batch ended. Batches are joined until the bounds of their time are narrow.
SOURCE: Lightning-AI/pytorch-lightning, callbacks/progress/tqdm_progress.py: smoothing=0;
tqdm/tqdm, tqdm/std.py: format_meter. Of RichProgressBar: the output in issue 12720 of
Lightning-AI/pytorch-lightning.
"""

import re

import numpy as np

from weft.results.training.formats.log_format import Columns, LogFormat, selected
from weft.results.training.formats.values import number, value_after
from weft.results.training.model import NAN, Floats, Remark, StepReading, TrainingFacts

_BAR = re.compile(
    r"Epoch (\d+):.{0,300}?(\d+)/(\d+|\?) \[(?:(\d+):)?(\d+):(\d\d)<[^\],]*,\s*"
    r"(?:([\d.]+)(it/s|s/it))?"
)
_RICH = re.compile(
    r"Epoch (\d+)(?:/\d+)? {1,8}\S[^\d\n]{0,300}? (\d+)/(\d+|\?) (\d+):(\d\d):(\d\d) \u2022 [-\d]"
)
"""Of RichProgressBar, whose rate is that of a while, not of the epoch: only the clock counts."""
_BEGIN = re.compile(rb"Epoch ")
_LOSSES = ("loss=", "loss_step=", "loss: ", "loss_step: ")
WIDTH = 0.05
"""Batches are joined until the bounds of their time are no further apart than this share of it."""
_MOST_EPOCH = 10_000_000.0


def _read(text: str) -> StepReading | None:
    found = _BAR.search(text) or _RICH.search(text)
    if found is None:
        return None
    epoch, at, of_epoch, hours, minutes, seconds, *speed = found.groups()
    rate, unit = speed or (None, None)
    loss = next((name for name in _LOSSES if text.find(name, found.end()) >= 0), "")
    batches = float(of_epoch) if of_epoch != "?" else _MOST_EPOCH
    elapsed = 3600.0 * float(hours or 0) + 60.0 * float(minutes) + float(seconds)
    return StepReading(
        step=float(epoch) * batches + float(at),
        # Seconds into the epoch; `rate` says more exactly when.
        time_s=elapsed,
        rate=_seconds_in(float(at), rate, unit),
        n_steps=float(at),
        loss=value_after(text, loss.rstrip("=: "), found.end()) if loss else NAN,
        has_loss=float(loss != ""),
    )


def _seconds_in(at: float, rate: str | None, unit: str | None) -> float:
    """When the batch ended by the mean rate so far; NaN where the bar has none yet."""
    value = NAN if rate is None else number(rate)
    if not value > 0:
        return NAN
    return at * value if unit == "s/it" else at / value


def _timed(columns: Columns, _: TrainingFacts) -> tuple[Columns, list[Remark]]:
    """Readings of as many batches as it takes to know their time within `WIDTH`."""
    low, high = _bounds(columns)
    at = columns["n_steps"]
    kept: list[int] = []
    times: list[float] = []
    n_steps: list[float] = []
    begin = -1
    for i in range(at.size):
        if begin < 0 or at[i] <= at[begin]:
            begin = i
            continue
        middle = (low[i] + high[i] - low[begin] - high[begin]) / 2
        width = (high[i] - low[i] + high[begin] - low[begin]) / 2
        if middle > 0 and width <= WIDTH * middle:
            kept.append(i)
            n_steps.append(at[i] - at[begin])
            times.append(middle / n_steps[-1])
            begin = i
    joined = selected(columns, np.array(kept, dtype=np.intp))
    return joined | {"time_s": np.array(times), "n_steps": np.array(n_steps)}, []


def _bounds(columns: Columns) -> tuple[Floats, Floats]:
    """Between which seconds of its epoch each batch ended."""
    clock, by_rate = columns["time_s"], columns["rate"]
    # Half a unit of the last of the digits that tqdm prints: 4.47s/it, or 2.06it/s.
    at = np.maximum(columns["n_steps"], 1.0)
    each = by_rate / at
    off = np.where(each >= 1, 0.005 / np.maximum(each, 1e-9), 0.005 * each)
    low, high = np.fmax(clock, by_rate * (1 - off)), np.fmin(clock + 1, by_rate * (1 + off))
    unclear = ~(low <= high)
    begun = columns["n_steps"] == 0
    low, high = np.where(unclear, clock, low), np.where(unclear, clock + 1, high)
    return np.where(begun, 0.0, low), np.where(begun, 0.0, high)


FORMAT = LogFormat(
    "lightning", "Lightning", (b"Epoch ",), _read, _timed, gate=b"%?\xe2", begin=_BEGIN
)
