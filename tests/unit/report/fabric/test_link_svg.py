"""Where switches stand: layers by level, groups round a circle."""

from itertools import combinations, pairwise
from math import dist

from tests.unit.topology.hand_subnet import Ends, described, tree_cables, tree_switches

from weft.report.fabric.link_svg import link_layout
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
