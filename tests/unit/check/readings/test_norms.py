"""Readings are held against their own kind."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import numpy as np
import pytest

from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.check.launches import check_launches
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.norms import faster_population, load_percent, normed
from weft.check.readings.readings import Metric, readings_of
from weft.check.schedule.rounds.matchings import reflections
from weft.check.thresholds import thresholds
from weft.topology.fabric import Fabric


def crossings(samples, tree, *, adaptive=False, limits=None):
    network = None if tree is None else Network(tree)
    return Crossings(readings_of(samples), network, adaptive=adaptive, limits=limits)


def test_near_and_far_pairs_are_classes_of_their_own(make_tree, make_fabric):
    tree = make_tree(4, 4, 4)
    found = normed(crossings(make_fabric(tree, noise=0.0).all_pairs(), tree), thresholds())
    latency = {
        norm.hop_class.n_links: norm.expected
        for norm in found.norms
        if norm.hop_class.metric is Metric.LATENCY
    }
    assert latency == pytest.approx({2: 1.2, 4: 1.9})
    assert np.allclose(found.slower, 0.0)


def test_a_slower_bandwidth_and_a_longer_latency_are_both_slower(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    made = crossings(make_fabric(tree, [make_slow(0.5, node="n003")], noise=0.0).all_pairs(), tree)
    found = normed(made, thresholds())
    n003 = made.readings.endpoints.index("n003")
    touched = (made.readings.a == n003) | (made.readings.b == n003)
    assert np.allclose(found.slower[touched], np.log(2))
    assert np.allclose(found.slower[~touched], 0.0)


def test_flows_that_share_a_cable_are_a_class_of_their_own(make_tree, make_fabric):
    """Two nodes of one leaf send to two nodes that one up-link leads to: it holds one of them."""
    tree = make_tree(2, 2, 1)
    made = crossings(make_fabric(tree).measure([[(0, 2), (1, 3)]]), tree)
    load = load_percent(made)
    of = made.readings.metric
    assert set(load[of == Metric.BANDWIDTH.code]) == {200}
    assert set(load[of == Metric.LATENCY.code]) == {100}
    assert set(load_percent(crossings(make_fabric(tree).measure([[(0, 2)]]), tree))) == {100}


def test_under_adaptive_routing_the_ports_of_a_stage_share_its_load(make_tree, make_fabric):
    """Two flows over one up-link are one too many, over two none."""
    for spines, load in ((1, {100, 200}), (2, {100})):
        tree = make_tree(2, 2, spines)
        samples = make_fabric(tree).measure([[(0, 2), (1, 3)]])
        assert set(load_percent(crossings(samples, tree, adaptive=True))) == load


@pytest.mark.parametrize(("steps", "least", "most"), [(1, 200, 200), (16, 147, 153)])
def test_loads_are_distinguished_by_steps_of_a_doubling(make_tree, make_fabric, steps, least, most):
    """Three nodes send over a cable for two: half as much again as it carries."""
    tree = make_tree(2, 3, 1)
    for link in tree.document["links"]:
        if "/" not in link["a"]:
            link["bits_per_s"] *= 2
    samples = make_fabric(tree).measure([[(0, 3), (1, 4), (2, 5)]])
    made = crossings(samples, tree, limits=replace(thresholds(), load_steps=steps))
    (load,) = set(load_percent(made)) - {100}
    assert least <= load <= most


def test_a_class_too_small_is_not_judged(make_tree, make_fabric):
    tree = make_tree(2, 2, 2)
    found = normed(crossings(make_fabric(tree).measure([[(0, 2)]]), tree), thresholds())
    assert found.norms == ()
    assert set(found.norm.tolist()) == {-1}


def test_the_faster_of_two_populations_is_normal_even_as_a_minority() -> None:
    draws = np.random.default_rng(1)
    fast, slow = draws.normal(0.0, 0.01, 40), draws.normal(0.7, 0.01, 60)
    chosen = faster_population(np.sort(np.concatenate([fast, slow])), 0.1, thresholds())
    assert chosen.size == 40
    assert chosen.max() < 0.1


def test_one_population_stays_whole() -> None:
    values = np.sort(np.random.default_rng(1).normal(0.0, 0.03, 100))
    assert faster_population(values, 0.1, thresholds()).size == 100


def test_a_slow_minority_is_left_out_of_the_norm_as_well() -> None:
    """A third of the readings would move the middle of all of them."""
    draws = np.random.default_rng(1)
    fast, slow = draws.normal(0.0, 0.01, 65), draws.normal(0.7, 0.01, 35)
    assert faster_population(np.sort(np.concatenate([fast, slow])), 0.1, thresholds()).size == 65


def test_bandwidths_of_few_readings_are_judged_with_those_of_other_hops(make_tree, make_fabric):
    """Four readings near and four far are eight, as many as a class needs; of latencies not."""
    tree = make_tree(4, 2, 2)
    fabric = make_fabric(tree, noise=0.0)
    made = crossings(fabric.measure([[(0, 1), (2, 3)], [(4, 6), (5, 7)]]), tree)
    found = normed(made, thresholds())
    assert {norm.hop_class.metric for norm in found.norms} == {Metric.BANDWIDTH}
    assert {norm.hop_class.n_links: norm.n for norm in found.norms} == {2: 4, 4: 4}
    fewer = crossings(fabric.measure([[(0, 1)], [(4, 6), (5, 7)]]), tree)
    assert normed(fewer, thresholds()).norms == ()


def test_pairs_of_one_node_alone_do_not_say_what_is_normal(make_tree, make_fabric, make_slow):
    """n001 under a leaf of its own: all pairs four links apart have it, and are slow by it."""
    tree = make_tree(2, 4, 4)
    fabric = make_fabric(tree, [make_slow(0.5, node="n001")], noise=0.0)
    made = crossings(fabric.measure([[(0, i)] for i in (4, 5, 6, 7)] * 4 + NEAR), tree)
    found = normed(made, thresholds())
    n001 = made.readings.endpoints.index("n001")
    touched = (made.readings.a == n001) | (made.readings.b == n001)
    bandwidth = made.readings.metric == Metric.BANDWIDTH.code
    assert np.allclose(found.slower[touched & bandwidth], np.log(2))
    assert (found.norm[touched & ~bandwidth] == -1).all(), "latency depends on the distance"
    assert (found.norm[~touched] >= 0).all()
    only = crossings(fabric.measure([[(0, i)] for i in (4, 5, 6, 7)] * 4), tree)
    assert (normed(only, thresholds()).norm >= 0).all(), "nothing else was measured"


def test_a_node_with_the_only_slow_cables_does_not_say_what_they_deliver(make_tree, make_fabric):
    """Half the rate by the document: nobody else has such cables, so nothing is normal for them."""
    tree = make_tree(2, 4, 4)
    links = tree.document["links"]
    slower = [{**x, "bits_per_s": 10**11} if "n001/" in f"{x['a']} {x['b']}" else x for x in links]
    assert slower != links
    tree.document["links"] = slower
    made = crossings(make_fabric(tree, noise=0.0).all_pairs() * 2, tree)
    found = normed(made, thresholds())
    n001 = made.readings.endpoints.index("n001")
    touched = (made.readings.a == n001) | (made.readings.b == n001)
    bandwidth = made.readings.metric == Metric.BANDWIDTH.code
    assert (found.norm[touched & bandwidth] == -1).all()
    assert (found.norm[~touched & bandwidth] >= 0).all()


NEAR = [[(a, b)] for a in (4, 5, 6, 7) for b in (4, 5, 6, 7) if a < b] * 2
"""All pairs of the nodes under the second of two leaves."""


def test_pairs_over_longer_cables_are_a_class_of_their_own():
    """A cable between groups of a dragonfly takes 300 ns more: three quarters of the pairs that are
    one cable between switches apart have a short one."""
    pytest.importorskip("weft._engine", reason="the engine is not built")
    ends = ("host", "local", "global")
    spec = {"generate": "dragonfly", "groups": 3, "routers_per_group": 8, "nodes_per_router": 2}
    spec |= {"routing": {"engine": "dragonfly"}, "global_ports": 1}
    spec |= {f"{end}_bits_per_s": 2 * 10**11 for end in ends}
    spec |= {"host_delay_ps": 0, "local_delay_ps": 15_000, "global_delay_ps": 315_000}
    twin = TwinBackend(platform("generic-hdr"), 0, fabric=spec)
    rounds = [pairs.tolist() for pairs in reflections(len(twin.nodes))]
    sizes = {"sizes_bytes": (8, 2**17), "timeout_s": 600.0}
    options = {"window": 1, "iterations": 1, "warmup": 0, "adaptive_routing": "on"}
    launches = check_launches(twin.nodes, tasks_per_node=1, rounds=rounds, options=options, **sizes)
    samples = [sample for launch in launches[:1] for sample in twin.measure(launch)]
    wiring = Fabric.from_document(twin.fabric_document)
    made = crossings(samples, wiring, adaptive=True)
    found = normed(made, thresholds())
    near = {
        norm.hop_class.longer_ns: norm.expected
        for norm in found.norms
        if norm.hop_class.metric is Metric.LATENCY and norm.hop_class.n_links == 3
    }
    longer = max(near)
    assert sorted(near) == [0, longer]
    assert near[longer] - near[0] == pytest.approx(0.3, rel=0.001)
    assert longer == 300
    latency = made.readings.metric == Metric.LATENCY.code
    assert np.abs(found.slower[latency]).max() < 0.01
