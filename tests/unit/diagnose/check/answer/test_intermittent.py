"""What is slow in a part of the run only comes and goes: a warning, no accusation."""
# mypy: disable-error-code="no-untyped-def"

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from weft.bench.model import Pair, Sample
from weft.core.finding import FindingKind, Severity
from weft.diagnose.check.answer.intermittent import findings, intermittents
from weft.diagnose.check.rounds.matchings import reflections
from weft.diagnose.check.suspects.survey import survey_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.check.trials import ALONE, SURVEY
from weft.diagnose.check.verdict import judge_check

SEEDS = range(20)
UP_LINK = ("leaf-02[6]", "spine-02[2]")


def surveyed(tree, is_slow: Callable[[int, tuple[str, ...]], float], seed: int, trial=SURVEY):
    """Bandwidths of all pairs of a tree, 2 % of noise, one in a hundred disturbed; a third as fast
    where `is_slow` of the round and the ports on the way (or less, where that is below 1)."""
    draws = Random(f"intermittent/{seed}")
    samples = []
    for number, pairs in enumerate(reflections(len(tree.nodes))):
        for a, b in ((tree.nodes[i], tree.nodes[j]) for i, j in pairs.tolist()):
            there, back = tree.paths([(a, b), (b, a)])
            both = {}
            for name, ways in (("bandwidth_ab_mb_s", there), ("bandwidth_ba_mb_s", back)):
                slow = is_slow(number, ways) or draws.random() < 0.01
                both[name] = 24e3 * draws.lognormvariate(0.0, 0.02) / (1 + 2 * slow)
            at = Pair(a, b, number, len(pairs))
            samples.append(Sample(trial, 1, "pairs", 2**20, both, 20, 0.0, pair=at))
    return samples


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cable_that_flaps_comes_and_goes(make_tree, seed):
    tree = make_tree(4, 4, 2)
    draws = Random(f"flaps/{seed}")
    flaps = lambda _, ways: bool(set(UP_LINK) & set(ways)) and draws.random() < 0.5  # noqa: E731
    survey = survey_of(surveyed(tree, flaps, seed), tree, thresholds())
    (one,) = intermittents(survey, thresholds())
    (cable,) = one.components
    assert cable.thing == ("cable", UP_LINK)
    assert 0 < one.n_slow < one.n
    assert one.n_others_slow < one.n_others / 20
    (said,) = findings(survey, thresholds(), {}, enough_nodes=True)
    assert said.severity is Severity.WARNING
    assert said.sentence.startswith("Cable leaf-02[6] - spine-02[2] may come and go: ")


def unsteady(seed: int) -> Callable[[int, tuple[str, ...]], float]:
    """Three readings in four of n007 are slow, each by another amount."""
    draws = Random(f"unsteady/{seed}")
    own = {"leaf-02[3]", "n007/hca0[1]"}
    drawn = lambda: draws.uniform(0.1, 2) if draws.random() < 0.75 else 0.0  # noqa: E731
    return lambda _, ways: drawn() if own & set(ways) else 0.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("again", "severity"), [(True, "bad"), (False, "warning")])
def test_a_node_that_is_slow_by_another_amount_each_time_is_named(make_tree, seed, again, severity):
    tree = make_tree(4, 4, 2)
    samples = surveyed(tree, unsteady(seed), seed)
    if again:
        alone = [s for s in surveyed(tree, unsteady(seed + 99), seed + 99, ALONE) if has_n007(s)]
        samples += [replace(s, pair=replace(s.pair, n_concurrent=1)) for s in alone]
    verdict = judge_check(samples, tree)
    said = verdict.findings[0]
    assert said.severity == severity
    ends = {end for suspect in said.facts["suspects"] for end in suspect["ends"]}
    assert ends == {"n007", "n007/hca0[1]", "leaf-02[3]"}
    assert not [f for f in verdict.findings if f.kind is FindingKind.SUSPECT_PAIR]


def test_of_too_few_nodes_none_is_named_unsteady_for_sure(make_tree):
    tree, seed = make_tree(4, 4, 2), 1
    samples = surveyed(tree, unsteady(seed), seed)
    alone = [s for s in surveyed(tree, unsteady(100), 100, ALONE) if has_n007(s)]
    samples += [replace(s, pair=replace(s.pair, n_concurrent=1)) for s in alone]
    for smallest, severity in ((16, Severity.BAD), (17, Severity.WARNING)):
        verdict = judge_check(samples, tree, limits=replace(thresholds(), smallest_fabric=smallest))
        assert verdict.findings[0].severity is severity
        assert "unsteady" in verdict.findings[0].sentence


def has_n007(sample: Sample) -> bool:
    return sample.pair is not None and "n007" in (sample.pair.a, sample.pair.b)


@pytest.mark.parametrize("seed", SEEDS)
def test_disturbances_here_and_there_are_nobodys(make_tree, seed):
    tree = make_tree(4, 4, 2)
    survey = survey_of(surveyed(tree, lambda *_: False, seed), tree, thresholds())
    assert intermittents(survey, thresholds()) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_one_reading_in_three_slow_anywhere_is_nobodys(make_tree, seed):
    tree = make_tree(4, 4, 2)
    draws = Random(seed)
    samples = surveyed(tree, lambda *_: draws.random() < 0.33, seed)
    assert intermittents(survey_of(samples, tree, thresholds()), thresholds()) == ()


def test_a_cable_that_is_always_slow_is_a_fault_and_does_not_come_and_go(make_tree):
    tree = make_tree(4, 4, 2)
    samples = surveyed(tree, lambda _, ways: bool(set(UP_LINK) & set(ways)), 1)
    verdict = judge_check(samples, tree)
    assert [f.kind for f in verdict.findings if f.severity is Severity.BAD] == [
        FindingKind.SUSPECT_LINK
    ]
    assert not [f for f in verdict.findings if "may come and go" in f.sentence]
