"""Messages of a cable that is out of use go around, and meet others."""
# mypy: disable-error-code="no-untyped-def"

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.diagnose.check.suspects.detours import detour, surveyed_twice

from weft.core.finding import Severity
from weft.diagnose.check.suspects.follow_up import Size, follow_up
from weft.diagnose.check.suspects.meetings import shown_apart
from weft.diagnose.check.suspects.survey import survey_of
from weft.diagnose.check.thresholds import thresholds
from weft.diagnose.check.trials import TOGETHER
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


@pytest.fixture(scope="module")
def twice():
    return surveyed_twice()


def apart(survey, *detours):
    """The cables, by their ends at the leaf, that are shown apart of these detours."""
    ports = survey.crossings.network.ports
    kept = shown_apart(survey.crossings, detours)
    return [min(ports[2 * d.cables[0]], ports[2 * d.cables[0] + 1]) for d in kept]


def test_a_cable_is_shown_apart_where_that_is_sure_and_showed_again(twice):
    assert apart(twice, detour(twice, "leaf-02[5]")) == ["leaf-02[5]"]
    for doubtful in ({"evidence": 19.0}, {"again": 1}, {"n": 1}):
        assert apart(twice, detour(twice, "leaf-02[5]", **doubtful)) == []


def test_what_is_not_sure_itself_holds_nothing_up(twice):
    unsure = detour(twice, "leaf-02[5]", evidence=19.0)
    assert apart(twice, unsure, replace(unsure, evidence=21.0)) == ["leaf-02[5]"]


def test_a_second_cable_must_show_in_moments_that_the_first_held_nothing_up(twice):
    first, other = detour(twice, "leaf-02[5]", n=4), detour(twice, "leaf-03[5]", n=8)
    moment = twice.readings.moment
    in_survey = ~np.isin(other.rows, twice.readings.of_trial(TOGETHER))
    free = in_survey & ~np.isin(moment[other.rows], moment[first.rows])
    taken = np.flatnonzero(in_survey & ~free)
    for n_free, named in ((1, 1), (2, 2)):
        rows = np.concatenate(
            [other.rows[taken], other.rows[free][:n_free], other.rows[~in_survey]]
        )
        assert np.unique(moment[other.rows[free][:n_free]]).size == n_free
        assert len(apart(twice, first, replace(other, rows=rows))) == named


def test_of_cables_between_the_same_two_switches_one_is_accused(twice):
    """The tables of all of them are filled anew when one goes."""
    one, beside = (detour(twice, port, n=2) for port in ("leaf-01[5]", "leaf-01[21]"))
    elsewhere = detour(twice, "leaf-01[6]", n=4)
    moments = [set(twice.readings.moment[d.rows].tolist()) for d in (one, beside)]
    assert not moments[0] & moments[1]
    assert apart(twice, one, beside) == ["leaf-01[5]"]
    assert apart(twice, beside, one) == ["leaf-01[21]"]
    assert len(apart(twice, one, elsewhere)) == 2
