"""A byte that arrives wrong is found; one byte is one error."""

import pytest

PAIRWISE = ["latency", "bandwidth", "bidirectional", "message_rate"]
OTHERS = [
    *("fan_in", "fan_out"),
    *("random_ring_latency", "random_ring_bandwidth", "natural_ring_bandwidth"),
    *("allreduce", "reduce", "reduce_scatter", "broadcast", "allgather", "alltoall", "alltoallv"),
    *("gather", "scatter"),
]


@pytest.mark.parametrize(("n_ranks", "names"), [(2, PAIRWISE + OTHERS), (3, OTHERS)])
def test_a_flipped_byte_is_counted_once(kernel, n_ranks, names):
    arguments = [word for name in names for word in ("--benchmark", name)]
    common = ("--sizes", "64", "--iterations", "4", "--validate")
    rows = kernel.run(n_ranks, *common, *arguments, WEFT_TEST_CORRUPT="1").of("row")
    found = [(row["benchmark"], row["n_errors"], row["n_validated"]) for row in rows]
    assert found == [(name, 1, 4) for name in names]


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


SMALL_AND_LARGE = ("--iterations", "4", "--warmup", "0", "--validate", "--sizes", "4,70000")


# Five ranks of an MPI that spins share two cores: 18 s of CPU each.
@pytest.mark.parametrize("n_ranks", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_what_odd_numbers_of_ranks_receive_is_right(any_kernel, n_ranks):
    arguments = [word for name in OTHERS for word in ("--benchmark", name)]
    skewed = ("--benchmark", "alltoallv", "--skew", "1")
    outcome = any_kernel.run(n_ranks, *SMALL_AND_LARGE, "--window", "2", *arguments, *skewed)
    assert outcome.exit_code == 0, outcome.stderr
    rows = outcome.of("row")
    assert [row["benchmark"] for row in rows[::2]] == [*OTHERS, "alltoallv"]
    assert [row["n_errors"] for row in rows] == [0] * len(rows)
    assert {len(row["times_ns"]) for row in rows} == {4}
