"""Readings are compared with readings over the same kind of path."""

from weft.diagnose.crossing import Crossings
from weft.diagnose.hopclass import classify
from weft.diagnose.readings import Metric, Reading


def classes(pairs, tree):
    readings = [Reading(Metric.BANDWIDTH, a, b, 1.0, 8) for a, b in pairs]
    return classify(readings, Crossings([r.flow for r in readings], tree), tree)


def test_pairs_under_one_leaf_and_across_leaves_differ(make_tree):
    near, far, other_far = classes(
        [("n001", "n002"), ("n001", "n003"), ("n002", "n004")], make_tree(2, 2, 2)
    )
    assert (near.n_links, far.n_links) == (2, 4)
    assert far == other_far


def test_a_slower_link_by_design_makes_a_class_of_its_own(make_tree):
    tree = make_tree(2, 2, 2)
    tree.document["links"][0]["bits_per_s"] = 100_000_000_000
    half, whole = classes([("n001", "n003"), ("n002", "n004")], tree)
    assert half != whole
    assert "100 Gb/s" in str(half)


def test_without_a_fabric_pairs_on_one_host_differ_from_pairs_between_hosts():
    inside, between = classes([("h1:0", "h1:1"), ("h1:0", "h2:2")], None)
    assert (str(inside), str(between)) == ("on one host", "between hosts")
