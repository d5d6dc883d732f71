"""Messages of a cable that is out of use go around, and meet others."""
# mypy: disable-error-code="no-untyped-def"

import math
import random

import numpy as np
import pytest
from tests.seeds import drawn

from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Metric, readings_of
from weft.check.suspects.follow_up import follow_up
from weft.check.suspects.out_of_use.detour import (
    gains_of_sharing,
)
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
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
    verdict = verdict_of(made, make_tree(4, 4, 4, routed=True))
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
    tree = make_tree(4, 4, 4, routed=True)
    made = make_fabric(tree, collide=True, noise=0.02, disturbed=0.03, seed=seed)
    assert out_of_use(verdict_of(made, tree)) == []


def test_without_a_second_look_no_cable_is_called_out_of_use(make_tree, make_fabric):
    """A link at half its rate now and then looks the same."""
    made = make_fabric(make_tree(4, 4, 4, down=[(2, 2)]), collide=True, noise=0.02)
    assert out_of_use(verdict_of(made, make_tree(4, 4, 4, routed=True), again=False)) == []


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


@pytest.mark.parametrize("disturbed", [0.2, 1 / 3])
@pytest.mark.parametrize("seed", drawn(range(3), 1))
def test_where_hosts_have_other_work_no_cable_is_out_of_use(
    make_tree, make_fabric, disturbed, seed
):
    """Messages held up at random seem to have met; over no cable most of them do."""
    tree = make_tree(8, 4, 4, routed=True)
    made = make_fabric(tree, noise=0.02, disturbed=disturbed, seed=seed)
    assert out_of_use(verdict_of(made, tree)) == []
