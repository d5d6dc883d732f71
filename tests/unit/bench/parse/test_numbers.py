"""What counts as a number in a result file."""

import pytest

from weft.bench.parse.numbers import counted, measured


@pytest.mark.parametrize(
    ("token", "value"),
    [("0", 0.0), ("2.9", 2.9), (".5", 0.5), ("7.", 7.0), ("4.084e-01", 0.4084), ("1E18", 1e18)],
)
def test_plain_decimals_are_measured(token: str, value: float) -> None:
    assert measured(token) == value


@pytest.mark.parametrize(
    "token",
    [
        "",
        "-1",
        "nan",
        "inf",
        "-inf",
        "1e19",
        "1_000",
        "٣",
        "2.9X",
        "0x10",
        "1e400",
        "9" * 400,
        " 1",
    ],
)
def test_what_is_no_measurement_is_nothing(token: str) -> None:
    assert measured(token) is None


@pytest.mark.parametrize("token", ["", "-1", "1.5", "1e3", "٣", "²", "1_000", "9" * 30, "9" * 5000])
def test_what_is_no_count_is_nothing(token: str) -> None:
    assert counted(token) is None


def test_whole_numbers_are_counted() -> None:
    assert counted("131072") == 2**17
    assert counted("0") == 0
