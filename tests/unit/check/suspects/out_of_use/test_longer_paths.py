"""Messages around a cable out of use on rings, by hand: three switches or twelve, one node each."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import numpy as np
import pytest
from benches.small_fabrics import Shape, shapes

from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.check.readings.readings import Metric
from weft.check.suspects.out_of_use.longer_paths import more_links, slower_by, take_longer
from weft.check.suspects.out_of_use.reroute import Rerouted
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds


@pytest.fixture(scope="module")
def crossings():
    return Shape(shapes()["ring-3"]).verdict(()).survey.crossings


@pytest.mark.parametrize(
    ("cable", "longer"),
    [
        (("s00[2]", "s01[2]"), {("n000", "n001")}),
        (("n000/hca0[1]", "s00[1]"), set()),
    ],
)
def test_the_two_ends_of_a_dead_cable_are_one_switch_further_apart(crossings, cable, longer):
    number = crossings.network.port_id[cable[0]] >> 1
    assert set(crossings.network.cables[number]) == set(cable)
    rows = np.arange(len(crossings.readings))
    slow = rows[take_longer(crossings, rows, [number])]
    assert {crossings.readings.unordered(row) for row in slow.tolist()} == longer


def test_with_no_cable_out_of_use_nothing_is_longer(crossings):
    rows = np.arange(len(crossings.readings))
    assert not take_longer(crossings, rows, []).any()


@pytest.fixture(scope="module")
def survey():
    return Shape(shapes()["ring-12"]).verdict(()).survey


def cable_between(crossings, a, b):
    (number,) = {
        port >> 1
        for name, port in crossings.network.port_id.items()
        if {name.partition("[")[0], crossings.network.ports[port ^ 1].partition("[")[0]} == {a, b}
    }
    return number


def test_by_hand_a_ring_of_twelve_leads_neighbours_over_ten_links_more(survey):
    crossings = survey.crossings
    dead = cable_between(crossings, "s00", "s01")
    rows = np.flatnonzero(crossings.readings.metric == Metric.LATENCY.code)
    (engine,) = crossings.fabric.wiring.engines[:1]
    more = more_links(crossings, rows, [dead], engine)
    of = {crossings.readings.unordered(row): tuple(more[:, i]) for i, row in enumerate(rows)}
    assert of["n000", "n001"] == (10, 10)
    assert of["n005", "n006"] == (0, 0)


def test_a_link_more_costs_what_longer_paths_take_longer(survey):
    norms = [one for one in survey.normed.norms if one.hop_class.metric is Metric.LATENCY]
    by_links = {one.hop_class.n_links: one.expected for one in norms}
    a_link = (by_links[4] - by_links[3]) / 1
    rows = np.flatnonzero((survey.readings.metric == Metric.LATENCY.code) & survey.judged)[:1]
    at = survey.normed.norms[survey.normed.norm[rows[0]]].expected
    (slower,) = slower_by(survey.normed, rows, np.array([2.0]))
    assert slower == pytest.approx(np.log((at + 2 * a_link) / at), rel=0.02)
    assert slower_by(survey.normed, rows, np.array([0.0])) == pytest.approx(0)


def test_of_paths_of_one_length_nothing_is_predicted(survey):
    one = next(n for n in survey.normed.norms if n.hop_class.metric is Metric.LATENCY)
    alone = replace(survey.normed, norms=(one,), norm=np.zeros_like(survey.normed.norm))
    assert slower_by(alone, np.arange(2), np.ones(2)).tolist() == [0, 0]


@pytest.mark.parametrize(("is_dead", "sooner"), [(False, True), (True, False)])
def test_a_cable_whose_messages_arrive_as_soon_as_ever_is_in_use(is_dead, sooner):
    """Latencies of a ring, and of the line that it is without one cable, as the engine has them."""
    ring = dict(shapes()["ring-12"])
    dead = next(link for link in ring["links"] if {"s00[3]"} & {link["a"], link["b"]})
    left = [link for link in ring["links"] if link is not dead or not is_dead]
    cabled = {**ring, "links": left, "routing": {"engine": "updn"}}
    del cabled["lfts"]
    nodes = tuple(node["name"] for node in ring["nodes"])
    twin = TwinBackend(platform("fat-tree"), len(nodes), [], fabric=cabled)
    of_ring = Shape(ring)
    samples = [s for launch in of_ring._launches[:1] for s in twin.measure(launch)]
    measured = survey_of(samples, of_ring.wiring, thresholds())
    number = measured.crossings.network.port_id["s00[3]"] >> 1
    (engine,) = measured.crossings.fabric.wiring.engines[:1]
    nobody = np.zeros(0, np.int64)
    rerouted = Rerouted(measured.crossings, measured.normed, nobody, engine)
    assert rerouted.arrives_sooner(number, []) == sooner
