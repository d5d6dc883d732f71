"""Blocks of an alltoallv and orders of a ring: one rule for the page, the kernel and the engine."""

import json

import pytest

from weft.bench.block_sizes import most_bytes


def test_without_skew_all_blocks_are_equal() -> None:
    assert most_bytes(100, 7, 0.0) == 700


def block_bytes(size: int, skew: float, i: int, j: int) -> int:
    """docs/reference/kernel_output.md, in Python's unbounded whole numbers."""
    z = ((i << 32 | j) + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    u = ((z ^ (z >> 31)) >> 43) - 2**20
    return size + (size * round(skew * 2**20) * u) // 2**40


@pytest.mark.parametrize("size", [1, 999, 2**30])
@pytest.mark.parametrize("skew", [0.01, 0.5, 1.0])
def test_the_busiest_rank_has_the_largest_row_or_column(size: int, skew: float) -> None:
    blocks = [[block_bytes(size, skew, i, j) for j in range(9)] for i in range(9)]
    sums = [sum(row) for row in blocks] + [sum(column) for column in zip(*blocks, strict=True)]
    assert most_bytes(size, 9, skew) == max(sums)


@pytest.mark.parametrize("skew", [0.3, 1.0])
def test_the_engine_sends_the_blocks_that_are_counted(skew: float) -> None:
    engine = pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")
    step = {"benchmark": "alltoallv", "size_bytes": 99_999, "skew": skew}
    moves = engine.expand_collective(json.dumps(step), 5)
    sent = moves["is_send"]
    for rank, peer, n_bytes in zip(
        moves["rank"][sent].tolist(),
        moves["peer"][sent].tolist(),
        moves["size_bytes"][sent].tolist(),
        strict=True,
    ):
        assert n_bytes == block_bytes(99_999, skew, rank, peer)
    assert int(sent.sum()) == 5 * 4


@pytest.mark.parametrize("seed", [1, 12])
def test_the_engine_draws_the_ring_of_a_seed_as_the_kernel_does(seed: int) -> None:
    engine = pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")
    step = {"benchmark": "random_ring", "size_bytes": 8, "shuffle": seed}
    moves = engine.expand_collective(json.dumps(step), 6)
    order, x = list(range(6)), seed
    for i in range(5, 0, -1):
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        j = (x >> 33) % (i + 1)
        order[i], order[j] = order[j], order[i]
    sent = moves["is_send"]
    seats = {rank: {order[(seat + 1) % 6], order[seat - 1]} for seat, rank in enumerate(order)}
    told: dict[int, set[int]] = {rank: set() for rank in range(6)}
    for rank, peer in zip(moves["rank"][sent].tolist(), moves["peer"][sent].tolist(), strict=True):
        told[rank].add(peer)
    assert told == seats
