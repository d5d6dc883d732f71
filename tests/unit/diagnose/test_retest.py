"""The retest: its pairs are chosen from the survey while the run goes on."""

import pytest

from weft.bench.mock import MockBackend
from weft.bench.model import Trial
from weft.core.errors import BenchmarkError
from weft.diagnose.retest import RETEST, SURVEY, RetestBackend, check_launches, rank_of
from weft.diagnose.schedule import reflection_rounds

NODES = tuple(f"n{i:03d}" for i in range(1, 9))


def launches():
    return check_launches(
        NODES,
        tasks_per_node=1,
        sizes_bytes=(8, 2**20),
        rounds=reflection_rounds(8),
        options={},
        timeout_s=60.0,
    )


def test_the_slow_pairs_and_only_those_are_measured_again_alone():
    backend = RetestBackend(MockBackend(slow_nodes={"n003": 2.0}), None)
    survey, retest = launches()
    assert len({s.pair for s in backend.measure(survey)}) == 28
    again = {s.pair for s in backend.measure(retest)}
    assert {frozenset((p.a, p.b)) for p in again} == {
        frozenset(("n003", node)) for node in NODES if node != "n003"
    }
    assert {p.n_concurrent for p in again} == {1}


def test_a_healthy_survey_needs_no_retest():
    backend = RetestBackend(MockBackend(), None)
    survey, retest = launches()
    list(backend.measure(survey))
    assert list(backend.measure(retest)) == []


def test_a_survey_from_before_is_enough_for_the_retest():
    survey, retest = launches()
    before = list(MockBackend(slow_nodes={"n003": 2.0}).measure(survey))
    backend = RetestBackend(MockBackend(slow_nodes={"n003": 2.0}), None, before)
    assert list(backend.measure(retest))


def test_the_plan_is_the_same_every_time_so_that_a_run_can_be_resumed():
    assert launches() == launches()
    assert [launch.trial.id for launch in launches()] == [SURVEY, RETEST]


def test_the_retest_has_words_for_a_recipe(tmp_path):
    backend = RetestBackend(MockBackend(), None)
    survey, retest = launches()
    backend.prepare([survey.trial, retest.trial], tmp_path)
    assert "one at a time" in backend.recipe(retest)
    assert "pairs" in backend.recipe(survey)


@pytest.mark.parametrize(
    ("endpoint", "rank"), [("n002", 1), ("n002.cluster.local", 1), ("anything:7", 7)]
)
def test_the_rank_behind_an_endpoint(endpoint, rank):
    assert rank_of(endpoint, Trial("t", "pairs", (8,), NODES, 1)) == rank


def test_an_endpoint_of_no_node_is_refused():
    with pytest.raises(BenchmarkError, match="'stranger', which is not one of this run"):
        rank_of("stranger", Trial("t", "pairs", (8,), NODES, 1))
