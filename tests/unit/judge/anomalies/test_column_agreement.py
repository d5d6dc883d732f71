"""Columns that say the same thing twice."""

import pytest

from weft.judge.anomalies.column_agreement import (
    bus_factor,
    contradictions,
    half_digit,
    slip_name,
)
from weft.judge.rules import rules
from weft.results.model import Row, Table


def nccl(*rows: tuple[int, float, float, float], benchmark: str = "allreduce") -> Table:
    return Table(
        "nccl-tests",
        "all_reduce_perf",
        benchmark,
        tuple(
            Row(i, size, {"latency_us": t, "algbw_gb_s": alg, "busbw_gb_s": bus})
            for i, (size, t, alg, bus) in enumerate(rows)
        ),
        1,
    )


SOUND = (
    (65536, 61.03, 1.07, 1.88),
    (1048576, 164.3, 6.38, 11.17),
    (134217728, 1916.4, 70.04, 122.57),
)


def wrong(table: Table, n_ranks: int | None = None) -> list[tuple[int, str]]:
    return [(found.row, found.text) for found in contradictions(table, n_ranks, rules())]


@pytest.mark.parametrize("n_ranks", [8, None])
def test_a_table_of_nccl_tests_agrees_with_itself(n_ranks: int | None) -> None:
    assert wrong(nccl(*SOUND), n_ranks) == []


@pytest.mark.parametrize("column", [1, 2, 3])
@pytest.mark.parametrize("factor", [0.5, 8.0])
def test_one_edited_column_is_found(column: int, factor: float) -> None:
    row = list(SOUND[1])
    row[column] *= factor
    found = wrong(nccl(SOUND[0], (int(row[0]), row[1], row[2], row[3]), SOUND[2]), 8)
    assert {index for index, _ in found} == {1}


def test_bits_for_bytes_are_named() -> None:
    size, time, alg, bus = SOUND[2]
    texts = {text for _, text in wrong(nccl(*SOUND[:2], (size, time, alg, bus * 8)), 8)}
    assert texts
    assert all("bits for bytes (8)?" in text for text in texts)


def test_figures_of_few_digits_are_rounded_and_zero_is_none() -> None:
    assert wrong(nccl((8, 17.93, 0.00, 0.00), (64, 19.27, 0.00, 0.01), *SOUND), 8) == []
    assert wrong(nccl((1024, 20.35, 0.05, 0.72), *SOUND), 8) != []


def test_one_rank_moves_nothing_and_that_is_no_contradiction() -> None:
    assert wrong(nccl((8, 9.32, 0.0, 0.0), (1024, 13.81, 0.07, 0.0)), 1) == []


def test_bus_factors_are_those_of_nccl_tests() -> None:
    assert bus_factor("allreduce", 16) == pytest.approx(1.875)
    assert bus_factor("allgather", 8) == pytest.approx(7 / 8)
    assert bus_factor("broadcast", None) == 1.0
    assert bus_factor("allreduce", None) is None


def one(tool: str, size: int, **metrics: float) -> Table:
    return Table(tool, "t", "bandwidth", (Row(1, size, metrics),), 1)


def test_perftests_rate_is_size_times_message_rate() -> None:
    gb_s = 196.09 * 125
    assert wrong(one("perftest", 8388608, bandwidth_mb_s=gb_s, msg_rate_mps=0.002922)) == []
    found = wrong(one("perftest", 8388608, bandwidth_mb_s=gb_s * 8, msg_rate_mps=0.002922))
    assert "bits for bytes" in found[0][1]


def test_imb_counts_sendrecv_twice_by_the_slowest_rank_and_once_had_binary_megabytes() -> None:
    times = {"latency_us": 32.24, "latency_us_min": 30.48, "latency_us_max": 33.48}
    assert wrong(one("imb", 262144, bandwidth_mb_s=15660.37, **times)) == []
    assert wrong(one("imb", 65536, bandwidth_mb_s=11688.60, latency_us=5.61)) == []
    assert wrong(one("imb", 65536, bandwidth_mb_s=11688.60 / 1.048576, latency_us=5.61)) == []
    assert wrong(one("imb", 65536, bandwidth_mb_s=11688.60 * 3, latency_us=5.61)) != []


@pytest.mark.parametrize(
    ("metrics", "ok"),
    [
        ({"latency_us_min": 1.0, "latency_us": 2.0, "latency_us_max": 3.0}, True),
        ({"latency_us_min": 2.5, "latency_us": 2.0, "latency_us_max": 3.0}, False),
        ({"latency_us": 16.0, "latency_us_max": 3.0}, False),
        ({"latency_us_p50": 2.0, "latency_us_p99": 1.0}, False),
        ({"latency_us": 1.8, "latency_us_p50": 1.79, "latency_us_stdev": 0.06}, True),
        ({"latency_us": 3.6, "latency_us_p50": 1.79, "latency_us_stdev": 0.06}, False),
    ],
)
def test_least_mean_percentiles_and_greatest_are_in_order(
    metrics: dict[str, float], ok: bool
) -> None:
    assert (wrong(one("perftest", 8, **metrics)) == []) is ok


def test_a_mean_over_ranks_may_lie_below_a_percentile_over_iterations() -> None:
    metrics = {"latency_us_min": 1.5, "latency_us": 2.0, "latency_us_p50": 1.2}
    assert wrong(one("osu", 8, **metrics)) == []


def test_half_a_digit_is_of_the_unit_the_tool_printed() -> None:
    assert half_digit(24511.25, "perftest", "bandwidth_mb_s") == pytest.approx(0.005 * 125)
    assert half_digit(6.0, "nccl-tests", "busbw_gb_s") == pytest.approx(0.005)
    assert half_digit(127.0, "nccl-tests", "latency_us") == pytest.approx(0.5)


def test_slips_are_named_either_way_round() -> None:
    assert slip_name(8.01, rules()) == slip_name(1 / 8, rules()) == "bits for bytes (8)"
    assert slip_name(1.0486, rules()) == "MiB for MB (1.0486)"
    assert slip_name(3.0, rules()) is None
