"""Ways that share a load under adaptive routing: uneven is not broken, and one less is."""
# mypy: disable-error-code="no-untyped-def"

import random

import pytest

from weft.core.finding import Severity
from weft.diagnose.check.suspects.follow_up import Plan, Size, follow_up
from weft.diagnose.check.suspects.survey import survey_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.check.verdict import judge_check

N_LEAVES = 10


def leaving(leaf):
    """The ports by which messages leave a leaf of four nodes for its four spines."""
    return frozenset(f"leaf-{leaf:02d}[{port}]" for port in range(5, 9))


def judged(tree, full, alone):
    """The verdict, where `full` measures whole rounds and `alone` one test a round."""
    samples = full.all_pairs()
    plan = follow_up(survey_of(samples, tree, thresholds(), adaptive=True), Size(), seed=1)
    samples += alone.follow_up(Plan(plan.alone, ())) + full.follow_up(Plan((), plan.together))
    return judge_check(samples, tree, adaptive=True)


def bad(verdict):
    return [finding for finding in verdict.findings if finding.severity is Severity.BAD]


@pytest.mark.parametrize("seed", range(6))
def test_leaves_that_differ_by_a_few_percent_are_healthy(make_tree, make_fabric, make_slow, seed):
    tree = make_tree(N_LEAVES, 4, 4)
    draw = random.Random(seed)
    uneven = [
        make_slow(1 - draw.uniform(0, 0.05), ports=leaving(leaf), metrics=("bandwidth",))
        for leaf in range(1, N_LEAVES + 1)
    ]
    full, alone = make_fabric(tree, uneven, noise=0.01), make_fabric(tree, noise=0.01, seed=9)
    assert bad(judged(tree, full, alone)) == []


@pytest.mark.parametrize("leaf", [2, 7])
def test_a_leaf_far_out_of_its_kind_is_named(make_tree, make_fabric, make_slow, leaf):
    tree = make_tree(N_LEAVES, 4, 4)
    slow = make_slow(0.75, ports=leaving(leaf), metrics=("bandwidth",))
    full, alone = make_fabric(tree, [slow], noise=0.01), make_fabric(tree, noise=0.01, seed=9)
    (finding,) = bad(judged(tree, full, alone))
    ends = {end for suspect in finding.facts["suspects"] for end in suspect["ends"]}
    assert leaving(leaf) <= ends


class SomeSlow:
    """A fabric some of whose messages out of a leaf are slow, drawn anew each time."""

    def __init__(self, fabric, leaf, share, seed):
        self.fabric, self.ports, self.share, self.tree = fabric, leaving(leaf), share, fabric.tree
        self.draws = random.Random(seed)

    def all_pairs(self):
        return [self._slowed(sample) for sample in self.fabric.all_pairs()]

    def follow_up(self, plan):
        return [self._slowed(sample) for sample in self.fabric.follow_up(plan)]

    def _slowed(self, sample):
        from dataclasses import replace

        metrics = dict(sample.metrics)
        pair = sample.pair
        for name, ends in (
            ("bandwidth_ab_mb_s", (pair.a, pair.b)),
            ("bandwidth_ba_mb_s", (pair.b, pair.a)),
        ):
            crosses = self.ports & set(self.tree.paths([ends])[0])
            if name in metrics and crosses and self.draws.random() < self.share:
                metrics[name] *= 0.6
        return replace(sample, metrics=metrics)


@pytest.mark.parametrize("seed", range(6))
def test_two_thirds_of_a_leaf_s_messages_slow_is_enough_to_name_it(make_tree, make_fabric, seed):
    tree = make_tree(N_LEAVES, 4, 4)
    full = SomeSlow(make_fabric(tree, noise=0.01), leaf=3, share=0.7, seed=seed)
    (finding,) = bad(judged(tree, full, make_fabric(tree, noise=0.01, seed=9)))
    ends = {end for suspect in finding.facts["suspects"] for end in suspect["ends"]}
    assert leaving(3) <= ends
