from typing import Any

import pytest

from weft.results.lines.json_values import amount, count, loaded, text_of


@pytest.mark.parametrize(
    ("value", "expected"), [(1, 1.0), (1.5, 1.5), ("1.5", 1.5), (" 2 ", 2.0), (0, 0.0)]
)
def test_numbers_and_numbers_in_quotes_are_amounts(value: Any, expected: float) -> None:
    assert amount(value) == expected


@pytest.mark.parametrize(
    "value", [None, True, "nan", "", -1, float("nan"), float("inf"), 10**400, [1], {"a": 1}, 1e19]
)
def test_what_is_no_amount_is_none(value: Any) -> None:
    assert amount(value) is None


@pytest.mark.parametrize("value", [1.5, True, -1, 2**53 + 1, "1.5", None, 10**400])
def test_what_is_no_whole_number_is_none(value: Any) -> None:
    assert count(value) is None


def test_a_whole_number_in_quotes_counts() -> None:
    assert count("42") == 42


def test_damaged_deep_and_long_numbered_documents_are_none() -> None:
    assert loaded("{") is None
    assert loaded("[" * 100_000) is None
    assert loaded("1" * 10_000) is None


def test_texts_are_trimmed_and_cut() -> None:
    assert text_of("    -1") == "-1"
    assert text_of(True) == "true"
    assert text_of([1]) == ""
    assert text_of(10**5000) == ""
    assert len(text_of("x" * 10_000)) == 200
