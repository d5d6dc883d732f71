"""Rounds whose messages meet only if a cable carries nothing."""
# mypy: disable-error-code="no-untyped-def"

from collections import Counter
from random import Random

import pytest
from tests.seeds import drawn
from tests.unit.check.conftest import Fabric, Tree
from tests.unit.check.suspects.out_of_use.test_kept_paths import Managed

from weft.check.readings.readings import host_of
from weft.check.suspects.follow_up import FollowUpPlan, follow_up
from weft.check.suspects.out_of_use.meeting_tests import meeting_tests
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.verdict.verdict import judge_check
from weft.core.finding import Severity

SHAPE = (4, 4, 4)
PLANNED = [Tree(*SHAPE, routed=True), Managed(*SHAPE)]


def fullest(tree, pairs):
    """How many of these messages share a port."""
    ports = Counter(port for path in tree.paths(pairs) for port in path)
    return max(ports.values())


def rounds_of(made, planned, seed=1, **how):
    survey = survey_of(made.all_pairs(), planned, thresholds(), **how)
    return meeting_tests(survey, Random(seed))


def dead_and_planned(seed):
    draw = Random(seed)
    return (draw.randint(1, 4), draw.randint(1, 4)), draw.choice(PLANNED)


@pytest.mark.parametrize("seed", drawn(range(16), 6))
def test_with_every_cable_in_use_no_messages_meet_and_without_the_cable_some_do(seed):
    dead, planned = dead_and_planned(seed)
    broken = Tree(*SHAPE, down=[dead])
    rounds = rounds_of(Fabric(broken, collide=True, noise=0.02, seed=seed), planned)
    of_the_dead = [pairs for pairs in rounds if fullest(broken, pairs) > 1]
    assert len(of_the_dead) >= thresholds().tests_a_suspect
    for pairs in rounds:
        hosts = [host_of(end) for pair in pairs for end in pair]
        assert len(set(hosts)) == len(hosts)
        assert fullest(planned, pairs) == 1
        assert fullest(planned, [(b, a) for a, b in pairs]) == 1


@pytest.mark.parametrize("planned", PLANNED)
def test_a_quiet_survey_asks_for_none(planned):
    assert rounds_of(Fabric(planned, collide=True, noise=0.02), planned) == []


def test_where_the_paths_are_not_known_for_certain_there_are_none():
    made = Fabric(Tree(*SHAPE, down=[(2, 2)]), collide=True)
    assert rounds_of(made, PLANNED[0])
    assert rounds_of(made, PLANNED[0], adaptive=True) == []
    assert rounds_of(made, Tree(*SHAPE)) == []
    assert rounds_of(made, None) == []


@pytest.mark.parametrize("planned", PLANNED)
def test_messages_that_met_once_are_enough_to_test_and_name_a_cable(planned):
    """A survey of one round in which they did, and of all in which nothing met."""
    broken = Fabric(Tree(*SHAPE, down=[(3, 2)]), collide=True, noise=0.02)
    every = broken.all_pairs()
    rates = [(s.pair.round, s.metrics.get("bandwidth_mb_s", 24_000.0)) for s in every]
    met = {number for number, rate in rates if rate < 16_000}
    samples = [sample for sample in every if sample.pair.round not in met - {min(met)}]
    plan = follow_up(survey_of(samples, planned, thresholds()), seed=1)
    verdict = judge_check([*samples, *broken.follow_up(plan)], planned)
    bad = [finding for finding in verdict.findings if finding.severity is Severity.BAD]
    (finding,) = bad
    assert finding.sentence.startswith("Cable leaf-03[6] - spine-02[3] carries nothing")
    untested = judge_check([*samples, *broken.follow_up(FollowUpPlan((), ()))], planned)
    assert all(finding.severity is not Severity.BAD for finding in untested.findings)
