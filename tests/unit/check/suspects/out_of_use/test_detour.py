"""Messages of a cable that is out of use go around, and meet others."""
# mypy: disable-error-code="no-untyped-def"

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.seeds import drawn
from tests.unit.check.suspects.detours import detour, surveyed_twice

from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Metric, readings_of
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.out_of_use.collisions import (
    detours_of,
    gains_of_sharing,
    shown_apart,
    that_may_have_met,
)
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import TOGETHER
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Severity


def verdict_of(made, planned, *, again=True):
    """The verdict on a fabric that does not route as the tables of `planned` say."""
    samples = made.all_pairs()
    if again:
        plan = follow_up(survey_of(samples, planned, thresholds()), seed=1)
        samples = [*samples, *made.follow_up(plan)]
    return judge_check(samples, planned)


def out_of_use(verdict):
    """Sets of cable ends that findings call out of use."""
    return [
        {end for suspect in finding.facts.suspects for end in suspect.component.ends}
        for finding in verdict.findings
        if "carries nothing" in finding.sentence and finding.severity is Severity.BAD
    ]


@pytest.mark.parametrize("seed", drawn(range(12), 4))
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


@pytest.mark.parametrize("seed", drawn(range(12), 4))
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


def gains(make_tree, make_fabric, pair, ratios):
    """What readings gain by having shared a cable, that took so many times as long; cables between
    switches hold two messages."""
    tree = make_tree(2, 4, 1)
    for link in tree.document["links"]:
        if "/" not in link["a"]:
            link["bits_per_s"] *= 2
    readings = readings_of(make_fabric(tree).measure([[pair] for _ in ratios]))
    rows = np.flatnonzero((readings.metric == Metric.BANDWIDTH.code) & ~readings.backwards)
    slower = np.zeros(len(readings))
    slower[rows] = [math.log(ratio) for ratio in ratios]
    against = Normed((), np.zeros(len(readings), np.int64), slower, np.full(len(readings), 0.01))
    crossings = Crossings(readings, Network(tree), adaptive=False)
    return gains_of_sharing(crossings, against, rows)


def test_what_met_is_slow_by_one_guest_or_two_more_than_fit(make_tree, make_fabric):
    """Where one fits a second halves it; where two fit a third takes a third."""
    near, far = (gains(make_tree, make_fabric, pair, (1.5, 2, 3, 4)) for pair in ((0, 1), (0, 4)))
    assert near[2] > near[1] > near[0]
    assert near[3] < near[2]
    assert far[0] > near[0] + 1
    assert far[1] > far[2]
    assert near[2] > far[2] + 1


@pytest.mark.parametrize("dead", [(1, 1), (2, 4), (3, 2), (4, 3)])
def test_a_dead_cable_is_as_sure_as_what_went_around_and_what_that_met(
    make_tree, make_fabric, dead
):
    """Without noise these are all that is slow; against it speaks each of its messages that found
    its way around free."""
    planned, broken = make_tree(4, 4, 4), make_tree(4, 4, 4, down=[dead])
    samples = make_fabric(broken, collide=True, noise=0.0).all_pairs()
    survey = survey_of(samples, planned, thresholds())
    readings = survey.readings
    slow = that_may_have_met(survey.crossings, survey.normed, np.arange(len(readings)))
    (first,) = detours_of(survey.crossings, survey.normed, slow)

    def way(tree, row):
        return set(tree.paths([readings.name(row)])[0][1:-1])

    gone = set(planned.cable_of(f"leaf-{dead[0]:02d}[{4 + dead[1]}]"))
    sending = np.flatnonzero(readings.metric == Metric.BANDWIDTH.code).tolist()
    moved = [row for row in sending if gone & way(planned, row)]
    around = [row for row in moved if row in slow]
    met = {
        other
        for row in around
        for other in slow.tolist()
        if readings.moment[other] == readings.moment[row] and way(broken, row) & way(broken, other)
    }
    assert survey.crossings.network.port_id[min(gone)] // 2 == first.cables[0]
    assert set(first.rows) == set(around)
    assert met == set(slow) == {*first.rows, *first.met}
    gained = gains_of_sharing(survey.crossings, survey.normed, np.array(sorted(met))).sum()
    free = thresholds().free_path * (len(moved) - len(around))
    assert first.evidence == pytest.approx(gained - free)


@pytest.mark.parametrize("disturbed", [0.2, 1 / 3])
@pytest.mark.parametrize("seed", drawn(range(3), 1))
def test_where_hosts_have_other_work_no_cable_is_out_of_use(
    make_tree, make_fabric, disturbed, seed
):
    """Messages held up at random seem to have met; over no cable most of them do."""
    tree = make_tree(8, 4, 4)
    made = make_fabric(tree, noise=0.02, disturbed=disturbed, seed=seed)
    assert out_of_use(verdict_of(made, tree)) == []


def strongest(make_tree, make_fabric, flows, slow):
    """The strongest detour of two like moments in which flows took twice as long, those of `slow`,
    what one such reading gains, and how many others of the two cross its cable."""
    tree = make_tree(3, 4, 3)
    readings = readings_of(make_fabric(tree).measure([flows, flows]))
    names = [(tree.nodes[a], tree.nodes[b]) for a, b in slow]
    mine = [row for row in range(len(readings)) if readings.name(row) in names]
    rows = np.array([r for r in mine if readings.metric[r] == Metric.BANDWIDTH.code])
    slower = np.zeros(len(readings))
    slower[rows] = math.log(2)
    against = Normed((), np.zeros(len(readings), np.int64), slower, np.full(len(readings), 0.01))
    crossings = Crossings(readings, Network(tree), adaptive=False)
    first = detours_of(crossings, against, rows)[0]
    crossing = crossings.candidates.rows(first.suspect(crossings).candidates[0])
    sending = crossing[readings.metric[crossing] == Metric.BANDWIDTH.code]
    (gain,) = set(gains_of_sharing(crossings, against, rows).tolist())
    return first, gain, np.setdiff1d(sending, first.rows).size


@pytest.mark.parametrize(("more", "n_met"), [([], 2), ([(3, 11)], 3)])
def test_a_message_went_around_where_most_is_slow_out_and_in(make_tree, make_fabric, more, n_met):
    """From leaf 1 to leaf 2, not by spine 1: by spine 2, where one left that is slow, or by spine
    3, where another did, or two, and one came in."""
    slow = [(0, 6), (1, 10), (2, 8), (9, 5), *more]
    first, gain, n_free = strongest(make_tree, make_fabric, slow, slow)
    assert first.rows.size == 2
    free = thresholds().free_path * n_free
    assert first.evidence == pytest.approx(2 * (1 + n_met) * gain - free)
