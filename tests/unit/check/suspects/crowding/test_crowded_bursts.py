"""One slow way of several: it shows where all of them are filled, and nowhere else."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.seeds import drawn
from tests.unit.check.schedule.fields import field_of

from weft.check.schedule.schedule import schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.check.suspects.accusation import Standing
from weft.check.suspects.crowding.crowded_paths import Look, SharedPaths
from weft.check.suspects.follow_up import FollowUpPlan, follow_up
from weft.check.suspects.review import _once, settled
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Severity

N_LEAVES, PER_LEAF, SPINES = 10, 4, 4


class OneSlowWay:
    """One of a leaf's ways delivers `rate` of what it should: as long as there is room messages go
    elsewhere, when all ways are wanted all messages over them lack a part. It passes for what is
    measured again if `passes`, and is slow in a `share` of the rounds."""

    def __init__(self, fabric, leaf, rate, *, passes=False, share=1.0):
        self.fabric, self.leaf, self.passes, self.share = fabric, leaf, passes, share
        self.factor = (SPINES - 1 + rate) / SPINES

    def measure(self, rounds, trial):
        samples = self.fabric.measure(rounds, trial)
        if self.passes and trial != "t001-survey":
            return samples
        draws = Random(f"{trial}/{self.fabric.seed}")
        is_slow = [draws.random() < self.share for _ in rounds]
        return [
            self._slowed(one, rounds[one.pair.round]) if is_slow[one.pair.round] else one
            for one in samples
        ]

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
    rounds = schedule_of(Scheme(SchemeKind.FULL), field_of(tree, adaptive=True)).rounds
    samples = fabric.measure([pairs.tolist() for pairs in rounds], "t001-survey")
    survey = survey_of(samples, tree, thresholds(), adaptive=True)
    plan = follow_up(survey, seed=1)
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
def test_one_slow_path_of_four_is_named_as_one_of_them(make_tree, make_fabric, leaf, rate):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    fabric = OneSlowWay(make_fabric(tree, noise=0.02), leaf, rate)
    survey, _, verdict = checked(tree, fabric)
    assert [way.look for way in survey.crowded] == [Look.ALONE]
    (finding,) = bad(verdict)
    ends = {end for suspect in finding.facts.suspects for end in suspect.component.ends}
    assert {end for end in ends if end.startswith("leaf")} == {
        f"leaf-{leaf:02d}[{port}]" for port in range(5, 9)
    }


@pytest.mark.parametrize("seed", drawn(range(6), 3))
def test_a_healthy_tree_is_accused_of_nothing(make_tree, make_fabric, seed):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    whole = OneSlowWay(make_fabric(tree, noise=0.03, seed=seed, disturbed=0.02), 3, 1.0)
    _, _, verdict = checked(tree, whole)
    assert bad(verdict) == []
    assert verdict.accusations == ()


def test_a_path_that_is_dead_in_half_of_its_moments_comes_and_goes(make_tree, make_fabric):
    """Each leaf is filled twice in each direction; one run in four has no slow one among them."""
    named = 0
    for seed in range(8):
        tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
        fabric = OneSlowWay(make_fabric(tree, noise=0.02, seed=seed), 3, 0.0, share=0.5)
        _, _, verdict = checked(tree, fabric)
        assert bad(verdict) == []
        for one in verdict.accusations:
            assert one.standing is Standing.COMING_AND_GOING
            ends = {end for component in one.components for end in component.ends}
            assert {f"leaf-03[{port}]" for port in range(5, 9)} <= ends
            named += 1
    assert named >= 5


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
    limits = thresholds()
    again = plan.together[-limits.tests_a_suspect * limits.times_again :]
    for pairs in again:
        leaves = [(leaf_of(index(a)), leaf_of(index(b))) for a, b in pairs]
        assert len(pairs) == SPINES
        assert all(a == 5 != b for a, b in leaves)
    assert len({frozenset(pairs) for pairs in again}) > limits.tests_a_suspect


def test_a_slow_node_under_the_leaf_hides_no_slow_path_of_another(
    make_tree, make_fabric, make_slow
):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    inner = make_fabric(tree, [make_slow(0.6, node="n030")], noise=0.02)
    _, _, verdict = checked(tree, OneSlowWay(inner, 2, 0.3))
    named = [{s.component.ends[0] for s in finding.facts.suspects} for finding in bad(verdict)]
    assert len(named) == 2
    assert any("n030" in one for one in named)
    assert any(f"leaf-02[{port}]" in one for one in named for port in range(5, 9))


class HeldUp(OneSlowWay):
    """An adapter that sends slowly returns room for what it receives slowly: all that enters its
    leaf, whose paths it fills with others, is slower."""

    def _slowed(self, sample, pairs):
        nodes = self.fabric.tree.nodes
        metrics = dict(sample.metrics)
        for name, ends, flows in (
            ("bandwidth_ab_mb_s", (sample.pair.a, sample.pair.b), pairs),
            ("bandwidth_ba_mb_s", (sample.pair.b, sample.pair.a), [(b, a) for a, b in pairs]),
        ):
            leaves = [leaf_of(nodes.index(end)) for end in ends]
            into = sum(leaf_of(b) == self.leaf != leaf_of(a) for a, b in flows)
            if name in metrics and leaves[1] == self.leaf != leaves[0] and into == SPINES:
                metrics[name] *= self.factor
        return replace(sample, metrics=metrics)


def test_what_waits_for_an_adapter_that_sends_slowly_is_no_slow_path(
    make_tree, make_fabric, make_slow
):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    sends = make_slow(0.6, ports=frozenset({"n010/hca0[1]"}), metrics=("bandwidth",))
    inner = make_fabric(tree, [sends], noise=0.01)
    _, _, verdict = checked(tree, HeldUp(inner, 3, 0.7))
    named = [finding.facts.suspects[0].component.ends[0] for finding in bad(verdict)]
    assert [name.partition("/")[0] for name in named] == ["n010"]


class SlowLeaves(OneSlowWay):
    """All that crosses the paths of some leaves is slower where they are full, in both
    directions."""

    def __init__(self, fabric, factors):
        super().__init__(fabric, 0, 1.0)
        self.factors = factors

    def _slowed(self, sample, pairs):
        nodes = self.fabric.tree.nodes
        metrics = dict(sample.metrics)
        for name, ends, flows in (
            ("bandwidth_ab_mb_s", (sample.pair.a, sample.pair.b), pairs),
            ("bandwidth_ba_mb_s", (sample.pair.b, sample.pair.a), [(b, a) for a, b in pairs]),
        ):
            crossed = {leaf_of(nodes.index(end)) for end in ends}
            over = [{leaf_of(a), leaf_of(b)} for a, b in flows]
            for leaf, factor in self.factors.items():
                full = sum(leaf in of for of in over if len(of) == 2) >= SPINES
                if name in metrics and len(crossed) == 2 and leaf in crossed and full:
                    metrics[name] *= factor
        return replace(sample, metrics=metrics)


def test_two_slow_leaves_of_four_are_named_once_each(make_tree, make_fabric):
    """Their kind says nothing, since half of it is slow."""
    tree = make_tree(4, PER_LEAF, SPINES)
    _, _, verdict = checked(tree, SlowLeaves(make_fabric(tree, noise=0.01), {2: 0.75, 3: 0.5}))
    named = [
        {
            end[:7]
            for suspect in one.facts.suspects
            for end in suspect.component.ends
            if "leaf" in end
        }
        for one in bad(verdict)
    ]
    assert sorted(named, key=str) == [{"leaf-02"}, {"leaf-03"}]


def test_a_weaker_word_about_the_same_paths_hides_no_fault(make_tree, make_fabric):
    """Of four leaves it stays: their kind is too small to hold paths against."""
    tree = make_tree(4, PER_LEAF, SPINES)
    _, _, verdict = checked(tree, SlowLeaves(make_fabric(tree, noise=0.01), {2: 0.75}))
    (accusation,) = verdict.accusations
    standing = Standing.COMING_AND_GOING
    weaker = replace(accusation, standing=standing, rows=accusation.rows[:0])
    (found,) = settled(verdict.survey, [weaker])
    assert found.standing is Standing.CONFIRMED
    stronger = replace(weaker, evidence=accusation.evidence + 1)
    assert _once(verdict.survey, [stronger, accusation]) == [accusation]


def test_four_slow_leaves_of_five_are_all_named(make_tree, make_fabric):
    """The faster half of them is slow, too: the fastest is the measure."""
    tree = make_tree(5, PER_LEAF, SPINES)
    slow = dict.fromkeys((1, 2, 3, 4), 0.75)
    _, _, verdict = checked(tree, SlowLeaves(make_fabric(tree, noise=0.01), slow))
    named = {
        end[:7]
        for one in bad(verdict)
        for suspect in one.facts.suspects
        for end in suspect.component.ends
        if "leaf" in end
    }
    assert named == {f"leaf-{leaf:02d}" for leaf in slow}


def test_a_slow_leaf_switch_is_named_without_its_paths(make_tree, make_fabric, make_slow):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    ports = {port for link in tree.links for port in link if "leaf-02[" in "".join(link)}
    slow = make_slow(0.5, ports=frozenset(ports), metrics=("bandwidth",))
    fabric = make_fabric(tree, [slow], noise=0.01)
    _, _, verdict = checked(tree, fabric)
    (finding,) = bad(verdict)
    assert [suspect.component.name for suspect in finding.facts.suspects] == ["switch leaf-02"]


def test_a_fault_of_a_whole_leaf_is_no_slow_stretch(make_tree, make_fabric):
    """The rounds that fill a leaf are all slow: that is the leaf's, not the time's."""
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    _, _, verdict = checked(tree, OneSlowWay(make_fabric(tree, noise=0.01), 6, 0.0))
    assert not any("whatever it crossed" in finding.sentence for finding in verdict.findings)


def test_follow_ups_need_a_survey_in_which_something_was_crowded(make_tree, make_fabric):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    survey, plan, _ = checked(tree, OneSlowWay(make_fabric(tree, noise=0.01), 6, 1.0))
    assert survey.crowded == ()
    assert isinstance(plan, FollowUpPlan)
    assert plan.together == ()
    assert np.flatnonzero(survey.explanation.predicted).size == 0


@pytest.mark.parametrize("evidence", ["imported", "measured again"])
def test_paths_that_no_one_measured_again_are_accused_as_measured_once(
    make_tree, make_fabric, make_slow, evidence
):
    """An imported run is no all-clear."""
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    ups = frozenset(f"leaf-03[{port}]" for port in range(5, 9))
    fabric = make_fabric(tree, [make_slow(0.5, ports=ups, metrics=("bandwidth",))], noise=0.01)
    samples = fabric.all_pairs()
    if evidence == "measured again":
        plan = follow_up(survey_of(samples, tree, thresholds(), adaptive=True), seed=1)
        samples += fabric.follow_up(plan)
    verdict = judge_check(samples, tree, adaptive=True)
    (accusation,) = verdict.accusations
    once = evidence == "imported"
    assert accusation.standing is (Standing.UNTESTED if once else Standing.CONFIRMED)
    (finding,) = bad(verdict)
    ends = {end for suspect in finding.facts.suspects for end in suspect.component.ends}
    assert ups <= ends


def test_a_survey_without_a_reading_is_followed_by_nothing(make_tree):
    survey = survey_of([], make_tree(N_LEAVES, PER_LEAF, SPINES), thresholds(), adaptive=True)
    assert survey.crowded == ()
    assert follow_up(survey, seed=1) == FollowUpPlan((), ())


@pytest.mark.parametrize("passes", [False, True])
def test_a_path_shows_again_by_half_of_what_it_was_found_by(make_tree, make_fabric, passes):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    fabric = OneSlowWay(make_fabric(tree, noise=0.02), 5, 0.4, passes=passes)
    survey, _, verdict = checked(tree, fabric)
    (way,) = survey.crowded
    again = np.zeros(len(verdict.survey.readings), np.bool_)
    again[verdict.survey.readings.of_trial("t003-suspects-together")] = True
    shared = verdict.survey.shared
    (found,) = (w for w in shared.crowded(~again, surely_slow=False) if w.look is Look.ALONE)
    assert found.slower == pytest.approx(way.slower, rel=0.1)
    assert shared.shows_again(found, (found,), again) is not passes


def test_a_path_that_showed_again_is_named_whether_or_not_its_normal_moments_are_sure(
    make_tree, make_fabric, monkeypatch
):
    tree = make_tree(N_LEAVES, PER_LEAF, SPINES)
    show = SharedPaths.shows_again

    def shows_at_times(self, path, *more):
        return path.look is Look.AT_TIMES and show(self, path, *more)

    monkeypatch.setattr(SharedPaths, "shows_again", shows_at_times)
    monkeypatch.setattr("weft.check.suspects.review.is_normal_at_times", lambda *_: False)
    _, _, verdict = checked(tree, OneSlowWay(make_fabric(tree, noise=0.02), 5, 0.4))
    (accusation,) = verdict.accusations
    assert accusation.standing is Standing.COMING_AND_GOING
    assert "leaf-05[" in accusation.components[0].name
