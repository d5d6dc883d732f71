"""What is slow in a part of the run only comes and goes: a warning, no accusation."""
# mypy: disable-error-code="no-untyped-def"

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from tests.seeds import drawn

from weft.bench.model import Pair, Sample
from weft.check.facts import AccusationFacts
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.accusation import Standing
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE, SURVEY
from weft.check.verdict.intermittent import findings, intermittents
from weft.check.verdict.verdict import judge_check
from weft.core.errors import ExitCode
from weft.core.finding import FindingKind, Severity

SEEDS = range(20)
UP_LINK = ("leaf-02[6]", "spine-02[2]")
OWN = {"leaf-02[3]", "n007/hca0[1]"}
N007 = {"n007", *OWN}


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


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_a_cable_that_flaps_comes_and_goes(make_tree, seed):
    tree = make_tree(4, 4, 2)
    draws = Random(f"flaps/{seed}")
    flaps = lambda _, ways: bool(set(UP_LINK) & set(ways)) and draws.random() < 0.5  # noqa: E731
    survey = survey_of(surveyed(tree, flaps, seed), tree, thresholds())
    (one,) = intermittents(survey)
    (cable,) = one.components
    assert cable.thing == ("cable", UP_LINK)
    told = one.seen[0]
    assert 0 < told.n_slow < told.n
    assert told.n_others_slow < told.n_others / 20
    (said,) = findings(survey, enough_nodes=True)
    assert said.severity is Severity.WARNING
    assert said.sentence.startswith("Cable leaf-02[6] - spine-02[2] may be slow now and then: ")


def unsteady(seed: int) -> Callable[[int, tuple[str, ...]], float]:
    """Three readings in four of n007 are slow, each by another amount."""
    draws = Random(f"unsteady/{seed}")
    drawn = lambda: draws.uniform(0.1, 2) if draws.random() < 0.75 else 0.0  # noqa: E731
    return lambda _, ways: drawn() if OWN & set(ways) else 0.0


@pytest.mark.parametrize("seed", drawn(SEEDS))
@pytest.mark.parametrize(("again", "severity"), [(True, "bad"), (False, "warning")])
def test_a_node_that_is_slow_by_another_amount_each_time_is_named(make_tree, seed, again, severity):
    tree = make_tree(4, 4, 2)
    samples = surveyed(tree, unsteady(seed), seed)
    if again:
        alone = [s for s in surveyed(tree, unsteady(seed + 99), seed + 99, ALONE) if has_n007(s)]
        samples += [replace(s, pair=replace(s.pair, n_concurrent=1)) for s in alone]
    verdict = judge_check(samples, tree)
    (said,) = (f for f in verdict.findings if f.kind is FindingKind.SUSPECT_NODE)
    assert said.severity == severity
    ends = {end for suspect in said.facts.suspects for end in suspect.component.ends}
    assert ends == N007
    assert not [f for f in verdict.findings if f.kind is FindingKind.SUSPECT_PAIR]


def latencies(tree, draws: Random, trial=SURVEY, share: float = 1.0) -> list[Sample]:
    """Of all pairs of a tree, 2 % of noise; a share of those of n007 is half as long again or up to
    thrice as long."""
    samples = []
    for number, pairs in enumerate(reflections(len(tree.nodes))):
        for a, b in ((tree.nodes[i], tree.nodes[j]) for i, j in pairs.tolist()):
            own = OWN & set(tree.paths([(a, b)])[0]) and draws.random() < share
            slower = draws.uniform(1.5, 3.0) if own else 1.0
            values = {"latency_us": 1.9 * draws.lognormvariate(0.0, 0.02) * slower}
            samples.append(
                Sample(trial, 1, "pairs", 8, values, 20, 0.0, pair=Pair(a, b, number, len(pairs)))
            )
    return samples


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_a_node_that_is_slow_again_by_one_metric_only_is_named_by_it(make_tree, seed):
    """Its bandwidth told more, and was mostly normal alone."""
    tree = make_tree(4, 4, 2)
    draws = Random(f"one metric/{seed}")
    slow = lambda share: lambda _, ways: OWN & set(ways) and draws.random() < share  # noqa: E731
    samples = [*surveyed(tree, slow(0.85), seed), *latencies(tree, draws)]
    alone = [*surveyed(tree, slow(0.3), seed + 99, ALONE), *latencies(tree, draws, ALONE)]
    samples += [replace(s, pair=replace(s.pair, n_concurrent=1)) for s in alone if has_n007(s)]
    said = judge_check(samples, tree).findings
    (bad,) = (one for one in said if one.severity is Severity.BAD)
    assert {end for suspect in bad.facts.suspects for end in suspect.component.ends} == N007
    assert "latency_us" in bad.facts.metrics


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_what_readings_alone_refute_makes_no_one_unsteady_for_sure(make_tree, seed):
    """Bandwidth mostly slow beside others and never alone; latency slow with eight partners of
    fifteen, and alone with the one with which it was measured again."""
    tree = make_tree(4, 4, 2)
    draws = Random(f"refuted/{seed}")
    beside = lambda _, ways: OWN & set(ways) and draws.random() < 0.85  # noqa: E731
    partners = {"n001", "n002", "n003", "n004", "n008", "n009", "n010", "n011"}
    is_slow = lambda s, among: has_n007(s) and {s.pair.a, s.pair.b} & among  # noqa: E731
    samples = surveyed(tree, beside, seed)
    samples += [
        s if is_slow(s, partners) or not has_n007(s) else replace(s, metrics={"latency_us": 1.9})
        for s in latencies(tree, draws)
    ]
    wide = surveyed(tree, lambda *_: False, seed + 99, ALONE)
    again = [*latencies(tree, draws, ALONE), *latencies(tree, draws, ALONE)]
    alone = [*filter(has_n007, wide), *(s for s in again if is_slow(s, {"n003"}))]
    samples += [
        replace(s, pair=replace(s.pair, round=n, n_concurrent=1)) for n, s in enumerate(alone)
    ]
    said = judge_check(samples, tree).findings
    about = {one.severity for one in said if "n007" in one.sentence}
    assert Severity.WARNING in about
    assert Severity.BAD not in about


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_an_unsteady_node_is_named_next_to_a_pair_of_it_that_is_slow_by_another_metric(
    make_tree, seed
):
    tree = make_tree(4, 4, 2)
    draws = Random(f"other metric/{seed}")
    partner = lambda s: {s.pair.a, s.pair.b} == {"n003", "n007"}  # noqa: E731

    def measured(trial, later):
        fast, slow = (
            surveyed(tree, lambda *_, by=by: by, later, trial) for by in (0.0, 1.0)
        )  # fmt: skip
        wide = [s if partner(s) else f for f, s in zip(fast, slow, strict=True)]
        return [*wide, *latencies(tree, draws, trial, share=0.85)]

    again = [s for n in range(1, 4) for s in measured(ALONE, seed + 100 * n)]
    samples = measured(SURVEY, seed) + [
        replace(s, pair=replace(s.pair, round=n, n_concurrent=1)) for n, s in enumerate(again)
    ]
    (bad,) = (one for one in judge_check(samples, tree).findings if one.severity is Severity.BAD)
    assert bad.kind is FindingKind.SUSPECT_NODE
    assert "n007" in bad.sentence
    assert [line for line in bad.evidence if line.startswith("also slow: n003 - n007, bandwidth")]


def test_of_too_few_nodes_none_is_named_unsteady_for_sure(make_tree):
    tree, seed = make_tree(4, 4, 2), 1
    samples = surveyed(tree, unsteady(seed), seed)
    alone = [s for s in surveyed(tree, unsteady(100), 100, ALONE) if has_n007(s)]
    samples += [replace(s, pair=replace(s.pair, n_concurrent=1)) for s in alone]
    for few, severity in ((15, Severity.BAD), (16, Severity.WARNING)):
        verdict = judge_check(samples, tree, limits=replace(thresholds(), few_nodes=few))
        (said,) = (one for one in verdict.findings if "unsteady" in one.sentence)
        assert said.severity is severity


def again_alone(tree, is_slow, seed: int) -> list[Sample]:
    """All pairs of n007 once more, with nothing beside them."""
    alone = [s for s in surveyed(tree, is_slow, seed, ALONE) if has_n007(s)]
    return [replace(s, pair=replace(s.pair, n_concurrent=1)) for s in alone]


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_what_was_slow_in_most_readings_alone_is_not_said_to_have_passed(make_tree, seed):
    """A survey in which the node is slow by one amount makes a suspect; alone it is slow by others,
    and in one reading of three not at all."""
    tree = make_tree(4, 4, 2)
    draws = Random(f"again/{seed}")
    own = lambda ways: bool(OWN & set(ways))  # noqa: E731
    drawn = lambda: draws.uniform(0.1, 0.4) if draws.random() < 0.67 else 0.0  # noqa: E731
    samples = surveyed(tree, lambda _, ways: 2.0 if own(ways) else 0.0, seed)
    samples += again_alone(tree, lambda _, ways: drawn() if own(ways) else 0.0, seed + 99)
    said = judge_check(samples, tree).findings
    assert said[0].severity is Severity.BAD
    assert {end for suspect in said[0].facts.suspects for end in suspect.component.ends} == N007
    assert not [
        one
        for one in said
        if isinstance(one.facts, AccusationFacts) and one.facts.standing is Standing.PASSING
    ]


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_an_unsteady_node_is_named_in_place_of_a_pair_that_was_slow_each_time(make_tree, seed):
    """And a pair that is slow for sure, of a node whose other pairs are normal, stays a pair."""
    tree = make_tree(2, 4, 2)
    nodes = {"n003", "n007"}
    always = {frozenset(nodes)}

    def of_pair(samples: list[Sample], slow: list[Sample]) -> list[Sample]:
        chosen = zip(samples, slow, strict=True)
        return [s if frozenset((one.pair.a, one.pair.b)) in always else one for one, s in chosen]

    never, surely = (lambda *_: 0.0), (lambda *_: 2.0)
    for other, kind in ((unsteady(seed), "suspect-node"), (never, "suspect-pair")):
        samples = of_pair(surveyed(tree, other, seed), surveyed(tree, surely, seed))
        for later in (seed + 100, seed + 200, seed + 300):
            again = again_alone(tree, other, later), again_alone(tree, surely, later)
            samples += of_pair(*again)
        said = judge_check(samples, None).findings
        (bad,) = (one for one in said if one.severity is Severity.BAD)
        assert bad.kind == kind
        assert "n007" in bad.sentence


def has_n007(sample: Sample) -> bool:
    return sample.pair is not None and "n007" in (sample.pair.a, sample.pair.b)


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_disturbances_here_and_there_are_no_ones(make_tree, seed):
    tree = make_tree(4, 4, 2)
    survey = survey_of(surveyed(tree, lambda *_: False, seed), tree, thresholds())
    assert intermittents(survey) == ()


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_one_reading_in_three_slow_anywhere_is_no_ones(make_tree, seed):
    tree = make_tree(4, 4, 2)
    draws = Random(seed)
    samples = surveyed(tree, lambda *_: draws.random() < 0.33, seed)
    assert intermittents(survey_of(samples, tree, thresholds())) == ()


def test_a_cable_that_is_always_slow_is_a_fault_and_does_not_come_and_go(make_tree):
    tree = make_tree(4, 4, 2)
    samples = surveyed(tree, lambda _, ways: bool(set(UP_LINK) & set(ways)), 1)
    verdict = judge_check(samples, tree)
    assert [f.kind for f in verdict.findings if f.severity is Severity.BAD] == [
        FindingKind.SUSPECT_LINK
    ]
    assert not [f for f in verdict.findings if "now and then" in f.sentence]


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_a_cable_that_flaps_is_said_beside_a_slow_node(make_tree, seed):
    """The node is a fault; readings that it leaves show what comes and goes."""
    tree = make_tree(4, 4, 2)
    draws = Random(f"flaps beside/{seed}")

    def slow(_: int, ways: tuple[str, ...]) -> float:
        if set(OWN) & set(ways):
            return 1.0
        return float(set(UP_LINK) & set(ways) != set() and draws.random() < 0.5)

    verdict = judge_check(surveyed(tree, slow, seed), tree)
    bad = [one for one in verdict.findings if one.severity is Severity.BAD]
    assert len(bad) == 1
    assert "n007" in bad[0].sentence
    said = [one.sentence for one in verdict.findings if "now and then" in one.sentence]
    (sentence,) = said
    assert "cable leaf-02[6] - spine-02[2]" in sentence.lower()


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_nothing_comes_and_goes_beside_a_slow_node_alone(make_tree, seed):
    tree = make_tree(4, 4, 2)
    verdict = judge_check(surveyed(tree, lambda _, ways: bool(OWN & set(ways)), seed), tree)
    assert verdict.exit_code is ExitCode.VERDICT_BAD
    assert not [one for one in verdict.findings if "now and then" in one.sentence]
