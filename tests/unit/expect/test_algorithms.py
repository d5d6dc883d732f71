"""Schedules against the algorithms themselves, run on sets of blocks."""

import pytest

from weft.expect import algorithms as known
from weft.expect.algorithms import ALGORITHMS, Ranks, Step

BLOCK = 8


def rounds(steps: list[Step]) -> list[int]:
    """Bytes of each step, one entry a message."""
    return [step.size_bytes for step in steps for _ in range(step.count)]


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 16])
def test_a_ring_of_blocks_ends_when_all_have_all(n: int) -> None:
    have = [{rank} for rank in range(n)]
    sent = []
    for step in range(n - 1):
        moving = [(rank - step) % n for rank in range(n)]
        for rank in range(n):
            have[(rank + 1) % n].add(moving[rank])
        sent.append(BLOCK)
    assert all(len(blocks) == n for blocks in have)
    assert rounds(known.ring_blocks(Ranks(n, 1), BLOCK)) == sent


@pytest.mark.parametrize("n", [2, 3, 5, 8, 13, 16])
def test_bruck_gathers_in_as_many_steps_as_the_run_takes(n: int) -> None:
    have = [{rank} for rank in range(n)]
    sent = []
    while any(len(blocks) < n for blocks in have):
        distance = len(have[0])
        new = min(distance, n - distance)
        partner = [have[(rank + distance) % n] for rank in range(n)]
        moved = [
            {block for block in partner[rank] if (block - rank - distance) % n < new}
            for rank in range(n)
        ]
        have = [mine | got for mine, got in zip(have, moved, strict=True)]
        sent.append(new * BLOCK)
    assert rounds(known.bruck_allgather(Ranks(n, 1), BLOCK)) == sent


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_doubling_gathers_twice_as_much_each_step(n: int) -> None:
    have = [{rank} for rank in range(n)]
    sent, distance = [], 1
    while distance < n:
        sent.append(len(have[0]) * BLOCK)
        have = [have[rank] | have[rank ^ distance] for rank in range(n)]
        distance *= 2
    assert all(len(blocks) == n for blocks in have)
    assert rounds(known.doubling_blocks(Ranks(n, 1), BLOCK)) == sent


@pytest.mark.parametrize("n", [2, 3, 6, 8, 17])
def test_bruck_alltoall_moves_the_blocks_whose_distance_has_the_bit(n: int) -> None:
    # A block from s to d moves by 2^k in each step k whose bit its distance has.
    per_step = [
        sum(1 for distance in range(n) if distance & (1 << k)) for k in range((n - 1).bit_length())
    ]
    steps = known.bruck_alltoall(Ranks(n, 1), BLOCK)
    assert rounds(steps) == [blocks * BLOCK for blocks in per_step]


@pytest.mark.parametrize(("nodes", "per_node"), [(2, 1), (3, 4), (1, 6), (5, 2)])
def test_pairwise_meets_everyone_and_knows_who_is_near(nodes: int, per_node: int) -> None:
    ranks = Ranks(nodes, per_node)
    steps = known.pairwise(ranks, BLOCK)
    near = sum(step.count for step in steps if step.crossing == 0)
    assert sum(step.count for step in steps) == ranks.n - 1
    assert near == per_node - 1


@pytest.mark.parametrize("n", [2, 3, 7, 8, 33])
def test_a_barrier_ends_when_everyone_has_heard_of_everyone(n: int) -> None:
    heard = [{rank} for rank in range(n)]
    k = 0
    while any(len(who) < n for who in heard):
        heard = [heard[rank] | heard[(rank - (1 << k)) % n] for rank in range(n)]
        k += 1
    assert rounds(known.dissemination(Ranks(n, 1), 0)) == [0] * k


@pytest.mark.parametrize("n", [2, 3, 5, 8, 100])
def test_a_broadcast_doubles_those_who_have_it(n: int) -> None:
    have, k = 1, 0
    while have < n:
        have *= 2
        k += 1
    assert rounds(known.binomial(Ranks(n, 1), BLOCK)) == [BLOCK] * k


@pytest.mark.parametrize("n", [2, 4, 8, 64])
def test_rabenseifner_moves_as_little_as_a_ring(n: int) -> None:
    size = 1 << 20
    ring = sum(rounds(known.ring(Ranks(n, 1), size)))
    assert sum(rounds(known.rabenseifner(Ranks(n, 1), size))) == ring
    assert ring == 2 * (n - 1) * size // n


@pytest.mark.parametrize("n", [3, 6, 12])
def test_left_over_ranks_cost_two_steps(n: int) -> None:
    whole = n.bit_length() - 1
    assert len(rounds(known.recursive_doubling(Ranks(n, 1), BLOCK))) == whole + 2


@pytest.mark.parametrize("per_node", [2, 4, 8])
def test_the_hierarchical_alltoall_sends_the_same_bytes_in_fewer_messages(per_node: int) -> None:
    ranks = Ranks(16, per_node)
    flat = [step for step in known.pairwise(ranks, BLOCK) if step.crossing]
    grouped = [step for step in known.hierarchical(ranks, BLOCK) if step.crossing]
    assert sum(rounds(grouped)) == sum(rounds(flat))
    assert len(rounds(grouped)) == len(rounds(flat)) // per_node


@pytest.mark.parametrize("benchmark", sorted(ALGORITHMS))
def test_one_node_sends_nothing_over_the_network(benchmark: str) -> None:
    for schedule in ALGORITHMS[benchmark].values():
        assert all(step.crossing == 0 for step in schedule(Ranks(1, 8), 4096))


@pytest.mark.parametrize("benchmark", sorted(ALGORITHMS))
def test_no_more_ranks_cross_than_a_node_has(benchmark: str) -> None:
    for schedule in ALGORITHMS[benchmark].values():
        steps = schedule(Ranks(6, 4), 4096)
        assert steps
        assert all(0 <= step.crossing <= 4 and step.count > 0 for step in steps)


def test_two_levels_go_up_a_node_between_leaders_and_down() -> None:
    """Four nodes of four, by hand: trees of two steps, Bruck between four leaders in two."""
    inside, between = 0, 1
    assert known.two_level_allgather(Ranks(4, 4), BLOCK) == [
        Step(1, BLOCK, inside),
        Step(1, 2 * BLOCK, inside),
        Step(1, 4 * BLOCK, between),
        Step(1, 8 * BLOCK, between),
        Step(2, 16 * BLOCK, inside),
    ]
    barrier = known.two_level_barrier(Ranks(5, 3), 0)
    assert [(step.count, step.size_bytes, step.crossing) for step in barrier] == [
        (2, 0, inside),
        *[(1, 0, between)] * 3,
        (2, 0, inside),
    ]
    assert known.two_level_barrier(Ranks(5, 1), 0) == known.dissemination(Ranks(5, 1), 0)
