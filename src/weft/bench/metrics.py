"""From a series of iteration times to metrics: one definition for every backend.

Times are nanoseconds, one a timed iteration, as docs/reference/kernel_output.md defines
them. GB = 1e9 bytes, MB = 1e6 bytes. Every function raises ValueError on an empty series or on a
time that is not positive: a backend must not turn a failed iteration into a number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.bench.phase import PHASES

Metrics = dict[str, float]
Floats = NDArray[np.float64]

P99_FROM_ITERATIONS = 500
"""Below this many iterations a 99th percentile rests on fewer than five values."""

BUS_FACTORS: dict[str, Callable[[int], float]] = {
    "allreduce": lambda n: 2 * (n - 1) / n,
    "reduce": lambda n: 1.0,  # noqa: ARG005
    "reduce_scatter": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,  # noqa: ARG005
    "allgather": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
    "alltoallv": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
}
"""busbw / algbw for n ranks. SOURCE: NVIDIA nccl-tests, doc/PERFORMANCE.md; src/alltoallv.cu."""

OF_BLOCKS = ("allgather", "alltoall", "alltoallv", "gather", "scatter")
"""Collectives whose size is one rank's block: algbw counts n of them. SOURCE: nccl-tests, src."""

PROGRAMS = ("replay", "halo", "transposes", "plane_waves")
"""Benchmarks whose series is a program's iterations."""
COLLECTIVES = ("barrier", *BUS_FACTORS)
PAIR_KINDS = tuple(kind for phase in PHASES.values() for kind in phase.kinds)


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Times of one (benchmark, size), nanoseconds an iteration, and what they are times of.

    `size_bytes` is OSU's: the vector of an allreduce, reduce, reduce_scatter or broadcast, the
    block of each rank of an allgather, gather or scatter, the block for each destination of an
    alltoall. Times of a collective are the maximum over ranks. `n_pairs` counts the pairs of a
    message rate, the other ranks of a fan. `ranks_mean_ns` holds the mean of each rank whose clock
    counts; a backend with a single clock leaves it empty. `most_bytes` is what the busiest rank of
    an alltoallv sends or receives, where its blocks differ.
    """

    benchmark: str
    size_bytes: int
    n_ranks: int
    times_ns: Sequence[float]
    window: int = 1
    n_pairs: int = 1
    ranks_mean_ns: Sequence[float] = ()
    skew_p50_ns: float | None = None
    most_bytes: int | None = None

    @property
    def times(self) -> Floats:
        """The times, none of them missing. Raises ValueError."""
        return _all_positive(np.asarray([self.times_ns], dtype=np.float64)).ravel()

    @property
    def mean_over_ranks_ns(self) -> float | None:
        """The mean of the ranks' own means."""
        return float(np.mean(self.ranks_mean_ns)) if len(self.ranks_mean_ns) else None


def metrics_of(series: TimeSeries) -> Metrics:
    """The metrics of a series. Raises ValueError on a benchmark that has none here."""
    known = _METRICS.get(series.benchmark)
    if known is None:
        raise ValueError(f"no metrics for the benchmark '{series.benchmark}'")
    return known(series)


def pair_metrics(
    series_ns: Mapping[str, Floats], size: int, windows: Mapping[str, int]
) -> dict[str, Floats]:
    """Metrics of many pairs at one size, a column each.

    `series_ns` holds what was timed by kind (weft.bench.phase), one row a pair, one column an
    iteration, and `windows` the messages of one. `latency_us` is half the median round trip;
    `bandwidth_ab_mb_s` and `bandwidth_ba_mb_s` are one direction each, `bandwidth_mb_s` the smaller
    of the two; `bidirectional_mb_s` counts both directions at once.
    """
    columns: dict[str, Floats] = {}
    for kind in (kind for kind in PAIR_KINDS if kind in series_ns):
        times = _all_positive(series_ns[kind])
        if kind == "latency":
            columns["latency_us"] = np.asarray(np.median(times, axis=1)) / 2e3
            continue
        directions = 2 if kind == "bidirectional" else 1
        n_bytes = directions * size * windows[kind] * times.shape[1]
        columns[f"{kind}_mb_s"] = np.asarray(n_bytes / times.sum(axis=1) * 1e3)
        if kind == "bandwidth_ba":
            there, back = columns["bandwidth_ab_mb_s"], columns["bandwidth_ba_mb_s"]
            columns["bandwidth_mb_s"] = np.minimum(there, back)
    return columns


def _latency(series: TimeSeries) -> Metrics:
    """One-way latency of round trips: `latency_us` is total time / (2 x iterations), as OSU's."""
    return _spread(series.times / 2)


def _windows(series: TimeSeries, messages: int) -> Metrics:
    """Bandwidth of windows, of so many messages each for one of the benchmark's own."""
    times = series.times
    window_bytes = messages * series.size_bytes * series.window
    return {
        "bandwidth_mb_s": _mb_s(window_bytes * times.size, float(times.sum())),
        "bandwidth_mb_s_p50": _mb_s(window_bytes, float(np.median(times))),
    }


def _message_rate(series: TimeSeries) -> Metrics:
    """Rate over all pairs: `msg_rate_mps` in millions of messages a second.

    The time is the mean over senders of their mean times, as OSU's; without those it is that of
    the slowest sender.
    """
    times, mean_ns = series.times, series.mean_over_ranks_ns
    total_ns = float(times.sum()) if mean_ns is None else mean_ns * times.size
    n_messages = series.n_pairs * series.window * times.size
    return {
        "bandwidth_mb_s": _mb_s(n_messages * series.size_bytes, total_ns),
        "msg_rate_mps": n_messages / total_ns * 1e3,
    }


def _collective(series: TimeSeries) -> Metrics:
    """Metrics of one of COLLECTIVES.

    `latency_us_avg_ranks` is the mean over ranks of per-rank means (OSU's "Avg"). Rates rest on the
    mean time, as those of nccl-tests do.
    """
    times, size = series.times, series.size_bytes
    metrics = _spread(times)
    if (mean_ns := series.mean_over_ranks_ns) is not None:
        metrics["latency_us_avg_ranks"] = mean_ns / 1e3
    if series.skew_p50_ns is not None:
        metrics["skew_us_p50"] = series.skew_p50_ns / 1e3
    if size > 0 and series.benchmark in BUS_FACTORS:
        whole = size * series.n_ranks if series.benchmark in OF_BLOCKS else size
        algbw_gb_s = (series.most_bytes or whole) / float(times.mean())
        metrics["algbw_gb_s"] = algbw_gb_s
        metrics["busbw_gb_s"] = algbw_gb_s * BUS_FACTORS[series.benchmark](series.n_ranks)
    return metrics


def _ring_latency(series: TimeSeries) -> Metrics:
    """Latency in a ring: half of an exchange with both neighbours, of the slowest rank.

    `latency_us_avg_ranks` is the same of the mean over ranks, as GPCNeT's average.
    SOURCE: HPC Challenge 1.5, bench_lat_bw; GPCNeT 1.3, random_ring.
    """
    metrics = _latency(series)
    if (mean_ns := series.mean_over_ranks_ns) is not None:
        metrics["latency_us_avg_ranks"] = mean_ns / 2e3
    return metrics


def _ring_bandwidth(series: TimeSeries) -> Metrics:
    """The bytes a second from a rank of a ring to both neighbours, by the slowest rank's time.

    `bandwidth_mb_s_avg_ranks` rests on the mean over ranks, as GPCNeT's average.
    SOURCE: HPC Challenge 1.5, bench_lat_bw; GPCNeT 1.3, random_ring.
    """
    metrics = _windows(series, 2)
    if (mean_ns := series.mean_over_ranks_ns) is not None:
        n_bytes = 2 * series.window * series.size_bytes
        metrics["bandwidth_mb_s_avg_ranks"] = _mb_s(n_bytes, mean_ns)
    return metrics


def _all_positive(times_ns: Floats) -> Floats:
    if times_ns.ndim != 2 or times_ns.shape[1] == 0:
        raise ValueError("an empty series of iteration times")
    if not bool(np.all(times_ns > 0)):
        raise ValueError("an iteration time that is not positive")
    return times_ns


def _spread(times_ns: Floats) -> Metrics:
    times_us = times_ns / 1e3
    metrics = {
        "latency_us": float(times_us.mean()),
        "latency_us_p50": float(np.median(times_us)),
        "latency_us_min": float(times_us.min()),
        "latency_us_max": float(times_us.max()),
    }
    if times_us.size >= P99_FROM_ITERATIONS:
        metrics["latency_us_p99"] = float(np.quantile(times_us, 0.99))
    return metrics


def _mb_s(n_bytes: int, time_ns: float) -> float:
    return n_bytes / time_ns * 1e3


_METRICS: Mapping[str, Callable[[TimeSeries], Metrics]] = {
    "latency": _latency,
    "bandwidth": lambda series: _windows(series, 1),
    "sendrecv": lambda series: _windows(series, 1),
    # Both directions are counted; of a fan all messages, as OSU does.
    "bidirectional": lambda series: _windows(series, 2),
    "message_rate": _message_rate,
    "fan_in": lambda series: _windows(series, series.n_pairs),
    "fan_out": lambda series: _windows(series, series.n_pairs),
    "random_ring_latency": _ring_latency,
    "random_ring_bandwidth": _ring_bandwidth,
    "natural_ring_bandwidth": _ring_bandwidth,
    **dict.fromkeys(COLLECTIVES, _collective),
    **dict.fromkeys(PROGRAMS, lambda series: _spread(series.times)),
}
