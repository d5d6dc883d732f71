"""Error counters that grew overrule what readings alone would call other traffic."""

from dataclasses import replace
from typing import Any

import pytest

from weft.bench.model import Sample
from weft.core.finding import Finding, FindingKind, Severity
from weft.diagnose.check.beside.marks import GROWN, Mark, Marks, keep, of_run
from weft.diagnose.check.suspects.accusation import Standing
from weft.diagnose.check.suspects.follow_up import Plan, Size, follow_up
from weft.diagnose.check.suspects.survey import survey_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.check.verdict import Verdict, judge_check

CABLE = ("leaf-02[6]", "spine-02[2]")
THING = ("cable", tuple(sorted(CABLE)))


def grown(*, damage: bool = True, severity: Severity = Severity.WARNING) -> Marks:
    return Marks((Mark(THING, GROWN, severity, "PortRcvErrors: 0 to 192", "", damage),))


OLD = Marks((Mark(THING, "error-totals", Severity.WARNING, "PortRcvErrors: 192", "", True),))
CLEAN = Marks(counted=frozenset({THING}))


@pytest.fixture
def doubtful(make_tree: Any, make_slow: Any, make_fabric: Any) -> Any:
    """A verdict on a cable that is slow in full rounds, and again in those (`met`) or not."""
    tree = make_tree(4, 4, 4)
    half = make_slow(0.5, ports=frozenset(CABLE), metrics=("bandwidth",))
    full, healthy = make_fabric(tree, [half]), make_fabric(tree, seed=2)
    samples = full.all_pairs()
    plan = follow_up(survey_of(samples, tree, thresholds()), Size(), seed=1)
    alone = healthy.follow_up(Plan(plan.alone, ()))

    def judged(marks: Marks, *, met: bool = True) -> Verdict:
        again = (full if met else healthy).follow_up(Plan((), plan.together))
        return judge_check([*samples, *alone, *again], tree, marks=marks)

    return judged


def accused(finding: Finding) -> set[str]:
    return {end for suspect in finding.facts["suspects"] for end in suspect["ends"]}


@pytest.mark.parametrize("met", [True, False])
def test_a_cable_whose_errors_grew_loses_packets(doubtful: Any, met: bool) -> None:
    (before,) = doubtful(Marks(), met=met).accusations
    assert before.standing is (Standing.MET if met else Standing.PASSING)
    (bad,) = doubtful(grown(), met=met).findings
    assert (bad.severity, bad.kind) == (Severity.BAD, FindingKind.SUSPECT_LINK)
    assert accused(bad) == set(CABLE)
    assert "loses packets" in bad.sentence
    assert "the files say: PortRcvErrors: 0 to 192" in bad.evidence


def test_errors_of_nobody_knows_when_are_a_warning_that_names_the_cable(doubtful: Any) -> None:
    warning, healthy = doubtful(OLD).findings
    assert (warning.severity, healthy.severity) == (Severity.WARNING, Severity.GOOD)
    assert "may lose packets" in warning.sentence
    assert accused(warning) == set(CABLE)
    assert any("--counters EARLIER --counters LATER" in line for line in warning.evidence)


@pytest.mark.parametrize("marks", [grown(damage=False), grown(severity=Severity.NOTE)])
def test_other_counters_overrule_nothing(doubtful: Any, marks: Marks) -> None:
    (accusation,) = doubtful(marks).accusations
    assert accusation.standing is Standing.MET


def test_without_counters_loss_is_as_likely_and_what_would_tell_is_said(doubtful: Any) -> None:
    verdict = doubtful(Marks())
    assert "meet other traffic, or packets are lost there" in verdict.findings[0].sentence
    (lacking,) = (one for one in verdict.to_record()["inputs"] if one["for"] == "met")
    assert "perfquery" in lacking["give"]
    assert "PortRcvErrors" in lacking["tells"]


def test_clean_counters_rule_loss_out(doubtful: Any) -> None:
    finding = doubtful(CLEAN).findings[0]
    assert "meet other traffic:" in finding.sentence
    assert not any("lost" in line for line in (finding.sentence, *finding.evidence))


def slowed(samples: list[Sample], tree: Any, n: int, *, over: bool) -> list[Sample]:
    """The same with n readings of bandwidth at a third: all over the cable, or none of them."""
    crossing = [
        number
        for number, sample in enumerate(samples)
        if "bandwidth_ab_mb_s" in sample.metrics and crosses(sample, tree) is over
    ]
    found = list(samples)
    for number in crossing[:n]:
        metrics = samples[number].metrics
        third = {**metrics, "bandwidth_ab_mb_s": metrics["bandwidth_ab_mb_s"] / 3}
        found[number] = replace(samples[number], metrics=third)
    assert len(crossing) >= n
    return found


def crosses(sample: Sample, tree: Any) -> bool:
    assert sample.pair is not None
    return CABLE[0] in tree.paths([(sample.pair.a, sample.pair.b)])[0]


@pytest.mark.parametrize(
    ("over", "marks", "named"),
    [
        (True, grown(), True),
        (False, grown(), False),
        (True, OLD, False),
        (True, Marks(), False),
    ],
)
def test_slow_readings_that_nothing_explains_are_held_against_counters(
    make_tree: Any, make_fabric: Any, over: bool, marks: Marks, named: bool
) -> None:
    """Four of some two hundred, all of them over one of sixteen cables between switches."""
    tree = make_tree(4, 4, 4)
    samples = slowed(make_fabric(tree).all_pairs(), tree, 4, over=over)
    assert not judge_check(samples, tree).accusations
    bad = [f for f in judge_check(samples, tree, marks=marks).findings if f.severity == "bad"]
    assert [accused(finding) for finding in bad] == [set(CABLE)] * named
    assert all("4 of " in finding.sentence for finding in bad)


def test_slow_readings_over_a_cable_that_files_fault_are_not_denied(
    make_tree: Any, make_fabric: Any
) -> None:
    tree = make_tree(4, 4, 4)
    samples = slowed(make_fabric(tree).all_pairs(), tree, 4, over=True)
    sentences = [finding.sentence for finding in judge_check(samples, tree, marks=OLD).findings]
    assert any("4 slow readings may show" in sentence for sentence in sentences)


def test_damage_is_kept_with_the_run(tmp_path: Any) -> None:
    keep(grown(), tmp_path)
    assert of_run(tmp_path) == grown()
