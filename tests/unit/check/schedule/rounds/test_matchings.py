"""Rounds of disjoint pairs: every pair once, nobody twice, and who rests rests in turn."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.check.schedule.rounds.matchings import (
    between,
    circle,
    in_order,
    random_matchings,
    reflections,
    spread_order,
)


def as_pairs(rounds):
    return [[tuple(pair) for pair in pairs.tolist()] for pairs in rounds]


def ranks_of(pairs):
    return [rank for pair in pairs for rank in pair]


@given(st.integers(2, 60))
def test_reflections_are_all_pairs_once_and_no_unit_is_in_two_pairs_of_a_round(n):
    rounds = as_pairs(reflections(n))
    assert sorted(pair for pairs in rounds for pair in pairs) == list(combinations(range(n), 2))
    for pairs in rounds:
        assert pairs
        assert len(set(ranks_of(pairs))) == 2 * len(pairs)


@pytest.mark.parametrize(("n", "n_rounds"), [(4, 4), (5, 5), (16, 16)])
def test_reflections_cost_at_most_one_round_more(n, n_rounds):
    assert len(list(reflections(n))) == n_rounds


@pytest.mark.parametrize("n", [-1, 0, 1])
def test_less_than_two_units_make_no_pair(n):
    with pytest.raises(ValueError, match="make no pair"):
        reflections(n)
    with pytest.raises(ValueError, match="make no pair"):
        random_matchings(n, 1, 1)


@given(st.integers(2, 40))
def test_the_circle_method_is_the_textbook_s(n):
    """n even: n - 1 rounds of n/2 pairs; n odd: n rounds, and everybody rests once."""
    rounds = as_pairs(circle(r, n) for r in range(n - 1 + n % 2))
    assert sorted(pair for pairs in rounds for pair in pairs) == list(combinations(range(n), 2))
    assert {len(pairs) for pairs in rounds} == {n // 2}


@given(st.integers(2, 30), st.integers(1, 70), st.integers(0, 5))
def test_random_matchings_are_perfect_and_repeat_no_pair_before_all_have_met(n, times, seed):
    rounds = as_pairs(random_matchings(n, times, seed))
    assert len(rounds) == times
    for pairs in rounds:
        assert len(set(ranks_of(pairs))) == 2 * len(pairs) == n - n % 2
    cycle = n - 1 + n % 2
    for first in range(0, times, cycle):
        met = Counter(pair for pairs in rounds[first : first + cycle] for pair in pairs)
        assert max(met.values()) == 1
        rested = Counter(
            unit
            for pairs in rounds[first : first + cycle]
            for unit in {*range(n)} - {*ranks_of(pairs)}
        )
        assert all(times == 1 for times in rested.values())


def test_another_seed_matches_others():
    assert as_pairs(random_matchings(20, 3, 1)) == as_pairs(random_matchings(20, 3, 1))
    assert as_pairs(random_matchings(20, 3, 1)) != as_pairs(random_matchings(20, 3, 2))


@given(st.integers(1, 200))
def test_a_spread_order_is_an_order(n):
    assert sorted(spread_order(n)) == list(range(n))


def test_a_spread_order_begins_far_apart():
    """Any five of 100 leave a gap of 20 at least; the golden ratio's first five none above 39."""
    first = sorted(spread_order(100)[:5])
    gaps = np.diff([*first, first[0] + 100])
    assert gaps.max() <= 39


def test_pairs_are_put_in_order():
    assert in_order(np.array([[5, 1], [0, 3]])).tolist() == [[0, 3], [1, 5]]


def test_a_shorter_list_meets_others_of_the_longer_at_each_shift():
    assert between([1, 2], [7, 8, 9], 0) == [(1, 7), (2, 8)]
    assert between([7, 8, 9], [1, 2], 2) == [(1, 9), (2, 7)]
