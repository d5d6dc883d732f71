"""A machine's dragonfly: switches, cables between groups, and where adapters are."""

from collections import Counter
from typing import Any

import pytest

from weft.catalog.load import platform
from weft.catalog.machine.cabling import Dragonfly
from weft.core.errors import InputError
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import fabric_spec

MACHINES = ("alps-a100", "alps-gh200", "perlmutter", "frontier")


def shape(name: str) -> Dragonfly:
    fabric = platform(name).fabric
    assert isinstance(fabric, Dragonfly)
    return fabric


def ends(spec: dict[str, Any]) -> list[tuple[str, str]]:
    return [tuple(link[end].rpartition("[")[0] for end in ("a", "b")) for link in spec["links"]]


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_has_its_groups_and_as_many_cables_between_every_two(name: str) -> None:
    known = shape(name)
    spec = fabric_spec(platform(name), 5, cabled=True)
    group = {switch["name"]: switch["group"] for switch in spec["switches"]}
    assert Counter(group.values()) == dict.fromkeys(
        range(known.groups.whole), known.switches_per_group.whole
    )
    between = Counter(
        frozenset((group[a], group[b]))
        for a, b in ends(spec)
        if a in group and b in group and group[a] != group[b]
    )
    n_groups = known.groups.whole
    assert len(between) == n_groups * (n_groups - 1) // 2
    assert set(between.values()) == {known.group_cables.whole}
    inside = Counter(
        frozenset((a, b)) for a, b in ends(spec) if a in group and group.get(b) == group[a]
    )
    per_group = known.switches_per_group.whole
    assert len(inside) == n_groups * per_group * (per_group - 1) // 2
    assert set(inside.values()) == {1}


@pytest.mark.parametrize("name", MACHINES)
def test_every_port_has_one_cable_and_no_switch_more_than_its_ports(name: str) -> None:
    spec = fabric_spec(platform(name), 40, cabled=True)
    used = Counter(link[end] for link in spec["links"] for end in ("a", "b"))
    assert set(used.values()) == {1}
    radix = shape(name).radix.whole
    ports = {switch["name"]: switch["ports"] for switch in spec["switches"]}
    for end in used:
        name_, _, number = end.partition("[")
        if name_ in ports:
            assert int(number[:-1]) <= ports[name_] <= radix


def test_cables_to_other_groups_are_spread_over_a_group() -> None:
    spec = fabric_spec(platform("frontier"), 1, cabled=True)
    group = {switch["name"]: switch["group"] for switch in spec["switches"]}
    outside = Counter(
        end
        for a, b in ends(spec)
        if a in group and b in group and group[a] != group[b]
        for end in (a, b)
    )
    # 4 cables to each of 76 groups, over 32 switches: 9.5.
    assert set(outside.values()) == {9, 10}


def test_adapters_of_a_node_are_on_the_switches_of_its_chassis() -> None:
    spec = fabric_spec(platform("alps-a100"), 17)
    on = dict(ends(spec)[: 4 * 17])
    assert [on[f"n001/hca{rail}"] for rail in range(4)] == [f"router-{n:02}" for n in (1, 2, 3, 4)]
    # Four switches take sixteen nodes: four adapters a node, sixteen ports a switch.
    assert [on[f"n016/hca{rail}"] for rail in range(4)] == [f"router-{n:02}" for n in (1, 2, 3, 4)]
    assert [on[f"n017/hca{rail}"] for rail in range(4)] == [f"router-{n:02}" for n in (5, 6, 7, 8)]
    assert Counter(on.values())["router-01"] == 16


def test_a_twin_of_one_group_leaves_idle_groups_out() -> None:
    document = platform("alps-a100")
    groups = {
        n_nodes: len({switch["group"] for switch in fabric_spec(document, n_nodes)["switches"]})
        for n_nodes in (128, 129)
    }
    assert groups == {128: 3, 129: 28}


def test_two_nodes_of_different_chassis_have_a_path_for_each_adapter() -> None:
    fabric = Fabric.from_document(fabric_spec(platform("alps-a100"), 17))
    pairs = [(f"n001/hca{rail}", f"n017/hca{rail}") for rail in range(4)]
    middle = [path[1] for path in fabric.paths(pairs)]
    assert len(set(middle)) == 4
    assert all(len(path) == 3 for path in fabric.paths(pairs))


def test_more_nodes_than_the_machine_has_are_refused() -> None:
    with pytest.raises(InputError, match="platform 'alps-a100' has 144 nodes, not 145"):
        fabric_spec(platform("alps-a100"), 145)
