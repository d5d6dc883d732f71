"""Random rings and unequal blocks: drawn as docs/reference/kernel_output.md says."""

from itertools import product

import pytest

from weft.launch.kernel import build_recorder
from weft.launch.launchers.recorder import recording_environment
from weft.launch.mpi import find_mpi
from weft.trace.trace import read_trace

QUICK = ("--iterations", "6", "--warmup", "0", "--validate")


def order_of(n, seed):
    """Ranks in the order of a seed, as the reference page defines it."""
    order, x = list(range(n)), seed
    for i in range(n - 1, 0, -1):
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        j = (x >> 33) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def hash_of(key):
    """SplitMix64's finalizer: the generator's first output from a state of `key`."""
    z = (key + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def block_bytes(size, skew, i, j):
    """Size x (1 + skew x u) in whole numbers, u from -1 to 1."""
    u = (hash_of(i << 32 | j) >> 43) - 2**20
    return size + (size * round(skew * 2**20) * u) // 2**40


def test_the_hash_is_splitmix64():
    # SOURCE: prng.di.unimi.it/splitmix64.c, first output of the state 1234567.
    assert hash_of(1234567) == 6457827717110365317


@pytest.mark.parametrize("seed", [1, 7, 2**62])
def test_a_random_ring_is_the_order_of_its_seed(kernel, seed):
    arguments = ("--benchmark", "random_ring_latency", "--sizes", "8", "--seed", str(seed))
    row = kernel.run(5, *arguments, *QUICK).only("row")
    assert row["ring"] == order_of(5, seed)
    assert (row["seed"], row["n_errors"]) == (seed, 0)


def test_seeds_draw_different_rings():
    assert len({tuple(order_of(6, seed)) for seed in range(20)}) > 10


@pytest.mark.parametrize(("asked", "iterations", "drawn"), [(30, 6, 6), (2, 6, 2), (1, 6, 1)])
def test_there_are_as_many_rings_as_asked_for_or_iterations(kernel, asked, iterations, drawn):
    arguments = ("--benchmark", "random_ring_bandwidth", "--sizes", "64", "--rings", str(asked))
    row = kernel.run(3, *arguments, *QUICK).only("row")
    assert (row["n_rings"], row["iterations"], row["n_errors"]) == (drawn, iterations, 0)


def test_blocks_of_an_alltoallv_are_as_unequal_as_the_page_says(kernel):
    sizes, skews = (1, 1000, 70001), (0.0, 0.5, 1.0)
    each = ("--benchmark", "alltoallv", "--sizes", ",".join(map(str, sizes)), "--skew")
    arguments = [word for skew in skews for word in (*each, str(skew))]
    rows = kernel.run(3, *QUICK, *arguments).of("row")
    for row, (skew, size) in zip(rows, product(skews, sizes), strict=True):
        blocks = [[block_bytes(size, skew, i, j) for j in range(3)] for i in range(3)]
        sums = [sum(row) for row in blocks] + [sum(column) for column in zip(*blocks, strict=True)]
        assert (row["most_bytes"], row["n_errors"]) == (max(sums), 0), (skew, size)
        assert skew > 0 or row["most_bytes"] == 3 * size


def test_a_closing_barrier_is_one_more_barrier_an_iteration(kernel, tmp_path):
    mpi = find_mpi()
    library = build_recorder(mpi)
    n_barriers = {}
    for more in ((), ("--closing-barrier",)):
        folder = tmp_path / f"trace{len(more)}"
        folder.mkdir()
        ring = ("--benchmark", "natural_ring_bandwidth", "--sizes", "64", "--window", "1", *more)
        counts = ("--iterations", "50", "--warmup", "3")
        outcome = kernel.run(3, *ring, *counts, **recording_environment(library, folder, {}))
        assert outcome.exit_code == 0, outcome.stderr
        n_barriers[more] = read_trace(folder).calls["barrier"]
    assert n_barriers["--closing-barrier",] - n_barriers[()] == 3 * (50 + 3)
