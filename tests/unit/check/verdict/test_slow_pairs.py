"""Hosts that share their CPUs: one reading in three is slow for no reason, and accuses nobody."""

import re
from collections.abc import Callable, Iterable
from random import Random

import pytest
from tests.seeds import drawn

from weft.bench.model import Pair, Sample
from weft.check.facts import AccusationFacts
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE, SURVEY
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.finding import Finding, FindingKind, Severity

N = 8
SEEDS = range(40)
Slower = Callable[[tuple[str, str]], float]


def measured(
    rounds: Iterable[Iterable[tuple[str, str]]],
    trial: str,
    slower: Slower,
    draws: Random,
    disturbed: float,
    by_bandwidth: Slower | None = None,
) -> list[Sample]:
    """One pair a round, with 2 % of noise; a share of the readings takes half as long again.
    `slower` by latency, and by bandwidth where that is not said by itself."""
    samples = []
    by_metric = (slower, *2 * (by_bandwidth or slower,))
    for number, pairs in enumerate(rounds):
        for a, b in pairs:
            each = [
                by((a, b))
                * draws.lognormvariate(0.0, 0.02)
                * (draws.uniform(1.3, 1.9) if draws.random() < disturbed else 1.0)
                for by in by_metric
            ]
            both = {"bandwidth_ab_mb_s": 1e3 / each[1], "bandwidth_ba_mb_s": 1e3 / each[2]}
            at = Pair(a, b, number, 1)
            samples.append(
                Sample(trial, 1, "pairs", 8, {"latency_us": 8 * each[0]}, 20, 0.0, pair=at)
            )
            samples.append(Sample(trial, 1, "pairs", 2**20, both, 20, 0.0, pair=at))
    return samples


def check(
    slower: Slower,
    seed: int,
    disturbed: float,
    n_ranks: int = N,
    times: int = 1,
    by_bandwidth: Slower | None = None,
) -> Verdict:
    """All pairs of the ranks of a host one at a time, the suspects again, the verdict."""
    draws = Random(f"lone/{seed}")
    pairs = [(a, b) for r in reflections(n_ranks) for a, b in r.tolist()]
    rounds = [[(f"h:{a}", f"h:{b}")] for a, b in times * pairs]
    survey = measured(rounds, SURVEY, slower, draws, disturbed, by_bandwidth)
    plan = follow_up(survey_of(survey, None, thresholds()), seed)
    again = measured(plan.alone, ALONE, slower, draws, disturbed, by_bandwidth)
    return judge_check([*survey, *again], None)


def bad(verdict: Verdict) -> list[Finding]:
    return [finding for finding in verdict.findings if finding.severity is Severity.BAD]


def slow_rank(pair: tuple[str, str]) -> float:
    return 2.0 if "h:3" in pair else 1.0


def named_by(verdict: Verdict) -> list[str]:
    """Who is accused; a pair as 'a b'."""
    return [
        end
        for finding in bad(verdict)
        for end in (
            [s.component.ends[0] for s in finding.facts.suspects]
            if isinstance(finding.facts, AccusationFacts)
            else [" ".join(pair) for pair in finding.facts.pairs]
        )
    ]


@pytest.mark.parametrize("disturbed", [0.02, 0.1, 0.35])
@pytest.mark.parametrize("seed", drawn(SEEDS, 10))
def test_disturbed_readings_accuse_nothing(seed: int, disturbed: float) -> None:
    assert not bad(check(lambda _: 1.0, seed, disturbed))


@pytest.mark.parametrize("disturbed", [0.02, 0.1])
@pytest.mark.parametrize("seed", drawn(SEEDS, 10))
def test_a_slow_rank_among_disturbed_readings_is_named_alone(seed: int, disturbed: float) -> None:
    assert named_by(check(slow_rank, seed, disturbed)) == ["h:3"]


def test_a_slow_rank_among_very_many_is_mostly_named_and_nothing_else() -> None:
    named = [named_by(check(slow_rank, seed, 0.35)) for seed in SEEDS]
    assert all(set(names) <= {"h:3"} for names in named)
    assert sum(names == ["h:3"] for names in named) >= 0.7 * len(named)


@pytest.mark.parametrize("seed", drawn(SEEDS, 10))
def test_a_slow_pair_is_named_where_readings_are_hardly_disturbed(seed: int) -> None:
    verdict = check(lambda pair: 2.5 if set(pair) == {"h:3", "h:6"} else 1.0, seed, 0.0)
    (named,) = bad(verdict)
    assert named.kind is FindingKind.SUSPECT_PAIR
    assert named.facts.pairs == (("h:3", "h:6"),)


def test_a_slow_pair_among_many_disturbed_readings_may_be_slow() -> None:
    slow = lambda pair: 4.0 if set(pair) == {"h:3", "h:6"} else 1.0  # noqa: E731
    said = [
        finding
        for seed in SEEDS
        for finding in check(slow, seed, 0.3).findings
        if finding.kind is FindingKind.SUSPECT_PAIR
    ]
    doubted = [finding for finding in said if finding.severity is Severity.WARNING]
    assert len(doubted) > len(said) / 2
    assert all(" may be slow, " in finding.sentence for finding in doubted)
    assert all("of the readings of other pairs" in finding.evidence[1] for finding in doubted)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("n_ranks", "severity"), [(3, Severity.WARNING), (4, Severity.BAD)])
def test_of_three_no_one_knows_which_pair_is_normal(
    n_ranks: int, severity: Severity, seed: int
) -> None:
    slow = lambda pair: 2.5 if set(pair) == {"h:0", "h:1"} else 1.0  # noqa: E731
    verdict = check(slow, seed, 0.0, n_ranks, times=4)
    (finding,) = (f for f in verdict.findings if f.kind is FindingKind.SUSPECT_PAIR)
    assert finding.facts.pairs == (("h:0", "h:1"),)
    assert finding.severity is severity
    assert ("too few nodes to know" in finding.evidence[1]) == (severity is Severity.WARNING)
    assert bool(bad(verdict)) == (severity is Severity.BAD)


def one_pair(a: str, b: str) -> Slower:
    return lambda pair: 2.5 if set(pair) == {a, b} else 1.0


@pytest.mark.parametrize("seed", range(10))
def test_a_pair_of_a_node_that_is_named_is_reported_with_it(seed: int) -> None:
    """The node is slow by latency, and by bandwidth with one partner only."""
    (named,) = bad(check(slow_rank, seed, 0.0, by_bandwidth=one_pair("h:3", "h:6")))
    assert [suspect.component.ends for suspect in named.facts.suspects] == [("h:3",)]
    (line,) = (line for line in named.evidence if "this fault may be the cause" in line)
    assert line.startswith("also slow: h:3 - h:6, bandwidth ")
    assert re.search(r"\((3[6-9]|4[0-4]) %\); this", line)


@pytest.mark.parametrize("seed", range(10))
def test_a_pair_of_others_is_named_next_to_a_node(seed: int) -> None:
    verdict = check(slow_rank, seed, 0.0, by_bandwidth=one_pair("h:2", "h:6"))
    assert named_by(verdict) == ["h:3", "h:2 h:6"]
    assert not any("may be the cause" in line for one in bad(verdict) for line in one.evidence)


def test_a_pair_of_a_node_that_is_named_may_be_slow_too_where_it_was_measured_once() -> None:
    rounds = [
        [(f"h:{a}", f"h:{b}")] for pairs in (r.tolist() for r in reflections(N)) for a, b in pairs
    ]
    once = measured(rounds, SURVEY, slow_rank, Random("once"), 0.0, one_pair("h:3", "h:6"))
    (named,) = judge_check(once, None).findings
    assert [suspect.component.ends for suspect in named.facts.suspects] == [("h:3",)]
    (line,) = (line for line in named.evidence if "may be slow too" in line)
    assert line.startswith("may be slow too: h:3 - h:6, ")
    assert line.endswith("; not measured again alone")


def test_a_pair_of_a_node_that_is_named_is_not_lost_among_disturbed_readings() -> None:
    """Told in one way or another: as a line, for sure or not, or as slow itself."""
    verdicts = [
        check(slow_rank, seed, 0.12, by_bandwidth=one_pair("h:3", "h:6")) for seed in range(10)
    ]
    told = [
        line for v in verdicts for f in v.findings for line in (f.sentence, *f.evidence)
        if "h:3 - h:6" in line and "bandwidth" in line
    ]  # fmt: skip
    assert len(told) >= len(verdicts) / 2
    assert any("may be slow too" in line for line in told)
