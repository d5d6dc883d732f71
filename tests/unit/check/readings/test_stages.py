"""Every shortest way, stage by stage, against a search anyone can check."""
# mypy: disable-error-code="no-untyped-def"

from types import SimpleNamespace

import pytest
from tests.unit.check.documents import fabric_document

from weft.check.readings.components import vertex_of
from weft.check.readings.network import Network
from weft.check.readings.stages import Stages
from weft.core.errors import InputError
from weft.topology.fabric import Fabric


def all_shortest(tree, a, b):
    """The ports of all shortest ways from HCA a to HCA b, stage by stage, by brute force."""
    far = dict(tree.links) | {end: start for start, end in tree.links}
    ways = [[port] for port in far if port.startswith(f"{a}[")]
    while True:
        done = [way for way in ways if far[way[-1]].startswith(f"{b}[")]
        if done:
            return [set(stage) for stage in zip(*done, strict=True)]
        ways = [
            [*way, port]
            for way in ways
            for port in far
            if port.rpartition("[")[0] == far[way[-1]].rpartition("[")[0]
            and port != far[way[-1]]
            and "/" not in port
        ]


def stages(tree, a, b):
    network = Network(tree)
    (found,) = Stages(network).between([(a, b)])
    return [{network.ports[port] for port in stage} for stage in found]


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 4), (4, 3, 1)])
def test_stages_hold_every_port_of_every_shortest_path(make_tree, shape):
    tree = make_tree(*shape)
    last = tree.nodes[-1]
    for a, b in ((tree.nodes[0], tree.nodes[1]), (tree.nodes[0], last), (last, tree.nodes[1])):
        ends = (f"{a}/hca0", f"{b}/hca0")
        assert stages(tree, *ends) == all_shortest(tree, *ends)


def test_no_way_is_an_error_that_names_both_ends(make_tree):
    tree = make_tree(2, 2, 1)
    cut = [link for link in tree.document["links"] if "spine-01[2]" not in (link["a"], link["b"])]
    tree.document["links"] = cut
    with pytest.raises(InputError, match="no path from leaf-01 to leaf-02"):
        stages(tree, "n001/hca0", "n004/hca0")


def test_it_does_not_matter_which_end_of_a_cable_comes_first(make_tree):
    tree, turned = make_tree(3, 2, 2), make_tree(3, 2, 2)
    turned.document["links"] = [
        {**link, "a": link["b"], "b": link["a"]} for link in tree.document["links"]
    ]
    ends = ("n001/hca0", "n006/hca0")
    assert stages(turned, *ends) == stages(tree, *ends)


def test_an_hca_without_a_cable_is_an_error_that_names_it(make_tree):
    tree = make_tree(2, 2, 1)
    links = tree.document["links"]
    tree.document["links"] = [link for link in links if "n002/" not in link["a"]]
    with pytest.raises(InputError, match="HCA 'n002/hca0' has no cable to a switch"):
        stages(tree, "n001/hca0", "n002/hca0")


def test_of_a_dragonfly_messages_take_one_cable_between_groups():
    """By hops alone a path over a third group is as short as one over two routers of its own."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    spec = {"generate": "dragonfly", "groups": 5, "routers_per_group": 4, "nodes_per_router": 2}
    spec |= {"global_ports": 1, "nodes": 40}
    spec |= {f"{end}_bits_per_s": 2 * 10**11 for end in ("host", "local", "global")}
    spec |= {f"{end}_delay_ps": 5000 for end in ("host", "local", "global")}
    fabric = Fabric.from_document(spec)
    network = Network(fabric)
    group = {switch["name"]: switch["group"] for switch in fabric.document["switches"]}
    hcas = network.hcas[::2]
    pairs = [(a, b) for a in hcas for b in hcas if a != b]
    for (a, b), found in zip(pairs, Stages(network).between(pairs), strict=True):
        crossed = [
            {tuple(group[vertex_of(network.ports[p ^ i])] for i in (0, 1)) for p in stage}
            for stage in found[1:-1]
        ]
        between = [stage for stage in crossed if any(near != far for near, far in stage)]
        start = group[vertex_of(network.ports[found[0][0] ^ 1])]
        end = group[vertex_of(network.ports[found[-1][0]])]
        assert len(between) == (start != end), (a, b)


def grouped(groups, n_parallel):
    """Four switches in a row, the first two of them with parallel cables; a node at each end."""
    names = [f"r{i}" for i in range(4)]
    links = [("a/hca0[1]", "r0[99]"), ("b/hca0[1]", "r3[99]")]
    links += [(f"r0[{i}]", f"r1[{i}]") for i in range(1, n_parallel + 1)]
    links += [("r1[90]", "r2[90]"), ("r2[91]", "r3[91]")]
    document = fabric_document(("a", "b"), names, links)
    for switch, group in zip(document["switches"], groups, strict=True):
        if group is not None:
            switch["group"] = group
    return SimpleNamespace(document=document)


@pytest.mark.parametrize("n_parallel", [1, 4, 5, 9])
@pytest.mark.parametrize("groups", [(0, 0, 1, 1), (None,) * 4, (None, 0, 1, None)])
def test_many_parallel_cables_are_one_hop(groups, n_parallel):
    (found,) = Stages(Network(grouped(groups, n_parallel))).between([("a/hca0", "b/hca0")])
    assert [len(stage) for stage in found] == [1, n_parallel, 1, 1, 1]


def test_a_cable_joins_two_groups_only_if_both_its_switches_have_one():
    network = Network(grouped((None, 0, 1, 1), 2))
    assert {network.ports[p] for p in network.between_groups.nonzero()[0]} == {"r1[90]", "r2[90]"}
