"""Rounds without overload: no port carries more than its rate, and what fits stays together."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.check.schedule.fields import field_of, generated, worst_load

from weft.check.schedule.rounds.admission import admitted
from weft.check.schedule.rounds.matchings import circle, reflections
from weft.check.schedule.rounds.split import overloads, without_overload


@pytest.mark.parametrize(("leaves", "per_leaf", "spines"), [(4, 4, 4), (3, 4, 4), (2, 8, 8)])
def test_reflections_load_no_cable_of_a_full_tree_twice(make_tree, leaves, per_leaf, spines):
    field = field_of(make_tree(leaves, per_leaf, spines))
    rounds = list(reflections(len(field.ranks)))
    assert max(worst_load(field, pairs) for pairs in rounds) == 1.0
    split = without_overload(rounds, field.ranks, field.paths)
    assert [p.tolist() for p in split] == [p.tolist() for p in rounds]


def test_the_circle_method_does_collide_there(make_tree):
    """The reason why reflections are used; if this ever fails, the simpler schedule will do."""
    field = field_of(make_tree(4, 4, 4))
    assert any(overloads(circle(r, 16), field.ranks, field.paths) for r in range(15))


@pytest.mark.parametrize(("leaves", "per_leaf", "spines"), [(4, 4, 2), (4, 6, 4), (5, 3, 2)])
def test_a_tapered_tree_gets_more_rounds_and_no_overload(make_tree, leaves, per_leaf, spines):
    field = field_of(make_tree(leaves, per_leaf, spines))
    n = len(field.ranks)
    whole = list(reflections(n))
    assert max(worst_load(field, pairs) for pairs in whole) > 1
    rounds = without_overload(whole, field.ranks, field.paths)
    assert max(worst_load(field, pairs) for pairs in rounds) == 1.0
    assert sorted(tuple(p) for r in rounds for p in r.tolist()) == list(combinations(range(n), 2))


def test_two_slow_hosts_share_a_cable_of_twice_their_rate():
    """2:1 by ports, 1:1 by rates: four hosts of 100 Gb/s under two cables of 200 Gb/s."""
    field = field_of(generated(nodes=16, per_leaf=4, spines=2, host=100, switch=200))
    whole = list(reflections(16))
    split = without_overload(whole, field.ranks, field.paths)
    loads = [worst_load(field, pairs) for pairs in split]
    assert max(loads) <= 1.0
    # With every cable at 100 Gb/s the same tree needs about twice the rounds.
    slower = field_of(generated(nodes=16, per_leaf=4, spines=2, host=100, switch=100))
    assert len(without_overload(whole, slower.ranks, slower.paths)) > 1.5 * len(split)


def test_adaptive_routing_lets_the_ports_of_a_stage_carry_messages_together():
    """Four hosts and two cables a leaf: at most two messages leave it at a time, whatever the
    tables say."""
    field = field_of(generated(nodes=8, per_leaf=4, spines=2), adaptive=True)
    rounds = without_overload(
        [np.array([[0, 4], [1, 5], [2, 6], [3, 7]])], field.ranks, field.paths
    )
    assert [len(pairs) for pairs in rounds] == [2, 2]


@pytest.mark.parametrize("radix", [4, 6])
def test_reflections_load_no_cable_of_a_three_level_tree_twice(radix):
    n = radix**3 // 4
    fabric = generated(nodes=n, per_leaf=0, spines=0, levels=3, radix=radix)
    field = field_of(fabric)
    assert max(worst_load(field, pairs) for pairs in reflections(n)) == 1.0


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2, unique=True), max_size=12),
    st.integers(1, 3),
)
def test_what_is_admitted_fits_and_nothing_more_would(bundles, room):
    uses = np.array(bundles, np.int64).reshape(-1, 2)
    left = np.array([float(room)] * 6 + [np.inf])
    taken = admitted(uses, np.ones(uses.shape), left)
    used = np.bincount(uses[taken].reshape(-1), minlength=6)
    assert (used <= room).all()
    assert left[:6].tolist() == (room - used).tolist()
    for bundle in uses[~taken]:
        assert (used[bundle] == room).any()
