"""Loads as multiples of the fair share, worked out by hand."""

import pytest
from tests.unit.topology.hand_subnet import described, tree_cables, tree_switches

from weft.core.errors import InputError
from weft.topology.subnet.link_load import load_of
from weft.topology.subnet.traffic import Traffic

CABLES = tree_cables(leaves=2, spines=2, per_spine=1)
"""leaf0[2] and leaf1[2] to spine0[1] and [2], leaf0[3] and leaf1[3] to spine1[1] and [2]."""
SLOW = ("leaf0", 2, "spine0", 1)


def test_the_fair_share_is_the_mean_of_a_direction_by_rate() -> None:
    loads = {
        ("leaf0", 2): 30,
        ("leaf0", 3): 10,
        ("leaf1", 2): 20,
        ("leaf1", 3): 20,
        ("spine0", 1): 0,
        ("spine0", 2): 5,
        ("spine1", 1): 0,
        ("spine1", 2): 0,
    }
    subnet = described(tree_switches(2), CABLES, rates={SLOW: 100.0}, loads=loads)
    load = load_of(subnet, Traffic("all to all", "paths", {}))
    # Up: 80 paths over 100 + 3 x 200 Gb/s, so 11.43 for the slow cable, 22.86 for each other.
    names = {node.description: node.index for node in subnet.nodes}
    share = {(name, port): load.share[names[name], port] for name, port in loads}
    assert share["leaf0", 2] == pytest.approx(30 / (80 / 7))
    assert share["leaf0", 3] == pytest.approx(10 / (160 / 7))
    assert share["leaf1", 2] == pytest.approx(20 / (160 / 7))
    # Down: 5 paths on one of four cables: 100 of 700 Gb/s are the slow one.
    assert share["spine0", 2] == pytest.approx(5 / (5 * 200 / 700))
    up, down = load.tiers
    assert (up.words, up.fullest, len(up.shares)) == (
        "up from level 1 to 2",
        (names["leaf0"], 2),
        4,
    )
    assert (down.words, down.most) == ("down from level 2 to 1", pytest.approx(3.5))
    assert load.fullest == down
    cable = subnet.cable_at[names["leaf1"], 2]
    assert load.of(cable.ends) == pytest.approx(3.5)


def test_bytes_count_as_often_as_they_are_sent() -> None:
    subnet = described(tree_switches(2), CABLES, loads={("leaf0", 2): 3})
    load = load_of(subnet, Traffic("a collective", "B", {10: ((0, 1),), 1000: ((1, 0),)}))
    # The same answer for either size: 3 paths of 10 B and 3 of 1000 B.
    assert list(load.amount.values()) == [3030]
    assert subnet.asked == [((0, 1),), ((1, 0),)]


def test_one_path_alone_is_a_fair_share_since_no_one_can_share_it() -> None:
    loads = {("leaf0", 2): 1, ("leaf0", 3): 0, ("leaf1", 2): 0, ("leaf1", 3): 0}
    subnet = described(tree_switches(2), CABLES, loads=loads)
    load = load_of(subnet, Traffic("a pair", "paths", {1: ((0, 1),)}))
    assert load.tiers[0].most == 1.0
    # Two pairs of 10 B, one of them twice: 20 B are one piece. 30 B over 4 cables are 7.5 B each.
    loads[("leaf0", 2)] = 3
    subnet = described(tree_switches(2), CABLES, loads=loads)
    load = load_of(subnet, Traffic("pairs", "B", {10: ((0, 1), (0, 1), (1, 0))}))
    assert load.tiers[0].most == 1.5
    assert load.shown(load.tiers[0].fullest) == "30 B"


def test_a_tier_that_carries_nothing_has_no_shares() -> None:
    subnet = described(tree_switches(2), CABLES, loads={("leaf0", 2): 0})
    load = load_of(subnet, Traffic("all to all", "paths", {}))
    assert (load.tiers, load.fullest) == ((), None)


def test_without_forwarding_tables_there_is_no_load() -> None:
    with pytest.raises(InputError, match="no forwarding tables were read"):
        load_of(described(tree_switches(2), CABLES), Traffic("all to all", "paths", {}))
