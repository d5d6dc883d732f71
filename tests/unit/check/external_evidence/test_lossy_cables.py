"""Error counters that grew overrule what readings alone would call other traffic."""

from dataclasses import replace
from typing import Any

import pytest

from weft.bench.model import Sample
from weft.check.external_evidence.fabric_marks import GROWN, Mark, Marks, keep, of_run
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Standing
from weft.check.suspects.follow_up import FollowUpPlan, follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import Verdict, judge_check
from weft.core.finding import Finding, FindingKind, Severity

CABLE = ("leaf-02[6]", "spine-02[2]")
THING = ("cable", tuple(sorted(CABLE)))


def grown(
    *, damage: bool = True, growing: bool = True, severity: Severity = Severity.WARNING
) -> Marks:
    said = "PortRcvErrors: 0 to 192"
    return Marks((Mark(THING, GROWN, severity, said, "", damage, growing and damage),))


OLD = Marks((Mark(THING, "error-totals", Severity.WARNING, "PortRcvErrors: 192", "", True),))
CLEAN = Marks(counted=frozenset({THING}))


@pytest.fixture
def doubtful(make_tree: Any, make_slow: Any, make_fabric: Any) -> Any:
    """A verdict on a cable that is slow in full rounds, and again in those (`met`) or not."""
    tree = make_tree(4, 4, 4)
    half = make_slow(0.5, ports=frozenset(CABLE), metrics=("bandwidth",))
    full, healthy = make_fabric(tree, [half]), make_fabric(tree, seed=2)
    samples = full.all_pairs()
    plan = follow_up(survey_of(samples, tree, thresholds()), seed=1)
    alone = healthy.follow_up(FollowUpPlan(plan.alone, ()))

    def judged(marks: Marks, *, met: bool = True, limits: Any = None) -> Verdict:
        again = (full if met else healthy).follow_up(FollowUpPlan((), plan.together))
        return judge_check([*samples, *alone, *again], tree, marks=marks, limits=limits)

    return judged


def accused(finding: Finding) -> set[str]:
    return {end for suspect in finding.facts.suspects for end in suspect.component.ends}


@pytest.mark.parametrize("met", [True, False])
def test_a_cable_whose_errors_grew_loses_packets(doubtful: Any, met: bool) -> None:
    (before,) = doubtful(Marks(), met=met).accusations
    assert before.standing is (Standing.MET if met else Standing.PASSING)
    (bad,) = doubtful(grown(), met=met).findings
    assert (bad.severity, bad.kind) == (Severity.BAD, FindingKind.SUSPECT_LINK)
    assert accused(bad) == set(CABLE)
    assert "loses packets" in bad.sentence
    assert "the files say: PortRcvErrors: 0 to 192" in bad.evidence


def test_errors_of_no_one_knows_when_are_a_warning_that_names_the_cable(doubtful: Any) -> None:
    unknown, warning = doubtful(OLD).findings
    assert (unknown.severity, warning.severity) == (Severity.UNKNOWN, Severity.WARNING)
    assert "may lose packets" in warning.sentence
    assert accused(warning) == set(CABLE)
    assert any("--counters EARLIER --counters LATER" in line for line in warning.evidence)


def test_what_grew_by_little_or_by_a_reboot_is_a_warning(doubtful: Any) -> None:
    unknown, warning = doubtful(grown(growing=False)).findings
    assert (unknown.severity, warning.severity) == (Severity.UNKNOWN, Severity.WARNING)
    assert "may lose packets" in warning.sentence
    assert any("after a reboot of a host" in line for line in warning.evidence)


def test_grown_errors_do_not_make_weak_readings_sure(doubtful: Any) -> None:
    beyond = doubtful(Marks()).accusations[0].evidence + 1
    for named, severity in ((0.0, Severity.BAD), (beyond, Severity.WARNING)):
        limits = replace(thresholds(), named_evidence=named)
        found = doubtful(grown(), limits=limits).findings
        (said,) = (one for one in found if "packets: bandwidth" in one.sentence)
        assert said.severity is severity
        assert ("may lose packets" in said.sentence) == (severity is Severity.WARNING)


def test_of_too_few_nodes_grown_errors_accuse_nothing_for_sure(doubtful: Any) -> None:
    limits = replace(thresholds(), few_nodes=16)
    found = doubtful(grown(), limits=limits).findings
    (said,) = (one for one in found if "may lose packets" in one.sentence)
    assert said.severity is Severity.WARNING
    assert not any(one.severity is Severity.BAD for one in found)


@pytest.mark.parametrize("marks", [grown(damage=False), grown(severity=Severity.NOTE)])
def test_other_counters_overrule_nothing(doubtful: Any, marks: Marks) -> None:
    (accusation,) = doubtful(marks).accusations
    assert accusation.standing is Standing.MET


def test_without_counters_loss_is_as_likely_and_what_would_tell_is_said(doubtful: Any) -> None:
    verdict = doubtful(Marks())
    unknown, warning, *_ = verdict.findings
    assert unknown.severity is Severity.UNKNOWN
    assert "--counters, read before and after" in unknown.sentence
    assert "its messages meet other traffic, or packets are lost there" in warning.sentence
    (lacking,) = (one for one in verdict.to_record()["inputs"] if one["for"] == "met")
    assert "perfquery" in lacking["give"]
    assert "PortRcvErrors" in lacking["tells"]


def test_clean_counters_rule_loss_out(doubtful: Any) -> None:
    unknown, finding = doubtful(CLEAN).findings
    assert unknown.severity is Severity.UNKNOWN
    assert "--counters" not in unknown.sentence
    assert "its messages meet other traffic." in finding.sentence
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
        (True, grown(growing=False), False),
        (True, OLD, False),
        (True, Marks(), False),
    ],
)
def test_slow_readings_that_nothing_explains_are_held_against_counters(
    make_tree: Any, make_fabric: Any, over: bool, marks: Marks, named: bool
) -> None:
    """Six of 120 pairs, all of them over one of sixteen cables between switches."""
    tree = make_tree(4, 4, 4)
    samples = slowed(make_fabric(tree).all_pairs(), tree, 6, over=over)
    assert not judge_check(samples, tree).accusations
    bad = [f for f in judge_check(samples, tree, marks=marks).findings if f.severity == "bad"]
    assert [accused(finding) for finding in bad] == [set(CABLE)] * named
    assert all("6 of " in finding.sentence for finding in bad)


def test_a_pair_that_is_slow_again_and_again_counts_once(make_tree: Any, make_fabric: Any) -> None:
    """One disturbed pair, measured four times, is no four slow pairs."""
    tree = make_tree(4, 4, 4)
    fabric = make_fabric(tree)
    samples = [sample for repeat in range(4) for sample in repeated(fabric, repeat)]
    first = next(sample.pair for sample in samples if crosses(sample, tree))
    assert first is not None
    ends = {first.a, first.b}
    mine = [s for s in samples if s.pair is not None and {s.pair.a, s.pair.b} == ends]
    others = [s for s in samples if s not in mine]
    verdict = judge_check([*others, *slowed(mine, tree, 4, over=True)], tree, marks=grown())
    assert not [f for f in verdict.findings if f.severity is Severity.BAD]
    assert not verdict.accusations


def repeated(fabric: Any, repeat: int) -> list[Sample]:
    return [replace(sample, repeat=repeat + 1) for sample in fabric.all_pairs()]


def test_only_the_metric_that_tells_most_is_accused(make_tree: Any, make_fabric: Any) -> None:
    """Six slow bandwidths, and one latency that was disturbed."""
    tree = make_tree(4, 4, 4)
    samples = slowed(make_fabric(tree).all_pairs(), tree, 6, over=True)
    place = next(i for i, s in enumerate(samples) if "latency_us" in s.metrics and crosses(s, tree))
    slow = {"latency_us": 3 * samples[place].metrics["latency_us"]}
    both = [*samples[:place], replace(samples[place], metrics=slow), *samples[place + 1 :]]
    (alone,) = judge_check(samples, tree, marks=grown()).accusations
    (beside,) = judge_check(both, tree, marks=grown()).accusations
    assert list(beside.slower) == [Metric.BANDWIDTH]
    assert beside.evidence == pytest.approx(alone.evidence)


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
