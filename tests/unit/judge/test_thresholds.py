"""Somebody else's thresholds beside the rows they speak of."""

import pytest

from weft.expect.model import Conditions
from weft.judge.model import FieldVerdict, JudgedRow, RowState
from weft.judge.thresholds import field_verdicts
from weft.results.model import Row, Table


def verdicts(
    gb_s: float, *, size: int = 2**34, n_nodes: int = 1, platform: str = "azure-ndv5"
) -> tuple[FieldVerdict, ...]:
    row = Row(1, size, {"busbw_gb_s": gb_s, "latency_us": 1.0})
    table = Table("nccl-tests", "all_reduce_perf", "allreduce", (row,), 1)
    conditions = Conditions(
        "allreduce", size, n_nodes=n_nodes, tasks_per_node=8, memory="gpu", library="nccl"
    )
    judged = JudgedRow(table, row, "busbw_gb_s", gb_s, RowState.NORMAL, conditions)
    return field_verdicts([judged], platform)


@pytest.mark.parametrize(("gb_s", "passed"), [(481.42, True), (450.0, False)])
def test_azures_check_of_one_node_is_met_or_missed(gb_s: float, passed: bool) -> None:
    found = [one for one in verdicts(gb_s) if one.threshold == 460]
    assert found
    assert {one.passed for one in found} == {passed}
    assert {one.kind for one in found} == {"fail"}
    assert {one.word for one in found} == {"met" if passed else "missed"}
    assert len(set(found)) == len(found)
    assert all("azurehpc-health-checks" in one.source for one in found)
    assert all(one.measured == gb_s for one in found)


def test_other_sizes_node_counts_and_machines_are_not_compared() -> None:
    assert [one for one in verdicts(100.0, size=8) if one.threshold == 460] == []
    assert [one for one in verdicts(100.0, n_nodes=4) if one.threshold == 460] == []
    assert verdicts(100.0, platform="azure-a9") == ()


def test_the_worst_row_is_held_against_a_threshold() -> None:
    size = 2**34
    table = Table("nccl-tests", "all_reduce_perf", "allreduce", (), 1)
    conditions = Conditions(
        "allreduce", size, n_nodes=1, tasks_per_node=8, memory="gpu", library="nccl"
    )
    rows = [
        JudgedRow(
            table, Row(i, size, {"busbw_gb_s": v}), "busbw_gb_s", v, RowState.NORMAL, conditions
        )
        for i, v in enumerate((481.0, 440.0))
    ]
    found = [one for one in field_verdicts(rows, "azure-ndv5") if one.threshold == 460]
    assert {one.measured for one in found} == {440.0}


def test_a_threshold_of_one_placement_is_held_against_that_one() -> None:
    size = 134217728
    table = Table("nccl-tests", "all_reduce_perf", "allreduce", (), 1)
    conditions = Conditions(
        "allreduce", size, n_nodes=2, tasks_per_node=4, memory="gpu", library="nccl"
    )
    rows = [
        JudgedRow(
            table,
            Row(1, size, {"busbw_gb_s": value}, {"placement": placement}),
            "busbw_gb_s",
            value,
            RowState.NORMAL,
            conditions,
        )
        for placement, value in (("out-of-place", 122.57), ("in-place", 123.11))
    ]
    found = {one.threshold: one for one in field_verdicts(rows, "alps-gh200")}
    assert found[123.11].measured == 123.11
    assert found[122.57].measured == 122.57
