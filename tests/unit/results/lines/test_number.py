import pytest

from weft.results.lines.number import (
    as_amount,
    as_converted,
    as_count,
    as_number,
    counted,
    measured,
)


@pytest.mark.parametrize(
    ("token", "value"),
    [("0", 0.0), ("1.25", 1.25), ("-3", -3.0), ("+.5", 0.5), ("1.4620051e-06", 1.4620051e-06)],
)
def test_plain_decimals_are_numbers(token: str, value: float) -> None:
    assert as_number(token) == value


ODD_TOKENS = ("nan", "inf", "-inf", "1e999", "1_000", "0x1f", "12.", "1.2.3", "1,234", "½", "١٢٣")


@pytest.mark.parametrize("token", [*ODD_TOKENS, "1e", "--1", "", "9" * 400, "1 2"])
def test_anything_else_is_none(token: str) -> None:
    assert as_number(token) is None


@pytest.mark.parametrize("token", ["-1", "1.5", "9" * 25, "²", "١", "", "+1"])
def test_a_count_is_whole_and_not_negative(token: str) -> None:
    assert as_count(token) is None


def test_times_and_rates_are_not_negative() -> None:
    assert as_amount("-0.01") is None
    assert as_amount("0.01") == 0.01


def test_conversions_round_once() -> None:
    assert as_converted("1.4999389e-06", 10**6, 1) == 1.4999389
    assert as_converted("26073919.56", 1, 10**6) == 26.07391956
    assert as_converted("1", 2**20, 10**6) == 1.048576
    assert as_converted("nan", 1000, 1) is None


@pytest.mark.parametrize(
    ("token", "expected"), [("0", 0.0), ("32336", 32336.0), ("1.5e+03", 1500.0), ("0e+00", 0.0)]
)
def test_what_tools_print_is_measured(token: str, expected: float) -> None:
    assert measured(token) == expected


@pytest.mark.parametrize(
    "token", ["", "nan", "inf", "-1", "1_000", "N/A", "1e19", "9" * 400, "1e999", "0x10"]
)
def test_what_cannot_be_measured_is_none(token: str) -> None:
    assert measured(token) is None


def test_a_count_is_exact_or_none() -> None:
    assert counted(str(2**53)) == 2**53
    assert counted(str(2**53 + 1)) is None
    assert counted("1.0") is None
    assert counted("-1") is None
