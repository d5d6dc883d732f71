import pytest

from weft.results.lines.plausibility import counted, measured


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
