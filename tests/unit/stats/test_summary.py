import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from weft.stats.summary import median_interval, summarise

values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80)


@given(values)
def test_a_summary_is_ordered_whatever_the_order_of_the_values(found: list[float]) -> None:
    summary = summarise(found)
    assert summary == summarise(found[::-1])
    assert summary.minimum <= summary.median <= summary.maximum
    if summary.low is not None and summary.high is not None:
        assert summary.minimum <= summary.low <= summary.median <= summary.high <= summary.maximum


@pytest.mark.parametrize("n", [1, 2, 5])
def test_under_six_values_there_is_no_interval(n: int) -> None:
    assert median_interval(range(n)) is None


def test_six_values_cover_from_the_least_to_the_greatest() -> None:
    # 1 - 2 / 2^6 = 0.969: the first sample size at which the range covers the median with 95 %.
    assert median_interval([3, 1, 2, 6, 5, 4]) == (1.0, 6.0)


@pytest.mark.parametrize("n", [6, 7, 9, 12, 25, 60, 100])
def test_the_interval_is_the_narrowest_whose_exact_coverage_suffices(n: int) -> None:
    low, high = median_interval(np.arange(1, n + 1)) or (0, 0)
    below = int(low) - 1
    assert high == n - below
    assert 1 - 2 * stats.binom.cdf(below, n, 0.5) >= 0.95
    assert 1 - 2 * stats.binom.cdf(below + 1, n, 0.5) < 0.95


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [float("inf")]])
def test_no_values_and_non_finite_values_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no values|not finite"):
        summarise(bad)
