"""Tokens, FLOPs and utilisation of a run, from figures that the log or the user states."""

from dataclasses import dataclass

import numpy as np

from weft.core.errors import InputError
from weft.results.training.model import Stated, TrainingRun
from weft.results.training.run_columns import batch_of
from weft.train.log.given_figures import GivenFigures
from weft.train.log.steady import SteadyState


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates of the steady state; None where a figure that they need is stated nowhere.

    `samples_s` sequences or images a second, `tokens_s` = sequence x batch / step time. `tflops` is
    TFLOP/s a GPU, `mfu` its share of the peak. `low` and `high` factors turn a rate into the ends
    of its interval.
    """

    sequence: Stated | None
    batch: Stated | None
    gpus: Stated | None
    samples_s: float | None
    tokens_s: float | None
    tflops: float | None
    tflops_source: str
    mfu: float | None
    mfu_source: str
    low: float
    high: float

    @property
    def tokens_s_per_gpu(self) -> float | None:
        """Tokens/s of a GPU."""
        if self.tokens_s is None or self.gpus is None:
            return None
        return self.tokens_s / self.gpus.value


def throughput(run: TrainingRun, steady: SteadyState, given: GivenFigures) -> Throughput:
    """The rates of a run. Raises InputError for a FLOP count without a number of GPUs."""
    facts, step_s = run.facts, steady.summary.median
    sequence = _stated(given.sequence, facts.sequence)
    batch = _stated(given.batch, _batch(run, steady))
    gpus = _stated(given.gpus, facts.gpus)
    samples_s = batch.value / step_s if batch else None
    is_text = run.sample == "sequence"
    tokens_s = samples_s * sequence.value if samples_s and sequence and is_text else None
    tflops, source = _tflops(run, steady, given, gpus)
    peak = given.peak_tflops or (facts.peak_flops.value / 1e12 if facts.peak_flops else None)
    peak_source = (
        "given"
        if given.peak_tflops
        else facts.peak_flops.source
        if peak and facts.peak_flops
        else ""
    )
    ends = steady.summary.ends
    return Throughput(
        sequence=sequence if is_text else None,
        batch=batch,
        gpus=gpus,
        samples_s=samples_s,
        tokens_s=tokens_s,
        tflops=tflops,
        tflops_source=source,
        mfu=tflops / peak if tflops and peak else None,
        mfu_source=f"of {peak:g} TFLOP/s ({peak_source})" if peak else "",
        low=step_s / ends[1],
        high=step_s / ends[0],
    )


def _stated(given: int | None, stated: Stated | None) -> Stated | None:
    return Stated(float(given), 0) if given is not None else stated


def _batch(run: TrainingRun, steady: SteadyState) -> Stated | None:
    """The global batch of the steady readings, with the first line that states it."""
    value = float(run.batches[steady.first])
    if not np.isfinite(value):
        return None
    stated = batch_of(run.facts)
    if stated is not None and stated.value == value:
        return stated
    return Stated(value, int(run.lines[steady.first]))


def _tflops(
    run: TrainingRun, steady: SteadyState, given: GivenFigures, gpus: Stated | None
) -> tuple[float | None, str]:
    """TFLOP/s of a GPU, by the stated count or as the log prints them, and the source."""
    if given.flop_per_step is not None:
        if gpus is None:
            raise InputError(
                "--flop-per-step needs the number of GPUs, which the log does not state",
                expected="--gpus N",
            )
        return given.flop_per_step / steady.summary.median / gpus.value / 1e12, "given FLOP count"
    printed = run.tflops[steady.kept]
    printed = printed[np.isfinite(printed) & (printed > 0)]
    return (float(np.median(printed)), "as the log states") if printed.size else (None, "")


def interval(value: float, rates: Throughput) -> tuple[float, float]:
    """The interval of a rate."""
    return value * rates.low, value * rates.high
