"""Fast nodes by a model of its own: a pair is as slow as the slower of its two nodes."""
# mypy: disable-error-code="no-untyped-def"

from itertools import combinations

import numpy as np
import pytest

from weft.check.readings.fast_nodes import among_fast_nodes, fewest_fast_nodes
from weft.check.thresholds import thresholds

GUARD = 0.1


def values_of(slow_nodes, paths=None):
    """All pairs of nodes, each measured twice, the second time 1 % slower; and the two ends."""
    pairs = [pair for pair in combinations(range(len(slow_nodes)), 2) for _ in range(2)]
    slow = [max(slow_nodes[a], slow_nodes[b], (paths or {}).get((a, b), 0.0)) for a, b in pairs]
    noise = [0.01 * (i % 2) for i in range(len(pairs))]
    a, b = np.array(pairs).T
    # Who sends first says nothing of a pair.
    turned = np.arange(len(pairs)) % 2 == 1
    return np.array(slow) + noise, (np.where(turned, b, a), np.where(turned, a, b))


def among(slow, ends):
    return among_fast_nodes(slow, ends, GUARD, thresholds())


def test_one_slow_node_leaves_the_pairs_of_the_others():
    slow, ends = values_of([0.0, 0.5, 0.0, 0.0])
    assert fewest_fast_nodes(slow, ends, GUARD).tolist() == [0, 2, 3]
    assert among(slow, ends).max() < GUARD
    assert among(slow, ends).size == 2 * 3


def test_a_slow_path_between_two_groups_leaves_no_fast_nodes():
    slow, ends = values_of([0.0] * 4, {(a, b): 0.5 for a in (0, 1) for b in (2, 3)})
    assert fewest_fast_nodes(slow, ends, GUARD).size == 0
    assert among(slow, ends) is slow


def test_one_fast_pair_of_six_is_too_few_for_a_norm():
    slow, ends = values_of([0.0, 0.5, 0.9, 0.0])
    assert fewest_fast_nodes(slow, ends, GUARD).tolist() == [0, 3]
    assert among(slow, ends) is slow


@pytest.mark.parametrize(("loss", "is_found"), [(0.08, False), (0.5, True)])
def test_two_populations_are_further_apart_than_the_guard(loss, is_found):
    slow, ends = values_of([0.0, loss, 0.0, 0.0])
    assert bool(fewest_fast_nodes(slow, ends, GUARD).size) == is_found
    assert (among(slow, ends).size < slow.size) == is_found


def test_populations_that_scatter_as_far_as_they_are_apart_are_one_norm():
    slow, ends = values_of([0.0, 0.3, 0.6, 0.9, 0.0, 0.0])
    assert fewest_fast_nodes(slow, ends, GUARD).tolist() == [0, 4, 5]
    assert among(slow, ends) is slow


def test_one_disturbed_reading_of_a_fast_pair_makes_no_pair_slow_for_the_norm():
    slow, ends = values_of([0.0, 0.5, 0.0, 0.0])
    fast = int(np.flatnonzero(slow < GUARD)[0])
    slow[fast] = 2.0
    assert fewest_fast_nodes(slow, ends, GUARD).size == 0
    assert among(slow, ends).size == 2 * 3


def test_of_two_nodes_and_of_no_reading_there_are_no_fast_ones():
    slow, ends = values_of([0.0, 0.9])
    assert fewest_fast_nodes(slow, ends, GUARD).size == 0
    assert among(slow, ends) is slow
    nothing = np.zeros(0, np.int64)
    assert fewest_fast_nodes(np.zeros(0), (nothing, nothing), GUARD).size == 0
