"""Samples of a twin's launch, from the rows of its outcome."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.bench.block_sizes import most_bytes
from weft.bench.metrics import Metrics, TimeSeries, metrics_of, pair_metrics
from weft.bench.model import Launch, Pair, Sample, Trial
from weft.bench.phase import phases_of
from weft.bench.replay import is_replay
from weft.bench.twin.rounds import rounds_of
from weft.bench.twin.scenario import pair_size, window_of
from weft.bench.twin.training_step import TrainingStep
from weft.catalog.benchmark import Benchmark
from weft.catalog.machine.fit_report import Fit
from weft.topology.fabric_spec import Document

FANS = ("fan_in", "fan_out")
"""Benchmarks whose rows are messages: an iteration is over with the slowest."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Durations by step, round and pair; within a pair in the order of iterations."""

    phase: NDArray[np.uint64]
    duration_ns: NDArray[np.float64]

    def times_ns(self, step: int) -> list[float]:
        """The series of a step without rounds."""
        return [float(time) for time in self._of(step, 0)]

    def by_pair(self, step: int, round_: int, n_pairs: int) -> NDArray[np.float64]:
        """The series of a round: one row a pair, one column an iteration."""
        return self._of(step, round_).reshape(n_pairs, -1)

    def _of(self, step: int, round_: int) -> NDArray[np.float64]:
        wanted = np.uint64(step << 32 | round_)
        first, end = (np.searchsorted(self.phase, wanted, side) for side in ("left", "right"))
        return self.duration_ns[first:end]

    def slowest_ns(self, step: int, n_iterations: int) -> list[float]:
        """The slowest message of each iteration of a step whose messages have rows of their own."""
        slowest = self._of(step, 0).reshape(-1, n_iterations).max(axis=0)
        return [float(time) for time in slowest]


def rows_of(outcome: Mapping[str, Any]) -> Rows:
    """The outcome's rows, sorted once: searching each pair's among all would be quadratic."""
    columns = (np.asarray(outcome[name], dtype=np.uint64) for name in ("step", "round", "pair"))
    step, round_, pair = columns
    order = np.lexsort((pair, round_, step))
    durations = np.asarray(outcome["duration_ps"], dtype=np.float64) / 1e3
    return Rows((step << np.uint64(32) | round_)[order], durations[order])


def series_samples(
    launch: Launch,
    measured: Benchmark,
    steps: list[Document],
    rows: Rows,
    *,
    fit: Fit | None,
    evidence: Mapping[str, str],
) -> Iterator[Sample]:
    """A sample a size; the steps of a size (its random rings) follow one another."""
    trial = launch.trial
    series = [
        rows.slowest_ns(number, step["iterations"])
        if measured.name in FANS
        else _iterations(rows.times_ns(number))
        if is_replay(measured)
        else rows.times_ns(number)
        for number, step in enumerate(steps)
    ]
    share = len(steps) // len(trial.sizes_bytes)
    for place, size in enumerate(trial.sizes_bytes):
        times_ns = list(chain.from_iterable(series[place * share : (place + 1) * share]))
        values = _metrics(measured, trial, size, times_ns)
        outside = fit is not None and measured.sizes and not fit.covers(size)
        flags = ("outside_fit",) if outside else ()
        yield _sample(launch, size, values, len(times_ns), evidence, times_ns=times_ns, flags=flags)


def _iterations(times_ns: list[float]) -> list[float]:
    """Of a program's rows those between two marks; without marks, the whole program."""
    return times_ns[1:-1] if len(times_ns) > 2 else times_ns


def _metrics(measured: Benchmark, trial: Trial, size: int, times_ns: Sequence[float]) -> Metrics:
    n_ranks, name = trial.n_ranks, measured.name
    most = None
    if name == "alltoallv":
        most = most_bytes(size, n_ranks, float(trial.options.get("skew", 0.0)))
    return metrics_of(
        TimeSeries(
            name,
            size,
            n_ranks,
            times_ns,
            window=window_of(measured, trial),
            n_pairs=n_ranks - 1 if name in FANS else n_ranks // 2,
            skew_p50_ns=0.0,  # every iteration starts after an ideal barrier
            most_bytes=most,
        )
    )


def pair_samples(
    launch: Launch, measured: Benchmark, rows: Rows, evidence: Mapping[str, str]
) -> Iterator[Sample]:
    """Of each pair a sample of its small size and one of its large, as its phases have them."""
    trial = launch.trial
    names = [trial.endpoint(rank) for rank in range(trial.n_ranks)]
    for number, pairs in enumerate(rounds_of(trial)):
        columns = _pair_columns(trial, measured, rows, number, len(pairs))
        for i, (rank_a, rank_b) in enumerate(pairs):
            pair = Pair(names[rank_a], names[rank_b], number, len(pairs))
            for size, iterations, of_metric in columns:
                values = {name: column[i] for name, column in of_metric.items()}
                yield _sample(launch, size, values, iterations, evidence, pair=pair)


_Column = tuple[int, int, Mapping[str, list[float]]]


def _pair_columns(
    trial: Trial, measured: Benchmark, rows: Rows, round_: int, n_pairs: int
) -> list[_Column]:
    """For the phases of the small size, then of the large: size, iterations, metrics by pair."""
    columns: list[_Column] = []
    phases = phases_of(trial.options)
    step = 0
    for is_small in (True, False):
        series: dict[str, NDArray[np.float64]] = {}
        for phase in (phase for phase in phases if phase.is_small is is_small):
            for kind in phase.kinds:
                series[kind] = rows.by_pair(step, round_, n_pairs)
                step += 1
        if series:
            size = pair_size(trial, is_small=is_small)
            windows = dict.fromkeys(series, window_of(measured, trial))
            by_metric = pair_metrics(series, size, windows)
            n_iterations = next(iter(series.values())).shape[1]
            lists = {name: column.tolist() for name, column in by_metric.items()}
            columns.append((size, n_iterations, lists))
    return columns


def _sample(
    launch: Launch,
    size: int,
    values: Metrics,
    iterations: int,
    evidence: Mapping[str, str],
    *,
    times_ns: Sequence[float] | None = None,
    pair: Pair | None = None,
    flags: tuple[str, ...] = (),
) -> Sample:
    """A sample dated by its place in the run: a twin has no clock, and reruns are equal."""
    return Sample(
        trial=launch.trial.id,
        repeat=launch.repeat,
        benchmark=launch.trial.benchmark,
        size_bytes=size,
        metrics=values,
        iterations=iterations,
        started_unix_s=float(launch.order),
        flags=flags,
        pair=pair,
        times_ns=None if times_ns is None else tuple(max(1, round(time)) for time in times_ns),
        evidence=evidence,
    )


def training_samples(
    launch: Launch, step: TrainingStep, rows: Rows, evidence: Mapping[str, str]
) -> Iterator[Sample]:
    """The sample of a step of training, from the rows of its allreduces."""
    times_of = {size: rows.times_ns(number) for number, size in enumerate(step.sizes)}
    series = [times_of[size] for size in step.buckets]
    values = step.metrics([fmean(times) for times in series], launch.trial.n_ranks)
    times_ns = [step.time_ns(times) for times in zip(*series, strict=True)]
    yield _sample(launch, 0, values, len(times_ns), evidence, times_ns=times_ns)
