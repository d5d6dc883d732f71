"""The state of a row."""

from dataclasses import replace

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import platform
from weft.expect.model import Expectation, Term
from weft.judge.expectation.conditions import Given
from weft.judge.expectation.expected_value import predictor
from weft.judge.model import JudgedRow, RowState
from weft.judge.rows import judge_table, rests_on_assumption, state_of
from weft.judge.rules import rules
from weft.results.model import Row, Table

RATE = Expectation("bandwidth_mb_s", 100.0, "MB/s", 90.0, 110.0, "b", "f", "s", limit=120.0)
TIME = Expectation("latency_us", 10.0, "us", 9.0, 11.0, "b", "f", "s", limit=8.0)


@pytest.mark.parametrize(
    ("value", "found", "state"),
    [
        (100.0, RATE, RowState.NORMAL),
        (89.0, RATE, RowState.LOW),
        (115.0, RATE, RowState.HIGH),
        (121.0, RATE, RowState.HIGH),
        (130.0, RATE, RowState.IMPOSSIBLE),
        (10.0, TIME, RowState.NORMAL),
        (12.0, TIME, RowState.LOW),
        (8.5, TIME, RowState.HIGH),
        (7.0, TIME, RowState.IMPOSSIBLE),
    ],
)
def test_slower_is_low_for_times_and_for_rates_and_a_clock_may_err_by_one_per_cent(
    value: float, found: Expectation, state: RowState
) -> None:
    assert state_of(value, found, rules()) is state


def judged(rows: list[Row], benchmark: str, name: str) -> tuple[JudgedRow, ...]:
    place = platform(name)
    table = Table("osu", f"osu_{benchmark}", benchmark, tuple(rows), 1, n_ranks=2)
    link_class = name.startswith("generic-")
    return judge_table(table, Given(), place, predictor(place), rules(), link_class=link_class).rows


def a9_latency() -> list[Row]:
    found = platform("azure-a9").table("latency")
    assert found is not None
    return [Row(i, size, {"latency_us": value}) for i, (size, value) in enumerate(found.rows)]


def test_a_machines_own_published_table_is_normal() -> None:
    assert {row.state for row in judged(a9_latency(), "latency", "azure-a9")} == {RowState.NORMAL}


def test_a_row_that_stands_alone_between_normal_ones_is_odd_and_not_low() -> None:
    rows = a9_latency()
    rows[14] = Row(14, rows[14].size_bytes, {"latency_us": 8 * rows[14].metrics["latency_us"]})
    row = judged(rows, "latency", "azure-a9")[14]
    assert row.odd
    assert row.noticed
    assert row.state is RowState.UNJUDGED
    assert "outlier of its curve" in row.note


def test_rows_that_are_slow_together_are_low() -> None:
    rows = [
        Row(r.line, r.size_bytes, {"latency_us": 3 * r.metrics["latency_us"]}) for r in a9_latency()
    ]
    states = {row.state for row in judged(rows, "latency", "azure-a9")}
    assert states == {RowState.LOW}


def test_on_a_generation_of_links_small_messages_say_nothing_about_the_link() -> None:
    rows = [Row(i, 2**i, {"bandwidth_mb_s": 0.05 * 2**i}) for i in range(5)]
    found = judged(rows, "bandwidth", "generic-hdr")
    assert {row.state for row in found} == {RowState.UNJUDGED}
    assert "the host limits this size" in found[0].note


def test_without_a_platform_only_what_the_file_proves_is_said() -> None:
    rows = a9_latency()
    rows[14] = Row(14, rows[14].size_bytes, {"latency_us": 8 * rows[14].metrics["latency_us"]})
    table = Table("osu", "osu_latency", "latency", tuple(rows), 1)
    found = judge_table(table, Given(), None, None, rules()).rows
    assert {row.state for row in found} == {RowState.UNJUDGED}
    assert [row.row.line for row in found if row.odd] == [14]
    assert "--platform" in found[0].note


def test_few_digits_are_judged_by_another_column_of_the_row() -> None:
    place = platform("alps-gh200")
    metrics = {"latency_us": 17.93, "algbw_gb_s": 0.0, "busbw_gb_s": 0.01}
    table = Table(
        "nccl-tests",
        "all_reduce_perf",
        "allreduce",
        (Row(1, 64, metrics),),
        1,
        n_ranks=8,
        n_nodes=2,
    )
    (row,) = judge_table(table, Given(), place, predictor(place), rules()).rows
    assert row.metric == "latency_us"
    assert row.state is RowState.NORMAL


@pytest.mark.parametrize(
    ("largest", "accuses"),
    [
        (SourceClass.SOURCED, True),
        (SourceClass.PUBLISHED, True),
        (SourceClass.FITTED, True),
        (SourceClass.ASSUMED, False),
        (SourceClass.UNVERIFIED, False),
    ],
)
def test_what_rests_on_a_figure_that_no_one_measured_accuses_nothing(
    largest: SourceClass, accuses: bool
) -> None:
    terms = (Term("small", 1.0, SourceClass.ASSUMED), Term("large", 9.0, largest))
    assert rests_on_assumption(replace(TIME, terms=terms)) is not accuses
    assert not rests_on_assumption(TIME)
