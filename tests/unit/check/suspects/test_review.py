"""Which accusations stand: what waits is let go, what went around is one cable out of use, and a
crowded way is one that the survey showed."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.check.conftest import Fabric, Slow, Tree
from tests.unit.check.suspects.detours import dead, detour, direction, surveyed_twice

from weft.check.readings.components import Component, Part
from weft.check.readings.readings import Metric
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects import review as module
from weft.check.suspects.accusation import Standing, accuse, accuse_all
from weft.check.suspects.crowding.crowded_paths import SharedPaths
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.follow_up import FollowUpPlan, follow_up
from weft.check.suspects.queueing import waiting
from weft.check.suspects.review import settled
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE, TOGETHER

N_LEAVES = 10


def ways_of(leaf):
    """The ports by which messages leave a leaf of four nodes for its four spines."""
    return frozenset(f"leaf-{leaf:02d}[{port}]" for port in range(5, 9))


def surveyed(fabric, *, adaptive=False, again=None, most_rounds=None):
    """The survey of a fabric and, unless `again` is another one, its own follow-up."""
    tree = fabric.tree
    samples = fabric.all_pairs()
    if again is None:
        first = survey_of(samples, tree, thresholds(), adaptive=adaptive)
        samples += fabric.follow_up(follow_up(first, 1, most_rounds))
    else:
        rounds = [pairs.tolist() for pairs in reflections(len(tree.nodes))]
        samples += [s for _ in range(2) for s in again.measure(rounds, TOGETHER)]
    return survey_of(samples, tree, thresholds(), adaptive=adaptive)


def stand(survey):
    return settled(survey, accuse_all(survey))


def ends_of(accusation):
    return {end for component in accusation.components for end in component.ends}


class HoldingUp(Fabric):
    """A receiver that is slow holds up whatever shares a port with a message for it."""

    slow_receiver = "n001"

    def _sharing(self, path, pairs):
        names = self.tree.nodes
        paths = self.tree.paths([(names[a], names[b]) for a, b in pairs])
        behind = {
            port
            for way, (_, b) in zip(paths, pairs, strict=True)
            if names[b] == self.slow_receiver
            for port in way
        }
        return 2.5 if behind & set(path) else 1.0


def slow_way(survey, port, evidence):
    """An accusation of a direction, by bandwidth."""
    suspect = Suspect((direction(survey, port),), {Metric.BANDWIDTH: 0.9}, evidence)
    return accuse(survey, suspect, Standing.MET)


def test_a_path_on_which_messages_wait_for_something_surely_slow_is_released():
    survey = surveyed(HoldingUp(Tree(4, 4, 2), noise=0.02, collide=True))
    receiver = next(
        accusation
        for accusation in accuse_all(survey)
        if Component(Part.NODE_RECEIVING, ("n001",)) in accusation.components
    )
    way = slow_way(survey, "spine-01[1]", 30.0)
    assert receiver.evidence_alone > thresholds().confirmed_evidence
    assert settled(survey, [way, receiver]) == (receiver,)


def test_a_path_waits_for_a_slow_receiver_however_strong_the_evidence_for_it():
    survey = surveyed(HoldingUp(Tree(4, 4, 2), noise=0.02, collide=True))
    every = accuse_all(survey)
    receiver = next(a for a in every if a.components[0].part is Part.NODE_RECEIVING)
    way = slow_way(survey, "spine-01[1]", receiver.evidence + 100)
    assert settled(survey, [way, receiver]) == (receiver,)


def test_a_path_measured_only_beside_messages_for_a_slow_receiver_waits_for_it():
    fabric = HoldingUp(Tree(4, 4, 2), noise=0.02, collide=True)
    samples = fabric.all_pairs()
    # n001 and n003 are reached by one port: no test measures it without the slow receiver.
    both = [[(4 + i, 0), (8 + i, 2)] for i in range(4)]
    samples += fabric.measure([*both, *both, *[[(1, 0)], [(2, 0)], [(3, 0)]] * 4], ALONE)
    survey = survey_of(samples, fabric.tree, thresholds())
    receiver = next(a for a in accuse_all(survey) if a.components[0].part is Part.NODE_RECEIVING)
    way = slow_way(survey, "spine-01[1]", receiver.evidence + 1)
    assert way.evidence_alone > thresholds().confirmed_evidence
    assert receiver.evidence_alone > thresholds().confirmed_evidence
    assert settled(survey, [way, receiver]) == (receiver,)


def test_a_direction_of_a_cable_that_is_slow_in_both_directions_is_not_accused_next_to_it(
    make_slow,
):
    tree = Tree(4, 4, 2)
    way = frozenset(tree.cable_of("leaf-01[5]"))
    survey = surveyed(Fabric(tree, [make_slow(0.4, ports=way)], noise=0.02))
    (cable,) = accuse_all(survey)
    candidate = direction(survey, "leaf-01[5]")
    suspect = Suspect((candidate,), {Metric.BANDWIDTH: 0.9}, cable.evidence / 2)
    part = accuse(survey, suspect, Standing.CONFIRMED)
    assert part.evidence_alone > thresholds().confirmed_evidence
    assert settled(survey, [part, cable]) == (cable,)


def test_four_leaves_slow_even_alone_wait_for_none_of_each_other(make_slow):
    tree = Tree(N_LEAVES, 4, 4)
    slow = [
        make_slow(0.5 + 0.05 * leaf, ports=ways_of(leaf), metrics=("bandwidth",))
        for leaf in range(1, 5)
    ]
    named = stand(surveyed(Fabric(tree, slow, noise=0.01), adaptive=True))
    for leaf in range(1, 5):
        assert any(ways_of(leaf) <= ends_of(accusation) for accusation in named)


def test_a_path_found_otherwise_when_it_came_again_is_the_same_path(make_slow):
    """In full rounds first, filled by itself then."""
    tree = Tree(N_LEAVES, 4, 4)
    slow = make_slow(0.7, ports=ways_of(5), metrics=("bandwidth",))
    fabric = Fabric(tree, [slow], noise=0.01)
    survey = surveyed(fabric, adaptive=True, again=Fabric(tree, [slow], noise=0.01, seed=2))
    assert any(ways_of(5) <= ends_of(accusation) for accusation in stand(survey))


@pytest.mark.parametrize("most_rounds", [1, 2, 3, 8])
def test_a_path_that_is_slow_even_alone_needs_few_rounds(make_slow, most_rounds):
    tree = Tree(N_LEAVES, 4, 4)
    fabric = Fabric(tree, [make_slow(0.7, ports=ways_of(2), metrics=("bandwidth",))], noise=0.01)
    survey = surveyed(fabric, adaptive=True, most_rounds=most_rounds)
    (accusation,) = stand(survey)
    assert ways_of(2) <= ends_of(accusation)
    assert accusation.evidence_alone > thresholds().confirmed_evidence
    assert accusation.standing is Standing.CONFIRMED


@pytest.mark.parametrize(
    ("most_rounds", "standing"),
    [
        (1, Standing.UNTESTED),
        (2, Standing.UNTESTED),
        (4, Standing.CONFIRMED),
        (8, Standing.CONFIRMED),
    ],
)
def test_too_few_readings_again_leave_a_crowded_path_untested(make_slow, most_rounds, standing):
    """Four messages leave the leaf in a round, and a dozen are needed."""
    tree = Tree(N_LEAVES, 4, 4)
    fabric = Fabric(tree, [make_slow(0.7, ports=ways_of(2), metrics=("bandwidth",))], noise=0.01)
    samples = fabric.all_pairs()
    first = survey_of(samples, tree, thresholds(), adaptive=True)
    again = follow_up(first, 1, most_rounds)
    samples += fabric.follow_up(FollowUpPlan((), again.together))
    assert (4 * most_rounds >= thresholds().crowded_readings) == (standing is Standing.CONFIRMED)
    (accusation,) = stand(survey_of(samples, tree, thresholds(), adaptive=True))
    assert ways_of(2) <= ends_of(accusation)
    assert accusation.standing is standing


def test_nothing_waits_for_what_is_slow_next_to_others_only():
    survey = surveyed(HoldingUp(Tree(4, 4, 2), noise=0.02, collide=True))
    first, second = slow_way(survey, "spine-01[1]", 60.0), slow_way(survey, "spine-02[1]", 30.0)
    assert first.evidence_alone < 0
    assert settled(survey, [first, second]) == (first, second)


def test_what_nothing_slow_is_waited_for_stays(make_slow):
    """The same way, slow by itself, beside a slow node elsewhere."""
    tree = Tree(4, 4, 2)
    way = frozenset(tree.cable_of("leaf-01[5]"))
    faults = [
        make_slow(0.4, node="n016"),
        make_slow(0.5, ports=way, metrics=("bandwidth",)),
    ]
    survey = surveyed(Fabric(tree, faults, noise=0.02))
    named = [ends_of(accusation) for accusation in stand(survey)]
    assert len(named) == 2
    assert any(way <= ends for ends in named)


def test_five_leaves_of_ten_slow_even_alone_are_all_named(make_slow):
    """None of them is out of its kind, but a lone message over each is slow."""
    tree = Tree(N_LEAVES, 4, 4)
    slow = [
        make_slow(0.55 + 0.05 * leaf, ports=ways_of(leaf), metrics=("bandwidth",))
        for leaf in range(1, 6)
    ]
    survey = surveyed(Fabric(tree, slow, noise=0.01), adaptive=True)
    named = stand(survey)
    assert {accusation.standing for accusation in named} == {Standing.CONFIRMED}
    for leaf in range(1, 6):
        assert any(ways_of(leaf) <= ends_of(accusation) for accusation in named)


@pytest.mark.parametrize(
    ("standing", "n_met", "stays"),
    [(Standing.MET, 4, False), (Standing.MET, 1, True), (Standing.CONFIRMED, 4, True)],
)
def test_what_met_the_messages_of_a_cable_out_of_use_is_not_accused(
    monkeypatch, standing, n_met, stays
):
    """Where that explains most of it."""
    survey = surveyed_twice()
    around = detour(survey, "leaf-02[5]")
    met = detour(survey, "leaf-02[6]").rows[:4]
    accusation = replace(slow_way(survey, "leaf-02[6]", 50.0), standing=standing, rows=met)
    around = replace(around, met=met[:n_met])
    monkeypatch.setattr(module, "surely_out_of_use", lambda *_: dead(around))
    left = settled(survey, [accusation])
    assert (accusation in left) == stays
    assert len(left) == 1 + stays


@pytest.mark.parametrize(("port", "stays"), [("leaf-02[5]", False), ("leaf-02[6]", True)])
def test_of_a_cable_out_of_use_nothing_else_is_said(monkeypatch, port, stays):
    survey = surveyed_twice()
    around = detour(survey, "leaf-02[5]")
    passing = replace(slow_way(survey, port, 50.0), standing=Standing.PASSING)
    monkeypatch.setattr(module, "surely_out_of_use", lambda *_: dead(around))
    assert (passing in settled(survey, [passing])) == stays


@pytest.mark.parametrize(
    ("metric", "n_longer", "others_slow", "stays"),
    [
        (Metric.LATENCY, 3, False, False),
        (Metric.LATENCY, 2, False, True),
        # What is slow on paths as long as before is slow itself.
        (Metric.LATENCY, 3, True, True),
        (Metric.BANDWIDTH, 4, False, True),
    ],
)
def test_what_takes_longer_around_a_cable_out_of_use_is_not_accused(
    monkeypatch, metric, n_longer, others_slow, stays
):
    """By latency only, and where most of it does."""
    survey = surveyed_twice()
    around = detour(survey, "leaf-02[5]")
    over = survey.candidates.rows(survey.candidates.of_part(Part.NODE)[12])
    rows = over[survey.readings.metric[over] == Metric.LATENCY.code][:4]
    node = of_node(survey, metric, Standing.CONFIRMED, rows)
    monkeypatch.setattr(module, "surely_out_of_use", lambda *_: dead(around))
    monkeypatch.setattr(module, "take_longer", lambda _, of, __: np.isin(of, rows[:n_longer]))
    slow = np.isin(np.arange(len(survey.readings)), over) & others_slow
    survey.__dict__["slow"] = slow | np.isin(np.arange(slow.size), rows)
    assert (node in settled(survey, [node])) == stays


@pytest.mark.parametrize(("first", "named"), [(2, True), (None, False)])
def test_a_crowded_path_is_accused_only_where_the_survey_showed_it(make_slow, first, named):
    """What came in between is no fault, however slow all of it is then."""
    tree = Tree(N_LEAVES, 4, 4)
    slow = make_slow(0.7, ports=ways_of(2), metrics=("bandwidth",))
    fabric = Fabric(tree, [slow] if first else [], noise=0.01)
    survey = surveyed(fabric, adaptive=True, again=Fabric(tree, [slow], noise=0.01, seed=2))
    assert any(ways_of(2) <= ends_of_way(survey, way) for way in survey.crowded)
    assert any(ways_of(2) <= ends_of(accusation) for accusation in stand(survey)) == named


def ends_of_way(survey, way):
    members = [m for c in way.suspect.candidates for m in survey.candidates.members[c]]
    return {end for member in members for end in survey.crossings.component(member).ends}


def test_a_crowded_path_that_no_budget_was_left_for_is_untested(make_slow):
    """What comes again crosses the ways of others only."""
    tree = Tree(N_LEAVES, 4, 4)
    fabric = Fabric(tree, [make_slow(0.7, ports=ways_of(2), metrics=("bandwidth",))], noise=0.01)
    rounds = [
        [pair for pair in pairs.tolist() if not {4, 5, 6, 7} & set(pair)]
        for pairs in reflections(len(tree.nodes))
    ]
    samples = [*fabric.all_pairs(), *fabric.measure(rounds, TOGETHER)]
    (accusation,) = stand(survey_of(samples, tree, thresholds(), adaptive=True))
    assert ways_of(2) <= ends_of(accusation)
    assert accusation.standing is Standing.UNTESTED


@pytest.mark.parametrize("slows_some", [False, True])
def test_a_path_that_slows_only_the_messages_of_another_path_is_not_accused(
    make_slow, monkeypatch, slows_some
):
    """Of the messages in rounds: alone, a message takes a fast path of several."""
    tree = Tree(N_LEAVES, 4, 4)
    fabric = Fabric(tree, [make_slow(0.7, ports=ways_of(2), metrics=("bandwidth",))], noise=0.01)
    survey = surveyed(fabric, adaptive=True)
    (accusation,) = stand(survey)
    assert ways_of(2) <= ends_of(accusation)
    asked = []
    monkeypatch.setattr(
        SharedPaths, "is_slow_for_some", lambda _, *given: asked.append(given) or slows_some
    )
    assert len(stand(survey)) == (not slows_some)
    ((rows, slower),) = asked
    assert slower == pytest.approx(-np.log(0.7), abs=0.05)
    over = survey.candidates.rows(accusation.candidate)
    assert np.intersect1d(over, survey.alone).size
    assert rows.tolist() == np.setdiff1d(over, survey.alone).tolist()


def test_a_path_accused_by_latency_or_a_node_needs_no_other_path(full_rounds, monkeypatch):
    monkeypatch.setattr(SharedPaths, "is_slow_for_some", lambda *_: True)
    slow = [
        of_node(full_rounds, Metric.BANDWIDTH, Standing.CONFIRMED),
        of_node(full_rounds, Metric.LATENCY, Standing.CONFIRMED),
    ]
    for one in slow:
        assert one in settled(full_rounds, [one])


@pytest.fixture(scope="module")
def full_rounds():
    """The ways out of leaf 2 are slow where everything runs at once, twice."""
    tree = Tree(N_LEAVES, 4, 4)
    slow = Slow(0.7, ports=ways_of(2), metrics=("bandwidth",))
    again = Fabric(tree, [slow], noise=0.01, seed=2)
    return surveyed(Fabric(tree, [slow], noise=0.01), adaptive=True, again=again)


def of_node(survey, metric, standing, rows=None):
    """An accusation of a node under another leaf."""
    number = 3 * len(survey.readings.endpoints) // 4
    suspect = Suspect((survey.candidates.of_part(Part.NODE)[number],), {metric: 0.9}, 30.0)
    made = accuse(survey, suspect, standing)
    return made if rows is None else replace(made, rows=rows)


@pytest.mark.parametrize(
    ("metric", "standing", "named"),
    [
        (Metric.BANDWIDTH, Standing.CONFIRMED, False),
        (Metric.BANDWIDTH, Standing.PASSING, True),
        (Metric.LATENCY, Standing.CONFIRMED, True),
    ],
)
def test_full_rounds_accuse_no_path_next_to_a_bandwidth_that_is_surely_low(
    full_rounds, metric, standing, named
):
    """A slow receiver holds up what never crosses it; long latencies hold up nothing."""
    left = settled(full_rounds, [of_node(full_rounds, metric, standing)])
    assert any(ways_of(2) <= ends_of(accusation) for accusation in left) == named


@pytest.mark.parametrize(("n_shared", "stays"), [(2, True), (3, False)])
def test_what_crosses_a_crowded_path_for_most_of_its_slow_readings_is_no_second_fault(
    full_rounds, n_shared, stays
):
    (way,) = (w for w in full_rounds.crowded if ways_of(2) <= ends_of_way(full_rounds, w))
    mine = full_rounds.shared.rows_of(way)
    others = np.setdiff1d(np.arange(len(full_rounds.readings)), mine)
    rows = np.concatenate([mine[:n_shared], others[: 4 - n_shared]])
    node = of_node(full_rounds, Metric.BANDWIDTH, Standing.MET, rows)
    left = settled(full_rounds, [node])
    assert (node in left) == stays
    ways = [accusation for accusation in left if ways_of(2) <= ends_of(accusation)]
    assert len(ways) == 1


def test_a_crowded_path_is_not_accused_next_to_what_surely_slows_most_of_its_messages(full_rounds):
    (way,) = (w for w in full_rounds.crowded if ways_of(2) <= ends_of_way(full_rounds, w))
    rows = full_rounds.shared.rows_of(way)[:4]
    node = of_node(full_rounds, Metric.LATENCY, Standing.CONFIRMED, rows)
    assert settled(full_rounds, [node]) == (node,)


def test_what_waits_behind_something_slow_tells_of_no_cable_out_of_use(monkeypatch):
    survey = surveyed(HoldingUp(Tree(4, 4, 2), noise=0.02, collide=True))
    made = accuse_all(survey)
    receiver = next(a for a in made if a.components[0].part is Part.NODE_RECEIVING)
    slow = survey.candidates.rows(receiver.candidate)
    behind = np.setdiff1d(waiting(survey.crossings, slow), [*slow, *survey.alone])
    assert survey.slow[behind].any()
    asked = []
    monkeypatch.setattr(
        module, "surely_out_of_use", lambda *given: asked.append(given[2:]) or dead()
    )
    settled(survey, [receiver])
    ((pool, but),) = asked
    assert not np.isin(pool, behind).any()
    assert np.isin(behind, but).all()
