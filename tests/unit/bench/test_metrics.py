"""The metrics every backend shares, against OSU's and nccl-tests' definitions."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from weft.bench.metrics import Metrics, TimeSeries, metrics_of, pair_metrics
from weft.bench.phase import PHASES


def _of(
    benchmark: str, times_ns: Sequence[float], size: int = 8, n_ranks: int = 2, **more: Any
) -> Metrics:
    return metrics_of(TimeSeries(benchmark, size, n_ranks, times_ns, **more))


def _of_a_pair(series_ns: Mapping[str, Sequence[float]], size: int, window: int) -> Metrics:
    rows = {kind: np.array([times], dtype=np.float64) for kind, times in series_ns.items()}
    columns = pair_metrics(rows, size, dict.fromkeys(rows, window))
    return {name: float(column[0]) for name, column in columns.items()}


def test_latency_is_total_time_over_twice_the_iterations() -> None:
    values = _of("latency", [2_000, 4_000, 12_000])
    assert values["latency_us"] == pytest.approx(18.0 / 6)
    assert values["latency_us_p50"] == pytest.approx(2.0)
    assert values["latency_us_min"] == pytest.approx(1.0)
    assert values["latency_us_max"] == pytest.approx(6.0)


def test_p99_only_from_500_iterations() -> None:
    assert "latency_us_p99" not in _of("latency", [100] * 499)
    assert _of("latency", [100] * 500)["latency_us_p99"] == pytest.approx(0.05)


def test_bandwidth_is_all_bytes_over_all_time() -> None:
    # 64 messages of 1 MB in 6.4 ms and in 12.8 ms: together 128 MB in 19.2 ms.
    values = _of("bandwidth", [6_400_000, 12_800_000], 1_000_000, window=64)
    assert values["bandwidth_mb_s"] == pytest.approx(128 / 19.2e-3)
    assert values["bandwidth_mb_s_p50"] == pytest.approx(64 / 9.6e-3)


def test_bidirectional_counts_both_directions() -> None:
    one = _of("bandwidth", [1_000], 100, window=8)
    both = _of("bidirectional", [1_000], 100, window=8)
    assert both["bandwidth_mb_s"] == pytest.approx(2 * one["bandwidth_mb_s"])


def test_message_rate_counts_all_pairs_in_millions_a_second() -> None:
    values = _of("message_rate", [64_000], window=64, n_pairs=3)
    assert values["msg_rate_mps"] == pytest.approx(3.0)
    assert values["bandwidth_mb_s"] == pytest.approx(24.0)


def test_allreduce_bus_bandwidth_factor() -> None:
    values = _of("allreduce", [1_000_000], 4_000_000, 4)
    assert values["algbw_gb_s"] == pytest.approx(4.0)
    assert values["busbw_gb_s"] == pytest.approx(6.0)


def test_alltoall_size_is_one_block_for_each_destination() -> None:
    # Each of 4 ranks sends 3 blocks of 1 MB to others in 1 ms: 3 GB/s leave each host.
    values = _of("alltoall", [1_000_000], 1_000_000, 4)
    assert values["busbw_gb_s"] == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("benchmark", "n_bytes", "moved"),
    [
        # Bytes by hand, of 4 ranks and 4 MB (4 blocks of 1 MB), that each rank must take in or
        # give out whatever the algorithm: the vector, or its share of it, or the others' blocks.
        ("broadcast", 4_000_000, 4_000_000),
        ("reduce", 4_000_000, 4_000_000),
        ("reduce_scatter", 4_000_000, 3_000_000),
        ("allgather", 1_000_000, 3_000_000),
        ("alltoallv", 1_000_000, 3_000_000),
        ("gather", 1_000_000, 3_000_000),
        ("scatter", 1_000_000, 3_000_000),
    ],
)
def test_bus_bandwidth_is_what_a_rank_s_link_must_carry(
    benchmark: str, n_bytes: int, moved: int
) -> None:
    values = _of(benchmark, [1_000_000], n_bytes, 4)
    assert values["busbw_gb_s"] == pytest.approx(moved / 1e6)


def test_barrier_has_no_bandwidth_and_reports_skew_and_rank_mean() -> None:
    values = _of("barrier", [5_000], 0, 4, ranks_mean_ns=[2_000.0, 4_000.0], skew_p50_ns=500.0)
    assert values["latency_us"] == pytest.approx(5.0)
    assert values["latency_us_avg_ranks"] == pytest.approx(3.0)
    assert values["skew_us_p50"] == pytest.approx(0.5)
    assert "algbw_gb_s" not in values


def test_a_pair_is_as_fast_as_its_slower_direction() -> None:
    series = {"bandwidth_ab": [1_000], "bandwidth_ba": [4_000], "bidirectional": [5_000]}
    values = _of_a_pair(series, 1_000, 4)
    assert values["bandwidth_ab_mb_s"] == pytest.approx(4_000)
    assert values["bandwidth_ba_mb_s"] == pytest.approx(1_000)
    assert values["bandwidth_mb_s"] == values["bandwidth_ba_mb_s"]
    # 4 messages of 1,000 B each way in 5 us.
    assert values["bidirectional_mb_s"] == pytest.approx(8_000 / 5)
    round_trips = {"latency": [2_000, 4_000, 90_000]}
    assert _of_a_pair(round_trips, 8, 4) == {"latency_us": 2.0}


def test_many_pairs_have_the_metrics_that_each_has_alone() -> None:
    rng = np.random.default_rng(1)
    series = {
        kind: rng.uniform(1e3, 1e6, (50, 7)) for phase in PHASES.values() for kind in phase.kinds
    }
    together = pair_metrics(series, 4096, dict.fromkeys(series, 16))
    for i in range(50):
        alone = _of_a_pair({kind: rows[i] for kind, rows in series.items()}, 4096, 16)
        assert {name: column[i] for name, column in together.items()} == pytest.approx(alone)
        there = _of("bandwidth", series["bandwidth_ab"][i], 4096, window=16)["bandwidth_mb_s"]
        assert alone["bandwidth_ab_mb_s"] == pytest.approx(there)


@pytest.mark.parametrize("times_ns", [[], [0], [5, -1]])
def test_a_series_without_times_is_no_measurement(times_ns: list[int]) -> None:
    with pytest.raises(ValueError, match=r"series|not positive"):
        _of("latency", times_ns)
    with pytest.raises(ValueError, match=r"series|not positive"):
        _of_a_pair({"bidirectional": times_ns}, 8, 1)


def test_message_rate_takes_the_mean_over_senders_as_osu_does() -> None:
    slowest = [64_000]
    values = _of("message_rate", slowest, window=64, n_pairs=2, ranks_mean_ns=[32_000, 64_000])
    assert values["msg_rate_mps"] == pytest.approx(2 * 64 / 48)
