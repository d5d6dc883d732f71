"""FlowPaths by number are the engine's own paths."""

import numpy as np
import pytest
from tests.unit.check.schedule.fields import field_of, generated, planes

from weft.check.readings.network import Network
from weft.check.readings.stages import Stages
from weft.check.schedule.paths import FlowPaths
from weft.core.errors import InputError


def assert_same_ways(field):
    """Every flow crosses the ports that the fabric's own answer names."""
    ways, network = field.paths, field.ranks.network
    hcas = ways.hcas
    a, b = (side[~np.eye(hcas.size, dtype=bool)] for side in np.meshgrid(hcas, hcas))
    told = network.wiring.paths(
        [(network.hcas[i], network.hcas[j]) for i, j in zip(a, b, strict=True)]
    )
    for crossed, path in zip(ways.cross(a, b), told, strict=True):
        ports = crossed[crossed != ways.nowhere].tolist()
        assert sorted(ports) == sorted(network.port_id[port] for port in path)


def test_tables_are_walked_as_the_engine_walks_them():
    assert_same_ways(field_of(generated(nodes=16, per_leaf=0, spines=0, levels=3, radix=4), 1))
    assert_same_ways(field_of(generated(nodes=6, per_leaf=2, spines=3, hcas=4), 4))


def test_a_fabric_without_tables_is_asked(make_tree):
    assert_same_ways(field_of(make_tree(3, 4, 2)))


def test_a_hole_in_the_tables_is_reported_with_both_ends():
    fabric = generated(nodes=8, per_leaf=4, spines=2)
    document = {**fabric.document, "lfts": {**fabric.document["lfts"], "leaf-01": [0] * 8}}

    class Holed:
        nodes = fabric.nodes
        paths = fabric.paths

    holed = Holed()
    holed.document = document
    network = Network(holed)
    ways = FlowPaths(network, np.arange(8))
    assert ways.cross(np.array([4]), np.array([5])).size
    with pytest.raises(InputError, match="no path from n001/hca0 to n005/hca0"):
        ways.cross(np.array([0]), np.array([4]))


def test_stages_hold_all_ports_of_a_leaf():
    field = field_of(generated(nodes=8, per_leaf=4, spines=2), adaptive=True)
    crossed = field.paths.cross(np.array([0]), np.array([4]))[0]
    stages = [field.paths.stages[place] for place in crossed if place != field.paths.nowhere]
    names = [sorted(field.ranks.network.ports[port] for port in stage) for stage in stages]
    assert ["leaf-01[5]", "leaf-01[6]"] in names
    assert ["spine-01[2]", "spine-02[2]"] in names


def test_stages_are_those_that_the_diagnosis_crosses():
    """Both ways of every two leaves of a three-level tree."""
    field = field_of(generated(nodes=16, per_leaf=0, spines=0, levels=3, radix=4), adaptive=True)
    network, ways = field.ranks.network, field.paths
    flows = [(a, b) for a in range(16) for b in range(16) if a != b]
    told = Stages(network).between([(network.hcas[a], network.hcas[b]) for a, b in flows])
    for (a, b), stages in zip(flows, told, strict=True):
        crossed = ways.cross(np.array([a]), np.array([b]))[0]
        mine = {ways.stages[place] for place in crossed if place != ways.nowhere}
        assert mine == {tuple(sorted(stage)) for stage in stages}


@pytest.mark.parametrize("adaptive", [False, True])
def test_rails_whose_planes_never_meet_have_paths_within_each_and_none_across(adaptive):
    field = field_of(planes(nodes=8, per_leaf=4, spines=2), 2, adaptive=adaptive)
    ways, network = field.paths, field.ranks.network
    first, second = (np.array(network.hcas)[field.ranks.hca[[0, 8]]]).tolist()
    assert (first, second) == ("n001/hca0", "n005/hca0")
    for rail in (0, 1):
        a, b = field.ranks.hca[[rail]], field.ranks.hca[[8 + rail]]
        (crossed,) = ways.cross(a, b)
        ports = {p for place in crossed if place != ways.nowhere for p in ways.stages[place]}
        inner = {network.ports[port] for port in ports if network.between_switches[port]}
        assert inner
        assert all(port.startswith(f"plane-{rail}-") for port in inner)
    with pytest.raises(InputError, match="no path from n001/hca0 to n005/hca1"):
        ways.cross(field.ranks.hca[[0]], field.ranks.hca[[9]])
