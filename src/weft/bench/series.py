"""The one way from a series of a benchmark's iterations to its metrics, whoever timed it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from weft.bench import metrics
from weft.bench.metrics import Metrics


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Times of one (benchmark, size), nanoseconds an iteration, and what they are times of.

    `n_pairs` counts the pairs of a message rate, the others of a fan. `ranks_mean_ns` holds the
    mean of each rank whose clock counts; a backend that has but one clock leaves it empty.
    `most_bytes` is what the busiest rank of an alltoallv sends or receives.
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


def metrics_of(series: TimeSeries) -> Metrics:
    """The metrics of a series. Raises ValueError on a benchmark that has none here."""
    known = _METRICS.get(series.benchmark)
    if known is None:
        raise ValueError(f"no metrics for the benchmark '{series.benchmark}'")
    return known(series)


def _latency(series: TimeSeries) -> Metrics:
    return metrics.latency_metrics(series.times_ns)


def _bandwidth(series: TimeSeries) -> Metrics:
    return metrics.bandwidth_metrics(series.times_ns, series.size_bytes, series.window)


def _bidirectional(series: TimeSeries) -> Metrics:
    return metrics.bandwidth_metrics(
        series.times_ns, series.size_bytes, series.window, directions=2
    )


def _message_rate(series: TimeSeries) -> Metrics:
    return metrics.message_rate_metrics(
        series.times_ns,
        series.size_bytes,
        series.window,
        series.n_pairs,
        ranks_mean_ns=series.ranks_mean_ns,
    )


def _fan(series: TimeSeries) -> Metrics:
    return metrics.fan_metrics(series.times_ns, series.size_bytes, series.window, series.n_pairs)


def _ring_latency(series: TimeSeries) -> Metrics:
    return metrics.ring_latency_metrics(series.times_ns, ranks_mean_ns=series.ranks_mean_ns)


def _ring_bandwidth(series: TimeSeries) -> Metrics:
    return metrics.ring_bandwidth_metrics(
        series.times_ns, series.size_bytes, series.window, ranks_mean_ns=series.ranks_mean_ns
    )


def _collective(series: TimeSeries) -> Metrics:
    return metrics.collective_metrics(
        series.times_ns,
        series.size_bytes,
        series.n_ranks,
        series.benchmark,
        ranks_mean_ns=series.ranks_mean_ns,
        skew_p50_ns=series.skew_p50_ns,
        most_bytes=series.most_bytes,
    )


_METRICS: Mapping[str, Callable[[TimeSeries], Metrics]] = {
    "latency": _latency,
    "bandwidth": _bandwidth,
    "bidirectional": _bidirectional,
    "message_rate": _message_rate,
    "fan_in": _fan,
    "fan_out": _fan,
    "random_ring_latency": _ring_latency,
    "random_ring_bandwidth": _ring_bandwidth,
    "natural_ring_bandwidth": _ring_bandwidth,
    **dict.fromkeys(metrics.COLLECTIVES, _collective),
}
