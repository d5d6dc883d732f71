"""Of few nodes without a platform those are named whose readings are all slower than the others'.

Readings by a model of its own: a pair is as slow as the slower of its two nodes.
"""

from dataclasses import replace
from itertools import combinations

import pytest

from weft.bench.model import Pair, Sample
from weft.check.suspects.fast_pairs import SlowerNodes, fast_pair_findings
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY
from weft.check.verdict.verdict import judge_check
from weft.check.wording.headline import suspects_of
from weft.core.errors import ExitCode
from weft.core.finding import Finding, Severity

MB_S, LATENCY_US = 100.0, 10.0


def samples_of(
    rates: dict[str, float],
    *,
    latencies: dict[str, float] | None = None,
    paths: dict[frozenset[str], float] | None = None,
) -> list[Sample]:
    """All pairs of nodes. `rates` are shares of the full rate by node, `paths` by pair; `latencies`
    are added by node. The readings of a pair differ by 1 %."""
    found = []
    for number, (a, b) in enumerate(combinations(rates, 2)):
        rate = MB_S * min(rates[a], rates[b], (paths or {}).get(frozenset((a, b)), 1.0))
        latency = LATENCY_US + sum((latencies or {}).get(end, 0.0) for end in (a, b))
        large = {"bandwidth_ab_mb_s": rate, "bandwidth_ba_mb_s": 0.99 * rate}
        for size, metrics in ((8, {"latency_us": latency}), (1 << 20, large)):
            pair = Pair(a, b, number, 1)
            found.append(Sample(SURVEY, 1, "pairs", size, metrics, 10, 0.0, pair=pair))
    return found


def named(samples: list[Sample]) -> list[tuple[str, ...]]:
    """The nodes of each finding."""
    found = fast_pair_findings(survey_of(samples, None, thresholds()))
    assert {one.severity for one in found} <= {Severity.WARNING}
    return [tuple(sorted(of.facts.nodes)) for of in found if isinstance(of.facts, SlowerNodes)]


@pytest.mark.parametrize(("one", "other"), [(0.3, 0.3), (0.58, 0.65), (0.8, 0.35), (0.8, 0.8)])
def test_two_slow_nodes_of_four_are_named_and_the_run_stays_open(one: float, other: float) -> None:
    samples = samples_of({"a": 1.0, "b": one, "c": other, "d": 1.0})
    verdict = judge_check(samples, None)
    warned = {
        node
        for finding in verdict.findings
        for node in (finding.facts.nodes if isinstance(finding.facts, SlowerNodes) else ())
    }
    bad = {n for f in verdict.findings if f.severity is Severity.BAD for n in suspect_nodes(f)}
    assert warned | bad == {"b", "c"}
    assert verdict.exit_code in (ExitCode.NO_VERDICT, ExitCode.VERDICT_BAD)
    assert (verdict.exit_code is ExitCode.VERDICT_BAD) == bool(bad)


def suspect_nodes(finding: Finding) -> set[str | None]:
    return {suspect.node for suspect in suspects_of(finding)}


def test_the_one_slow_node_of_three_is_named() -> None:
    assert named(samples_of({"a": 1.0, "b": 0.5, "c": 1.0})) == [("b",)]


def test_a_node_with_added_latency_is_named() -> None:
    rates = dict.fromkeys("abcd", 1.0)
    assert named(samples_of(rates, latencies={"c": 200.0})) == [("c",)]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_equal_nodes_are_not_named(n: int) -> None:
    assert named(samples_of(dict.fromkeys("abcdef"[:n], 1.0))) == []


def test_two_groups_with_a_slow_path_between_them_are_not_named() -> None:
    """Neither group is slow: the path is."""
    between = {frozenset((a, b)): 0.5 for a in "ab" for b in "cd"}
    assert named(samples_of(dict.fromkeys("abcd", 1.0), paths=between)) == []


def test_a_pair_with_one_slow_direction_is_not_slower_than_the_others() -> None:
    """The readings of the other direction are as fast as any."""
    samples = samples_of(dict.fromkeys("abc", 1.0))
    slow = [
        replace(one, metrics={**one.metrics, "bandwidth_ab_mb_s": 0.5 * MB_S})
        if "bandwidth_ab_mb_s" in one.metrics and one.pair is not None and "c" in one.pair.b
        else one
        for one in samples
    ]
    assert named(slow) == []


def test_six_nodes_are_compared_with_one_another_instead() -> None:
    assert named(samples_of({"a": 0.5, **dict.fromkeys("bcdef", 1.0)})) == []


def test_the_sentence_has_both_figures_and_says_what_would_look_alike() -> None:
    (finding,) = fast_pair_findings(
        survey_of(samples_of({"a": 1.0, "b": 0.5, "c": 1.0}), None, thresholds())
    )
    assert finding.sentence == (
        "Node b may be slow: the median bandwidth over it is 49.75 MB/s, among a and c 99.50."
    )
    assert finding.evidence == (
        "each reading of 2 pairs with it is slower than each among a and c",
        "shorter paths among a and c would look alike: --platform, --fabric, or 6 nodes or more"
        " tell",
    )
