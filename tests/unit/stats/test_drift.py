import numpy as np
import pytest

from weft.stats.drift import return_to_baseline, trend


def test_a_machine_that_slows_down_is_noticed() -> None:
    rng = np.random.default_rng(1)
    times = np.arange(30.0)
    drift = trend(times, (1 + 0.01 * times) * rng.lognormal(0, 0.02, 30))
    assert drift is not None
    assert drift.notable
    assert drift.change == pytest.approx(0.2, abs=0.06)  # last third against first third


def test_a_steady_machine_is_almost_never_accused() -> None:
    rng = np.random.default_rng(2)
    accused = 0
    for _ in range(300):
        drift = trend(np.arange(24.0), rng.lognormal(0, 0.05, 24))
        accused += drift is not None and drift.notable
    assert accused <= 9


def test_a_certain_but_tiny_change_is_left_alone() -> None:
    drift = trend(np.arange(30.0), 1 + 1e-5 * np.arange(30))
    assert drift is not None
    assert drift.p < 1e-6
    assert not drift.notable


def test_the_baseline_at_the_end_is_compared_with_the_baseline_before() -> None:
    rng = np.random.default_rng(3)
    run = rng.lognormal(0, 0.01, 12)
    same = return_to_baseline(run, rng.lognormal(0, 0.01, 3))
    slower = return_to_baseline(run, 1.2 * rng.lognormal(0, 0.01, 3))
    assert same is not None
    assert not same.notable
    assert slower is not None
    assert slower.notable
    assert slower.change == pytest.approx(0.2, abs=0.02)


def test_too_little_data_says_nothing() -> None:
    assert trend([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]) is None
    assert trend([1, 1, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6]) is None
    assert trend([1, 2, 3, 4, 5, 6], [2, 2, 2, 2, 2, 2]) is None
    assert return_to_baseline([1, 2, 3], [1, 2]) is None
    assert return_to_baseline(range(1, 9), [1]) is None


def test_times_and_values_must_match() -> None:
    with pytest.raises(ValueError, match="2 times but 3 values"):
        trend([1, 2], [1, 2, 3])
