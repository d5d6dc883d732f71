"""Threats to validity come from the data of the run."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.mock_backend import MockBackend
from tests.unit.study.comparison.conclusion.drawn_study import (
    ARMS,
    cells_of_matrix,
    drawn_values,
    judged,
)

from weft.bench.model import State
from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.conclusion.threats import power_clause
from weft.study.run.store import StudyRun

RunStudy = Callable[..., StudyRun]


def _of(run: StudyRun) -> str:
    return "\n".join(compare_arms(run).threats)


def test_few_node_sets_one_sitting_and_one_fabric_are_always_said_of_a_small_run(
    run_study: RunStudy, two_arms: str
) -> None:
    said = _of(run_study(factors=two_arms))
    assert "Few node sets: the effect is unknown for other node sets: 1 set measured" in said
    assert "All launches ran within 1 minute: other load" in said
    assert "One fabric was measured" in said
    assert "interleaved" not in said
    assert "untreated" not in said
    assert "failed" not in said
    many = _of(run_study("many", factors=two_arms, node_sets=5, repeats=3))
    assert "Few node sets" not in many


def test_arms_switched_by_hand_untreated_and_lost_launches(
    run_study: RunStudy, two_arms: str
) -> None:
    manual = two_arms.replace('name = "routing"', 'name = "routing"\nmanual = true')
    run = run_study(factors=manual, backend=MockBackend(failing=["t001-latency.r04"]))
    first = tuple(replace(sample, state=State.UNTREATED) for sample in run.samples[:2])
    said = _of(replace(run, samples=(*first, *run.samples[2:])))
    assert "The arms were not interleaved" in said
    assert f"2 of {len(run.samples)} samples were untreated" in said
    assert f"1 of {len(run.launches)} launches failed or hung" in said


def test_a_twin_is_no_machine_and_repeats_itself(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms, node_sets=6, repeats=4, backend=MockBackend(noise=0.0))
    twin = {"name": "twin", "facts": {"platform": "fat-tree", "n_nodes": 64}}
    said = _of(replace(run, meta={**run.meta, "backend": twin}))
    assert "The twin repeats itself: 4 repeats on one node set count once" in said
    assert "One fabric: a twin of fat-tree with its constants; no machine was measured" in said
    assert "All launches ran within" not in said


def test_drift_and_verdicts_that_rest_on_one_launch(run_study: RunStudy, two_arms: str) -> None:
    run = run_study(factors=two_arms)
    slowing = tuple(
        replace(
            sample,
            metrics={
                name: value * (1 + 0.004 * (sample.started_unix_s - 1.7e9))
                for name, value in sample.metrics.items()
            },
        )
        for sample in run.samples
    )
    assert " drifted by +" in _of(replace(run, samples=slowing))
    hidden = run_study("b", MockBackend(effects={"routing=adaptive": 0.94}), factors=two_arms)
    odd = tuple(
        replace(one, metrics={name: 9 * value for name, value in one.metrics.items()})
        if (one.trial, one.repeat) == ("t001-latency", 5)
        else one
        for one in hidden.samples
    )
    assert "rest on a single anomalous launch" in _of(replace(hidden, samples=odd))


def test_verdicts_that_another_constant_overturns_are_counted(
    run_study: RunStudy, two_arms: str
) -> None:
    run = run_study(factors=two_arms)
    rows = compare_arms(run).rows
    marks = {(rows[0].second, rows[0].cell): ("reduction_ns x 2", "payload_bytes x 0.5")}
    marked = compare_arms(run, overturned=marks)
    assert marked.overturned == marks
    assert (
        "1 of 4 verdicts change with another value of an assumed constant (\N{DAGGER} in the "
        "report's map): reduction_ns x 2, payload_bytes x 0.5."
    ) in marked.threats


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (3, "Power: about 4 of 5 such studies find a difference of "),
        (1, "Too few launches to find a difference of any size."),
    ],
)
def test_power_is_stated(sets: int, said: str) -> None:
    cells = cells_of_matrix((8, 4096), (2, 32), (1,))
    rows = judged(drawn_values(np.random.default_rng(1), cells, sets=sets))
    assert {row.second for row in rows} == {ARMS[1]}
    assert power_clause(rows).startswith(said)
    assert power_clause(()) == ""
