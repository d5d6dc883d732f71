"""Rows against the own fleet: the same conditions, three values at least, never the file itself."""

import pytest

from weft.judge.expectation.same_condition import FleetFiles
from weft.judge.judge import judge_results
from weft.judge.model import FileJudgement, RowState
from weft.results.model import ResultFile, Row, Table

SIZE = 2**30


def run_of(path: str, mb_s: float, version: str = "", n_nodes: int = 2) -> ResultFile:
    row = Row(7, SIZE, {"busbw_gb_s": mb_s})
    conditions = {"nccl_version": version} if version else {}
    table = Table(
        "nccl-tests",
        "all_reduce_perf",
        "allreduce",
        (row,),
        1,
        n_ranks=8 * n_nodes,
        n_nodes=n_nodes,
        tasks_per_node=8,
        conditions=conditions,
    )
    return ResultFile(path, (table,))


FLEET = [run_of(f"{i}.txt", value) for i, value in enumerate((388.0, 391.0, 394.0))]


def against(fleet: list[ResultFile], one: ResultFile, platform: str | None) -> FileJudgement:
    return judge_results(one, platform=platform, against=FleetFiles(fleet))


@pytest.mark.parametrize("platform", [None, "azure-ndv5"])
@pytest.mark.parametrize(
    ("gb_s", "state"),
    [(390.0, RowState.NORMAL), (390.0 * 7 / 8, RowState.LOW), (390.0 * 9 / 8, RowState.HIGH)],
)
def test_the_least_and_the_greatest_value_are_the_range(
    platform: str | None, gb_s: float, state: RowState
) -> None:
    (row,) = against(FLEET, run_of("new.txt", gb_s), platform).rows
    assert row.state is state
    assert row.expectation is not None
    assert row.expectation.low == pytest.approx(388 / 1.06)
    assert row.expectation.high == pytest.approx(394 * 1.06)


def test_a_lost_adapter_is_its_first_cause_on_a_known_machine() -> None:
    judgement = against(FLEET, run_of("new.txt", 390.0 * 6 / 8), "azure-ndv5")
    assert judgement.causes[0].name == "adapters-lost-2-of-8"


def test_two_values_are_not_enough_and_that_is_said() -> None:
    judgement = against(FLEET[:2], run_of("new.txt", 340.0), None)
    assert judgement.rows[0].state is RowState.UNJUDGED
    assert any("not enough for 1" in remark for remark in judgement.remarks)


def test_a_file_does_not_prove_itself() -> None:
    judgement = against(FLEET, FLEET[0], None)
    assert judgement.rows[0].state is RowState.UNJUDGED
    assert any("(2 files)" in remark for remark in judgement.remarks)


def test_other_conditions_say_nothing() -> None:
    (row,) = against(FLEET, run_of("new.txt", 340.0, n_nodes=4), None).rows
    assert row.state is RowState.UNJUDGED


def test_versions_are_compared_where_both_runs_state_one() -> None:
    stated = [run_of(f"{i}.txt", 390.0, "2.26.5") for i in range(3)]
    (same,) = against(stated, run_of("new.txt", 390.0, "2.26.2"), None).rows
    (other,) = against(stated, run_of("new.txt", 390.0, "2.20.5"), None).rows
    (unknown,) = against(stated, run_of("new.txt", 390.0), None).rows
    assert (same.state, other.state) == (RowState.NORMAL, RowState.UNJUDGED)
    assert unknown.state is RowState.NORMAL
