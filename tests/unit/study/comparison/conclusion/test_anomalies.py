"""'One of nine': a launch that lies off is named, with its nodes and what changes without it."""

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

from weft.core.finding import Finding, Severity
from weft.study.comparison.cells import Value
from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.conclusion.anomalies import (
    AnomalyFacts,
    anomaly_findings,
    changed_verdicts,
)
from weft.study.comparison.replication import Unit
from weft.study.run.store import StudyRun

CELLS = cells_of_matrix(nodes=(8,), tasks=(1,))


def _found(values: list[Value], *, simulated: bool = False) -> list[Finding]:
    return anomaly_findings(values, judged(values), judged, simulated=simulated, margin=0.05)


def _with_odd(values: list[Value], factor: float, *, sizes: tuple[int, ...] = ()) -> list[Value]:
    """Repeat 2 on node set 1 of the second arm takes `factor` times as long."""
    return [
        replace(value, value=value.value * factor)
        if (value.arm, value.pairs_with) == (ARMS[1], (1, 2))
        and (not sizes or value.cell.size_bytes in sizes)
        else value
        for value in values
    ]


def test_one_of_nine_is_named_with_its_nodes_and_its_distance() -> None:
    values = drawn_values(np.random.default_rng(3), CELLS)
    (finding,) = _found(_with_odd(values, 2.5))
    assert finding.severity is Severity.WARNING
    facts = finding.facts
    assert isinstance(facts, AnomalyFacts)
    assert (facts.arm, facts.node_set, facts.repeat, facts.n_others) == (ARMS[1], 1, 2, 2)
    assert facts.nodes == "s1n[0-7]"
    assert facts.sizes_bytes == (8, 4096, 65536)
    assert max(facts.ratios) == pytest.approx(2.5, rel=0.1)
    assert finding.sentence.startswith(
        "1 of 9 launches lies off: allreduce with sharp=on on 8 nodes x 1 rank, repeat 2 on "
        "s1n[0-7]: 2."
    )
    assert finding.sentence.endswith("the median of the other launches at 8 B, 4 KiB, 64 KiB.")


def test_without_it_the_verdict_may_change_and_that_is_told() -> None:
    # One launch of nine hides a gain of 6 % in the scatter it makes.
    values = drawn_values(np.random.default_rng(3), CELLS, lambda _: 0.94, spread=0.01)
    assert {row.outcome.value for row in judged(values)} == {"faster"}
    odd = _with_odd(values, 4.0, sizes=(4096,))
    (finding,) = _found(odd)
    (change,) = finding.facts.changes  # type: ignore[attr-defined]
    assert change == "allreduce 4 KiB: not decided, without it faster"
    assert finding.evidence == (change,)
    assert changed_verdicts([finding]) == 1


def test_where_the_verdicts_stay_that_is_told_too() -> None:
    values = drawn_values(np.random.default_rng(3), CELLS, lambda _: 0.4)
    (finding,) = _found(_with_odd(values, 2.0))
    assert finding.evidence == ("without this launch, the verdicts stay",)
    assert changed_verdicts([finding]) == 0


def test_a_launch_within_the_scatter_or_the_margin_is_none() -> None:
    values = drawn_values(np.random.default_rng(3), CELLS)
    assert _found(values) == []
    quiet = drawn_values(np.random.default_rng(3), CELLS, spread=1e-4)
    assert _found(_with_odd(quiet, 1.03)) == []
    assert len(_found(_with_odd(quiet, 1.08))) == 1


def test_on_a_twin_repeats_of_a_node_set_are_no_launches_of_their_own() -> None:
    values = drawn_values(np.random.default_rng(3), CELLS, sets=7, repeats=4, spread=0.0)
    same = [replace(value, value=10.0) for value in values]
    odd = [
        replace(one, value=20.0) if (one.arm, one.node_set) == (ARMS[1], 4) else one for one in same
    ]
    (finding,) = _found(odd, simulated=True)
    facts = finding.facts
    assert isinstance(facts, AnomalyFacts)
    assert (facts.unit, facts.node_set, facts.n_others) == (Unit.NODE_SET, 4, 6)
    assert finding.sentence.startswith("1 of 7 node sets lies off")


def test_a_run_with_a_slow_launch_has_the_warning_and_keeps_its_verdict(
    run_study: Callable[..., StudyRun], two_arms: str
) -> None:
    run = run_study(factors=two_arms, backend=MockBackend(effects={"routing=adaptive": 0.5}))
    slow = tuple(
        replace(one, metrics={name: 3 * value for name, value in one.metrics.items()})
        if (one.trial, one.repeat) == ("t001-latency", 5)
        else one
        for one in run.samples
    )
    found = compare_arms(replace(run, samples=slow))
    (facts,) = [one.facts for one in found.findings if isinstance(one.facts, AnomalyFacts)]
    assert (facts.benchmark, facts.arm, facts.repeat) == ("latency", "routing=adaptive", 5)
    assert facts.changes == ()
    assert found.exit_code == 0
