"""A fault slows every message; traffic of others and a longer path are no faults of a cable."""
# mypy: disable-error-code="no-untyped-def"

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.unit.check.conftest import Fabric, Slow, Tree

from weft.check.readings.components import PARTS, Part
from weft.check.readings.readings import Metric
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.accusation import Standing
from weft.check.suspects.constancy import _levels, is_normal_at_times
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY, TOGETHER
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Severity

UP_LINK = frozenset({"leaf-02[6]", "spine-02[2]"})
N_LEAVES = 10
CABLE = PARTS.index(Part.CABLE)


class AtTimes(Fabric):
    """What is slow is slow in a share of the rounds only."""

    share = 0.8

    def measure(self, rounds, trial=SURVEY):
        always, draws = self.slow, Random(f"{self.seed}/{trial}")
        samples = []
        for number, pairs in enumerate(rounds):
            self.slow = always if draws.random() < self.share else ()
            padded = [[]] * number + [pairs]
            samples += super().measure(padded, trial)
        self.slow = always
        return samples


def checked(fabric, *, adaptive=False):
    """The verdict after the follow-up."""
    samples = fabric.all_pairs()
    first = survey_of(samples, fabric.tree, thresholds(), adaptive=adaptive)
    samples += fabric.follow_up(follow_up(first, seed=1))
    return judge_check(samples, fabric.tree, adaptive=adaptive)


def severities(verdict, words):
    return [one.severity for one in verdict.findings if words in one.sentence]


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_cable_slow_in_four_of_five_moments_comes_and_goes(seed):
    slow = Slow(0.5, ports=UP_LINK, metrics=("bandwidth",))
    verdict = checked(AtTimes(Tree(4, 4, 4), [slow], noise=0.02, seed=seed))
    standings = {one.standing for one in verdict.accusations}
    assert not standings & {Standing.CONFIRMED, Standing.OUT_OF_USE}
    assert Severity.BAD not in {one.severity for one in verdict.findings}
    assert any("leaf-02[6]" in one.sentence for one in verdict.findings)


class ByLoad(Fabric):
    """A cable that two messages at once in one direction fill: one by itself loses less."""

    def _pair(self, pair, pairs):
        there = [(self.tree.nodes[a], self.tree.nodes[b]) for a, b in pairs]
        self.path_there = set(self.tree.paths([(pair.a, pair.b)])[0])
        self.n_over = [
            Counter(port for path in self.tree.paths(flows) for port in set(path) & UP_LINK)
            for flows in (there, [(b, a) for a, b in there])
        ]
        return super()._pair(pair, pairs)

    def _speed(self, metric, ends, ports):
        n_over = self.n_over[ports != self.path_there]
        at_once = max((n_over[port] for port in ports & UP_LINK), default=0)
        factor = (1.0, 0.55, 0.28)[min(at_once, 2)] if metric == "bandwidth" else 1.0
        return factor * super()._speed(metric, ends, ports)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cable_that_costs_two_messages_more_than_one_is_confirmed(seed):
    (accusation,) = checked(ByLoad(Tree(4, 4, 2), noise=0.01, seed=seed)).accusations
    assert accusation.standing is Standing.CONFIRMED
    assert accusation.slower[Metric.BANDWIDTH] > -2 * np.log(0.55) * 0.9


def test_messages_in_opposite_directions_do_not_fill_a_cable_together():
    """By d-mod-k the second node of each leaf has the slow spine: two messages out of leaf 2 to
    such nodes fill a direction; one out of it and one into it fill none."""
    tree = Tree(3, 4, 4)
    for link in tree.document["links"][len(tree.nodes) :]:
        link["bits_per_s"] *= 2
    fabric = ByLoad(tree, noise=0.01)
    rounds = [[(4, 1), (5, 9)]] * 40 + [[(4, 9), (1, 5)]] * 6
    samples = [*fabric.all_pairs(), *fabric.measure(rounds, TOGETHER)]
    survey = survey_of(samples, fabric.tree, thresholds())
    alone, full = -np.log(0.55), -np.log(0.28)
    cable = survey.crossings.fabric.port_id["leaf-02[6]"] >> 1
    crossed = [n for n, of in enumerate(survey.candidates.members) if (CABLE, cable) in of]
    candidate = max(crossed, key=lambda n: survey.candidates.rows(n).size)
    one = Suspect((candidate,), {Metric.BANDWIDTH: full}, 100.0)
    rows = survey.candidates.rows(candidate)
    rows = rows[survey.readings.metric[rows] == Metric.BANDWIDTH.code]
    found = _levels(survey, one, rows, rows, full)
    slower = survey.normed.slower[rows]
    assert max(np.abs(slower - of).min() for of in (alone, full)) < 0.05
    assert (slower > found / 2).all()


class Varying(Fabric):
    """Traffic of others takes another share of a cable in each moment."""

    def measure(self, rounds, trial=SURVEY):
        always, draws = self.slow, Random(f"{self.seed}/{trial}")
        samples = []
        for number, pairs in enumerate(rounds):
            factor = 1 - draws.uniform(0.1, 0.6)
            self.slow = [replace(one, factor=factor) for one in always]
            samples += super().measure([[]] * number + [pairs], trial)
        self.slow = always
        return samples


@pytest.mark.parametrize("seed", [1, 3])
def test_moments_of_little_foreign_load_are_no_level_of_a_fault(seed):
    """What one message costs is a level only if as many at once cost that again."""
    slow = Slow(1.0, ports=UP_LINK, metrics=("bandwidth",))
    fabric = Varying(Tree(4, 4, 4), [slow], noise=0.01, seed=seed)
    samples = fabric.all_pairs()
    first = survey_of(samples, fabric.tree, thresholds())
    suspects = [one for one in first.explanation.suspects if first.crossings.is_path(one.best)]
    for one in suspects:
        rows = first.candidates.rows(one.best)
        rows = rows[first.readings.metric[rows] == Metric.BANDWIDTH.code]
        levels = _levels(first, one, rows, rows, one.slower[Metric.BANDWIDTH])
        assert levels.min() > 0.6 * one.slower[Metric.BANDWIDTH]


def without_fabric(slow):
    """The verdict of a run whose paths nobody knows, after the follow-up."""
    fabric = Fabric(Tree(10, 4, 4), [slow], noise=0.02)
    samples = fabric.all_pairs()
    samples += fabric.follow_up(follow_up(survey_of(samples, None, thresholds()), seed=1))
    return judge_check(samples, None)


def test_a_cable_that_leads_to_one_node_makes_no_node_a_fault():
    # By d-mod-k each node of a leaf has a port of another spine to itself.
    verdict = without_fabric(Slow(0.6, ports=frozenset({"spine-02[3]"}), metrics=("bandwidth",)))
    (accusation,) = verdict.accusations
    assert accusation.standing is Standing.PARTNERS
    words = "n010 when receiving is slow with some partners and normal with others"
    assert severities(verdict, words) == [Severity.UNKNOWN, Severity.WARNING]
    assert severities(verdict, "cannot tell") == [Severity.UNKNOWN]
    assert Severity.BAD not in {one.severity for one in verdict.findings}


def test_a_node_that_receives_slowly_from_all_is_a_fault():
    last = frozenset({"leaf-03[2]"})
    verdict = without_fabric(Slow(0.6, ports=last, metrics=("bandwidth",)))
    assert severities(verdict, "n010 when receiving is slow") == [Severity.BAD]


@pytest.mark.parametrize("factor", [0.93, 0.5, 0.1])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_cable_that_is_always_slow_is_confirmed_among_disturbances(factor, seed):
    slow = Slow(factor, ports=UP_LINK, metrics=("bandwidth",))
    fabric = Fabric(Tree(4, 4, 4), [slow], noise=0.015, seed=seed, disturbed=0.02)
    (accusation,) = checked(fabric).accusations
    assert accusation.standing is Standing.CONFIRMED


def test_a_cable_that_only_takes_longer_is_a_warning_that_names_the_files():
    slow = Slow(0.8, ports=UP_LINK, metrics=("latency",))
    verdict = checked(Fabric(Tree(4, 4, 4), [slow], noise=0.01))
    (accusation,) = verdict.accusations
    assert accusation.standing is Standing.LONGER
    unknown, finding = verdict.findings
    assert unknown.severity is Severity.UNKNOWN
    assert "is slower by latency, not by bandwidth" in unknown.sentence
    assert finding.severity is Severity.WARNING
    assert "leaf-02[6]" in finding.sentence
    assert "takes longer at full rate: latency" in finding.sentence
    assert "weft fabric audit" in finding.evidence[0]
    assert "longer" in verdict.inputs
    assert verdict.to_record()["inputs"]


def test_a_node_that_takes_longer_is_a_fault():
    slow = Slow(0.8, node="n003", metrics=("latency",))
    verdict = checked(Fabric(Tree(4, 4, 4), [slow], noise=0.01))
    assert severities(verdict, "n003") == [Severity.BAD]


@pytest.mark.parametrize(("share", "comes_and_goes"), [(0.8, True), (1.0, False)])
def test_paths_of_a_leaf_are_held_against_their_moments(share, comes_and_goes):
    """Under adaptive routing each moment counts once, however many messages it holds."""
    ways = frozenset(f"leaf-05[{port}]" for port in range(5, 9))
    slow = Slow(0.7, ports=ways, metrics=("bandwidth",))
    fabric = AtTimes(Tree(N_LEAVES, 4, 4), [slow], noise=0.01)
    fabric.share = share
    survey = survey_of(fabric.all_pairs(), fabric.tree, thresholds(), adaptive=True)
    up = np.array([fabric.tree.paths([name])[0][1:2] for name in names_of(survey)])
    crosses = np.isin(up[:, 0], sorted(ways)) & (survey.readings.metric == Metric.BANDWIDTH.code)
    assert is_normal_at_times(survey, np.flatnonzero(crosses), -np.log(0.7)) == comes_and_goes


def names_of(survey):
    return [survey.readings.name(row) for row in range(len(survey.readings))]


@pytest.mark.parametrize(
    ("slow_in", "comes_and_goes"),
    [((True, True, True), False), ((False, False, True), True), ((True, False), True)],
)
def test_a_round_slow_at_times_only_is_no_constant_fault(slow_in, comes_and_goes):
    """The same messages meet a fault each time; the messages of other rounds need not."""
    ways = frozenset(f"leaf-05[{port}]" for port in range(5, 9))
    slow = [Slow(0.6, ports=ways, metrics=("bandwidth",))]
    tree = Tree(N_LEAVES, 4, 4)
    rounds = [pairs.tolist() for pairs in reflections(len(tree.nodes))]
    samples = Fabric(tree, slow, noise=0.01).all_pairs()
    over = [number for number, pairs in enumerate(rounds) if fills(tree, pairs, ways)]
    (odd,), always = over[:1], over[1:]
    samples = [one for one in samples if one.pair.round != odd]
    for seed, is_slow in enumerate(slow_in):
        made = Fabric(tree, slow if is_slow else [], noise=0.01, seed=seed)
        trial = SURVEY if not seed else TOGETHER
        again = made.measure([rounds[odd]], trial)
        samples += [replace(s, pair=replace(s.pair, round=1000 + seed)) for s in again]
    assert len(always) > 4
    survey = survey_of(samples, tree, thresholds(), adaptive=True)
    up = np.array([tree.paths([name])[0][1:2] for name in names_of(survey)])
    crosses = np.isin(up[:, 0], sorted(ways)) & (survey.readings.metric == Metric.BANDWIDTH.code)
    assert is_normal_at_times(survey, np.flatnonzero(crosses), -np.log(0.6)) == comes_and_goes


def fills(tree, pairs, ways):
    """Whether messages of a round, one way, cross these ports."""
    names = tree.nodes
    return any(set(path) & ways for path in tree.paths([(names[a], names[b]) for a, b in pairs]))


def test_a_cable_without_another_beside_it_comes_and_goes_under_adaptive_routing_too():
    """Of several paths messages avoid the slow one; where there is one only, they cannot."""
    slow = Slow(0.4, ports=frozenset({"leaf-02[5]", "spine-01[2]"}), metrics=("bandwidth",))
    fabric = AtTimes(Tree(6, 3, 2), [slow], noise=0.01)
    fabric.tree = Tree(6, 4, 1)
    fabric.share = 0.3
    verdict = checked(fabric, adaptive=True)
    assert severities(verdict, "leaf-02[5]") == [Severity.WARNING]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_node_that_is_as_late_at_its_switch_is_a_fault(seed):
    slow = Slow(1 / 1.08, node="n003", metrics=("latency",))
    verdict = checked(Fabric(Tree(8, 2, 2), [slow], noise=0.01, seed=seed))
    assert severities(verdict, "n003") == [Severity.BAD]
