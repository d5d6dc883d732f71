"""From noisy readings to the component that explains the slow ones."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from tests.seeds import drawn

from weft.check.readings.candidates import Candidates
from weft.check.readings.components import Component, Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.norms import Normed, normed
from weft.check.readings.readings import Metric, Readings, readings_of
from weft.check.suspects.explanation import Explainer
from weft.check.thresholds import thresholds

UP_LINK = ("leaf-02[6]", "spine-02[2]")


def accused(samples, tree, *, adaptive=False):
    """The components of each suspect with what it slows, the strongest suspect first."""
    readings = readings_of(samples)
    network = None if tree is None else Network(tree)
    crossings = Crossings(readings, network, adaptive=adaptive)
    limits = thresholds()
    explainer = Explainer(readings, crossings.candidates, normed(crossings, limits), limits)
    members = crossings.candidates.members
    return [
        (
            {crossings.component(m) for c in suspect.candidates for m in members[c]},
            suspect.slower,
        )
        for suspect in explainer.explain().suspects
    ]


@pytest.mark.parametrize("seed", drawn(range(20), 10))
def test_a_healthy_fabric_with_disturbances_accuses_nothing(make_tree, make_fabric, seed):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, disturbed=0.01, seed=seed).all_pairs()
    assert accused(samples, tree) == []


def test_a_slow_cable_is_named_alone(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    slow = make_slow(0.5, ports=frozenset(UP_LINK), metrics=("bandwidth",))
    ((components, slower),) = accused(make_fabric(tree, [slow]).all_pairs(), tree)
    assert components == {Component(Part.CABLE, UP_LINK)}
    assert slower.keys() == {Metric.BANDWIDTH}
    assert slower[Metric.BANDWIDTH] == pytest.approx(0.693, abs=0.05)  # ln 2, to a grid step


def test_a_loss_as_small_as_the_noise_is_found_by_repetition(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, [make_slow(0.95, node="n005")], noise=0.03).all_pairs()
    ((components, _),) = accused(samples, tree)
    assert Component(Part.NODE, ("n005",)) in components
    assert {component.ends[0].partition("/")[0] for component in components} == {"n005"}


def test_two_faults_are_two_suspects(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    cable = make_slow(0.5, ports=frozenset(UP_LINK), metrics=("bandwidth",))
    node = make_slow(0.8, node="n011")
    found = accused(make_fabric(tree, [cable, node]).all_pairs(), tree)
    assert [Component(Part.CABLE, UP_LINK) in components for components, _ in found].count(
        True
    ) == 1
    assert [Component(Part.NODE, ("n011",)) in components for components, _ in found].count(
        True
    ) == 1
    assert len(found) == 2


def test_without_a_fabric_the_node_is_named(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    samples = make_fabric(tree, [make_slow(0.5, node="n011")]).all_pairs()
    ((components, _),) = accused(samples, None)
    assert components == {Component(Part.NODE, ("n011",))}


def test_under_adaptive_routing_cables_of_a_leaf_are_one_answer(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    ups = frozenset(f"leaf-02[{port}]" for port in range(5, 9))
    samples = make_fabric(tree, [make_slow(0.8, ports=ups, metrics=("bandwidth",))]).all_pairs()
    ((components, _),) = accused(samples, tree, adaptive=True)
    assert {c.ends[0] for c in components if c.part in (Part.CABLE, Part.DIRECTION)} == ups


def test_two_faults_of_equal_weight_are_no_tie(make_tree, make_fabric, make_slow):
    """Two directions that no message crosses both of, without noise."""
    tree = make_tree(4, 4, 4)
    ports = ("leaf-01[5]", "leaf-03[7]")
    slow = [make_slow(0.5, ports=frozenset({p}), metrics=("bandwidth",)) for p in ports]
    found = accused(make_fabric(tree, slow, noise=0.0).all_pairs(), tree)
    assert sorted(sorted(component.ends[0] for component in one) for one, _ in found) == [
        [port] for port in ports
    ]


def explained(slower, crossed_by, apart=()):
    """The candidates of each suspect. Readings of bandwidth between ever new ends, so much slower;
    by candidate those that cross it."""
    n = len(slower)
    same, ends = np.zeros(n, np.int64), np.arange(n)
    names = tuple(f"n{i:03d}" for i in range(2 * n))
    readings = Readings(
        names,
        (("t", 1),),
        same + Metric.BANDWIDTH.code,
        2 * ends,
        2 * ends + 1,
        np.ones(n),
        same,
        same,
        ends,
        same + 1,
        same > 0,
    )
    columns = np.array([[row in rows for rows in crossed_by] for row in range(n)], float)
    members = tuple(((0, i),) for i in range(len(crossed_by)))
    against = Normed((), same, np.array(slower), np.full(n, 0.01))
    explainer = Explainer(
        readings,
        Candidates(csc_matrix(columns), members),
        against,
        thresholds(),
        apart=np.array(apart, np.int64),
    )
    return [set(suspect.candidates) for suspect in explainer.explain().suspects]


@pytest.mark.parametrize(
    ("apart", "left"),
    [
        ((0.5, 0.0), {0}),
        ((0.0, 0.5), {1}),
        ((0.5, 0.5), {0, 1}),
        ((0.0, 0.0), {0, 1}),
        ((0.0,), {0, 1}),
    ],
)
def test_readings_apart_decide_between_candidates_where_one_is_slow(apart, left):
    """Ten readings cross both. Where nothing is slow by itself, normal ones say nothing: what is
    slow may be so beside others only."""
    ten = range(10)
    over = [{*ten, *([10 + i] if i < len(apart) else [])} for i in range(2)]
    rows = tuple(range(10, 10 + len(apart)))
    assert explained([0.5] * 10 + list(apart), over, rows) == [left]


@pytest.mark.parametrize(("fewer", "left"), [(1, {0, 1}), (2, {0})])
def test_what_explains_little_less_is_answered_as_well(fewer, left):
    """Two and a half standard deviations are worth three of a logarithm at most: one reading less
    is near, two are not."""
    over = [set(range(10)), set(range(10 - fewer))]
    assert explained([0.025] * 10, over) == [left]


def test_readings_apart_alone_make_no_suspect():
    assert explained([0.0] * 10 + [0.5] * 10, [set(range(20))], range(10, 20)) == []


def test_candidates_that_share_no_reading_are_two_suspects_though_as_likely():
    both = explained([0.5] * 20, [set(range(10)), set(range(10, 20))])
    assert sorted(both, key=min) == [{0}, {1}]
