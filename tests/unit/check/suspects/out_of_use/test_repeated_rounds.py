"""A dead cable shows in the same rounds each time, and moves messages to more than one node."""
# mypy: disable-error-code="no-untyped-def"

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.check.conftest import Fabric, Slow, Tree

from weft.check.readings.readings import Metric
from weft.check.schedule.rounds.matchings import reflections
from weft.check.suspects.out_of_use.detour import Detour, candidates_of
from weft.check.suspects.out_of_use.repeated_rounds import rows_of_tests, slow_each_time
from weft.check.suspects.out_of_use.unused_cables import _is_of_one_entry
from weft.check.suspects.survey import survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import SURVEY, TOGETHER

UP_LINK = frozenset({"leaf-02[6]", "spine-02[2]"})
SLOWER = float(np.log(2))
NONE = np.zeros(0, np.int64)


def measured(again):
    """The survey, its rounds once more by the fabric `again`, and a detour of what is slow."""
    tree = Tree(4, 4, 4)
    slow = Slow(0.5, ports=UP_LINK, metrics=("bandwidth",))
    samples = Fabric(tree, [slow], noise=0.01).all_pairs()
    rounds = [pairs.tolist() for pairs in reflections(len(tree.nodes))]
    samples += Fabric(tree, [slow] if again else [], noise=0.01, seed=2).measure(rounds, TOGETHER)
    survey = survey_of(samples, tree, thresholds())
    number = survey.crossings.fabric.port_id["leaf-02[6]"] >> 1
    (candidate,) = candidates_of(survey.crossings, [number])
    over = survey.candidates.rows(candidate)
    over = over[survey.readings.metric[over] == Metric.BANDWIDTH.code]
    rows = over[survey.normed.slower[over] > SLOWER / 2]
    assert rows.size
    return survey, Detour((number,), rows, NONE, over, SLOWER, 50.0)


@pytest.mark.parametrize("again", [True, False])
def test_the_same_rounds_are_slow_again_unless_it_was_other_traffic(again):
    survey, detour = measured(again)
    assert slow_each_time(survey.crossings, survey.normed, detour) == again


def test_messages_to_one_destination_may_be_moved_by_one_table_entry():
    survey, detour = measured(again=True)
    assert not _is_of_one_entry(survey.crossings, detour)
    to = survey.readings.b[detour.rows]
    one = replace(detour, rows=detour.rows[to == to[0]])
    assert one.rows.size < detour.rows.size
    assert _is_of_one_entry(survey.crossings, one)
    assert not _is_of_one_entry(survey.crossings, replace(one, expected=one.rows))


@pytest.mark.parametrize("missing", [None, "n002"])
def test_a_round_that_lacks_a_few_readings_is_still_a_repeat_and_a_new_one_is_a_test(missing):
    tree = Tree(4, 4, 4)
    rounds = [pairs.tolist() for pairs in reflections(len(tree.nodes))]
    fabric = Fabric(tree, noise=0.01)
    later = fabric.measure([rounds[0], [(0, 5), (1, 10)]], TOGETHER)
    later = [s for s in later if s.pair.round or missing not in (s.pair.a, s.pair.b)]
    survey = survey_of([*fabric.all_pairs(), *later], tree, thresholds())
    names = {frozenset(survey.readings.name(row)) for row in survey.tests.tolist()}
    assert names == {frozenset({"n001", "n006"}), frozenset({"n002", "n011"})}
    assert not np.isin(survey.tests, survey.readings.of_trial(SURVEY)).any()
    assert survey.in_rounds.sum() == len(survey.readings) - survey.tests.size
    assert rows_of_tests(survey.crossings).size == survey.tests.size > 0
