"""Cables that carry nothing, where the routing engine says what goes around them meets."""
# mypy: disable-error-code="no-untyped-def"

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.seeds import drawn
from tests.unit.check.conftest import Fabric, Tree
from tests.unit.check.suspects.detours import detour, surveyed_twice

from weft.check.readings.readings import Metric
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.out_of_use import unused_cables as module
from weft.check.suspects.out_of_use.reroute import Rerouted
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.check.wording.headline import headline_of
from weft.check.wording.sentences import accused
from weft.core.finding import Severity

SHAPE = (4, 4, 4)
NOBODY = np.zeros(0, np.int64)
ENGINE = "next spine"


def named(made, planned):
    """The cables, by the end at the leaf, that are called bad."""
    samples = made.all_pairs()
    plan = follow_up(survey_of(samples, planned, thresholds()), seed=1)
    verdict = judge_check([*samples, *made.follow_up(plan)], planned)
    bad = [f for f in verdict.findings if f.severity is Severity.BAD]
    assert all("carries nothing" in finding.sentence for finding in bad)
    return sorted(min(s.component.ends) for finding in bad for s in finding.facts.suspects)


def leaf_port(leaf, spine):
    return f"leaf-{leaf:02d}[{4 + spine}]"


@pytest.mark.parametrize("seed", drawn(range(8), 3))
def test_one_dead_cable_is_named_and_not_the_one_its_messages_go_over(seed):
    draw = random.Random(seed)
    dead = (draw.randint(1, 4), draw.randint(1, 4))
    made = Fabric(Tree(*SHAPE, down=[dead]), collide=True, noise=0.02, disturbed=0.01, seed=seed)
    assert named(made, Tree(*SHAPE, routed=True)) == [leaf_port(*dead)]


@pytest.mark.parametrize("seed", drawn(range(8), 3))
def test_two_dead_cables_are_named_though_either_holds_up_what_meets_the_other(seed):
    draw = random.Random(seed)
    dead = draw.sample([(leaf, spine) for leaf in range(1, 5) for spine in range(1, 5)], 2)
    made = Fabric(Tree(*SHAPE, down=dead), collide=True, noise=0.02, disturbed=0.01, seed=seed)
    assert named(made, Tree(*SHAPE, routed=True)) == sorted(leaf_port(*one) for one in dead)


@pytest.mark.parametrize("seed", drawn(range(8), 3))
def test_where_messages_go_as_the_tables_say_nothing_is_out_of_use(seed):
    tree = Tree(*SHAPE, routed=True)
    made = Fabric(tree, collide=True, noise=0.02, disturbed=0.03, seed=seed)
    assert named(made, tree) == []


@pytest.fixture
def survey():
    tree = Tree(*SHAPE, routed=True)
    return survey_of(Fabric(tree, noise=0.0).all_pairs(), tree, thresholds())


def cable(survey, leaf, spine):
    return survey.crossings.network.port_id[leaf_port(leaf, spine)] // 2


def test_a_reading_is_as_much_slower_as_messages_then_share_its_fullest_cable(survey):
    dead = (3, 2)
    now, then = Fabric(Tree(*SHAPE), collide=True), Fabric(Tree(*SHAPE, down=[dead]), collide=True)
    slower = Rerouted(survey.crossings, survey.normed, NOBODY, ENGINE).predicted(
        [cable(survey, *dead)]
    )
    readings = survey.readings
    sending = np.flatnonzero(readings.metric == Metric.BANDWIDTH.code)
    index = now.tree.nodes.index
    for row in sending.tolist():
        beside = sending[readings.moment[sending] == readings.moment[row]].tolist()
        pairs = [tuple(index(end) for end in readings.name(other)) for other in beside]
        way = [readings.name(row)]
        before = now._sharing(now.tree.paths(way)[0], pairs)
        after = then._sharing(then.tree.paths(way)[0], pairs)
        assert slower[row] == pytest.approx(max(0.0, math.log(after / before)))
    assert slower[sending].max() >= math.log(2)
    assert not slower[readings.metric != Metric.BANDWIDTH.code].any()


def test_what_something_else_slows_gives_no_evidence(survey):
    one = cable(survey, 3, 2)
    every = Rerouted(survey.crossings, survey.normed, NOBODY, ENGINE)
    slowed = every.slowed([one], [])
    but_these = Rerouted(survey.crossings, survey.normed, slowed, ENGINE)
    assert every.evidence(one, []) < 0
    assert but_these.evidence(one, []) == 0
    assert but_these.slowed([one], []).size == 0


def test_a_cable_that_is_known_gives_no_evidence_twice(survey):
    rerouted = Rerouted(survey.crossings, survey.normed, NOBODY, ENGINE)
    one, other = cable(survey, 3, 2), cable(survey, 1, 1)
    assert rerouted.slowed([one], [one]).size == 0
    assert rerouted.evidence(other, [one]) < 0


@pytest.mark.parametrize("sure", [True, False])
@pytest.mark.parametrize(
    ("evidence_alone", "alone"),
    [(None, "not measured alone"), (-3.0, "normal alone"), (3.0, "slow alone too")],
)
def test_a_cable_out_of_use_is_reported_as_surely_as_it_was_measured(sure, evidence_alone, alone):
    made, planned = Fabric(Tree(*SHAPE, down=[(3, 2)]), collide=True), Tree(*SHAPE, routed=True)
    samples = made.all_pairs()
    plan = follow_up(survey_of(samples, planned, thresholds()), seed=1)
    (dead,) = judge_check([*samples, *made.follow_up(plan)], planned).accusations
    told = accused(replace(dead, evidence_alone=evidence_alone), sure=sure, owners={})
    assert told.severity is (Severity.BAD if sure else Severity.WARNING)
    says = "carries nothing" if sure else "may carry nothing"
    assert f" {says}: " in told.sentence
    headline = headline_of(told)
    assert headline is not None
    assert headline.figure.startswith(says)
    assert told.evidence[0].endswith(f"; {alone}")
    assert "exchanged cables, or a wrong table entry" in told.evidence[-1]


class Second(Tree):
    """A tree whose tables another engine fills just so; around a dead cable that one goes by the
    last spine."""

    engines = ("next spine", "last spine")

    def rerouted(self, pairs, down, engine):
        if engine == "next spine":
            return super().rerouted(pairs, down, engine)
        ways = Tree(self.leaves, self.per_leaf, self.spines).paths(pairs)
        dead = {port for one in down for port in self.cable_of(one)}
        return [self._by_last(way) if dead & set(way) else way for way in ways]

    def _by_last(self, way):
        first, up, down, last = way
        leaf = down[down.index("[") + 1 : -1]
        return (first, f"{up[:7]}[{self.per_leaf + self.spines}]", f"spine-04[{leaf}]", last)


@pytest.mark.parametrize("spine", [1, 2])
def test_of_two_engines_that_fill_the_tables_alike_the_one_is_asked_that_tells_more(spine):
    made = Fabric(Tree(*SHAPE, down=[(2, spine)]), collide=True, noise=0.02)
    assert named(made, Second(*SHAPE, routed=True)) == [leaf_port(2, spine)]


def test_a_cable_that_nothing_measured_crosses_is_not_named(survey):
    rerouted = Rerouted(survey.crossings, survey.normed, NOBODY, ENGINE)
    every = np.flatnonzero(survey.readings.metric == Metric.BANDWIDTH.code)
    nothing = Rerouted(survey.crossings, survey.normed, every, ENGINE)
    assert len(rerouted.crossed_cables) == 16
    assert nothing.crossed_cables == frozenset()


def test_what_an_engine_says_need_not_show_apart_but_surely_and_again(monkeypatch):
    """It says what each of two cables beside one another holds up."""
    twice = surveyed_twice()
    one, beside = (detour(twice, port, n=2) for port in ("leaf-01[5]", "leaf-01[21]"))
    unsure = [detour(twice, "leaf-02[5]", evidence=19.0), detour(twice, "leaf-02[5]", again=1)]
    # The few rows of these detours may go to one node; test_repeated_rounds has that rule.
    monkeypatch.setattr(module, "_is_of_one_entry", lambda *_: False)
    # The readings are as slow as the detours say, each time.
    all_slow = replace(twice.normed, slower=np.ones(len(twice.readings)))
    for found, sure in (([one, beside], 2), ([one, *unsure, one], 2), (unsure, 0)):
        monkeypatch.setattr(module, "_by_routing", lambda *_, said=tuple(found): said)
        left = module.surely_out_of_use(twice.crossings, all_slow, NOBODY, NOBODY)
        assert len(left.dead) == sure
        assert not module.surely_out_of_use(twice.crossings, twice.normed, NOBODY, NOBODY).sure
