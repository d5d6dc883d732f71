"""Rows that stand out of their curve; protocol steps that do not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.judge.anomalies.curve_outliers import outliers
from weft.judge.rules import rules

SIZES = [2**i for i in range(23)]


def latency(size: int, a: float = 2.0, b: float = 2.6e-4) -> float:
    return a + b * size


def odd_sizes(values: list[float], sizes: list[int] = SIZES) -> list[int]:
    return sorted(sizes[found.index] for found in outliers(sizes, values, rules()))


@given(
    a=st.floats(0.05, 100),
    b=st.floats(1e-6, 1e-1),
    knee=st.integers(2, 20),
    jump=st.floats(0.4, 4.0),
    slope=st.floats(0.5, 2.0),
)
def test_a_line_with_a_protocol_step_has_no_outlier(
    a: float, b: float, knee: int, jump: float, slope: float
) -> None:
    values = [
        latency(size, a, b) if i < knee else latency(size, a * jump, b * slope)
        for i, size in enumerate(SIZES)
    ]
    assert odd_sizes(values) == []


@pytest.mark.parametrize("at", range(1, 22))
@pytest.mark.parametrize("factor", [1 / 8, 1 / 4, 1 / 2, 2, 4, 8])
def test_one_row_off_by_a_factor_of_two_inside_a_smooth_curve_is_found(
    at: int, factor: float
) -> None:
    values = [latency(size) for size in SIZES]
    values[at] *= factor
    assert odd_sizes(values) == [SIZES[at]]


@pytest.mark.parametrize("at", [0, 22])
@pytest.mark.parametrize("factor", [1 / 8, 8])
def test_a_row_at_an_end_needs_to_be_farther_off(at: int, factor: float) -> None:
    values = [latency(size) for size in SIZES]
    values[at] *= factor
    assert odd_sizes(values) == [SIZES[at]]


def test_the_factor_and_the_value_expected_are_given() -> None:
    values = [latency(size) for size in SIZES]
    values[10] *= 4
    (found,) = outliers(SIZES, values, rules())
    assert found.factor == pytest.approx(4, rel=0.15)
    assert found.expected == pytest.approx(latency(SIZES[10]), rel=0.15)


def test_a_table_that_scatters_by_itself_is_judged_by_its_own_scatter() -> None:
    rough = [latency(size) * (1.7 if i % 2 else 1.0) for i, size in enumerate(SIZES)]
    assert odd_sizes(rough) == []


def test_across_a_leap_in_size_nothing_is_extrapolated() -> None:
    sizes = [8, 1024, 2**20, 2**24, 2**25, 2**26, 2**27]
    values = [135.8, 147.1, 203.2, 977.6, 1059.9, 1300.0, 2000.0]
    assert odd_sizes(values, sizes) == []


def test_three_rows_are_no_curve_and_printed_digits_are_forgiven() -> None:
    assert outliers([1, 2, 4], [1.0, 8.0, 1.0], rules()) == []
    values = [latency(size) for size in SIZES]
    values[5] *= 2
    slack = [0.0] * len(SIZES)
    slack[5] = math.log(2)
    assert outliers(SIZES, values, rules(), slack) == []


def test_an_empty_message_stands_before_one_byte() -> None:
    sizes = [0, 1, 2, 4, 8, 16]
    assert odd_sizes([3.28, 3.69, 3.70, 3.67, 3.69, 4.11], sizes) == []
