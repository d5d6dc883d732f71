"""Causes ranked by how well they fit, with what the file itself says."""

from dataclasses import replace

import pytest

from weft.catalog.load import platform
from weft.judge.causes.causes import CauseCase, likely_causes
from weft.judge.expectation.conditions import Given
from weft.judge.expectation.expected_value import predictor
from weft.judge.log import log_of
from weft.judge.model import LikelyCause, RowState
from weft.judge.rows import judge_table
from weft.judge.rules import rules
from weft.results.model import Row, Table

NDV5 = platform("azure-ndv5")
ASK = predictor(NDV5)
SIZE = 2**33


def allreduce(busbw: float, n_nodes: int, **conditions: str) -> Table:
    n_ranks = 8 * n_nodes
    algbw = busbw / (2 * (n_ranks - 1) / n_ranks)
    metrics = {"latency_us": SIZE / algbw / 1e3, "algbw_gb_s": algbw, "busbw_gb_s": busbw}
    return Table(
        "nccl-tests",
        "all_reduce_perf",
        "allreduce",
        (Row(1, SIZE, metrics),),
        1,
        n_ranks=n_ranks,
        n_nodes=n_nodes,
        tasks_per_node=8,
        conditions=conditions,
    )


def fitted(table: Table, log: bytes = b"", state: RowState = RowState.LOW) -> list[LikelyCause]:
    rows = judge_table(table, Given(), NDV5, ASK, rules()).rows
    assert {row.state for row in rows} == {state}
    return list(likely_causes(CauseCase(rows, NDV5, ASK, rules(), log_of(log).lines), state))


def test_one_adapter_of_eight_is_named_where_the_rate_is_one_adapters() -> None:
    assert fitted(allreduce(45.0, 4))[0].name == "adapters-lost-7-of-8"


def test_half_of_the_rate_is_a_set_of_causes_that_cannot_be_distinguished() -> None:
    found = fitted(allreduce(180.0, 4))
    tied = {cause.name for cause in found if cause.tied}
    assert {"link-half", "gpudirect-off"} <= tied
    assert [cause.tied for cause in found] == sorted((c.tied for c in found), reverse=True)
    for is_tied in (True, False):
        scores = [cause.score for cause in found if cause.tied is is_tied]
        assert scores == sorted(scores)


def test_a_line_of_the_log_puts_its_cause_first_and_is_quoted_with_its_number() -> None:
    log = b"x\nnode:1:1 [0] NCCL INFO GPU Direct RDMA Disabled for HCA 0\n"
    found = fitted(allreduce(180.0, 4), log)
    assert found[0].name == "gpudirect-off"
    assert "line 2 says so" in found[0].sentence
    assert "GPU Direct RDMA Disabled" in found[0].sentence


def test_a_condition_of_the_table_speaks_for_a_cause_too() -> None:
    found = fitted(allreduce(180.0, 4, gdr="no"))
    assert found[0].name == "gpudirect-off"
    assert "the table says so: gdr no" in found[0].sentence


def test_a_line_of_the_log_rules_a_cause_out() -> None:
    slow = allreduce(6.0, 4)
    assert "sockets" in {cause.name for cause in fitted(allreduce(10.0, 4))}
    log = b"node:1:1 [0] NCCL INFO Using network IB\n"
    assert "sockets" not in {cause.name for cause in fitted(slow, log)}


def test_at_most_five_causes_are_shown_each_with_what_it_predicts() -> None:
    found = fitted(allreduce(200.0, 2))
    assert 1 <= len(found) <= 5
    assert all("measured 200" in cause.predicts for cause in found)
    assert all(cause.misfit <= rules().misfit_shown for cause in found)


def test_impossible_rows_have_their_own_causes() -> None:
    found = fitted(allreduce(3440.0, 2), state=RowState.IMPOSSIBLE)
    assert found[0].name == "beyond-unit-slip-8"


@pytest.mark.parametrize("state", [RowState.LOW, RowState.IMPOSSIBLE])
def test_normal_rows_have_no_causes(state: RowState) -> None:
    rows = judge_table(allreduce(430.0, 2), Given(), NDV5, ASK, rules()).rows
    assert likely_causes(CauseCase(rows, NDV5, ASK, rules()), state) == ()


def test_normal_rows_of_the_same_series_speak_against_what_would_have_changed_them() -> None:
    ndv4 = platform("azure-ndv4")
    ask = predictor(ndv4)
    rows = [Row(i, 2**23, {"bandwidth_mb_s": v}) for i, v in enumerate((7150.0, 7150.0))]
    sound = [Row(i, 2**23, {"bandwidth_mb_s": 24500.0}) for i in (2, 3)]
    alone = Table("perftest", "ib_write_bw", "bandwidth", tuple(rows), 1)
    table = replace(alone, rows=(*rows, *sound))

    def score(made: Table) -> float:
        rows = judge_table(made, Given(), ndv4, ask, rules()).rows
        return likely_causes(CauseCase(rows, ndv4, ask, rules()), RowState.LOW)[0].score

    assert score(table) > score(alone) + 0.3
