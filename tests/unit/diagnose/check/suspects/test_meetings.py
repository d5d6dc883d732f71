"""Messages of a cable that is out of use go around, and meet others."""
# mypy: disable-error-code="no-untyped-def"

import random

import pytest

from weft.core.finding import Severity
from weft.diagnose.check.suspects.follow_up import Size, follow_up
from weft.diagnose.check.suspects.survey import survey_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.check.verdict import judge_check


def verdict_of(made, planned, *, again=True):
    """The verdict on a fabric that does not route as the tables of `planned` say."""
    samples = made.all_pairs()
    if again:
        plan = follow_up(survey_of(samples, planned, thresholds()), Size(), seed=1)
        samples = [*samples, *made.follow_up(plan)]
    return judge_check(samples, planned)


def out_of_use(verdict):
    """Sets of cable ends that findings call out of use."""
    return [
        {end for suspect in finding.facts["suspects"] for end in suspect["ends"]}
        for finding in verdict.findings
        if "carries nothing" in finding.sentence and finding.severity is Severity.BAD
    ]


@pytest.mark.parametrize("seed", range(12))
def test_a_dead_cable_is_named_or_tied_with_the_one_its_messages_go_over(
    make_tree, make_fabric, seed
):
    draw = random.Random(seed)
    leaf, spine = draw.randint(1, 4), draw.randint(1, 4)
    dead = make_tree(4, 4, 4, down=[(leaf, spine)])
    made = make_fabric(dead, collide=True, noise=0.02, disturbed=0.01, seed=seed)
    verdict = verdict_of(made, make_tree(4, 4, 4))
    (ends,) = out_of_use(verdict)
    assert f"leaf-{leaf:02d}[{4 + spine}]" in ends
    neighbour = f"leaf-{leaf:02d}[{4 + spine % 4 + 1}]"
    assert ends <= {
        f"leaf-{leaf:02d}[{4 + spine}]",
        f"spine-{spine:02d}[{leaf}]",
        neighbour,
        f"spine-{spine % 4 + 1:02d}[{leaf}]",
    }


@pytest.mark.parametrize("seed", range(12))
def test_routes_as_the_tables_say_leave_no_cable_out(make_tree, make_fabric, seed):
    tree = make_tree(4, 4, 4)
    made = make_fabric(tree, collide=True, noise=0.02, disturbed=0.03, seed=seed)
    assert out_of_use(verdict_of(made, tree)) == []


def test_without_a_second_look_no_cable_is_called_out_of_use(make_tree, make_fabric):
    """A link at half its rate now and then looks the same."""
    made = make_fabric(make_tree(4, 4, 4, down=[(2, 2)]), collide=True, noise=0.02)
    assert out_of_use(verdict_of(made, make_tree(4, 4, 4), again=False)) == []
