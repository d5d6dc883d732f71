"""Rounds that fill single leaves: by counting who is where."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np
import pytest
from tests.unit.check.schedule.fields import field_of, generated, is_disjoint, rails

from weft.check.schedule.rounds.bursts import burst_rounds
from weft.check.schedule.rounds.matchings import in_either_direction
from weft.check.schedule.schedule import schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.check.thresholds import thresholds


def bursts(field, seed=1, only=None):
    return burst_rounds(field.ranks, field.paths, seed=seed, only=only)


def leaves_of(field, pairs):
    """Leaves of the first and of the second rank of each pair."""
    hca = field.ranks.hca
    return field.paths.leaf_of(hca[pairs[:, 0]]), field.paths.leaf_of(hca[pairs[:, 1]])


@pytest.mark.parametrize(("per_leaf", "spines", "times"), [(4, 4, 4), (8, 8, 2), (1, 4, 8)])
def test_each_rank_sends_so_often_that_sixteen_messages_fill_each_leaf(per_leaf, spines, times):
    field = field_of(generated(nodes=8 * per_leaf, per_leaf=per_leaf, spines=spines), adaptive=True)
    firsts = np.concatenate([pairs[:, 0] for pairs in bursts(field)])
    assert np.bincount(firsts).tolist() == [times] * (8 * per_leaf)


def test_under_a_taper_a_leaf_is_filled_as_often_as_that_takes():
    """Two of four fit at once: eight times, sixteen messages."""
    field = field_of(generated(nodes=32, per_leaf=4, spines=2), adaptive=True)
    filled = np.concatenate([leaves_of(field, pairs)[0] for pairs in bursts(field)])
    assert np.bincount(filled).tolist() == [16] * 8


def test_leaves_of_one_rail_each_are_filled_by_their_rail():
    """Two rails of four leaves, four hosts each: partners are under three leaves of the rail."""
    wiring = rails(nodes=16, per_unit=4, spines=4)
    field = field_of(wiring, n_rails=2, adaptive=True)
    rounds = bursts(field)
    assert rounds
    for pairs in rounds:
        filled, _ = leaves_of(field, pairs)
        assert set(np.bincount(filled).tolist()) - {0} == {4}


def test_partners_are_spread_over_leaves_that_are_not_filled():
    field = field_of(generated(nodes=40, per_leaf=4, spines=4), adaptive=True)
    for pairs in bursts(field):
        filled, guests = leaves_of(field, pairs)
        assert not set(filled) & set(guests)
        assert np.bincount(guests).max() == 1
        assert is_disjoint(pairs)


def test_no_more_ranks_send_than_a_leaf_s_paths_bear():
    """Four hosts of 100 Gb/s under two ways of 100."""
    field = field_of(generated(nodes=24, per_leaf=4, spines=2), adaptive=True)
    for pairs in bursts(field):
        filled, _ = leaves_of(field, pairs)
        assert np.bincount(filled).max() == 2


def test_ranks_meet_on_their_rail():
    wiring = generated(nodes=16, per_leaf=2, spines=4, hcas=2)
    field = field_of(wiring, n_rails=2, adaptive=True)
    rounds = bursts(field)
    rail, unit = field.ranks.rail, field.ranks.unit
    assert rounds
    assert all((rail[p[:, 0]] == rail[p[:, 1]]).all() for p in rounds)
    assert all((unit[p[:, 0]] != unit[p[:, 1]]).all() for p in rounds)


@pytest.mark.parametrize("leaves", [1, 2])
def test_leaves_too_few_to_be_held_against_one_another_are_not_filled(leaves):
    field = field_of(generated(nodes=4 * leaves, per_leaf=4, spines=2), adaptive=True)
    assert bursts(field) == []
    assert "by itself" not in schedule_of(Scheme(SchemeKind.FULL), field).words


def test_three_leaves_are_enough():
    """Three ways up and three down are six of a kind."""
    field = field_of(generated(nodes=12, per_leaf=4, spines=2), adaptive=True)
    filled = np.concatenate([leaves_of(field, pairs)[0] for pairs in bursts(field)])
    assert np.unique(filled).size == 3


def test_of_a_group_those_leaves_are_filled_that_belong_to_it_and_others_next_to():
    field = field_of(generated(nodes=64, per_leaf=4, spines=4), adaptive=True)
    inside = np.zeros(64, np.bool_)
    inside[2:9] = True
    filled = np.concatenate([leaves_of(field, pairs)[0] for pairs in bursts(field, only=inside)])
    mine = field.paths.leaf_of(field.ranks.hca[[4]])[0]
    assert mine in filled
    assert np.unique(filled).size == 1 + thresholds().crowded_peers
    inside[:] = False
    inside[1] = True
    assert bursts(field, only=inside) == []


@pytest.mark.parametrize("kind", [SchemeKind.COVER, SchemeKind.FULL])
def test_schedules_end_with_them_only_where_switches_choose(kind):
    wiring = generated(nodes=24, per_leaf=4, spines=4)
    chosen = schedule_of(Scheme(kind, 3), field_of(wiring, adaptive=True))
    assert "then each leaf by itself, in " in chosen.words
    field = field_of(wiring, adaptive=True)
    filled, _ = leaves_of(field, chosen.rounds[-1])
    assert np.bincount(filled).max() == 4
    assert "by itself" not in schedule_of(Scheme(kind, 3), field_of(wiring)).words


def test_other_rounds_ask_for_a_quarter_of_the_paths():
    wiring = generated(nodes=64, per_leaf=8, spines=8)
    field = field_of(wiring, adaptive=True)
    rounds = schedule_of(Scheme(SchemeKind.REFLECTIONS, 6), field).rounds
    for pairs in rounds:
        first, second = leaves_of(field, pairs)
        apart = first != second
        active = np.bincount(np.concatenate([first[apart], second[apart]]), minlength=8)
        assert active.max() <= 2
    met = {frozenset(pair) for pairs in rounds for pair in pairs.tolist()}
    static = schedule_of(Scheme(SchemeKind.REFLECTIONS, 6), field_of(wiring)).rounds
    assert met == {frozenset(pair) for pairs in static for pair in pairs.tolist()}


def test_no_pair_is_lost_however_narrow_the_paths_are():
    wiring = generated(nodes=8, per_leaf=2, spines=2)
    chosen = schedule_of(Scheme(SchemeKind.RANDOM, 2), field_of(wiring, adaptive=True)).rounds
    static = schedule_of(Scheme(SchemeKind.RANDOM, 2), field_of(wiring)).rounds
    met = [sorted(sorted(p) for pairs in of for p in pairs.tolist()) for of in (chosen, static)]
    assert met[0] == met[1]


def test_pairs_turned_are_the_same_pairs_about_half_of_them_the_other_direction():
    pairs = np.arange(2000).reshape(-1, 2)
    (turned,) = in_either_direction([pairs], seed=3)
    assert np.array_equal(np.sort(turned, axis=1), pairs)
    assert 400 < (turned[:, 0] > turned[:, 1]).sum() < 600
