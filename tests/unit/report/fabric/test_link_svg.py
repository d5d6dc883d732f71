"""Where switches stand: layers by level, groups round a circle."""

import re
from itertools import combinations, pairwise, product
from math import dist

import numpy as np
import pytest
from tests.unit.topology.hand_subnet import Ends, described, tree_cables, tree_switches

from weft.report.fabric.link_svg import draw, link_layout
from weft.topology.subnet.tiers import Tiers, tiers_of


def by_name(tiers: Tiers) -> dict[str, tuple[float, float]]:
    layout = link_layout(tiers)
    return {tiers.labels[node].name: place for node, place in layout.places.items()}


def test_a_tree_stands_in_layers_with_the_spines_above() -> None:
    places = by_name(tiers_of(described(tree_switches(), tree_cables())))
    assert {places[f"leaf{n}"][1] for n in range(4)} == {200}
    assert {places[f"spine{n}"][1] for n in range(2)} == {50}
    assert [name for name, _ in sorted(places.items(), key=lambda one: one[1])[:2]] == [
        "leaf0",
        "spine0",
    ]


def test_names_that_do_not_fit_next_to_each_other_are_slanted() -> None:
    short, long = (
        tiers_of(
            described(
                {f"{name}{n}": 1 for n in range(30)} | {"top": 2},
                [(f"{name}{n}", 1, "top", n + 1) for n in range(30)],
            )
        )
        for name in ("s", "a-switch-with-a-name")
    )
    assert (link_layout(short).slanted, link_layout(long).slanted) == (False, True)
    assert link_layout(long).height > link_layout(short).height


def test_the_groups_of_a_dragonfly_stand_apart() -> None:
    groups = [[f"r{4 * g + n}" for n in range(4)] for g in range(3)]
    cables: list[Ends] = []
    for group in groups:
        for i, (a, b) in enumerate(combinations(group, 2)):
            cables.append((a, 1 + i, b, 1 + i))
    cables += [(groups[g][0], 20, groups[(g + 1) % 3][1], 21) for g in range(3)]
    tiers = tiers_of(described({name: 1 for group in groups for name in group}, cables))
    places = by_name(tiers)
    names = [name for group in groups for name in group]
    steps = [dist(places[a], places[b]) for a, b in pairwise(names)]
    apart = [steps[3], steps[7]]
    within = [step for at, step in enumerate(steps) if at not in (3, 7)]
    assert min(apart) > 1.5 * max(within)


@pytest.mark.parametrize("n_leaves", [3, 12, 34])
def test_no_cable_is_drawn_through_a_switch_of_others(n_leaves: int) -> None:
    leaves, spines = [f"l{n}" for n in range(n_leaves)], [f"s{n}" for n in range(n_leaves)]
    ways = product(enumerate(leaves), enumerate(spines))
    cables = [(leaf, j + 1, spine, i + 1) for (i, leaf), (j, spine) in ways]
    # Two cables within a level: of the first and the last leaf, and spine.
    cables += [("l0", 39, leaves[-1], 39), ("s0", 39, spines[-1], 39)]
    subnet = described(dict.fromkeys(leaves, 1) | dict.fromkeys(spines, 2), cables)
    tiers = tiers_of(subnet)
    places = [complex(*at) for at in link_layout(tiers).places.values()]
    drawn = str(draw(subnet, tiers, (), None, title="a tree"))
    found = re.findall(r'd="M(\S+ \S+)([LQC])([^"]+)"', drawn)
    assert len(found) == n_leaves**2 + 2
    for start, letter, rest in found:
        numbers = [float(text) for text in f"{start} {rest}".split()]
        points = [complex(*xy) for xy in zip(numbers[::2], numbers[1::2], strict=True)]
        assert len(points) == "_LQC".index(letter) + 1
        others = [at for at in places if min(abs(at - points[0]), abs(at - points[-1])) > 1]
        # De Casteljau: the points of the curve, by halving its polygon.
        curve = np.outer(points, np.ones(201))
        while len(curve) > 1:
            curve = curve[:-1] + np.linspace(0, 1, 201) * np.diff(curve, axis=0)
        assert np.abs(curve[0] - np.array(others)[:, None]).min() > 12
