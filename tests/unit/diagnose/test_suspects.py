"""Explaining slow readings by components."""

from weft.diagnose.crossing import Component, Crossings, Part
from weft.diagnose.readings import Metric, Reading
from weft.diagnose.suspects import explain, one_a_thing


def reading(a, b, metric=Metric.BANDWIDTH):
    return Reading(metric, a, b, 1.0, 8)


def explained(slow, normal, tree=None):
    flows = [r.flow for r in (*slow, *normal)]
    return explain(slow, normal, Crossings(flows, tree))


def all_directed(nodes):
    return [reading(a, b) for a in nodes for b in nodes if a != b]


def test_a_component_that_a_normal_reading_crosses_is_never_named():
    slow = [reading("a", "b"), reading("a", "c")]
    result = explained(slow, [reading("a", "d"), reading("d", "b"), reading("d", "c")])
    assert not result.named
    assert set(result.unexplained) == set(slow)


def test_a_node_slow_only_when_sending_is_said_to_be_so():
    nodes = "abcdefg"
    slow = [r for r in all_directed(nodes) if r.a == "c"]
    normal = [r for r in all_directed(nodes) if r.a != "c"]
    (suspect,) = explained(slow, normal).named
    assert [c.name for c in suspect.components] == ["node c when sending"]


def test_one_switch_explains_more_than_one_of_its_cables(make_tree):
    tree = make_tree(4, 4, 4)
    readings = all_directed(tree.nodes)
    crossings = Crossings([r.flow for r in readings], tree)
    spine = Component(Part.SWITCH, ("spine-02",))
    slow = [r for r in readings if spine in crossings.components(r.flow)]
    normal = [r for r in readings if r not in slow]
    (suspect,) = explain(slow, normal, crossings).named
    assert suspect.components == (spine,)


def test_competing_explanations_are_given_as_alternatives():
    """a-b, b-c, c-a slow: any two of the three nodes explain it, and none is needed."""
    slow = [reading("a", "b"), reading("b", "c"), reading("c", "a")]
    result = explained(slow, [reading("d", "e"), reading("e", "f")])
    assert not result.named
    (group,) = result.alternatives
    names = {c.name for suspect in group for c in suspect.components}
    assert {"node a", "node b", "node c"} <= names


def test_latency_and_bandwidth_that_point_at_one_node_are_one_fault():
    nodes = "abcdefg"
    pairs = [(a, b) for a in nodes for b in nodes if a < b]
    latency = [reading(a, b, Metric.LATENCY) for a, b in pairs]
    both = [*latency, *all_directed(nodes)]
    slow = [r for r in both if "c" in (r.a, r.b)]
    (suspect,) = explained(slow, [r for r in both if r not in slow]).named
    assert suspect.metrics == (Metric.LATENCY, Metric.BANDWIDTH)
    assert [c.name for c in suspect.components] == ["node c"]


def test_nothing_slow_needs_no_explanation():
    result = explained([], [reading("a", "b")])
    assert (result.named, result.alternatives, result.unexplained) == ((), (), ())


def test_the_widest_part_of_a_thing_is_kept():
    cable = Component(Part.CABLE, ("a[1]", "b[1]"))
    direction = Component(Part.DIRECTION, ("b[1]", "a[1]"))
    node = Component(Part.NODE, ("a",))
    assert set(one_a_thing([direction, cable, node])) == {cable, node}
    assert one_a_thing([direction]) == (direction,)
