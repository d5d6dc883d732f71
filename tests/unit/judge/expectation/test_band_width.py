"""Ranges in which a fault hides."""

from dataclasses import replace

import pytest

from weft.catalog.load import platform
from weft.expect.model import Conditions, Expectation
from weft.judge.expectation.band_width import width_judged
from weft.judge.expectation.expected_value import PUBLISHED, predictor
from weft.judge.model import JudgedRow, RowState
from weft.judge.rules import rules
from weft.results.model import Row, Table

NDV5 = platform("azure-ndv5")
ASK = predictor(NDV5)
RUN = Conditions("allreduce", 16 * 2**30, 4, 8, memory="gpu", library="nccl")


def row(value: float, low: float, high: float, formula: str = "f") -> JudgedRow:
    found = Expectation("busbw_gb_s", 360.0, "GB/s", low, high, "b", formula, "s")
    table = Table("nccl-tests", "all_reduce_perf", "allreduce", (), 1)
    made = Row(1, RUN.size_bytes, {"busbw_gb_s": value})
    return JudgedRow(table, made, "busbw_gb_s", value, RowState.NORMAL, RUN, found)


def state(one: JudgedRow) -> RowState:
    return width_judged(one, NDV5, ASK, rules()).state


def test_a_range_that_holds_one_adapter_less_is_too_wide() -> None:
    assert state(row(350.0, 300.0, 420.0)) is RowState.TOO_WIDE
    assert state(row(350.0, 345.0, 380.0)) is RowState.NORMAL


def test_a_row_that_no_machine_with_one_adapter_less_reaches_is_normal() -> None:
    assert state(row(410.0, 300.0, 420.0)) is RowState.NORMAL


def test_inside_a_node_adapters_do_not_count() -> None:
    one = replace(row(350.0, 300.0, 420.0), conditions=replace(RUN, n_nodes=1))
    assert state(one) is RowState.NORMAL


def test_a_range_of_100_to_1_tells_nothing_and_says_so() -> None:
    wide = width_judged(row(350.0, 36.0, 3600.0), None, None, rules())
    assert wide.state is RowState.TOO_WIDE
    assert wide.note == "too wide to tell: a factor of 100 lies in the range of 36.00 to 3600 GB/s"


def test_of_measured_values_the_slow_side_counts() -> None:
    assert state(row(350.0, 340.0, 3e4, PUBLISHED)) is RowState.NORMAL


@pytest.mark.parametrize("other", [RowState.LOW, RowState.HIGH, RowState.UNJUDGED])
def test_only_normal_rows_are_asked(other: RowState) -> None:
    assert state(replace(row(350.0, 300.0, 420.0), state=other)) is other
