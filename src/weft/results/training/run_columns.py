"""A run's readings as columns: step times that can be true, and what is odd about the others."""

from typing import NamedTuple

import numpy as np

from weft.results.training.collector import MOST_REMARKS, RunSoFar
from weft.results.training.formats.log_format import Columns, LogFormat, selected, steps_between
from weft.results.training.formats.registry import format_of
from weft.results.training.interleaved import record_remarks
from weft.results.training.model import Floats, Remark, Stated, TrainingFacts, TrainingRun

LONGEST_STEP_S = 1e7
"""115 days."""
CLOCKS_APART_S = 1.0
"""Lines with whole seconds, or of two ranks, may lie so far apart."""
_OFF_BY_UNIT = (900.0, 1100.0)
"""A time in ms that was printed as s, or the other way, is off by a thousand."""


class FinishedRun(NamedTuple):
    """A run, None where no step time is left, and what was odd; `n_refused` of the readings have no
    step time that can be one."""

    run: TrainingRun | None
    remarks: tuple[Remark, ...]
    n_readings: int
    n_refused: int
    format: LogFormat


def finished_run(so_far: RunSoFar, rank: str, n_ranks: int) -> FinishedRun:
    """The run of the readings."""
    columns = so_far.columns()
    of = format_of(so_far.of, columns)
    n_readings = so_far.n_readings
    loss_nan = columns["line"][(columns["has_loss"] > 0) & ~np.isfinite(columns["loss"])]
    has_loss = bool((columns["has_loss"] > 0).any())
    # What a damaged log states may be as large as a float can be.
    with np.errstate(all="ignore"):
        columns, remarks = of.timed(columns, so_far.facts)
        columns = columns | {"n_steps": _n_steps(columns)}
        columns = columns | {"batch": _batches(columns, so_far.facts)}
        remarks += _other_batch(columns, so_far.facts)
        n_timed = columns["time_s"].size
        columns, odd = _true_times(columns)
        n_refused = n_timed - columns["time_s"].size
        remarks += odd + _clock_remarks(columns)
    remarks += record_remarks(so_far)
    everything = sorted([*so_far.remarks, *remarks])
    if columns["time_s"].size == 0:
        return FinishedRun(None, tuple(everything[:MOST_REMARKS]), n_readings, n_refused, of)
    run = TrainingRun(
        tool=of.name,
        title=of.title,
        facts=so_far.facts,
        steps=columns["step"],
        n_steps=columns["n_steps"],
        times_s=columns["time_s"],
        batches=columns["batch"],
        tflops=columns["tflops"],
        stamps_s=columns["stamp_s"],
        lines=columns["line"],
        follows=columns["follows"],
        sample=of.sample,
        rank=rank,
        n_ranks=n_ranks,
        n_repeated=so_far.n_repeated,
        has_loss=has_loss,
        loss_nan_line=int(loss_nan[0]) if loss_nan.size else 0,
        remarks=tuple(everything[:MOST_REMARKS]),
        n_remarks=so_far.n_remarks + len(remarks),
    )
    return FinishedRun(run, run.remarks, n_readings, n_refused, of)


def _n_steps(columns: Columns) -> Floats:
    given = columns["n_steps"]
    if not given.size:
        return given
    return np.where(given > 0, given, steps_between(columns["step"]))


def _batches(columns: Columns, facts: TrainingFacts) -> Floats:
    """The global batch of each reading: as its line states it, by the samples consumed since the
    line before, or as the log states it for all."""
    batches = columns["batch"].copy()
    consumed, n_steps = columns["consumed"], columns["n_steps"]
    if batches.size > 1 and np.isfinite(consumed).any():
        each = np.diff(consumed) / n_steps[1:]
        by_samples = np.concatenate([[each[0]], each])
        whole = np.isfinite(by_samples) & (by_samples > 0) & (by_samples == np.round(by_samples))
        batches = np.where(np.isnan(batches) & whole, by_samples, batches)
    stated = batch_of(facts)
    if stated is not None:
        batches = np.where(np.isnan(batches), stated.value, batches)
    return np.where(batches > 0, batches, np.nan)


def batch_of(facts: TrainingFacts) -> Stated | None:
    """The global batch that a log states, or that of a GPU times the GPUs."""
    if facts.batch is None and facts.batch_per_gpu is not None and facts.gpus is not None:
        value = facts.batch_per_gpu.value * facts.gpus.value
        return Stated(value, facts.batch_per_gpu.line)
    return facts.batch


def _other_batch(columns: Columns, facts: TrainingFacts) -> list[Remark]:
    """A batch that the heading states and the last step has not. Steps that grow towards the stated
    batch (a ramp, also one that the log ends in) contradict nothing."""
    stated, batches = batch_of(facts), columns["batch"]
    if stated is None or not batches.size or not np.isfinite(batches[-1]):
        return []
    is_ramp = np.unique(batches[np.isfinite(batches)]).size > 1 and batches[-1] < stated.value
    if batches[-1] == stated.value or is_ramp:
        return []
    first = int(columns["line"][np.flatnonzero(batches == batches[-1])[0]])
    text = (
        f"two global batches: {stated.value:g} here, {batches[-1]:g} of the step in line {first}; "
        "weft takes those of the steps"
    )
    return [Remark(stated.line, text)]


def _true_times(columns: Columns) -> tuple[Columns, list[Remark]]:
    """The readings whose step time can be one."""
    times, lines = columns["time_s"], columns["line"]
    remarks: list[Remark] = []
    usable = np.isfinite(times) & (times > 0) & (times <= LONGEST_STEP_S)
    for at in np.flatnonzero(~usable)[: 2 * MOST_REMARKS]:
        remarks.append(Remark(int(lines[at]), f"the step time is {_word(float(times[at]))}"))
    for at, other in _wrong_units(columns):
        usable[at] = False
        if len(remarks) < 2 * MOST_REMARKS:
            text = (
                f"{times[at]:.4g} s a step and {columns['samples_s'][at]:.4g} samples/s do not "
                f"agree for a batch of {columns['batch'][at]:g}: {other}"
            )
            remarks.append(Remark(int(lines[at]), text))
    return selected(columns, usable), remarks


def _word(time_s: float) -> str:
    if np.isnan(time_s):
        return "no number"
    return f"{time_s:.4g} s" if time_s < 1e9 else "infinite" if np.isinf(time_s) else "beyond 1e9 s"


def _wrong_units(columns: Columns) -> list[tuple[int, str]]:
    """Readings whose time and samples/s differ by a thousand."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        product = columns["time_s"] * columns["samples_s"] / columns["batch"]
    low, high = _OFF_BY_UNIT
    found = []
    for at in np.flatnonzero(np.isfinite(product)):
        if low < product[at] < high:
            found.append((int(at), "the time seems to be in ms"))
        elif low < 1 / max(product[at], 1e-300) < high:
            found.append((int(at), "the time seems to be in units of 1000 s"))
    return found


def _clock_remarks(columns: Columns) -> list[Remark]:
    """Lines whose clock is earlier than that of the line before."""
    stamps, lines = columns["stamp_s"], columns["line"]
    back = (
        np.flatnonzero(np.diff(stamps) < -CLOCKS_APART_S)[: 2 * MOST_REMARKS]
        if stamps.size > 1
        else ()
    )
    return [
        Remark(int(lines[at + 1]), f"the clock goes back by {stamps[at] - stamps[at + 1]:,.0f} s")
        for at in back
    ]
