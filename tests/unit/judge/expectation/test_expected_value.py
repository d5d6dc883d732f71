"""Expectations in the metric a row has; published tables before closed forms."""

from dataclasses import replace

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import platform
from weft.expect.model import Conditions, Expectation, Term
from weft.judge.expectation.expected_value import convert, expected_of, predictor, with_room
from weft.judge.rules import rules
from weft.results.model import Row

BUS = Expectation("busbw_gb_s", 100.0, "GB/s", 80.0, 125.0, "b", "f", "s", limit=200.0)
ALLREDUCE = Conditions(
    "allreduce", 2**30, n_nodes=2, tasks_per_node=8, memory="gpu", library="nccl"
)


def test_bus_bandwidth_becomes_time_by_the_factor_and_back() -> None:
    time = convert(BUS, "latency_us", ALLREDUCE)
    assert time is not None
    assert time.unit == "us"
    assert time.value == pytest.approx(1.875 * 2**30 / 100e3)
    assert time.low < time.value < time.high
    assert time.limit == pytest.approx(1.875 * 2**30 / 200e3)
    back = convert(time, "busbw_gb_s", ALLREDUCE)
    assert back is not None
    assert (back.low, back.value, back.high) == pytest.approx((80.0, 100.0, 125.0))


def test_bandwidth_becomes_message_rate_by_the_size() -> None:
    found = Expectation("bandwidth_mb_s", 800.0, "MB/s", 700.0, 900.0, "b", "f", "s")
    rate = convert(found, "msg_rate_mps", Conditions("message_rate", 8))
    assert rate is not None
    assert rate.value == pytest.approx(100.0)


def test_what_does_not_follow_from_the_size_is_not_converted() -> None:
    assert convert(BUS, "bandwidth_mb_s", ALLREDUCE) is None
    found = Expectation("latency_us", 1.0, "us", 0.9, 1.1, "b", "f", "s")
    assert convert(found, "bandwidth_mb_s", Conditions("latency", 8)) is None


def test_a_published_table_of_the_machine_goes_before_the_closed_form() -> None:
    a9 = platform("azure-a9")
    row = Row(1, 8192, {"bandwidth_mb_s": 2873.87})
    found = expected_of(row, Conditions("bidirectional", 8192), a9, predictor(a9), rules())
    assert found.published
    assert found.expectation is not None
    assert found.expectation.value == 2873.87
    assert "Kaneshiro" in found.expectation.source


def test_a_refusal_and_a_missing_column_are_said() -> None:
    a9 = platform("azure-a9")
    row = Row(1, 8, {"latency_us": 3.0})
    found = expected_of(row, Conditions("congestion_impact", 8), a9, predictor(a9), rules())
    assert found.expectation is None
    assert "congestion_impact" in found.why_not
    row = Row(1, 512, {"impact": 1.0})
    found = expected_of(row, Conditions("latency", 512), a9, predictor(a9), rules())
    assert found.why_not == "the file has no latency_us"


def with_terms(*times_ns: float) -> Expectation:
    terms = tuple(Term("t", time, SourceClass.SOURCED) for time in times_ns)
    return Expectation("latency_us", 2.0, "us", 1.8, 2.2, "b", "f", "s", terms=terms)


def test_where_no_part_of_the_time_decides_there_is_more_room() -> None:
    mixed = with_room(with_terms(1000, 1000), rules())
    assert (mixed.low, mixed.high) == pytest.approx((0.9, 4.4))
    decided = with_room(with_terms(1900, 100), rules())
    assert (decided.low, decided.high) == (1.8, 2.2)


@pytest.mark.parametrize("limit", [110.0, 140.0])
def test_a_range_made_wider_ends_at_the_limit(limit: float) -> None:
    terms = (Term("a", 50.0, SourceClass.SOURCED), Term("b", 50.0, SourceClass.SOURCED))
    unsettled = replace(BUS, limit=limit, terms=terms)
    wide = with_room(unsettled, rules())
    assert wide.low < unsettled.low
    assert wide.high == pytest.approx(max(limit * (1 + rules().limit_slack), unsettled.high))
    time = convert(unsettled, "latency_us", ALLREDUCE)
    assert time is not None
    slow = with_room(time, rules())
    assert slow.high > time.high
    assert time.limit is not None
    assert slow.low >= min(time.low, 0.98 * time.limit)


def test_the_range_of_published_values_ends_at_the_limit() -> None:
    """A value published near a link's rate leaves no room beyond the link."""
    ends = [
        (found.expectation.high, found.expectation.limit)
        for name in ("azure-hbv2", "azure-ndv4", "azure-a9", "alps-gh200")
        for size in (1 << 20, 1 << 22)
        for test in ("bandwidth", "bidirectional")
        if (
            found := expected_of(
                Row(1, size, {"bandwidth_mb_s": 1.0}),
                Conditions(test, size),
                platform(name),
                predictor(platform(name)),
                rules(),
            )
        ).expectation
        is not None
        and found.published
    ]
    assert ends
    assert all(not limit or high <= limit * (1 + rules().limit_slack) for high, limit in ends)
