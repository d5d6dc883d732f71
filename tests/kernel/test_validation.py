"""A byte that arrives wrong is found; one byte is one error."""

import pytest

BENCHMARKS = ["latency", "bandwidth", "bidirectional", "message_rate", "allreduce", "alltoall"]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_flipped_byte_is_counted_once(kernel, benchmark):
    arguments = ("--benchmark", benchmark, "--sizes", "64", "--iterations", "4", "--validate")
    outcome = kernel.run(2, *arguments, WEFT_TEST_CORRUPT="1")
    assert outcome.only("row")["n_errors"] == 1
    assert outcome.only("row")["n_validated"] == 4


def test_a_flipped_byte_of_a_pair_is_counted(kernel):
    arguments = ("--benchmark", "pairs", "--iterations", "2", "--validate")
    rows = kernel.run(2, *arguments, WEFT_TEST_CORRUPT="1").of("pair_row")
    # Rank 1 receives in the first two phases; in the third it sends.
    assert [row["n_errors"] for row in rows] == [1, 1, 0]


def test_a_message_that_bounces_in_one_buffer_is_checked_on_both_sides(kernel):
    arguments = ("--benchmark", "latency", "--sizes", "1,70000", "--buffers", "one", "--validate")
    quick = ("--iterations", "3", "--warmup", "1")
    rows = kernel.run(2, *arguments, *quick).of("row")
    assert [(row["buffers"], row["n_errors"]) for row in rows] == [("one", 0), ("one", 0)]
    rows = kernel.run(2, *arguments, *quick, WEFT_TEST_CORRUPT="1").of("row")
    assert [row["n_errors"] for row in rows] == [1, 1]


def test_without_validation_nothing_is_checked(kernel):
    arguments = ("--benchmark", "latency", "--sizes", "64", "--iterations", "4")
    row = kernel.run(2, *arguments, WEFT_TEST_CORRUPT="1").only("row")
    assert (row["validated"], row["n_validated"], row["n_errors"]) == (False, 0, 0)


@pytest.mark.parametrize("n_ranks", [3, 5])
def test_sums_and_blocks_of_odd_numbers_of_ranks_are_right(kernel, n_ranks):
    outcome = kernel.run(
        *(n_ranks, "--iterations", "2", "--warmup", "0", "--validate"),
        *("--benchmark", "allreduce", "--sizes", "4,20000"),
        *("--benchmark", "alltoall", "--sizes", "1,3000"),
    )
    assert [row["n_errors"] for row in outcome.of("row")] == [0, 0, 0, 0]
