"""From a series of iteration times to metrics: one definition for every backend.

Times are nanoseconds, one a timed iteration, as docs/reference/kernel_output.md defines
them. GB = 1e9 bytes, MB = 1e6 bytes. Every function raises ValueError on an empty series or on a
time that is not positive: a backend must not turn a failed iteration into a number.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Metrics = dict[str, float]

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

COLLECTIVES = ("barrier", *BUS_FACTORS)


def latency_metrics(times_ns: Sequence[float]) -> Metrics:
    """One-way latency of round trips: `latency_us` is total time / (2 x iterations), as OSU's."""
    return _spread(_series(times_ns) / 2)


def bandwidth_metrics(
    times_ns: Sequence[float], size: int, window: int, directions: int = 1
) -> Metrics:
    """Bandwidth of windows of `window` messages of `size` bytes; both directions are counted."""
    times = _series(times_ns)
    window_bytes = directions * size * window
    return {
        "bandwidth_mb_s": _mb_s(window_bytes * times.size, float(times.sum())),
        "bandwidth_mb_s_p50": _mb_s(window_bytes, float(np.median(times))),
    }


def message_rate_metrics(
    times_ns: Sequence[float],
    size: int,
    window: int,
    n_pairs: int = 1,
    *,
    ranks_mean_ns: Sequence[float] | None = None,
) -> Metrics:
    """Rate over all pairs: `msg_rate_mps` in millions of messages a second.

    The time is the mean over senders of their mean times, as OSU's, where `ranks_mean_ns` holds
    those; else that of `times_ns`, the slowest sender's.
    """
    times = _series(times_ns)
    total_ns = float(times.sum())
    if ranks_mean_ns is not None and len(ranks_mean_ns) > 0:
        total_ns = float(np.mean(ranks_mean_ns)) * times.size
    n_messages = n_pairs * window * times.size
    return {
        "bandwidth_mb_s": _mb_s(n_messages * size, total_ns),
        "msg_rate_mps": n_messages / total_ns * 1e3,
    }


def collective_metrics(
    times_ns: Sequence[float],
    size: int,
    n_ranks: int,
    benchmark: str,
    *,
    ranks_mean_ns: Sequence[float] | None = None,
    skew_p50_ns: float | None = None,
    most_bytes: int | None = None,
) -> Metrics:
    """Metrics of one of COLLECTIVES from the maximum over ranks an iteration.

    `size` is OSU's: the vector of an allreduce, reduce, reduce_scatter or broadcast, the block of
    each rank of an allgather, gather or scatter, the block for each destination of an alltoall.
    `most_bytes` is what the busiest rank of an alltoallv sends or receives, where its blocks
    differ.
    `latency_us_avg_ranks` is the mean over ranks of per-rank means (OSU's "Avg"), present when
    `ranks_mean_ns` is given. Rates rest on the mean time, as those of nccl-tests do.
    """
    times = _series(times_ns)
    metrics = _spread(times)
    if ranks_mean_ns is not None and len(ranks_mean_ns) > 0:
        metrics["latency_us_avg_ranks"] = float(np.mean(ranks_mean_ns)) / 1e3
    if skew_p50_ns is not None:
        metrics["skew_us_p50"] = skew_p50_ns / 1e3
    if size > 0 and benchmark in BUS_FACTORS:
        n_bytes = most_bytes or (size * n_ranks if benchmark in OF_BLOCKS else size)
        algbw_gb_s = n_bytes / float(times.mean())
        metrics["algbw_gb_s"] = algbw_gb_s
        metrics["busbw_gb_s"] = algbw_gb_s * BUS_FACTORS[benchmark](n_ranks)
    return metrics


def fan_metrics(times_ns: Sequence[float], size: int, window: int, n_others: int) -> Metrics:
    """Bandwidth of windows between one rank and `n_others`, all messages counted, as OSU's."""
    return bandwidth_metrics(times_ns, size, window * n_others)


def ring_latency_metrics(
    times_ns: Sequence[float], *, ranks_mean_ns: Sequence[float] | None = None
) -> Metrics:
    """Latency in a ring: half of an exchange with both neighbours, of the slowest rank.

    `latency_us_avg_ranks` is the same of the mean over ranks, as GPCNeT's average.
    SOURCE: HPC Challenge 1.5, bench_lat_bw; GPCNeT 1.3, random_ring.
    """
    values = latency_metrics(times_ns)
    if ranks_mean_ns is not None and len(ranks_mean_ns) > 0:
        values["latency_us_avg_ranks"] = float(np.mean(ranks_mean_ns)) / 2e3
    return values


def ring_bandwidth_metrics(
    times_ns: Sequence[float],
    size: int,
    window: int,
    *,
    ranks_mean_ns: Sequence[float] | None = None,
) -> Metrics:
    """What a rank of a ring sends to both neighbours a second, by the slowest rank's time.

    `bandwidth_mb_s_avg_ranks` rests on the mean over ranks, as GPCNeT's average.
    SOURCE: HPC Challenge 1.5, bench_lat_bw; GPCNeT 1.3, random_ring.
    """
    values = bandwidth_metrics(times_ns, size, window, directions=2)
    if ranks_mean_ns is not None and len(ranks_mean_ns) > 0:
        mean_ns = float(np.mean(ranks_mean_ns))
        values["bandwidth_mb_s_avg_ranks"] = _mb_s(2 * window * size, mean_ns)
    return values


def pair_latencies_us(times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the median round trip of each series, one a row."""
    return np.asarray(np.median(_all_positive(times_ns), axis=1)) / 2e3


def pair_rates_mb_s(
    times_ns: NDArray[np.float64], size: int, window: int, directions: int = 1
) -> NDArray[np.float64]:
    """The bandwidth of each series of windows, one a row; both directions are counted."""
    times = _all_positive(times_ns)
    n_bytes = directions * size * window * times.shape[1]
    return np.asarray(n_bytes / times.sum(axis=1) * 1e3)


def pair_metrics(
    series_ns: Mapping[str, NDArray[np.float64]], size: int, windows: Mapping[str, int]
) -> dict[str, NDArray[np.float64]]:
    """Metrics of many pairs at one size, a column each.

    `series_ns` holds what was timed by kind (weft.bench.phase), one row a pair, one column an
    iteration, and `windows` the messages of one. `latency_us` is half the median round trip;
    `bandwidth_ab_mb_s` and `bandwidth_ba_mb_s` are each way, `bandwidth_mb_s` the smaller of the
    two; `bidirectional_mb_s` counts both directions at once.
    """
    columns: dict[str, NDArray[np.float64]] = {}
    if "latency" in series_ns:
        columns["latency_us"] = pair_latencies_us(series_ns["latency"])
    if "bandwidth_ab" in series_ns:
        there, back = (
            pair_rates_mb_s(series_ns[kind], size, windows[kind])
            for kind in ("bandwidth_ab", "bandwidth_ba")
        )
        columns |= {"bandwidth_ab_mb_s": there, "bandwidth_ba_mb_s": back}
        columns["bandwidth_mb_s"] = np.minimum(there, back)
    if "bidirectional" in series_ns:
        kind = "bidirectional"
        both = pair_rates_mb_s(series_ns[kind], size, windows[kind], directions=2)
        columns["bidirectional_mb_s"] = both
    return columns


def one_pair_metrics(series_ns: Mapping[str, Sequence[float]], size: int, window: int) -> Metrics:
    """`pair_metrics` of a single pair, with one window for all that was timed."""
    rows = {kind: _series(times)[np.newaxis, :] for kind, times in series_ns.items()}
    windows = dict.fromkeys(rows, window)
    return {name: float(column[0]) for name, column in pair_metrics(rows, size, windows).items()}


def _all_positive(times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    if times_ns.ndim != 2 or times_ns.shape[1] == 0:
        raise ValueError("an empty series of iteration times")
    if not bool(np.all(times_ns > 0)):
        raise ValueError("an iteration time that is not positive")
    return times_ns


def _series(times_ns: Sequence[float]) -> NDArray[np.float64]:
    times = np.asarray(times_ns, dtype=np.float64)
    if times.ndim != 1 or times.size == 0:
        raise ValueError("an empty series of iteration times")
    if not bool(np.all(times > 0)):
        raise ValueError("an iteration time that is not positive")
    return times


def _spread(times_ns: NDArray[np.float64]) -> Metrics:
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
