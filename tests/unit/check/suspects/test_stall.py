"""A message that stood still is never passed over: it shows again, or the verdict is open."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weft.bench.model import Pair, Sample
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.stall import stall_place, stalls
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE
from weft.check.verdict.verdict import judge_check
from weft.core.errors import ExitCode
from weft.core.finding import Severity

SIZE_BYTES = 1 << 20


def stalled(samples: list[Sample], pair: tuple[str, str], factor: float) -> list[Sample]:
    """One bandwidth reading of a pair so many times slower."""
    found = list(samples)
    place = next(
        i
        for i, sample in enumerate(samples)
        if sample.pair is not None
        and {sample.pair.a, sample.pair.b} == set(pair)
        and "bandwidth_ab_mb_s" in sample.metrics
    )
    metrics = samples[place].metrics
    slower = metrics["bandwidth_ab_mb_s"] / factor
    found[place] = replace(samples[place], metrics={**metrics, "bandwidth_ab_mb_s": slower})
    return found


def again(pair: tuple[str, str], n: int, n_stalled: int, of: Sample) -> list[Sample]:
    """A pair measured so often alone."""
    metrics = dict.fromkeys(("bandwidth_ab_mb_s", "bandwidth_ba_mb_s"), 24_000.0)
    found = []
    for number in range(n):
        values = metrics | ({"bandwidth_ab_mb_s": 4.0} if number < n_stalled else {})
        at = Pair(*pair, number, 1)
        found.append(replace(of, trial=ALONE, metrics=values, pair=at))
    return found


@pytest.fixture
def samples(make_tree: Any, make_fabric: Any) -> list[Sample]:
    return make_fabric(make_tree(3, 3, 3), (), noise=0.01).all_pairs()


def test_a_stalled_pair_is_measured_again_a_hundred_times(samples: list[Sample]) -> None:
    survey = survey_of(stalled(samples, ("n002", "n007"), 5000), None, thresholds())
    (stall,) = stalls(survey)
    assert stall.pair == ("n002", "n007")
    assert stall.slowest == pytest.approx(5000, rel=0.1)
    plan = follow_up(survey, 1)
    assert plan.alone.count((("n002", "n007"),)) >= thresholds().stall_repeats
    assert len(follow_up(survey, 1, most_rounds=20).alone) <= 20


@pytest.mark.parametrize(
    ("n_stalled", "code", "severity"),
    [(0, ExitCode.NO_VERDICT, Severity.WARNING), (2, ExitCode.VERDICT_BAD, Severity.BAD)],
)
def test_a_stall_shows_again_or_leaves_the_verdict_open(
    samples: list[Sample], n_stalled: int, code: ExitCode, severity: Severity
) -> None:
    made = stalled(samples, ("n002", "n007"), 5000)
    large = next(one for one in made if one.size_bytes == SIZE_BYTES)
    verdict = judge_check([*made, *again(("n002", "n007"), 100, n_stalled, large)], None)
    assert verdict.exit_code is code
    (finding,) = [one for one in verdict.findings if "stalls" in one.sentence]
    assert finding.severity is severity
    assert f"{n_stalled or 'not again'}" in finding.sentence


def test_a_stall_names_the_cables_of_the_paths(
    samples: list[Sample], make_tree: Any, make_fabric: Any
) -> None:
    tree = make_tree(3, 3, 3)
    verdict = judge_check(stalled(samples, ("n002", "n007"), 5000), tree)
    (finding,) = [one for one in verdict.findings if "stalls" in one.sentence]
    cables = set(finding.evidence[1].partition(": ")[2].split(", "))
    paths = tree.paths([("n002", "n007"), ("n007", "n002")])
    ports = {port for path in paths for port in path}
    assert all(any(port in cable for cable in cables) for port in ports)


def test_a_reading_half_as_fast_is_no_stall(samples: list[Sample]) -> None:
    verdict = judge_check(stalled(samples, ("n002", "n007"), 2), None)
    assert verdict.exit_code is ExitCode.GOOD
    limit = float(np.exp(thresholds().slowest_fitted))
    survey = survey_of(stalled(samples, ("n002", "n007"), limit / 2), None, thresholds())
    assert stalls(survey) == ()


def over(tree: Any, cable: set[str], n: int) -> list[tuple[str, str]]:
    """Pairs whose messages cross a cable from the first node to the second, no node twice."""
    found: list[tuple[str, str]] = []
    for a in tree.nodes:
        for b in tree.nodes:
            used = {node for pair in found for node in pair}
            if a < b and not {a, b} & used and cable & set(*tree.paths([(a, b)])):
                found.append((a, b))
    return found[:n]


def test_the_cable_that_all_stalled_pairs_cross_is_named(make_tree: Any, make_fabric: Any) -> None:
    tree = make_tree(6, 6, 6)
    samples = make_fabric(tree, (), noise=0.01).all_pairs()
    cable = {"leaf-01[8]", "spine-02[1]"}
    pairs = over(tree, cable, 4)
    assert len(pairs) == 4
    for pair in pairs:
        samples = stalled(samples, pair, 5000)
    survey = survey_of(samples, tree, thresholds())
    place = stall_place(survey)
    assert place is not None
    (component,) = place.components
    assert component.thing == ("cable", ("leaf-01[8]", "spine-02[1]"))
    assert place.n_pairs == 4
    (said,) = [one for one in judge_check(samples, tree).findings if "may lose" in one.sentence]
    assert said.severity is Severity.WARNING
    assert said.sentence.startswith("Cable leaf-01[8] - spine-02[1] ")
    assert f"all 4 pairs that stall cross it, as do {place.n} of " in said.sentence


def test_stalls_of_pairs_without_a_common_path_name_no_component(
    make_tree: Any, make_fabric: Any
) -> None:
    tree = make_tree(6, 6, 6)
    samples = make_fabric(tree, (), noise=0.01).all_pairs()
    for pair in (("n001", "n008"), ("n013", "n021"), ("n026", "n035")):
        samples = stalled(samples, pair, 5000)
    assert stall_place(survey_of(samples, tree, thresholds())) is None


def test_one_stalled_pair_names_no_component(samples: list[Sample], make_tree: Any) -> None:
    tree = make_tree(3, 3, 3)
    made = stalled(samples, ("n002", "n007"), 5000)
    assert stall_place(survey_of(made, tree, thresholds())) is None
