"""What the pairs of a run touched, and what they could not."""

from weft.bench.model import Pair, Sample
from weft.diagnose.coverage import counted, coverage_of


def samples(*pairs):
    return [
        Sample("t", 1, "pairs", 8, {"latency_us": 1.0}, 10, 0.0, pair=Pair(a, b, i, 1))
        for i, (a, b) in enumerate(pairs)
    ]


def test_pairs_and_cables_are_counted_against_all_there_are(make_tree):
    coverage = coverage_of(samples(("n001", "n002"), ("n003", "n001")), make_tree(2, 2, 2))
    assert (coverage.n_pairs, coverage.n_pairs_possible, coverage.n_nodes) == (2, 3, 3)
    assert coverage.n_cables == 8
    assert ("n004/hca0[1]", "leaf-02[2]") in coverage.cables_never_crossed
    assert coverage.text.startswith("2 of 3 pairs of 3 nodes in 2 rounds; ")


def test_without_a_fabric_no_cable_is_claimed():
    coverage = coverage_of(samples(("a", "b")), None)
    assert coverage.n_cables is None
    assert "not known without a fabric" in coverage.text
    assert "in 1 round;" in coverage.text


def test_ranks_of_one_host_are_called_ranks():
    assert "of 2 ranks" in coverage_of(samples(("h:0", "h:1")), None).text


def test_each_rail_meets_its_own_kind_only():
    """Two nodes with two rails: two pairs are possible, not the six of four ranks."""
    coverage = coverage_of(samples(("a:0", "b:2"), ("a:1", "b:3")), None)
    assert (coverage.n_nodes, coverage.n_pairs_possible) == (2, 2)


def test_crossed_cables_that_no_message_can_fill_are_counted(make_tree):
    tree = make_tree(2, 2, 2)
    far = samples(("n001", "n003"))
    assert coverage_of(far, tree).n_cables_faster == 0
    for link in tree.document["links"][4:]:
        link["bits_per_s"] *= 2
    assert coverage_of(far, tree).n_cables_faster == 2
    assert coverage_of(samples(("n001", "n002")), tree).n_cables_faster == 0


def test_one_thing_is_singular():
    assert (counted(1, "pair"), counted(2, "pair"), counted(0, "pair")) == (
        "1 pair",
        "2 pairs",
        "0 pairs",
    )
