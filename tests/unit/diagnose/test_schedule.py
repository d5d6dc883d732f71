"""Rounds: every pair once, no node twice, and no two messages on one cable."""

from itertools import combinations

import pytest

from weft.diagnose.schedule import (
    alone_rounds,
    estimate_s,
    rail_rounds,
    reflection_rounds,
    without_collisions,
)


def circle_rounds(n):
    """The textbook's round robin for even n: one stays, the others go round a circle."""
    rounds = []
    for r in range(n - 1):
        seats = [n - 1, *((r + k) % (n - 1) for k in range(n - 1))]
        rounds.append([tuple(sorted((seats[k], seats[n - 1 - k]))) for k in range(n // 2)])
    return rounds


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 15, 16, 33])
def test_every_pair_meets_once_and_no_node_is_in_two_pairs_of_a_round(n):
    rounds = reflection_rounds(n)
    pairs = [pair for pairs in rounds for pair in pairs]
    assert sorted(pairs) == list(combinations(range(n), 2))
    for pairs_of_round in rounds:
        nodes = [node for pair in pairs_of_round for node in pair]
        assert nodes
        assert len(nodes) == len(set(nodes))


@pytest.mark.parametrize(("n", "n_rounds"), [(4, 4), (5, 5), (16, 16)])
def test_reflections_cost_at_most_one_round_more(n, n_rounds):
    assert len(reflection_rounds(n)) == n_rounds


@pytest.mark.parametrize("n", [-1, 0, 1])
def test_less_than_two_nodes_make_no_pair(n):
    with pytest.raises(ValueError, match="make no pair"):
        reflection_rounds(n)


@pytest.mark.parametrize(("leaves", "per_leaf", "spines"), [(4, 4, 4), (3, 4, 4), (2, 8, 8)])
def test_reflections_never_put_two_messages_on_one_cable_of_a_full_tree(
    make_tree, leaves, per_leaf, spines
):
    tree = make_tree(leaves, per_leaf, spines)
    rounds = reflection_rounds(len(tree.nodes))
    assert not list(collisions(tree, rounds))


def test_the_circle_method_does_collide_there(make_tree):
    """The reason why reflections are used; if this ever fails, the simpler schedule will do."""
    tree = make_tree(4, 4, 4)
    assert list(collisions(tree, circle_rounds(16)))


@pytest.mark.parametrize(("leaves", "per_leaf", "spines"), [(4, 4, 2), (4, 6, 4), (5, 3, 2)])
def test_a_tapered_tree_gets_more_rounds_and_no_collision(make_tree, leaves, per_leaf, spines):
    tree = make_tree(leaves, per_leaf, spines)
    n = len(tree.nodes)
    whole = reflection_rounds(n)
    assert list(collisions(tree, whole))
    rounds = without_collisions(whole, paths_of(tree))
    assert not list(collisions(tree, rounds))
    assert sorted(p for pairs in rounds for p in pairs) == list(combinations(range(n), 2))


def test_a_full_tree_needs_no_split(make_tree):
    tree = make_tree(4, 4, 4)
    whole = reflection_rounds(16)
    assert without_collisions(whole, paths_of(tree)) == whole


def test_the_retest_runs_one_pair_at_a_time():
    assert alone_rounds([(0, 3), (1, 2)]) == [[(0, 3)], [(1, 2)]]


def test_repeats_of_the_retest_are_spread_over_it():
    assert alone_rounds([(0, 3), (1, 2)], 2) == [[(0, 3)], [(1, 2)], [(0, 3)], [(1, 2)]]


def test_the_estimate_is_bytes_over_rate_and_round_trips():
    """One round of 1 MB messages, 10 a window, at 8 Gb/s (1 GB/s): 44 windows of 10 ms."""
    once = estimate_s(1, size_bytes=10**6, window=10, bits_per_s=8e9, round_trip_s=0.0)
    assert once == pytest.approx(0.44)
    assert estimate_s(3, size_bytes=10**6, window=10, bits_per_s=8e9) > 3 * once


def test_each_rail_meets_its_own_kind_on_every_other_node_once():
    rounds = rail_rounds(5, 3)
    pairs = sorted(pair for pairs in rounds for pair in pairs)
    expected = [(a * 3 + r, b * 3 + r) for a, b in combinations(range(5), 2) for r in range(3)]
    assert pairs == sorted(expected)
    for pairs_of_round in rounds:
        ranks = [rank for pair in pairs_of_round for rank in pair]
        assert len(ranks) == len(set(ranks))


@pytest.mark.parametrize(("radix", "n"), [(4, 16), (6, 54)])
def test_reflections_do_not_collide_on_a_three_level_tree_of_the_engine(radix, n):
    pytest.importorskip("weft._engine", reason="the engine is not built")
    from weft.bench.twin import build_fabric
    from weft.topology.fabric import Fabric

    spec = {"schema": "weft.fabric/1", "generate": "fat_tree", "name": "three", "levels": 3}
    spec |= {"radix": radix, "nodes": n, "hcas_per_node": 1, "routing": {"engine": "dmodk"}}
    spec |= {"host_bits_per_s": 10**11, "switch_bits_per_s": 10**11}
    spec |= {"host_delay_ps": 5000, "switch_delay_ps": 5000}
    fabric = Fabric.from_document(build_fabric(spec))
    assert not list(collisions(fabric, reflection_rounds(n)))


def paths_of(tree):
    n = len(tree.nodes)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    paths = tree.paths([(tree.nodes[a], tree.nodes[b]) for a, b in pairs])
    return dict(zip(pairs, paths, strict=True))


def collisions(tree, rounds):
    """Ports that two messages of one round and one direction cross."""
    paths = paths_of(tree)
    for pairs in rounds:
        for backwards in (False, True):
            used = [p for a, b in pairs for p in paths[(b, a) if backwards else (a, b)]]
            yield from {port for port in used if used.count(port) > 1}
