"""One slow way of several: it shows where all of them are filled, and nowhere else."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.diagnose.check.rounds.fields import field_of

from weft.core.finding import Severity
from weft.diagnose.check.rounds.schedule import schedule_of
from weft.diagnose.check.rounds.scheme import Kind, Scheme
from weft.diagnose.check.suspects.crowded import Look
from weft.diagnose.check.suspects.follow_up import Plan, Size, follow_up
from weft.diagnose.check.suspects.survey import survey_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.check.verdict import judge_check

N_LEAVES, PER_LEAF, SPINES = 10, 4, 4


class OneSlowWay:
    """One of a leaf's ways delivers `rate` of what it should: as long as there is room messages go
    elsewhere, when all ways are wanted all messages over them lack a part. It passes for what is
    measured again if `passes`."""

    def __init__(self, fabric, leaf, rate, *, passes=False):
        self.fabric, self.leaf, self.passes = fabric, leaf, passes
        self.factor = (SPINES - 1 + rate) / SPINES

    def measure(self, rounds, trial):
        samples = self.fabric.measure(rounds, trial)
        if self.passes and trial != "t001-survey":
            return samples
        return [self._slowed(sample, rounds[sample.pair.round]) for sample in samples]

    def _slowed(self, sample, pairs):
        nodes = self.fabric.tree.nodes
        metrics = dict(sample.metrics)
        for name, ends, flows in (
            ("bandwidth_ab_mb_s", (sample.pair.a, sample.pair.b), pairs),
            ("bandwidth_ba_mb_s", (sample.pair.b, sample.pair.a), [(b, a) for a, b in pairs]),
        ):
            leaves = [leaf_of(nodes.index(end)) for end in ends]
            sent = sum(leaf_of(a) == self.leaf != leaf_of(b) for a, b in flows)
            if name in metrics and leaves[0] == self.leaf != leaves[1] and sent == SPINES:
                metrics[name] *= self.factor
        return replace(sample, metrics=metrics)


def leaf_of(number):
    return number // PER_LEAF + 1


def checked(tree, fabric):
    """The survey that is planned for a tree whose switches choose, and its verdict."""
    index = tree.nodes.index
    rounds = schedule_of(Scheme(Kind.FULL), field_of(tree, adaptive=True)).rounds
    samples = fabric.measure([pairs.tolist() for pairs in rounds], "t001-survey")
    survey = survey_of(samples, tree, thresholds(), adaptive=True)
    plan = follow_up(survey, Size(), seed=1)
    for trial, again in (
        ("t002-suspects-alone", plan.alone),
        ("t003-suspects-together", plan.together),
    ):
        numbered = [[(index(a), index(b)) for a, b in pairs] for pairs in again]
        samples += fabric.measure(numbered, trial)
    return survey, plan, judge_check(samples, tree, adaptive=True)


def bad(verdict):
    return [finding for finding in verdict.findings if finding.severity is Severity.BAD]


@pytest.mark.parametrize("leaf", [1, 4, 10])
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_one_slow_way_of_four_is_named_as_one_of_them(make_tree, make_fabric, leaf, rate):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    fabric = OneSlowWay(make_fabric(tree, noise=0.02), leaf, rate)
    survey, _, verdict = checked(tree, fabric)
    assert [way.look for way in survey.crowded] == [Look.ALONE]
    (finding,) = bad(verdict)
    ends = {end for suspect in finding.facts["suspects"] for end in suspect["ends"]}
    assert {end for end in ends if end.startswith("leaf")} == {
        f"leaf-{leaf:02d}[{port}]" for port in range(5, 9)
    }


@pytest.mark.parametrize("seed", range(6))
def test_a_healthy_tree_is_accused_of_nothing(make_tree, make_fabric, seed):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    whole = OneSlowWay(make_fabric(tree, noise=0.03, seed=seed, disturbed=0.02), 3, 1.0)
    _, _, verdict = checked(tree, whole)
    assert bad(verdict) == []


def test_what_passes_is_not_named(make_tree, make_fabric):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    fabric = OneSlowWay(make_fabric(tree, noise=0.02), 5, 0.4, passes=True)
    survey, _, verdict = checked(tree, fabric)
    assert survey.crowded
    assert bad(verdict) == []


def test_it_is_filled_again_with_other_partners_and_by_itself(make_tree, make_fabric):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    fabric = OneSlowWay(make_fabric(tree, noise=0.02), 5, 0.4)
    _, plan, _ = checked(tree, fabric)
    index = tree.nodes.index
    size = Size()
    again = plan.together[-size.tests * size.times :]
    for pairs in again:
        leaves = [(leaf_of(index(a)), leaf_of(index(b))) for a, b in pairs]
        assert len(pairs) == SPINES
        assert all(a == 5 != b for a, b in leaves)
    assert len({frozenset(pairs) for pairs in again}) > size.tests


def test_a_slow_node_under_the_leaf_hides_no_slow_way_of_another(make_tree, make_fabric, make_slow):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    inner = make_fabric(tree, [make_slow(0.6, node="n030")], noise=0.02)
    _, _, verdict = checked(tree, OneSlowWay(inner, 2, 0.3))
    named = [{s["ends"][0] for s in finding.facts["suspects"]} for finding in bad(verdict)]
    assert len(named) == 2
    assert any("n030" in one for one in named)
    assert any(f"leaf-02[{port}]" in one for one in named for port in range(5, 9))


def test_a_fault_of_a_whole_leaf_is_no_slow_stretch(make_tree, make_fabric):
    """The rounds that fill a leaf are all slow: that is the leaf's, not the time's."""
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    _, _, verdict = checked(tree, OneSlowWay(make_fabric(tree, noise=0.01), 6, 0.0))
    assert not any("whatever it crossed" in finding.sentence for finding in verdict.findings)


def test_follow_ups_need_a_survey_in_which_something_was_crowded(make_tree, make_fabric):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    survey, plan, _ = checked(tree, OneSlowWay(make_fabric(tree, noise=0.01), 6, 1.0))
    assert survey.crowded == ()
    assert isinstance(plan, Plan)
    assert plan.together == ()
    assert np.flatnonzero(survey.explanation.predicted).size == 0
