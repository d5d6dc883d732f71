"""What a reading crosses, and where a loss can show."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import pytest

from weft.check.readings.components import Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.norms import hop_classes
from weft.check.readings.readings import Metric, readings_of
from weft.check.thresholds import thresholds
from weft.core.errors import InputError
from weft.topology.fabric import Fabric


@pytest.mark.parametrize(("filled_share", "with_room"), [(0.9, {1}), (0.4, set())])
def test_a_cable_is_filled_from_a_share_of_the_most_it_carried(
    make_tree, make_fabric, filled_share, with_room
):
    """An up-link for two nodes is half full in round 1, where one of them sends, and full in 0."""
    tree = make_tree(2, 2, 1)
    for link in tree.document["links"]:
        if "/" not in link["a"]:
            link["bits_per_s"] *= 2
    samples = make_fabric(tree).measure([[(0, 2), (1, 3)], [(0, 2)]])
    limits = replace(thresholds(), filled_share=filled_share)
    made = Crossings(readings_of(samples), Network(tree), adaptive=False, limits=limits)
    missing = (made.by_stage - made.filled).tocoo()
    rows = missing.row[missing.data > 0]
    assert set(made.readings.round[rows].tolist()) == with_room
    assert Metric.LATENCY.code not in made.readings.metric[rows]


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("is_rank", [False, True])
def test_a_host_that_the_fabric_does_not_know_is_reported_with_the_name_near_it(
    make_tree, make_fabric, adaptive, is_rank
):
    """As when n001 is addressed, and calls itself n001-ib."""
    tree = make_tree(2, 2, 1)
    (sample, *_) = make_fabric(tree).measure([[(0, 2)]])
    named = "n001-ib:0" if is_rank else "n001-ib"
    sample = replace(sample, pair=replace(sample.pair, a=named))
    with pytest.raises(InputError) as caught:
        _ = Crossings(readings_of([sample]), Network(tree), adaptive=adaptive).candidates
    error = caught.value
    assert error.what == "the fabric has no host 'n001-ib'"
    assert error.where == f"a reading of '{named}'"
    assert "n001, n002, n003" in error.expected
    assert error.hint == "did you mean 'n001'?"


def test_among_paths_of_unequal_rates_the_lowest_counts(make_tree, make_fabric):
    """A message may have taken the one cable that runs at half the rate."""
    tree = make_tree(2, 2, 2)
    slow = next(link for link in tree.document["links"] if link["a"] == "leaf-01[3]")
    slow["bits_per_s"] //= 2
    samples = make_fabric(tree).measure([[(0, 2)], [(0, 1)]])
    made = Crossings(readings_of(samples), Network(tree), adaptive=True)
    by_round = {n: set(made.lowest_rate[made.readings.round == n].tolist()) for n in (0, 1)}
    assert by_round == {0: {100_000_000_000}, 1: {200_000_000_000}}


def test_a_message_within_one_hca_crosses_nothing_and_is_reported_so(make_tree, make_fabric):
    """Two ranks of n001, beside a pair of two nodes."""
    tree = make_tree(2, 2, 1)
    (inside, *_), (across, *_) = (make_fabric(tree).measure([[pair]]) for pair in ((0, 1), (0, 2)))
    inside = replace(inside, pair=replace(inside.pair, a="n001:0", b="n001:1"))
    network = Network(Fabric.from_document(tree.document))
    made = Crossings(readings_of([inside, across]), network, adaptive=False)
    (loop,) = {kind for kind in hop_classes(made)[0] if kind.same_host and not kind.n_links}
    assert (loop.words, loop.load) == ("within one HCA", 100)
    assert set(made.lowest_rate.tolist()) == {0, 200_000_000_000}


def test_a_round_trip_is_sent_and_received_by_both(make_tree, make_fabric):
    """So that latencies alone do not tell a node that sends slowly from one that receives so."""
    tree = make_tree(2, 2, 1)
    samples = make_fabric(tree).measure([[(0, 1), (2, 3)], [(0, 2), (1, 3)]])
    latencies = [sample for sample in samples if "latency_us" in sample.metrics]
    made = Crossings(readings_of(latencies), None, adaptive=False).candidates
    for node in range(4):
        of = {made.of_part(p)[node] for p in (Part.NODE, Part.NODE_SENDING, Part.NODE_RECEIVING)}
        assert len(of) == 1
        assert made.rows(of.pop()).size == 2
