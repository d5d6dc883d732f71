"""Drift, stretches in which everything is slow, what comes and goes: said, and no accusation."""

from collections.abc import Callable, Sequence
from math import expm1, log
from random import Random

import pytest
from tests.seeds import drawn

from weft.bench.model import Pair, Sample
from weft.check.schedule.rounds.cpu_seats import within_cpus
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.drift import episodes
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE, SURVEY
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.finding import Finding, FindingKind, Severity

Rounds = Sequence[Sequence[tuple[int, int]]]
Effect = Callable[[float, tuple[int, int]], float]
"""Time (0: first round, 1: last) and a pair of ranks -> how many times slower it is then."""

SEEDS = range(20)


def one_pair_a_round(n: int) -> Rounds:
    return within_cpus([pairs.tolist() for pairs in reflections(n)], n, {0: 2})


def samples(
    rounds: Rounds, effect: Effect, seed: int, trial: str = SURVEY, noise: float = 0.02
) -> list[Sample]:
    """2 us and 10 GB/s each way, made slower by `effect`, with noise of each reading."""
    draws = Random(f"over-time/{trial}/{seed}")
    measured = []
    for number, pairs in enumerate(rounds):
        for pair in pairs:
            slow = effect(number / max(1, len(rounds) - 1), pair)
            at = Pair(f"n{pair[0]:03d}", f"n{pair[1]:03d}", number, len(pairs))
            each = [slow * draws.lognormvariate(0.0, noise) for _ in range(3)]
            there, back = 1e4 / each[1], 1e4 / each[2]
            by_size = (
                (8, {"latency_us": 2.0 * each[0]}),
                (2**20, {"bandwidth_ab_mb_s": there, "bandwidth_ba_mb_s": back}),
            )
            for size, metrics in by_size:
                measured.append(Sample(trial, 1, "pairs", size, metrics, 20, 0.0, pair=at))
    return measured


def healthy(when: float, pair: tuple[int, int]) -> float:
    return 1.0


def of_kind(verdict: Verdict, kind: FindingKind) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.kind is kind]


def bad(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.severity is Severity.BAD]


SCHEDULES = pytest.mark.parametrize(
    "rounds",
    [one_pair_a_round(8), [pairs.tolist() for pairs in reflections(16)]],
    ids=["one-pair-a-round", "all-at-once"],
)


@SCHEDULES
@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_what_stays_as_it_is_gets_no_word(rounds: Rounds, seed: int) -> None:
    verdict = judge_check(samples(rounds, healthy, seed), None)
    assert [finding.kind for finding in verdict.findings] == [FindingKind.HEALTHY]


@SCHEDULES
@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_a_tenth_slower_from_start_to_end_is_drift_and_accuses_nothing(
    rounds: Rounds, seed: int
) -> None:
    verdict = judge_check(samples(rounds, lambda when, _: 1 + 0.1 * when, seed), None)
    assert not bad(verdict)
    drift = of_kind(verdict, FindingKind.DRIFT)
    assert {finding.facts.metric for finding in drift} == {"latency_us", "bandwidth_mb_s"}
    for finding in drift:
        # Medians of the first and of the last third lie at 1/6 and 5/6 of the way: 6.6 %.
        assert finding.facts.change == pytest.approx(0.1 * 4 / 6 / (1 + 0.1 / 6), abs=0.03)
        assert finding.severity is Severity.WARNING


@SCHEDULES
@pytest.mark.parametrize("seed", drawn(SEEDS))
@pytest.mark.parametrize("factor", [1.3, 2.5])
def test_a_neighbour_for_a_fifth_of_the_rounds_accuses_nothing(
    rounds: Rounds, seed: int, factor: float
) -> None:
    n = len(rounds)
    first, last = round(0.4 * n), round(0.6 * n) - 1

    def burst(when: float, pair: tuple[int, int]) -> float:
        return factor if first <= round(when * (n - 1)) <= last else 1.0

    verdict = judge_check(samples(rounds, burst, seed), None)
    assert not bad(verdict)
    (said,) = of_kind(verdict, FindingKind.ANOMALY)
    assert said.facts.rounds == (first, last)
    assert set(said.facts.slower) == {"latency_us", "bandwidth_mb_s"}
    for slower in said.facts.slower.values():
        assert slower == pytest.approx(log(factor), abs=0.15)
    assert said.sentence.startswith(f"All pairs were slow for {last - first + 1} rounds of {n}: ")


@SCHEDULES
@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_a_slow_node_next_to_a_neighbours_traffic_is_still_named(rounds: Rounds, seed: int) -> None:
    def both(when: float, pair: tuple[int, int]) -> float:
        return (2.0 if 0.4 <= when <= 0.6 else 1.0) * (1.4 if 3 in pair else 1.0)

    again = [[(3, partner)] for partner in (0, 1, 5, 6)] * 2
    measured = [*samples(rounds, both, seed), *samples(again, lambda *_: 1.4, seed, ALONE)]
    verdict = judge_check(measured, None)
    (named,) = bad(verdict)
    assert [s.component.ends for s in named.facts.suspects] == [("n003",)]
    assert of_kind(verdict, FindingKind.ANOMALY)


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_a_slow_node_measured_with_everyone_in_a_row_is_no_stretch(seed: int) -> None:
    """Rounds of one pair, node by node: the rounds of node 0 come first, and it is slow."""
    rounds = [[(a, b)] for a in range(8) for b in range(a + 1, 8)]
    measured = samples(rounds, lambda _, pair: 1.5 if 0 in pair else 1.0, seed)
    survey = survey_of(measured, None, thresholds())
    assert episodes(survey, thresholds()) == ()


@pytest.mark.parametrize("seed", drawn(SEEDS))
def test_what_slows_only_a_part_of_each_round_is_no_stretch(seed: int) -> None:
    """A switch that three pairs of four cross in some rounds, in a row, and none in others."""

    def switch(when: float, pair: tuple[int, int]) -> float:
        return 1.5 if 0.4 <= when <= 0.6 and pair[0] % 4 else 1.0

    survey = survey_of(
        samples([pairs.tolist() for pairs in reflections(16)], switch, seed), None, thresholds()
    )
    assert episodes(survey, thresholds()) == ()


def test_half_of_the_rounds_slow_is_no_stretch_but_two_states() -> None:
    rounds = one_pair_a_round(8)
    measured = samples(rounds, lambda when, _: 2.0 if when > 0.4 else 1.0, 1)
    survey = survey_of(measured, None, thresholds())
    assert episodes(survey, thresholds()) == ()


def test_few_rounds_have_no_stretches_and_no_drift() -> None:
    rounds = [pairs.tolist() for pairs in reflections(7)]
    measured = samples(rounds, lambda when, _: 1 + when, 1)
    verdict = judge_check(measured, None)
    assert not of_kind(verdict, FindingKind.DRIFT)


def test_two_stretches_are_reported_one_by_one() -> None:
    rounds = [pairs.tolist() for pairs in reflections(16)]
    stretches = {(3, 4): 1.5, (10, 11): 2.0}

    def bursts(when: float, pair: tuple[int, int]) -> float:
        number = round(when * (len(rounds) - 1))
        return next((f for (a, b), f in stretches.items() if a <= number <= b), 1.0)

    verdict = judge_check(samples(rounds, bursts, 1, noise=0.0), None)
    said = {tuple(f.facts.rounds): f for f in of_kind(verdict, FindingKind.ANOMALY)}
    assert said.keys() == stretches.keys()
    for stretch, factor in stretches.items():
        for slower in said[stretch].facts.slower.values():
            assert slower == pytest.approx(log(factor), abs=0.05)
            assert f" {100 * expm1(slower):.0f} % slower" in said[stretch].sentence
