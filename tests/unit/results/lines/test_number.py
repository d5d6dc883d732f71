import pytest

from weft.results.lines.number import as_amount, as_converted, as_count, as_number


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
