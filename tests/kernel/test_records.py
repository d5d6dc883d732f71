"""The records follow docs/reference/kernel_output.md, on every MPI."""

import math
import os
import subprocess
from functools import cache

import pytest

SUITE = (
    *("--iterations", "6", "--warmup", "2", "--validate"),
    *("--benchmark", "latency", "--sizes", "0,8,65536"),
    *("--benchmark", "bandwidth", "--sizes", "1,65536", "--window", "8"),
    *("--benchmark", "bidirectional", "--sizes", "64"),
    *("--benchmark", "message_rate", "--sizes", "8"),
    *("--benchmark", "barrier"),
    *("--benchmark", "allreduce", "--sizes", "4,4096", "--sync", "window"),
    *("--benchmark", "alltoall", "--sizes", "0,64"),
    *("--benchmark", "alltoallv", "--sizes", "64", "--benchmark", "allgather", "--sizes", "0,64"),
    *("--benchmark", "broadcast", "--sizes", "0,64", "--benchmark", "reduce", "--sizes", "0,64"),
    *("--benchmark", "reduce_scatter", "--sizes", "0,64"),
    *("--benchmark", "fan_in", "--sizes", "64", "--benchmark", "fan_out", "--sizes", "64"),
    *("--benchmark", "random_ring_latency", "--sizes", "0,8"),
    *("--benchmark", "random_ring_bandwidth", "--sizes", "64"),
    *("--benchmark", "natural_ring_bandwidth", "--sizes", "64"),
    *("--benchmark", "pairs", "--pair-sizes", "8,4096"),
)
ROWS = [
    *(("latency", 0), ("latency", 8), ("latency", 65536)),
    *(("bandwidth", 1), ("bandwidth", 65536), ("bidirectional", 64), ("message_rate", 8)),
    *(("barrier", 0), ("allreduce", 4), ("allreduce", 4096), ("alltoall", 0), ("alltoall", 64)),
    *(("alltoallv", 64), ("allgather", 0), ("allgather", 64), ("broadcast", 0), ("broadcast", 64)),
    *(("reduce", 0), ("reduce", 64), ("reduce_scatter", 0), ("reduce_scatter", 64)),
    *(("fan_in", 64), ("fan_out", 64), ("random_ring_latency", 0), ("random_ring_latency", 8)),
    *(("random_ring_bandwidth", 64), ("natural_ring_bandwidth", 64)),
]
COLLECTIVES = ("barrier", "allreduce", "alltoall", "alltoallv", "allgather", "broadcast", "reduce")
COLLECTIVES += ("reduce_scatter",)
RINGS = ("random_ring_latency", "random_ring_bandwidth", "natural_ring_bandwidth")
FANS = ("fan_in", "fan_out")
WINDOWS = {"bandwidth": 8, "bidirectional": 64, "message_rate": 64, "fan_in": 64, "fan_out": 64}
WINDOWS |= dict(zip(RINGS, (1, 8, 8), strict=True))


def nearest_rank(values, share):
    return sorted(values)[math.ceil(share * len(values)) - 1]


@cache
def suite_outcome(kernel):
    return kernel.run(2, *SUITE)


@pytest.fixture
def outcome(any_kernel):
    return suite_outcome(any_kernel)


def test_a_run_starts_with_its_header_and_ends_with_end(outcome):
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.records[0]["record"] == "header"
    assert outcome.records[0]["schema"] == "weft.kernel/1"
    assert outcome.records[0]["n_ranks"] == 2
    assert outcome.records[-1]["record"] == "end"
    assert outcome.of("error") == []


def test_every_line_is_a_record(outcome):
    assert len(outcome.stdout.splitlines()) == len(outcome.records)


def test_every_rank_is_described(outcome):
    ranks = outcome.of("rank")
    assert [rank["rank"] for rank in ranks] == [0, 1]
    assert {rank["host"] for rank in ranks} == {os.uname().nodename}
    assert [rank["local_rank"] for rank in ranks] == [0, 1]
    assert {rank["tasks_per_node"] for rank in ranks} == {2}
    assert len({rank["pid"] for rank in ranks}) == 2


def test_one_row_for_each_benchmark_and_size_in_the_order_asked_for(outcome):
    assert [(row["benchmark"], row["size_bytes"]) for row in outcome.of("row")] == ROWS


def test_series_are_whole_and_positive(outcome):
    for row in outcome.of("row") + outcome.of("pair_row"):
        assert row["iterations"] == len(row["times_ns"]) == 6
        assert row["warmup"] == 2
        assert all(time >= 0 for time in row["times_ns"])
        assert max(row["times_ns"]) > 0


def test_the_row_is_the_maximum_over_the_ranks_that_timed(outcome):
    for row in outcome.of("row"):
        n_clocks = 2 if row["benchmark"] in (*COLLECTIVES, *RINGS) else 1
        ranks = row["ranks_ns"]
        assert len(ranks) == n_clocks
        assert max(row["times_ns"]) == max(rank["max"] for rank in ranks)
        assert min(row["times_ns"]) >= max(rank["min"] for rank in ranks)


def test_quantiles_of_a_single_clock_are_those_of_the_series(outcome):
    for row in outcome.of("row"):
        if row["benchmark"] in (*COLLECTIVES, *RINGS):
            continue
        (rank,) = row["ranks_ns"]
        times = row["times_ns"]
        assert rank["rank"] == 0
        assert rank["p50"] == nearest_rank(times, 0.5)
        assert rank["p90"] == nearest_rank(times, 0.9)
        assert rank["mean"] == pytest.approx(sum(times) / len(times), abs=0.06)


def test_p99_needs_500_iterations(outcome, any_kernel):
    assert {rank["p99"] for row in outcome.of("row") for rank in row["ranks_ns"]} == {None}
    arguments = ("--benchmark", "latency", "--sizes", "8", "--iterations", "500")
    row = any_kernel.run(2, *arguments).only("row")
    assert row["ranks_ns"][0]["p99"] == nearest_rank(row["times_ns"], 0.99)


def test_windows_and_start_points_are_reported_where_there_are_any(outcome):
    for row in outcome.of("row"):
        has_start = row["benchmark"] in (*COLLECTIVES, *RINGS, *FANS, "message_rate")
        assert row["window"] == WINDOWS.get(row["benchmark"])
        assert (row["skew_ns"] is not None) == has_start
        sync = {"allreduce": "window"}.get(row["benchmark"], "barrier")
        assert row.get("sync") == (sync if has_start else None)
        assert (row["late"] is not None) == (row.get("sync") == "window")
        assert set(row["late"] or ()) <= set(range(row["iterations"]))


def test_skew_quantiles_are_ordered(outcome):
    for row in outcome.of("row"):
        skew = row["skew_ns"]
        assert skew is None or 0 <= skew["p50"] <= skew["p90"] <= skew["max"]


def test_received_data_is_right(outcome):
    assert all(row["validated"] for row in outcome.of("row"))
    assert sum(row["n_errors"] for row in outcome.of("row") + outcome.of("pair_row")) == 0


def test_the_mpi_library_names_itself(outcome, any_kernel):
    name = "Open MPI" if any_kernel.mpi == "openmpi" else "MPICH"
    assert name in outcome.only("header")["mpi_library"]
    selected = outcome.only("transport")["mpi_selected"]
    assert ("pml/" if any_kernel.mpi == "openmpi" else "ch4") in selected


def test_counts_default_to_those_of_osu(kernel):
    outcome = kernel.run(2, "--benchmark", "bandwidth", "--sizes", "8192,8193")
    counts = [(row["iterations"], row["warmup"], row["window"]) for row in outcome.of("row")]
    assert counts == [(100, 10, 64), (20, 2, 64)]


def test_a_time_limit_means_fewer_iterations(kernel):
    arguments = ("--benchmark", "latency", "--sizes", "4194304", "--max-seconds-per-size", "0.01")
    row = kernel.run(2, *arguments, "--iterations", "5000").only("row")
    assert 5 <= row["iterations"] < 5000
    assert len(row["times_ns"]) == row["iterations"]


def test_a_large_message_takes_longer_than_a_small_one(any_kernel):
    # Where both ranks share a busy core, 8 bytes take two turns of the scheduler at least: 8 ms
    # were seen, which 4 MiB do not reach. 64 MiB take 50 ms and more.
    arguments = ("--benchmark", "latency", "--sizes", "8,67108864", "--iterations", "20")
    small, large = any_kernel.run(2, *arguments).of("row")
    assert min(large["times_ns"]) > min(small["times_ns"])


def test_an_alltoall_moves_a_block_for_each_peer(kernel):
    outcome = kernel.run(
        3, "--benchmark", "alltoall", "--sizes", "12", "--iterations", "3", "--validate"
    )
    row = outcome.only("row")
    assert (row["n_errors"], len(row["ranks_ns"])) == (0, 3)


def test_message_rate_leaves_out_the_last_of_an_odd_number_of_ranks(kernel):
    arguments = ("--benchmark", "message_rate", "--sizes", "8", "--iterations", "3", "--warmup")
    row = kernel.run(3, *arguments, "0").only("row")
    assert row["n_pairs"] == 1
    assert [rank["rank"] for rank in row["ranks_ns"]] == [0]


def test_ranks_that_outnumber_cpus_are_reported(kernel):
    one_cpu = {min(os.sched_getaffinity(0))}
    arguments = ("--benchmark", "barrier", "--iterations", "3", "--warmup", "0")
    alone = kernel.run(1, *arguments, cpus=one_cpu).of("rank")
    both = kernel.run(2, *arguments, cpus=one_cpu).of("rank")
    assert [rank["oversubscribed"] for rank in alone] == [False]
    assert [rank["oversubscribed"] for rank in both] == [True, True]
    assert {rank["cpus"] for rank in both} == {str(min(one_cpu))}


@pytest.mark.slow
def test_the_makefile_builds_the_same_program(kernel, tmp_path):
    compiler = kernel.launcher[0].replace("mpiexec", "mpicc")
    folder = str(os.path.join(os.path.dirname(__file__), "..", "..", "mpi"))
    command = ["make", "-s", "-C", folder, f"MPICC={compiler}", f"OUT={tmp_path}"]
    subprocess.run(command, check=True, timeout=60)
    command = [str(tmp_path / "weft-kernel"), "--help"]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    assert "--benchmark" in done.stdout


def test_a_batch_is_one_iteration_of_the_mean_round_trip(kernel):
    counts = ("--sizes", "65536", "--iterations", "200", "--warmup", "5")
    arguments = ("--benchmark", "latency", *counts)
    outcome = kernel.run(2, *arguments, *arguments, "--batch", "8")
    single, batched = outcome.of("row")
    assert (single["batch"], batched["batch"]) == (1, 8)
    assert len(single["times_ns"]) == len(batched["times_ns"]) == 200
    # A sum of eight that was not divided would be eight times as long.
    assert min(batched["times_ns"]) < 4 * min(single["times_ns"])
