"""What is slow each time and of no component makes a check UNKNOWN, never GOOD."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import pytest
from tests.seeds import drawn
from tests.unit.check.conftest import Fabric, Slow, Tree

from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.accusation import Standing
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.suspects.untraced import rounds_to_repeat, untraced
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE, TOGETHER
from weft.check.verdict.drain_list import drain_text
from weft.check.verdict.verdict import judge_check
from weft.check.wording.headline import headline_of
from weft.check.wording.remedies import remedy_of
from weft.core.errors import ExitCode
from weft.core.finding import Severity

SHAPE = (4, 4, 4)
WAY = "the path between switches leaf-01 and leaf-02"


def judged(made, planned, samples=None):
    """The verdict of a check: the survey, and what it measures again."""
    samples = made.all_pairs() if samples is None else samples
    plan = follow_up(survey_of(samples, planned, thresholds()), seed=1)
    return judge_check([*samples, *made.follow_up(plan)], planned)


@pytest.mark.parametrize("seed", drawn(range(8), 3))
def test_messages_that_meet_each_time_unlike_the_tables_leave_the_verdict_open(seed):
    """Nobody knows how the tree routes, so the dead cable cannot be named."""
    made = Fabric(Tree(*SHAPE, down=[(3, 2)]), collide=True, noise=0.02, disturbed=0.01, seed=seed)
    verdict = judged(made, Tree(*SHAPE))
    assert verdict.exit_code is ExitCode.NO_VERDICT
    (unknown,) = [one for one in verdict.findings if one.severity is Severity.UNKNOWN]
    assert "weft fabric audit" in unknown.sentence
    assert "another check without other jobs" in unknown.sentence


@pytest.mark.parametrize("seed", drawn(range(8), 3))
def test_messages_that_were_disturbed_once_leave_it_good(seed):
    made = Fabric(Tree(*SHAPE), collide=True, noise=0.02, disturbed=0.02, seed=seed)
    verdict = judged(made, Tree(*SHAPE))
    assert verdict.exit_code is ExitCode.GOOD


def test_rounds_in_which_two_messages_are_slow_at_once_come_again():
    tree = Tree(*SHAPE)
    samples = Fabric(tree, noise=0.01).all_pairs()
    assert rounds_to_repeat(survey_of(samples, tree, thresholds())) == ()
    numbers = sorted({one.pair.round for one in samples})
    slow = {numbers[2]: 2, numbers[4]: 3, numbers[5]: 1, numbers[7]: 2}
    left = dict(slow)
    changed = []
    for one in samples:
        number, metrics = one.pair.round, one.metrics
        if "bandwidth_mb_s" in metrics and left.get(number, 0):
            left[number] -= 1
            metrics = {**metrics, "bandwidth_ab_mb_s": 11_000.0}
        changed.append(replace(one, metrics=metrics))
    again = rounds_to_repeat(survey_of(changed, tree, thresholds()))
    assert again == (numbers[4], numbers[2])


def longer_way(samples, factor=1.2):
    """All latencies between the nodes of the first two leaves, as over two links more."""
    first, second = {f"n{i:03d}" for i in range(1, 5)}, {f"n{i:03d}" for i in range(5, 9)}

    def of_way(pair):
        return {pair.a, pair.b} & first and {pair.a, pair.b} & second

    return [
        replace(one, metrics={"latency_us": one.metrics["latency_us"] * factor})
        if "latency_us" in one.metrics and of_way(one.pair)
        else one
        for one in samples
    ]


class LongerWay(Fabric):
    """Leaves 1 and 2 are cabled so that messages between them take two links more."""

    factor = 1.2

    def measure(self, rounds, trial="t001-survey"):
        return longer_way(super().measure(rounds, trial), self.factor)


def test_a_way_between_two_switches_that_is_longer_is_named_and_no_node_accused():
    tree = Tree(*SHAPE)
    verdict = judged(LongerWay(tree, noise=0.02), tree)
    assert verdict.exit_code is ExitCode.NO_VERDICT
    (accusation,) = verdict.accusations
    assert accusation.standing is Standing.LONGER
    assert [component.name for component in accusation.components] == [WAY]
    unknown, warning = verdict.findings
    assert f"{WAY} is slower by latency, not by bandwidth" in unknown.sentence
    assert "another check without other jobs" not in unknown.sentence
    assert warning.sentence.startswith(f"The {WAY.removeprefix('the ')} takes longer at full rate")
    assert "weft fabric audit" in " ".join(warning.evidence)


def test_latencies_beyond_what_links_cost_are_a_fault():
    tree = Tree(*SHAPE)
    fabric = LongerWay(tree, noise=0.02)
    fabric.factor = 4.0
    verdict = judged(fabric, tree)
    assert verdict.exit_code is ExitCode.VERDICT_BAD
    assert not any("takes longer at full rate" in one.sentence for one in verdict.findings)
    (bad,) = [one for one in verdict.findings if one.severity is Severity.BAD]
    assert headline_of(bad).columns[:2] == ("1 path", "leaf-01 <-> leaf-02")
    assert "exchanged" in remedy_of(bad).do
    (lacking,) = [one for one in verdict.to_record()["inputs"] if one["for"] == "path"]
    assert "weft fabric audit" in lacking["give"]
    assert "no node to drain" in drain_text([bad])


def test_a_path_whose_bandwidth_is_low_too_is_not_said_to_carry_the_full_rate():
    tree = Tree(*SHAPE)
    ends = frozenset(f"leaf-01[{port}]" for port in range(5, 9))
    slow = [Slow(0.5, ports=ends, metrics=("bandwidth",))]
    verdict = judged(LongerWay(tree, slow, noise=0.02), tree)
    assert not any("takes longer at full rate" in one.sentence for one in verdict.findings)


def test_few_pairs_between_two_switches_are_slow_pairs():
    """Of three nodes a switch two were measured with the other switch's: nothing tells the path
    between the two from the nodes."""
    tree = Tree(*SHAPE)
    first, second = set(tree.nodes[:4]), set(tree.nodes[4:8])
    allowed = {("n001", "n005"), ("n001", "n006"), ("n002", "n005"), ("n002", "n006")}
    samples = [
        one
        for one in Fabric(tree, noise=0.01).all_pairs()
        if not ({one.pair.a, one.pair.b} & first and {one.pair.a, one.pair.b} & second)
        or tuple(sorted((one.pair.a, one.pair.b))) in allowed
    ]
    crossings = survey_of(samples, tree, thresholds()).crossings
    members = [of for of in crossings.candidates.members if len(of) == 1]
    names = {crossings.component(of[0]).name for of in members}
    assert WAY not in names
    assert "the path between switches leaf-01 and leaf-03" in names


def test_a_slow_node_is_named_and_not_the_ways_to_its_switch():
    tree = Tree(*SHAPE)
    slow = Slow(0.8, node="n002", metrics=("latency",))
    verdict = judged(Fabric(tree, [slow], noise=0.02), tree)
    assert verdict.exit_code is ExitCode.VERDICT_BAD
    (accusation,) = verdict.accusations
    assert ("node", ("n002",)) in accusation.things


def test_of_switches_with_two_nodes_the_nodes_are_suspected_and_not_the_way():
    tree = Tree(4, 2, 2)
    crossings = survey_of(Fabric(tree, noise=0.01).all_pairs(), tree, thresholds()).crossings
    assert not any(map(crossings.is_switch_pair, range(len(crossings.candidates))))


def test_reasons_name_the_first_and_count_the_others():
    tree = Tree(*SHAPE)
    verdict = judged(LongerWay(tree, noise=0.02), tree)
    (one,) = verdict.accusations
    (found,) = untraced(verdict.survey, [one])
    assert found.reason == f"{WAY} is slower by latency, not by bandwidth"
    (found,) = untraced(verdict.survey, [one, one, one])
    assert found.reason == f"{WAY} and 2 others are slower by latency, not by bandwidth"


@pytest.mark.parametrize(
    ("slow_again", "lost", "code"),
    [
        (2, None, ExitCode.NO_VERDICT),
        (2, "n016", ExitCode.NO_VERDICT),
        (1, None, ExitCode.GOOD),
        (0, None, ExitCode.GOOD),
        (None, None, ExitCode.NO_VERDICT),
    ],
)
def test_two_messages_that_meet_whenever_their_round_runs(slow_again, lost, code):
    """Nothing else is slow, so no component is accused; one of a round may be disturbed by chance,
    and neither a host whose readings are missing nor a lost launch hides the two."""
    tree = Tree(*SHAPE)
    fabric = Fabric(tree, noise=0.01)
    two = {("n001", "n008"), ("n002", "n007")}

    def slowed(samples, n):
        chosen = sorted(two)[:n]
        return [
            replace(s, metrics={**s.metrics, "bandwidth_ab_mb_s": 11_900.0})
            if "bandwidth_mb_s" in s.metrics and (s.pair.a, s.pair.b) in chosen
            else s
            for s in samples
        ]

    rounds = [pairs.tolist() for pairs in reflections(len(tree.nodes))]
    names = [{tuple(tree.nodes[i] for i in pair) for pair in pairs} for pairs in rounds]
    (number,) = [i for i, pairs in enumerate(names) if two <= pairs]
    samples = slowed(fabric.all_pairs(), 2)
    survey = survey_of(samples, tree, thresholds())
    assert rounds_to_repeat(survey) == (number,)
    alone = fabric.measure([[pair] for pair in rounds[number]] * 2, ALONE)
    again = fabric.measure([rounds[number]] * (0 if slow_again is None else 2), TOGETHER)
    again = slowed(again, slow_again or 0)
    again = [s for s in again if lost not in (s.pair.a, s.pair.b)]
    verdict = judge_check([*samples, *alone, *again], tree)
    assert verdict.exit_code is code
