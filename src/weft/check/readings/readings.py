"""From samples of the benchmark `pairs` to columns: one row for one value of one pair."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.bench.model import Sample, State
from weft.core.errors import InputError
from weft.results.lines.number import LARGEST_MEASURED

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Metric(StrEnum):
    """The metric of a reading. A bandwidth has a direction; a latency is a round trip halved,
    `bidirectional` counts both directions, and the collective behind a bus bandwidth sends in both,
    so these three have none."""

    LATENCY = "latency_us"
    BANDWIDTH = "bandwidth_mb_s"
    BIDIRECTIONAL = "bidirectional_mb_s"
    BUSBW = "busbw_gb_s"

    @property
    def unit(self) -> str:
        """As printed."""
        units = {Metric.LATENCY: "us", Metric.BUSBW: "GB/s"}
        return units.get(self, "MB/s")

    @property
    def word(self) -> str:
        """As written in a sentence."""
        words = {
            Metric.LATENCY: "latency",
            Metric.BANDWIDTH: "bandwidth",
            Metric.BUSBW: "bus bandwidth",
        }
        return words.get(self, "bidirectional bandwidth")

    @property
    def both_directions(self) -> bool:
        """Whether a reading crosses the path back, too."""
        return self is not Metric.BANDWIDTH

    @property
    def code(self) -> int:
        """Its number in a column."""
        return _CODES[self]


METRICS = tuple(Metric)
MOST_METRICS_OF_A_RUN = 3
"""Ranks of weft measure up to three metrics, nccl-tests a bus bandwidth alone."""
_CODES = {metric: code for code, metric in enumerate(METRICS)}

_MOST_DIGITS = 18
_DIRECTED = (("bandwidth_ab_mb_s", False), ("bandwidth_ba_mb_s", True))


@dataclass(frozen=True)
class Readings:
    """Columns of equal length, one row a reading.

    `endpoints` names what `a` and `b` index: a node, or 'node:rank' where a host holds several
    ranks. A directed reading goes from `a` to `b`; others have a < b by name. Rows of equal
    `trial`, `round`, `metric` and `backwards` were measured at the same time. `trial` indexes
    `trials`, a trial's name and its repeat, in the order of the samples.
    """

    endpoints: tuple[str, ...]
    trials: tuple[tuple[str, int], ...]
    metric: Ints
    a: Ints
    b: Ints
    value: Floats
    size_bytes: Ints
    trial: Ints
    round: Ints
    n_concurrent: Ints
    backwards: Bools

    def __len__(self) -> int:
        return int(self.value.size)

    def name(self, row: int) -> tuple[str, str]:
        """Both endpoints of a row."""
        return (self.endpoints[self.a[row]], self.endpoints[self.b[row]])

    def unordered(self, row: int) -> tuple[str, str]:
        """Both endpoints of a row, the smaller name first."""
        a, b = self.name(row)
        return (min(a, b), max(a, b))

    def of_trial(self, name: str) -> Ints:
        """The rows of every repeat of a trial."""
        return np.flatnonzero(self.is_of_trial(name, np.arange(len(self))))

    def is_of_trial(self, name: str, rows: Ints) -> Bools:
        """By row of `rows`: whether it is of a repeat of a trial."""
        numbers = [i for i, (trial, _) in enumerate(self.trials) if trial == name]
        is_of: Bools = np.isin(self.trial[rows], numbers)
        return is_of

    @cached_property
    def moment(self) -> Ints:
        """A number that rows measured at the same time share."""
        stacked = np.stack([self.trial, self.round, self.metric, self.backwards.astype(np.int64)])
        return np.unique(stacked, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @cached_property
    def pair(self) -> Ints:
        """A number that rows of the same two endpoints share."""
        low, high = np.minimum(self.a, self.b), np.maximum(self.a, self.b)
        numbers: Ints = low * len(self.endpoints) + high
        return numbers


def readings_of(samples: Iterable[Sample]) -> Readings:
    """Every reading of the samples that may support a verdict, in the samples' order. Raises
    InputError for one that no backend writes: of 0 or less, or beyond all tools."""
    endpoints: dict[str, int] = {}
    trials: dict[tuple[str, int], int] = {}
    rows: list[tuple[int, int, int, float, int, int, int, int, bool]] = []
    for sample in samples:
        pair = sample.pair
        if pair is None or sample.state is not State.OK:
            continue
        a = endpoints.setdefault(pair.a, len(endpoints))
        b = endpoints.setdefault(pair.b, len(endpoints))
        trial = trials.setdefault((sample.trial, sample.repeat), len(trials))
        common = (sample.size_bytes, trial, pair.round, pair.n_concurrent)
        ahead = (a, b) if pair.a < pair.b else (b, a)
        directed = False
        for name, backwards in _DIRECTED:
            value = sample.metrics.get(name)
            if value is not None:
                directed = True
                ends = (b, a) if backwards else (a, b)
                rows.append((Metric.BANDWIDTH.code, *ends, value, *common, backwards))
        for metric in METRICS:
            # Tools whose files are imported give a pair one figure, which is no sum of ours.
            value = None if metric is Metric.BANDWIDTH and directed else sample.metrics.get(metric)
            if value is not None:
                ends = (a, b) if metric is Metric.BANDWIDTH else ahead
                rows.append((metric.code, *ends, value, *common, False))
    wrong = next((row[3] for row in rows if not row[3] * LARGEST_MEASURED >= 1), None)
    if wrong is not None:
        raise InputError(
            f"a reading of {wrong:g} between two nodes",
            expected="a positive number",
            hint="samples/ was changed after the run, or by another program",
        )
    columns = list(zip(*rows, strict=True)) if rows else [()] * 9
    kinds: list[Any] = [np.int64, np.int64, np.int64, np.float64, *[np.int64] * 4, np.bool_]
    arrays = (np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))
    return Readings(tuple(endpoints), tuple(trials), *arrays)


def union(rows: Iterable[Ints]) -> Ints:
    """Every row of these, once, in ascending order; no row of nothing."""
    return np.unique(np.concatenate([np.zeros(0, np.int64), *rows]))


def host_of(endpoint: str) -> str:
    """'n001' of 'n001' and of 'n001:3' (rank 3, on that host)."""
    return endpoint.partition(":")[0]


def is_rank(endpoint: str) -> bool:
    """Whether an endpoint is one of several ranks of its host."""
    return ":" in endpoint


def rank_in(endpoint: str) -> int:
    """3 of 'n001:3'. Raises InputError where no number follows."""
    number = endpoint.partition(":")[2]
    if not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise InputError(f"'{endpoint[:80]}' names no rank", expected="a node, or node:rank")
    return int(number)
