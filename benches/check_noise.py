"""Noise, outliers and drift of measured values."""

import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
from benches.check_case import Noise
from benches.check_twin import with_metrics

from weft.bench.model import Launch, Sample

N_LAUNCHES = 3
"""Of a check: the survey, suspects alone, suspects in rounds."""


class NoisyBackend:
    """A backend whose every measured value is disturbed; the series of times are left out.

    `process_s`: seconds of processor time that it took to measure `launches`.
    """

    def __init__(self, inner: Any, noise: Noise, seed: str) -> None:
        self._inner = inner
        self._noise = noise
        self._draws = np.random.default_rng(Random(seed).getrandbits(64))  # noqa: S311
        self.process_s = 0.0
        self.launches: list[Launch] = []
        self.name = inner.name
        self.faults = inner.faults

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The inner backend's samples, disturbed."""
        started = time.process_time()
        self.launches.append(launch)
        before = list(self._inner.measure(launch))
        progress = _progress(before, launch)
        samples = disturbed(before, self._noise, self._draws, progress)
        self.process_s += time.process_time() - started
        return iter(samples)


def _progress(samples: Sequence[Sample], launch: Launch) -> list[float]:
    """By sample: the part of a check that is over, its launches taking a third each."""
    n = max(len(launch.trial.options["rounds"]), 1)
    rounds = (0 if sample.pair is None else sample.pair.round for sample in samples)
    return [(launch.order + round_ / n) / N_LAUNCHES for round_ in rounds]


def disturbed(
    samples: Sequence[Sample],
    noise: Noise,
    draws: np.random.Generator,
    progress: Sequence[float] | None = None,
) -> list[Sample]:
    """Samples whose every value is off by lognormal noise, and now and then several times slower;
    and by the drift up to then.

    Each measured value is drawn by itself; `bandwidth_mb_s` is the smaller of both directions.
    """
    n = sum(len(sample.metrics) for sample in samples)
    factors = np.exp(noise.sigma * draws.standard_normal(n))
    factors[draws.random(n) < noise.outliers] *= noise.outlier_factor
    over = np.zeros(len(samples)) if progress is None else np.asarray(progress)
    factors *= np.exp(noise.drift * np.repeat(over, [len(one.metrics) for one in samples]))
    slower = iter(factors.tolist())
    found = []
    for sample in samples:
        metrics = {
            name: value * factor if name.endswith("_us") else value / factor
            for (name, value), factor in zip(sample.metrics.items(), slower, strict=False)
        }
        found.append(with_metrics(sample, metrics))
    return found
