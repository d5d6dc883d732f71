"""How an accusation stands being measured again."""
# mypy: disable-error-code="no-untyped-def"

import pytest

from weft.check.suspects.accusation import Standing
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.core.finding import FindingKind, Severity

UP_LINK = ("leaf-02[6]", "spine-02[2]")


def check(survey_fabric, later_fabric, *, adaptive=False):
    """The verdict where the fabric of the survey is not that of the follow-up."""
    tree = survey_fabric.tree
    samples = survey_fabric.all_pairs()
    plan = follow_up(survey_of(samples, tree, thresholds(), adaptive=adaptive), seed=1)
    return judge_check([*samples, *later_fabric.follow_up(plan)], tree, adaptive=adaptive)


def test_slow_again_with_nothing_next_to_it_is_confirmed(make_tree, make_fabric, make_slow):
    fabric = make_fabric(
        make_tree(4, 4, 4), [make_slow(0.5, ports=frozenset(UP_LINK), metrics=("bandwidth",))]
    )
    (accusation,) = check(fabric, fabric).accusations
    assert accusation.standing is Standing.CONFIRMED
    assert accusation.worst.n_slow == accusation.worst.n
    assert accusation.worst.n_others_slow == 0


def test_slow_in_the_survey_only_is_a_note_and_no_verdict(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    verdict = check(make_fabric(tree, [make_slow(0.5, node="n003")]), make_fabric(tree, seed=2))
    (accusation,) = verdict.accusations
    assert accusation.standing is Standing.PASSING
    assert {finding.severity for finding in verdict.findings} == {Severity.NOTE, Severity.GOOD}


class FullThenAlone:
    """Slow in full rounds only: `full` measures them, `alone` the rounds of one test."""

    def __init__(self, full, alone):
        self.full, self.one, self.tree = full, alone, full.tree

    def follow_up(self, plan):
        from weft.check.suspects.follow_up import FollowUpPlan

        alone = self.one.follow_up(FollowUpPlan(plan.alone, ()))
        return [*alone, *self.full.follow_up(FollowUpPlan((), plan.together))]


def test_another_job_s_traffic_on_a_cable_is_no_fault(make_tree, make_fabric, make_slow):
    tree = make_tree(4, 4, 4)
    slow = make_slow(0.5, ports=frozenset(UP_LINK), metrics=("bandwidth",))
    full, alone = make_fabric(tree, [slow]), make_fabric(tree, seed=2)
    verdict = check(full, FullThenAlone(full, alone))
    (accusation,) = verdict.accusations
    assert accusation.standing is Standing.MET
    unknown, warning = verdict.findings
    assert unknown.severity is Severity.UNKNOWN
    assert "is slow under load each time and normal alone" in unknown.sentence
    assert warning.severity is Severity.WARNING
    assert "its messages meet other traffic" in warning.sentence


def test_a_cable_whose_messages_meet_those_of_others_is_out_of_use(make_tree, make_fabric):
    """The tables lead over a cable that is down; messages go by the next spine."""
    planned = make_tree(4, 4, 4, routed=True)
    down = make_fabric(make_tree(4, 4, 4, down=[(2, 2)]), collide=True)
    down_view = make_fabric(planned)
    down_view.tree = planned
    samples = down.all_pairs()
    plan = follow_up(survey_of(samples, planned, thresholds()), seed=1)
    verdict = judge_check([*samples, *down.follow_up(plan)], planned)
    bad = [finding for finding in verdict.findings if finding.severity is Severity.BAD]
    (finding,) = bad
    assert finding.kind is FindingKind.SUSPECT_LINK
    assert "carries nothing" in finding.sentence
    assert set(finding.facts.suspects[0].component.ends) == set(UP_LINK)


def test_paths_that_share_a_load_are_confirmed_next_to_others(make_tree, make_fabric, make_slow):
    """Under adaptive routing a lone message takes another way."""
    tree = make_tree(4, 4, 4)
    ups = frozenset(f"leaf-02[{port}]" for port in range(5, 9))
    full = make_fabric(tree, [make_slow(0.9, ports=ups, metrics=("bandwidth",))])
    verdict = check(full, FullThenAlone(full, make_fabric(tree, seed=2)), adaptive=True)
    (accusation,) = verdict.accusations
    assert accusation.standing is Standing.CONFIRMED
    (finding,) = (f for f in verdict.findings if f.severity is Severity.BAD)
    assert finding.kind is FindingKind.TIE
    ends = {end for suspect in finding.facts.suspects for end in suspect.component.ends}
    assert ups <= ends


@pytest.mark.parametrize("seed", range(5))
def test_a_survey_alone_names_only_what_is_beyond_doubt(make_tree, make_fabric, make_slow, seed):
    """Imported runs have no second look: strong evidence is BAD, weaker a warning."""
    tree = make_tree(4, 4, 4)
    strong = make_fabric(tree, [make_slow(0.5, node="n003")], seed=seed).all_pairs()
    weak = make_fabric(tree, [make_slow(0.97, node="n003")], seed=seed).all_pairs()
    assert judge_check(strong, tree).findings[0].severity is Severity.BAD
    assert all(f.severity is not Severity.BAD for f in judge_check(weak, tree).findings)
