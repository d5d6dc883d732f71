"""What a message crosses, and what to call it."""

import pytest

from weft.diagnose.crossing import (
    Component,
    Crossings,
    Flow,
    Part,
    cables_of_document,
    host_of,
    vertex_of,
)


@pytest.fixture
def tree(make_tree):
    return make_tree(2, 2, 2)


def test_one_direction_crosses_its_cables_directions_switches_and_both_nodes(tree):
    flow = Flow("n001", "n003", both_ways=False)
    names = {component.name for component in Crossings([flow], tree).components(flow)}
    assert {
        "node n001 when sending",
        "node n003 when receiving",
        "node n001",
        "node n003",
        "switch leaf-01",
        "switch spine-01",
        "switch leaf-02",
        "cable n001/hca0[1] - leaf-01[1]",
        "cable leaf-01[3] - spine-01[1]",
        "cable leaf-01[3] - spine-01[1] (direction leaf-01 to spine-01)",
        "cable spine-01[2] - leaf-02[3] (direction spine-01 to leaf-02)",
    } <= names
    assert "node n003 when sending" not in names
    assert not any("direction spine-01 to leaf-01" in name for name in names)


def test_a_round_trip_crosses_the_way_back_too(tree):
    flow = Flow("n001", "n004", both_ways=True)
    names = {component.name for component in Crossings([flow], tree).components(flow)}
    assert {"switch spine-01", "switch spine-02", "node n004 when sending"} <= names


def test_without_a_fabric_only_nodes_are_crossed():
    flow = Flow("a", "b", both_ways=True)
    crossings = Crossings([flow], None)
    assert {c.part for c in crossings.components(flow)} == {
        Part.NODE,
        Part.NODE_SENDING,
        Part.NODE_RECEIVING,
    }
    assert crossings.path("a", "b") == ()


def test_crossed_cables_keep_the_documents_order_of_ends(tree):
    crossings = Crossings([Flow("n001", "n002", both_ways=False)], tree)
    assert crossings.cables() == {
        ("n001/hca0[1]", "leaf-01[1]"),
        ("n002/hca0[1]", "leaf-01[2]"),
    }


def test_each_port_knows_its_cable(tree):
    cables = cables_of_document(tree.document)
    assert cables["spine-02[1]"] == cables["leaf-01[4]"] == ("leaf-01[4]", "spine-02[1]")


def test_a_direction_is_the_same_thing_as_its_cable():
    cable = Component(Part.CABLE, ("a[1]", "b[1]"))
    assert cable.thing == Component(Part.DIRECTION, ("b[1]", "a[1]")).thing
    node = Component(Part.NODE, ("n001",))
    assert node.thing == Component(Part.NODE_SENDING, ("n001",)).thing != cable.thing


def test_the_owner_of_a_port():
    assert vertex_of("leaf-01[17]") == "leaf-01"
    assert vertex_of("n001/hca0[1]") == "n001/hca0"


def test_a_rank_among_several_crosses_its_own_hca_and_the_node_of_all(tree):
    tree.document["nodes"][0]["hcas"] = ["n001/hca0", "n001/hca1"]
    asked = []
    tree.paths = lambda pairs: asked.extend(pairs) or [() for _ in pairs]
    flow = Flow("n001:1", "n003", both_ways=False)
    names = {component.name for component in Crossings([flow], tree).components(flow)}
    assert {"HCA n001/hca1", "node n001", "node n003"} <= names
    assert ("n001/hca1", "n003") in asked


def test_without_a_fabric_a_rank_is_named_on_its_host():
    flow = Flow("host:0", "host:3", both_ways=True)
    names = {component.name for component in Crossings([flow], None).components(flow)}
    assert {"rank 0 on host", "rank 3 on host", "node host"} <= names


def test_the_host_of_an_endpoint():
    assert host_of("n001:3") == host_of("n001") == "n001"
