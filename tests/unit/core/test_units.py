import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.core.units import (
    format_duration,
    format_significant,
    format_size,
    parse_duration,
    parse_size,
    parse_size_range,
    powers_of_two,
)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("8", 8),
        ("8B", 8),
        ("4K", 4096),
        ("4KiB", 4096),
        ("1.5 KiB", 1536),
        ("1MiB", 2**20),
        ("1MB", 10**6),
        ("2gb", 2 * 10**9),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, n_bytes: int) -> None:
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5", "4 parsecs", "1e3", "0x10"])
def test_a_wrong_size_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_size(text)
    assert f"'{text}'" in str(error.value)
    assert "expected" in str(error.value)


@given(st.integers(min_value=0, max_value=2**50))
def test_a_formatted_size_reads_back_exactly(n_bytes: int) -> None:
    assert parse_size(format_size(n_bytes)) == n_bytes


def test_ranges_double_from_one_end_to_the_other() -> None:
    assert parse_size_range("1:8") == (1, 2, 4, 8)
    assert parse_size_range("0:2") == (0, 1, 2)
    assert parse_size_range("64K,8,8") == (8, 65536)
    assert powers_of_two(3, 20) == (3, 6, 12)


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        parse_size_range("4M:1")


def test_figures_keep_their_significant_digits_without_exponents() -> None:
    assert format_significant(0.00012345) == "0.0001234"
    assert format_significant(12345.6) == "12346"
    assert format_significant(0.0) == "0"


def test_durations_read_like_durations() -> None:
    assert format_duration(0.041) == "41 ms"
    assert format_duration(245) == "4 min 05 s"
    assert format_duration(7800) == "2 h 10 min"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("60s", 60), ("500 ms", 0.5), ("5min", 300), ("1.5h", 5400), ("2m", 120)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "-1s", "soon", "1 day", "1s2"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a time"):
        parse_duration(text)
