"""A wrong argument: told once by rank 0, exit code 2 on every rank, nobody waits."""

import pytest

WRONG = [
    ([], "arguments", "no --benchmark is given"),
    (["--benchmark", "latenzy"], "--benchmark", "no benchmark 'latenzy'; there are latency"),
    (["--benchmark", "latency", "--size", "8"], "arguments", "there is no option '--size'"),
    (["--benchmark", "latency", "--sizes"], "arguments", "'--sizes' is unknown or lacks its value"),
    (["--benchmark", "latency", "--sizes", "8,x"], "--sizes", "'x' is not a whole number"),
    (["--benchmark", "latency", "--sizes", "8,"], "--sizes", "empty or too long part"),
    (["--benchmark", "latency", "--sizes", "-1"], "--sizes", "'-1' is not a whole number from 0"),
    (["--benchmark", "latency", "--sizes", "9999999999999999999999"], "--sizes", "whole number"),
    (["--benchmark", "latency", "--iterations", "0"], "--iterations", "whole number from 1"),
    (["--benchmark", "latency", "--window", "2.5"], "--window", "'2.5' is not a whole number"),
    (["--benchmark", "latency", "--sync", "window"], "--sync", "window is for collectives"),
    (["--benchmark", "barrier", "--sync", "soon"], "--sync", "'soon' is not one of barrier"),
    (["--benchmark", "barrier", "--sizes", "8"], "--sizes", "barrier has no --sizes"),
    (["--benchmark", "pairs", "--sizes", "8"], "--sizes", "pairs has no --sizes (use --pair"),
    (["--benchmark", "pairs", "--pair-sizes", "8"], "--pair-sizes", "two sizes are expected"),
    (["--benchmark", "pairs", "--pair-sizes", "8,9,10"], "--pair-sizes", "more than 2 sizes"),
    (["--benchmark", "allreduce", "--sizes", "6"], "--sizes", "6 is not a multiple of 4"),
    (["--benchmark", "latency", "--rounds-file", "x"], "--rounds-file", "only pairs has rounds"),
    (["--benchmark", "latency", "--memory", "cloud"], "--memory", "'cloud' is not one of host"),
    (["--benchmark", "latency", "--rails", ""], "--rails", "no device is given"),
    (["--benchmark", "latency", "--max-seconds-per-size", "0"], "--max-seconds-per-size", "'0'"),
    (["--benchmark", "alltoall", "--buffers", "one"], "--buffers", "only latency has a choice"),
    (["--benchmark", "latency", "--validate", "--buffers", "untouched"], "--buffers", "writes the"),
    (["--benchmark", "alltoall", "--batch", "8"], "--batch", "only latency has batches"),
    (["--benchmark", "latency", "--batch", "0"], "--batch", "'0' is not a whole number from 1"),
    (["--benchmark", "latency", "--buffers", "three"], "--buffers", "not one of two, one, untou"),
    (["--benchmark", "reduce", "--sizes", "6"], "--sizes", "6 is not a multiple of 4"),
    (["--benchmark", "alltoallv", "--skew", "1.5"], "--skew", "'1.5' is not a share from 0 to 1"),
    (["--benchmark", "alltoall", "--skew", "0.5"], "--skew", "only blocks of alltoallv differ"),
    (
        ["--benchmark", "random_ring_latency", "--closing-barrier"],
        "--closing-barrier",
        "only rings of bandwidth end in one, not random_ring_latency",
    ),
    (["--benchmark", "random_ring_latency", "--rings", "0"], "--rings", "whole number from 1"),
    (["--benchmark", "random_ring_latency", "--seed", "-1"], "--seed", "whole number from 0"),
    (["--benchmark", "random_ring_latency", "--sync", "window"], "--sync", "window is for coll"),
    (["--benchmark", "pairs", "--rounds-file", "/absent"], "--rounds-file", "cannot be read"),
]


@pytest.mark.parametrize(
    ("arguments", "where", "message"), WRONG, ids=lambda value: str(value)[:40]
)
def test_a_wrong_argument_is_reported_and_ends_the_launch(kernel, arguments, where, message):
    outcome = kernel.run(2, *arguments)
    assert outcome.exit_code == 2
    error = outcome.only("error")
    assert (error["rank"], error["where"]) == (0, where)
    assert message in error["message"]
    assert f"{where}: {error['message']}" in outcome.stderr
    assert outcome.of("header") == []


def test_on_every_mpi_with_more_ranks(any_kernel):
    outcome = any_kernel.run(3, "--benchmark", "latency", "--sizes", "many")
    assert outcome.exit_code == 2
    assert outcome.only("error")["where"] == "--sizes"


@pytest.mark.parametrize(
    "benchmark", ["bandwidth", "message_rate", "fan_in", "random_ring_latency"]
)
def test_a_pair_needs_two_ranks(kernel, benchmark):
    outcome = kernel.run(1, "--benchmark", benchmark)
    assert outcome.exit_code == 2
    assert f"{benchmark} needs two ranks or more" in outcome.only("error")["message"]


COLLECTIVES = ["allreduce", "reduce", "reduce_scatter", "broadcast", "allgather", "alltoallv"]
COLLECTIVES += ["gather", "scatter"]


def test_collectives_run_on_one_rank(kernel):
    names = [word for name in COLLECTIVES for word in ("--benchmark", name)]
    outcome = kernel.run(1, "--sizes", "8", "--iterations", "3", "--validate", *names)
    assert outcome.exit_code == 0
    assert [row["n_errors"] for row in outcome.of("row")] == [0] * len(COLLECTIVES)


def test_buffers_that_do_not_fit_into_the_host_are_refused_before_they_are_claimed(kernel):
    outcome = kernel.run(24, "--benchmark", "alltoall", "--sizes", str(2**30))
    assert outcome.exit_code == 2
    error = outcome.only("error")
    assert error["where"] == "--sizes"
    # 24 ranks with two buffers of 24 blocks of 1 GiB each, and a few requests.
    assert error["message"].startswith(f"alltoall needs {24 * 2 * 24 * 1024} MiB on ")


def test_blocks_that_an_int_cannot_address_are_refused(kernel):
    outcome = kernel.run(3, "--benchmark", "alltoallv", "--sizes", str(2**30))
    assert outcome.exit_code == 2
    assert "all blocks of alltoallv on 3 ranks pass 2 GiB" in outcome.only("error")["message"]


def test_options_before_the_first_benchmark_hold_for_all(kernel):
    outcome = kernel.run(
        *(2, "--iterations", "3", "--benchmark", "barrier"),
        *("--benchmark", "latency", "--sizes", "8", "--iterations", "4"),
    )
    counts = {row["benchmark"]: row["iterations"] for row in outcome.of("row")}
    assert counts == {"barrier": 3, "latency": 4}


@pytest.mark.parametrize("memory", ["cuda", "rocm"])
def test_gpu_memory_without_a_gpu_runtime_is_a_lack_of_this_host(kernel, memory):
    outcome = kernel.run(2, "--benchmark", "latency", "--memory", memory, LD_LIBRARY_PATH="")
    if outcome.exit_code == 0:
        pytest.skip(f"this machine has a working {memory} runtime")
    assert outcome.exit_code == 3
    assert outcome.only("error")["where"] == "--memory"
