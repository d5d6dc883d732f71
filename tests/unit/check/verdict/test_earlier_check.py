"""A check beside an earlier one: things, not words, decide what is new, known or mended."""

from dataclasses import replace

import pytest

from weft.check.facts import PairFacts
from weft.check.verdict.earlier_check import Change, compare, summary
from weft.check.verdict.verdict import judge_check
from weft.core.errors import ExitCode
from weft.core.finding import Finding, FindingKind, Severity

CABLE = frozenset({"leaf-02[6]", "spine-02[2]"})


@pytest.fixture
def judged(make_tree, make_slow, make_fabric):
    def made(*slow, speed=1.0, delay=1.0, without=(), seed=1):
        tree = make_tree(4, 4, 4)
        samples = make_fabric(tree, [make_slow(*one) for one in slow], 0.01, seed).all_pairs()
        samples = [s for s in samples if not {s.pair.a, s.pair.b} & set(without)]
        scaled = [
            replace(
                s,
                metrics={k: v * (speed if "mb_s" in k else delay) for k, v in s.metrics.items()},
            )
            for s in samples
        ]
        return judge_check(scaled, tree)

    return made


def accused(verdict, against):
    found = zip(verdict.findings, against.changes, strict=True)
    return {
        summary(finding).split(",")[0]: change for finding, change in found if change is not None
    }


def test_the_same_cable_is_known_however_slow_it_was_and_whatever_else_it_was_called(judged):
    now, before = judged((0.5, CABLE), seed=1), judged((0.3, frozenset({"leaf-02[6]"})), seed=2)
    # The earlier run saw one direction, this one the whole cable: one thing.
    parts = [v.findings[0].facts.suspects[0].component.part for v in (now, before)]
    assert parts == ["cable", "direction"]
    verdict, against = compare(now, before, "runs/old")
    assert accused(verdict, against) == {"1 cable leaf-02[6] <-> spine-02[2]": Change.KNOWN}
    assert against.past == ()


def test_one_mended_one_new(judged):
    now, before = judged((0.5, frozenset(), "n013")), judged((0.5, CABLE))
    verdict, against = compare(now, before, "runs/old")
    assert list(accused(verdict, against).values()) == [Change.NEW]
    ((change, finding),) = against.past
    assert change is Change.MENDED
    assert summary(finding).startswith("1 cable leaf-02[6] <-> spine-02[2], ")


def test_what_was_not_measured_is_not_called_mended(judged):
    now, before = judged(without=("n013",)), judged((0.5, frozenset(), "n013"))
    verdict, against = compare(now, before, "runs/old")
    assert [change for change, _ in against.past] == [Change.NOT_MEASURED]
    assert "1 node of runs/old not measured now: n013" in verdict.caveats


def test_new_nodes_are_noted(judged):
    verdict, _ = compare(judged(), judged(without=("n013", "n014")), "runs/old")
    assert "2 nodes not in runs/old: n013, n014" in verdict.caveats


def test_healthy_then_and_now_accuses_nothing(judged):
    verdict, against = compare(judged(seed=1), judged(seed=2), "runs/old")
    assert against.past == ()
    assert not any(against.changes)
    assert {finding.kind for finding in verdict.findings} == {FindingKind.HEALTHY}


def test_a_fabric_that_is_slower_everywhere_is_reported_by_hop_class(judged):
    """8 % less bandwidth everywhere: no pair is slower than the others, all are than before."""
    verdict, _ = compare(judged(speed=0.92), judged(), "runs/old")
    (moved,) = (f for f in verdict.findings if f.kind is FindingKind.REGRESSION)
    assert moved.severity is Severity.WARNING
    assert moved.sentence.startswith(
        "All pairs 4 links apart at 200 Gb/s are 8 % slower than in runs/old: bandwidth 22"
    )
    assert len(moved.evidence) == 1
    assert moved.evidence[0].startswith("2 links apart at 200 Gb/s: bandwidth 2")
    assert verdict.exit_code is ExitCode.GOOD
    assert verdict.findings[0] is moved


def test_a_fabric_that_is_faster_everywhere_is_a_note(judged):
    """1 / 0.92 is 9 % more."""
    verdict, _ = compare(judged(), judged(speed=0.92), "runs/old")
    (moved,) = (f for f in verdict.findings if f.kind is FindingKind.SPEED_UP)
    assert moved.severity is Severity.NOTE
    assert " are 9 % faster than in runs/old: " in moved.sentence


def test_two_per_cent_move_nothing(judged):
    """The least difference of bandwidth that is worth a sentence is 3 %."""
    verdict, _ = compare(judged(speed=0.98), judged(), "runs/old")
    assert [f for f in verdict.findings if f.kind is FindingKind.REGRESSION] == []


def test_norms_of_other_sizes_are_not_compared(judged):
    now = judged()
    samples_of = replace(now.survey.readings, size_bytes=now.survey.readings.size_bytes * 2)
    norms = tuple(
        replace(n, hop_class=replace(n.hop_class, size_bytes=n.hop_class.size_bytes * 2))
        for n in now.survey.normed.norms
    )
    survey = replace(
        now.survey, readings=samples_of, normed=replace(now.survey.normed, norms=norms)
    )
    verdict, _ = compare(replace(now, survey=survey), judged(speed=0.5), "runs/old")
    assert [f for f in verdict.findings if f.kind is FindingKind.REGRESSION] == []
    assert any("other sizes" in caveat for caveat in verdict.caveats)


def test_slow_pairs_that_nothing_explains_are_things_too(judged):
    def with_pair(verdict, *pairs):
        facts = PairFacts(pairs)
        lone = Finding(FindingKind.SUSPECT_PAIR, Severity.BAD, "A pair is slow.", facts=facts)
        return replace(verdict, findings=(lone,))

    before = with_pair(judged(), ("n001", "n009"))
    _, against = compare(with_pair(judged(), ("n009", "n001")), before, "r")
    assert against.changes[0] is Change.KNOWN
    _, against = compare(judged(), before, "r")
    assert [change for change, _ in against.past] == [Change.MENDED]
    _, against = compare(judged(without=("n009",)), before, "r")
    assert [change for change, _ in against.past] == [Change.NOT_MEASURED]


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [(1.1, 1.0, "are 10 % slower than in r: latency"), (1.0, 1.1, "are 9 % faster than in r: lat")],
)
def test_latencies_are_slower_by_how_much_longer_they_take(judged, now, before, said):
    """1.1 us where 1 was; 1 us where 1.1 was is 9 % less."""
    verdict, _ = compare(judged(delay=now), judged(delay=before, seed=2), "r")
    kinds = (FindingKind.REGRESSION, FindingKind.SPEED_UP)
    (moved,) = (f for f in verdict.findings if f.kind in kinds)
    assert said in moved.sentence
