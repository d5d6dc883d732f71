import numpy as np
import pytest

from weft.stats.warm_up import warm_up


def steady(n: int, seed: int) -> np.ndarray:
    return 24 + 0.2 * np.random.default_rng(seed).standard_normal(n)


@pytest.mark.parametrize("n", [30, 50, 200, 1000])
def test_a_series_that_is_steady_from_the_start_keeps_all_of_it(n: int) -> None:
    cut = [found.n for seed in range(200) if (found := warm_up(steady(n, seed))) is not None]
    assert len(cut) == 200
    assert sum(one > 0 for one in cut) <= 12


@pytest.mark.parametrize(("n", "slow"), [(30, 1), (50, 3), (100, 10), (1000, 100)])
def test_a_slow_beginning_goes_and_little_more(n: int, slow: int) -> None:
    found = []
    for seed in range(50):
        times = steady(n, seed)
        times[:slow] += 2
        times[n // 2 :: 10] += 12
        cut = warm_up(times)
        assert cut is not None
        found.append(cut.n)
    assert min(found) >= slow
    assert np.median(found) <= slow + 5


def test_a_fast_beginning_goes_as_well() -> None:
    times = steady(200, 1)
    times[:40] -= 2
    found = warm_up(times)
    assert found is not None
    assert 40 <= found.n <= 45
    assert found.method == "MSER-5"


def test_equal_times_as_logs_print_them_are_steady() -> None:
    found = warm_up([40.0, 24.0, 24.0, 24.0, 24.1, 24.0, 24.0, 24.0, 24.0, 24.0])
    assert found is not None
    assert found.n == 1


def test_a_series_that_changes_in_its_second_half_does_not_settle() -> None:
    times = steady(200, 1)
    times[103:] += 2
    found = warm_up(times)
    assert found is not None
    assert (found.n, found.settles) == (0, False)


def test_few_values_have_no_steady_state() -> None:
    assert warm_up([1.0] * 5) is None
    assert warm_up([9.0, *[1.0] * 5]) is None
