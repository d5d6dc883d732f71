"""On a twin the node sets are the units: launches on one set say nothing new."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.catalog.load import platform
from weft.study.comparison.comparison import Comparison, compare_arms
from weft.study.comparison.replication import Unit
from weft.study.comparison.table import table_of
from weft.study.plan.document import parse_study
from weft.study.plan.plan import make_plan
from weft.study.run.loop import execute
from weft.study.run.metadata import run_meta
from weft.study.run.store import RunStore, StudyRun, read_run

pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")

STUDY = """
schema = "weft.study/1"
name = "placement"
title = "Static or adaptive"
question = "Which is faster?"
repeats = {repeats}
nodes = [8]
node_sets = {node_sets}

[[benchmarks]]
name = "alltoall"
sizes = "8,64K"

[[factors]]
name = "routing"

[[factors.settings]]
name = "static"
options = {{ adaptive_routing = "off" }}

[[factors.settings]]
name = "second"
options = {{ adaptive_routing = "{second}" }}
evidence = {{ adaptive_routing = "{second}" }}
"""
RunTwin = Callable[..., StudyRun]


@pytest.fixture
def run_twin(tmp_path: Path) -> RunTwin:
    """A study on a twin of 32 nodes, on jobs of 8."""

    def run(node_sets: int, repeats: int, second: str = "on", *, noisy: bool = False) -> StudyRun:
        text = STUDY.format(node_sets=node_sets, repeats=repeats, second=second)
        backend = TwinBackend(platform("fat-tree"), 32)
        plan = make_plan(parse_study(text, "study.toml"), backend.nodes)
        if noisy:
            fault = parse_fault(f"{plan.trials[0].nodes[0]} noise=0.5,5000")
            backend = TwinBackend(platform("fat-tree"), 32, (fault,))
        meta = run_meta(study_text=text, seed=1, backend=backend, nodes=backend.nodes)
        where = tmp_path / f"{node_sets}-{repeats}-{second}"
        with RunStore.create(where, meta) as store:
            execute(plan.launches, backend, store)
        return read_run(where)

    return run


def _figures(found: Comparison) -> list[dict[str, object]]:
    return [row.to_record() for row in found.rows]


@pytest.mark.parametrize(("node_sets", "code"), [(5, 5), (7, 0)])
def test_ten_repeats_on_each_draw_count_as_one(
    run_twin: RunTwin, node_sets: int, code: int
) -> None:
    # Both arms are static routes, so that no launch differs from its repeat by chance.
    ten = compare_arms(run_twin(node_sets, 10, "off"))
    one = compare_arms(run_twin(node_sets, 1, "off"))
    assert _figures(ten) == _figures(one)
    assert {(row.n_pairs, row.unit) for row in ten.rows} == {(node_sets, Unit.NODE_SET)}
    assert ten.exit_code == code


def test_five_draws_have_no_small_p_however_often_they_are_repeated(run_twin: RunTwin) -> None:
    found = compare_arms(run_twin(5, 4))
    for row in found.rows:
        assert row.n_pairs == 5
        # SOURCE: the sign-flip test; of 2^5 patterns two have the largest |t|.
        assert row.p_adjusted >= 2 / 2**5
        assert row.to_record()["p_adjusted"] is None
    assert found.exit_code == 5
    assert "5 node sets; what would tell: at least 6 node sets" in found.findings[0].sentence


def test_equal_launches_on_one_set_are_one_unit(run_twin: RunTwin) -> None:
    found = compare_arms(run_twin(1, 12, "off"))
    assert {(row.n_pairs, row.unit) for row in found.rows} == {(1, Unit.NODE_SET)}
    table = table_of(run_twin(1, 7, "off"))
    assert {(row.summary.n, row.n_launches, row.summary.low) for row in table.rows} == {
        (1, 7, None)
    }


def test_an_arm_without_chance_makes_the_set_the_unit(run_twin: RunTwin) -> None:
    # Adaptive switches draw; static routes do not.
    found = compare_arms(run_twin(1, 8))
    assert {(row.n_pairs, row.unit) for row in found.rows} == {(1, Unit.NODE_SET)}
    assert found.exit_code == 5


def test_on_one_set_launches_that_differ_by_chance_count(run_twin: RunTwin) -> None:
    found = compare_arms(run_twin(1, 7, noisy=True))
    assert {(row.n_pairs, row.unit) for row in found.rows} == {(7, Unit.LAUNCH)}


def test_launches_of_a_machine_count_one_by_one(run_twin: RunTwin) -> None:
    run = run_twin(2, 4, "off")
    live = replace(run, meta={**run.meta, "backend": {"name": "live"}})
    found = compare_arms(live)
    assert {(row.n_pairs, row.unit) for row in found.rows} == {(8, Unit.LAUNCH)}
