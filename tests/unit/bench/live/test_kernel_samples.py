"""Rows whose metrics follow from the definitions by hand."""

from typing import Any

import pytest

from weft.bench.live.kernel_records import (
    Header,
    KernelOutput,
    KernelRank,
    KernelRow,
    PairRow,
    RankTimes,
    Skew,
)
from weft.bench.live.kernel_samples import endpoint_names, to_samples
from weft.bench.model import Launch, Pair, Sample, State, Trial

LAUNCH = Launch(Trial("t001", "latency", (8,), ("n1", "n2"), 1), repeat=3, order=0)
HEADER = Header(
    schema="weft.kernel/1",
    kernel_version="0.1.0",
    mpi_library="MPICH",
    mpi_standard="4.1",
    n_ranks=2,
    started_unix_ns=1_700_000_000_500_000_000,
    clock="CLOCK_MONOTONIC",
    clock_resolution_ns=1,
)


def rank(number: int, host: str, **changes: Any) -> KernelRank:
    fields = {"local_rank": 0, "tasks_per_node": 1, "pid": 100 + number}
    return KernelRank(rank=number, host=host, **(fields | changes))


def row(benchmark: str, size: int, times_ns: tuple[int, ...], **changes: Any) -> KernelRow:
    fields = {"iterations": len(times_ns), "warmup": 0}
    return KernelRow(benchmark=benchmark, size_bytes=size, times_ns=times_ns, **(fields | changes))


def samples(*rows: KernelRow, ranks: tuple[KernelRank, ...] = (), pairs: tuple[PairRow, ...] = ()):
    ranks = ranks or (rank(0, "n1"), rank(1, "n2"))
    output = KernelOutput(header=HEADER, ranks=list(ranks), rows=list(rows), pair_rows=list(pairs))
    return list(to_samples(output, LAUNCH, State.OK, {"mpi_library": "MPICH"}))


def only(*rows: KernelRow, **changes: Any) -> Sample:
    (sample,) = samples(*rows, **changes)
    return sample


def test_a_sample_says_which_launch_it_is_of_and_keeps_the_series():
    sample = only(row("latency", 8, (2000, 4000)))
    assert (sample.trial, sample.repeat, sample.benchmark) == ("t001", 3, "latency")
    assert (sample.size_bytes, sample.iterations, sample.times_ns) == (8, 2, (2000, 4000))
    assert sample.started_unix_s == pytest.approx(1_700_000_000.5)
    assert sample.evidence == {"mpi_library": "MPICH"}


def test_latency_is_half_the_round_trip():
    assert only(row("latency", 8, (2000, 4000))).metrics["latency_us"] == pytest.approx(1.5)


def test_bandwidth_counts_a_window_of_messages():
    sample = only(row("bandwidth", 1_000_000, (1_000_000,), window=10))
    assert sample.metrics["bandwidth_mb_s"] == pytest.approx(10_000)


def test_bidirectional_counts_both_directions():
    sample = only(row("bidirectional", 1_000_000, (1_000_000,), window=10))
    assert sample.metrics["bandwidth_mb_s"] == pytest.approx(20_000)


def test_message_rate_counts_all_pairs():
    sample = only(row("message_rate", 8, (1_000_000,), window=100, n_pairs=3))
    assert sample.metrics["msg_rate_mps"] == pytest.approx(0.3)


def test_bus_bandwidth_of_an_allreduce_over_four_ranks_is_one_and_a_half_times_the_algorithms():
    ranks = tuple(rank(number, f"n{number}") for number in range(4))
    sample = only(row("allreduce", 4000, (2000,)), ranks=ranks)
    assert sample.metrics["algbw_gb_s"] == pytest.approx(2.0)
    assert sample.metrics["busbw_gb_s"] == pytest.approx(3.0)


def test_a_fan_counts_the_messages_of_all_others():
    sample = only(row("fan_in", 1_000_000, (1_000_000,), window=2, n_pairs=3))
    assert sample.metrics["bandwidth_mb_s"] == pytest.approx(6_000)


def test_a_ring_counts_what_a_rank_sends_to_both_sides_and_halves_an_exchange():
    means = tuple(RankTimes(rank=r, min=1, p50=1, mean=m, max=9) for r, m in enumerate((1e6, 3e6)))
    sample = only(row("random_ring_bandwidth", 1_000_000, (4_000_000,), window=2, ranks_ns=means))
    assert sample.metrics["bandwidth_mb_s"] == pytest.approx(1_000)
    assert sample.metrics["bandwidth_mb_s_avg_ranks"] == pytest.approx(2_000)
    sample = only(row("random_ring_latency", 8, (4_000_000,), window=1, ranks_ns=means))
    assert sample.metrics["latency_us"] == pytest.approx(2_000)
    assert sample.metrics["latency_us_avg_ranks"] == pytest.approx(1_000)


def test_an_alltoallv_counts_the_bytes_of_its_busiest_rank():
    sample = only(row("alltoallv", 1000, (1000,), most_bytes=3000))
    assert sample.metrics["algbw_gb_s"] == pytest.approx(3.0)
    assert sample.metrics["busbw_gb_s"] == pytest.approx(1.5)


def test_osus_average_is_over_the_means_of_the_ranks():
    times = tuple(RankTimes(rank=r, min=1, p50=1, mean=m, max=9) for r, m in enumerate((1e3, 3e3)))
    sample = only(row("barrier", 0, (4000,), ranks_ns=times))
    assert sample.metrics["latency_us_avg_ranks"] == pytest.approx(2.0)
    assert sample.metrics["latency_us"] == pytest.approx(4.0)


def test_a_skew_over_half_the_median_dominates():
    small = Skew(p50=400, p90=900, max=900)
    large = Skew(p50=600, p90=900, max=900)
    assert only(row("barrier", 0, (1000,), skew_ns=small)).flags == ()
    assert only(row("barrier", 0, (1000,), skew_ns=large)).flags == ("skew_dominates",)


def test_wrong_data_and_too_many_ranks_are_flagged():
    crowded = (rank(0, "n1", oversubscribed=True), rank(1, "n1", oversubscribed=True))
    sample = only(row("latency", 8, (2000,), n_errors=1), ranks=crowded)
    assert set(sample.flags) == {"oversubscribed", "invalid_data"}


def pair_row(kind: str, size: int, times_ns: tuple[int, ...], **changes: Any) -> PairRow:
    fields = {"round": 2, "n_concurrent": 4, "rank_a": 0, "rank_b": 1, "window": 10}
    fields |= {"kind": kind, "size_bytes": size, "times_ns": times_ns, "iterations": len(times_ns)}
    return PairRow(**(fields | changes))


BOTH_WAYS = ("bandwidth_ab", "bandwidth_ba")
PAIR = (
    pair_row("latency", 8, (2000, 2200, 9000)),
    pair_row("bandwidth_ab", 1_000_000, (1_000_000,)),
    pair_row("bandwidth_ba", 1_000_000, (2_000_000,)),
)


def test_a_pair_gives_one_sample_for_its_latency_and_one_for_both_directions():
    latency, bandwidth = samples(pairs=PAIR)
    assert latency.metrics == {"latency_us": pytest.approx(1.1)}
    assert bandwidth.metrics == {
        "bandwidth_ab_mb_s": pytest.approx(10_000),
        "bandwidth_ba_mb_s": pytest.approx(5_000),
        "bandwidth_mb_s": pytest.approx(5_000),
    }
    assert latency.pair == bandwidth.pair == Pair("n1", "n2", 2, 4)


def test_two_rounds_of_the_same_pair_are_two_pairs_of_samples():
    again = tuple(r.model_copy(update={"round": 5}) for r in PAIR)
    rounds = [s.pair.round for s in samples(pairs=PAIR + again) if s.pair]
    assert rounds == [2, 2, 5, 5]


def test_latency_and_bandwidth_of_the_same_size_stay_apart():
    same = tuple(r.model_copy(update={"size_bytes": 8}) for r in PAIR)
    latency, bandwidth = samples(pairs=same)
    assert set(latency.metrics) == {"latency_us"}
    assert "bandwidth_mb_s" in bandwidth.metrics


def test_what_carried_the_bytes_is_said_once_for_all_pairs():
    said = [bool(sample.evidence) for sample in samples(pairs=PAIR)]
    assert said == [True, False]


def test_both_directions_at_once_stand_next_to_bandwidth_each_direction():
    both = pair_row("bidirectional", 1_000_000, (4_000_000,))
    metrics = samples(pairs=(*PAIR, both))[1].metrics
    # 10 messages of 1 MB each way in 4 ms.
    assert metrics["bidirectional_mb_s"] == pytest.approx(20 / 4e-3)
    assert metrics["bandwidth_mb_s"] == pytest.approx(5_000)
    assert samples(pairs=(both,))[0].metrics == {"bidirectional_mb_s": pytest.approx(5_000)}


def test_of_a_series_kept_as_quantiles_the_mean_is_that_of_all_times():
    # 100 windows of 10 MB in 50 ms together; of the 33 kept most are faster.
    kept: dict[str, Any] = {"times": "quantiles", "iterations": 100, "total_ns": 50_000_000}
    rows = [pair_row(kind, 1_000_000, (400_000,) * 32 + (9_000_000,), **kept) for kind in BOTH_WAYS]
    (sample,) = samples(pairs=tuple(rows))
    assert sample.metrics["bandwidth_mb_s"] == pytest.approx(1000e6 / 50e-3 / 1e6)
    assert sample.iterations == 100
    latency = pair_row("latency", 8, tuple(range(1000, 34_000, 1000)), **kept)
    assert samples(pairs=(latency,))[0].metrics == {"latency_us": pytest.approx(8.5)}


def test_pairs_of_several_forms_each_have_their_own_times():
    """A time limit leaves each pair its own number of iterations."""
    rows = []
    for number in range(40):
        times = tuple(range(1000 * (number + 1), 1000 * (number + 1) + 1 + number % 5))
        rows.append(pair_row("latency", 8, times, round=number))
    found = [s.metrics["latency_us"] for s in samples(pairs=tuple(rows))]
    expected = [(1000 * (n + 1) + n % 5 / 2) / 2e3 for n in range(40)]
    assert found == pytest.approx(expected)


def test_a_direction_with_a_smaller_window_is_as_fast_as_it_was():
    """A time limit leaves each direction its own window: 2 messages in 1 ms, and 1 in 1 ms."""
    there = pair_row("bandwidth_ab", 1000, (1_000_000,), window=2)
    back = pair_row("bandwidth_ba", 1000, (1_000_000,), window=1)
    (found,) = samples(pairs=(there, back))
    assert found.metrics["bandwidth_ab_mb_s"] == pytest.approx(2.0)
    assert found.metrics["bandwidth_ba_mb_s"] == pytest.approx(1.0)


def test_only_rounds_that_crowd_a_host_are_oversubscribed():
    ranks = (rank(0, "n1", oversubscribed=True), rank(1, "n1", oversubscribed=True))
    quiet = tuple(r.model_copy(update={"crowded": False}) for r in PAIR)
    full = tuple(r.model_copy(update={"crowded": True, "round": 3}) for r in PAIR)
    found = samples(pairs=quiet + full, ranks=ranks)
    assert [(s.pair.round, s.flags) for s in found if s.pair] == [
        (2, ()),
        (2, ()),
        (3, ("oversubscribed",)),
        (3, ("oversubscribed",)),
    ]
    # A kernel that does not say is taken by its ranks.
    assert {s.flags for s in samples(pairs=PAIR, ranks=ranks)} == {("oversubscribed",)}


def test_a_pair_measured_one_direction_only_is_refused():
    with pytest.raises(ValueError, match="a pair without its 'bandwidth_ba' row"):
        samples(pairs=PAIR[:2])


def test_an_unknown_benchmark_is_refused():
    with pytest.raises(ValueError, match="no metrics for the benchmark 'startup'"):
        samples(row("startup", 8, (1000,)))


@pytest.mark.parametrize(
    ("nodes", "hosts", "expected"),
    [
        (("n1", "n2"), ("n1", "n2"), ["n1", "n2"]),
        (("n1", "n2"), ("n1", "n1", "n2"), ["n1:0", "n1:1", "n2"]),
        (("n1", "n2"), ("n1.site.example", "n2.site.example"), ["n1", "n2"]),
        (
            ("n1.site.example", "n2.site.example"),
            ("n1", "n2"),
            ["n1.site.example", "n2.site.example"],
        ),
        (("localhost",), ("login", "login"), ["login:0", "login:1"]),
    ],
)
def test_endpoints_go_by_the_trials_names_and_carry_the_rank_where_a_node_holds_several(
    nodes: tuple[str, ...], hosts: tuple[str, ...], expected: list[str]
):
    output = KernelOutput(ranks=[rank(number, host) for number, host in enumerate(hosts)])
    names = endpoint_names(output, Trial("t", "pairs", (8, 64), nodes, 1))
    assert [names[number] for number in range(len(hosts))] == expected


def test_iterations_that_a_rank_started_late_are_not_judged() -> None:
    late = row("allreduce", 8, (1000, 9_000_000, 1000), sync="window", late=(1,))
    (sample,) = samples(late)
    assert sample.metrics["latency_us_max"] == 1.0
    assert (sample.iterations, sample.times_ns) == (2, late.times_ns)


def test_a_row_whose_starts_were_mostly_late_is_flagged_not_emptied() -> None:
    (sample,) = samples(row("allreduce", 8, (1000, 2000), sync="window", late=(0, 1)))
    assert sample.iterations == 2
    assert "late_starts" in sample.flags
