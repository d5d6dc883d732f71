"""What a cause would make of a row."""

from dataclasses import replace

import pytest

from weft.catalog.cause import Cause, Range, causes
from weft.catalog.document import SourceClass
from weft.catalog.load import platform
from weft.expect.model import Conditions, Expectation
from weft.judge.causes.effect import applies, predicted_span, with_one_rate
from weft.judge.expectation.expected_value import predictor
from weft.judge.model import JudgedRow, RowState
from weft.results.model import Row, Table

NDV4 = platform("azure-ndv4")
HBV2 = platform("azure-hbv2")
PAIR = Conditions("bandwidth", 2**23, library="verbs")
RATE = Expectation(
    "bandwidth_mb_s", 24500.0, "MB/s", 23600.0, 24840.0, "b", "f", "s", limit=24840.0
)
TIME = Expectation("latency_us", 350.0, "us", 330.0, 380.0, "b", "f", "s", limit=337.0)


def row(found: Expectation = RATE, conditions: Conditions = PAIR) -> JudgedRow:
    table = Table("perftest", "ib_write_bw", "bandwidth", (), 1)
    made = Row(1, conditions.size_bytes, {found.metric: found.value})
    return JudgedRow(table, made, found.metric, found.value, RowState.LOW, conditions, found)


def cause(name: str) -> Cause:
    return next(one for one in causes() if one.name == name)


def capped(low: float, high: float) -> Cause:
    kind = SourceClass.SOURCED
    cap = Range(low=low, high=high, unit="GB/s", class_=kind, source="x")
    return replace_cap(cause("pcie-gen3-x8"), cap)


def replace_cap(one: Cause, cap: Range) -> Cause:
    return one.model_copy(update={"cap": cap})


def test_a_cap_bounds_a_rate_and_counts_both_directions() -> None:
    span = predicted_span(capped(6.0, 7.5), row(), NDV4, predictor(NDV4))
    assert span == pytest.approx((6000, 7500))
    both = replace(PAIR, benchmark="bidirectional")
    span = predicted_span(capped(6.0, 7.5), row(conditions=both), NDV4, predictor(NDV4))
    assert span == pytest.approx((12000, 15000))


def test_a_cap_above_what_is_expected_says_nothing() -> None:
    assert predicted_span(capped(30.0, 40.0), row(), NDV4, predictor(NDV4)) is None


def test_a_cap_on_a_time_is_the_size_over_it() -> None:
    conditions = replace(PAIR, benchmark="latency")
    span = predicted_span(capped(6.0, 7.5), row(TIME, conditions), NDV4, predictor(NDV4))
    assert span == pytest.approx((2**23 / 7.5e3, 2**23 / 6.0e3))


def test_a_share_divides_a_time_and_multiplies_a_rate() -> None:
    slip = cause("unit-slip-8")
    assert predicted_span(slip, row(), NDV4, predictor(NDV4)) == pytest.approx((24500 / 8,) * 2)
    assert predicted_span(slip, row(TIME), NDV4, predictor(NDV4)) == pytest.approx((2800,) * 2)


def test_other_conditions_are_asked_of_the_closed_forms() -> None:
    conditions = Conditions("bandwidth", 2**22, library="mpi")
    found = predictor(HBV2)(conditions)
    assert not isinstance(found, str)
    span = predicted_span(cause("sockets"), row(found, conditions), HBV2, predictor(HBV2))
    assert span is not None
    assert span[1] < found.low


def test_conditions_that_change_nothing_explain_nothing() -> None:
    conditions = Conditions("bandwidth", 2**22, library="mpi")
    found = predictor(HBV2)(conditions)
    assert not isinstance(found, str)
    off = cause("gpudirect-off")
    assert predicted_span(off, row(found, conditions), HBV2, predictor(HBV2)) is None


@pytest.mark.parametrize(
    ("name", "conditions", "thinkable"),
    [
        ("pcie-gen3-x8", PAIR, True),
        ("pcie-gen3-x8", replace(PAIR, n_nodes=1), False),
        ("sockets", PAIR, False),
        ("sockets", replace(PAIR, library="mpi"), True),
        ("gpudirect-off", PAIR, False),
        ("gpudirect-off", replace(PAIR, memory="gpu"), True),
        ("nvls-off", replace(PAIR, library="nccl", memory="gpu", n_nodes=1), False),
        ("beyond-two-node-tree", replace(PAIR, library="nccl", benchmark="allreduce"), True),
        (
            "beyond-two-node-tree",
            replace(PAIR, library="nccl", benchmark="allreduce", n_nodes=3),
            False,
        ),
    ],
)
def test_where_a_cause_is_thinkable(name: str, conditions: Conditions, thinkable: bool) -> None:
    assert applies(cause(name), row(conditions=conditions), NDV4) is thinkable


def test_a_row_without_expectation_has_no_cause() -> None:
    bare = replace(row(), expectation=None)
    assert not applies(cause("pcie-gen3-x8"), bare, NDV4)
    assert predicted_span(cause("pcie-gen3-x8"), bare, NDV4, predictor(NDV4)) is None


def test_management_ethernet_is_no_faster_than_sockets_at_any_size() -> None:
    """Its small messages take the kernel, its large ones the port besides."""
    ask, port = predictor(HBV2), cause("management-ethernet")
    for n_bytes in (8, 2**22):
        conditions = Conditions("latency", n_bytes, library="mpi")
        found = ask(conditions)
        assert not isinstance(found, str)
        at = row(found, conditions)
        sockets = predicted_span(cause("sockets"), at, HBV2, ask)
        span = predicted_span(port, at, HBV2, ask)
        assert span is not None
        assert sockets is not None
        assert span[0] >= sockets[0]
        assert span[1] >= sockets[1]


def test_a_port_is_as_fast_as_its_best_row() -> None:
    """A row of 2 GB/s excludes the 1 GbE of the cause's range for all rows."""
    fast = replace(row(conditions=replace(PAIR, library="mpi")), value=2000.0)
    port = with_one_rate(cause("management-ethernet"), [fast], HBV2)
    assert port.cap is not None
    assert (port.cap.low, port.cap.high) == (2.0, 3.0)
    assert with_one_rate(cause("sockets"), [fast], HBV2) == cause("sockets")
