"""Change points: planted steps are dated, chance, outliers and drifts are not."""

import numpy as np
import pytest

from weft.stats.change_points import (
    FAMILY_ERROR,
    detectable_contrast,
    detectable_step,
    find_changes,
    least_runs,
    step_of_statistic,
)
from weft.stats.change_scan import LEAST_STRETCH, Design, Stretches, running_median
from weft.stats.change_series import joined_series, levels_of, split_costs

GROUPS = [0, 0, 1]


def series(seed: int, n: int = 40, noise: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, noise, (n, len(GROUPS)))


@pytest.mark.parametrize("seed", range(3))
def test_a_step_there_and_back_is_dated_to_the_run(seed: int) -> None:
    values = series(seed)
    values[12:25, :2] += 0.2
    found = find_changes(values, GROUPS)
    assert found.boundaries == (12, 25)
    assert all(point.first <= point.at <= point.last for point in found.points)
    assert all(point.p < FAMILY_ERROR for point in found.points)


def test_a_single_step_is_told_from_a_drift() -> None:
    values = series(4)
    values[22:, 1] += 0.2
    assert find_changes(values, GROUPS).boundaries == (22,)
    drifting = series(4) + np.linspace(0, 0.2, 40)[:, None]
    assert find_changes(drifting, GROUPS).points == ()


def test_a_curved_drift_is_not_dated() -> None:
    curved = series(5, noise=0.01) + 0.2 * np.sin(np.linspace(0, np.pi, 40))[:, None]
    assert find_changes(curved, GROUPS).points == ()


def test_outliers_are_no_step_and_do_not_hide_one() -> None:
    values = series(6)
    values[[3, 17, 18, 33]] += np.log(5)
    assert find_changes(values, GROUPS).points == ()
    values[12:26, :2] -= 0.2
    assert find_changes(values, GROUPS).boundaries == (12, 26)


def test_absent_values_are_no_evidence() -> None:
    values = series(7)
    values[10:20, 0] = np.nan
    assert find_changes(values, GROUPS).points == ()
    values[12:25, 1] += 0.2
    assert find_changes(values, GROUPS).boundaries == (12, 25)


def test_equal_values_are_no_step() -> None:
    assert find_changes(np.zeros((30, 3)), GROUPS).points == ()


def test_a_recorded_setting_shows_a_step_that_all_stretches_do_not() -> None:
    """Five of fifteen runs: among all stretches, chance finds such a one too often."""
    values = series(8, n=16, noise=0.005)
    values[5:11] += 0.2
    on = (np.arange(16) >= 5) & (np.arange(16) < 11)
    assert find_changes(values, GROUPS).points == ()
    assert find_changes(values, GROUPS, [on]).boundaries == (5, 11)


def test_a_setting_that_changed_near_a_step_does_not_move_its_date() -> None:
    values = series(9)
    values[20:] += 0.2
    near = np.arange(40) >= 24
    assert find_changes(values, GROUPS, [near]).boundaries == (20,)


def test_a_long_history_is_dated_to_the_run() -> None:
    values = series(10, n=1000)
    values[401:650] += 0.1
    assert find_changes(values, GROUPS).boundaries == (401, 650)


def test_quiet_histories_are_not_dated() -> None:
    """Of 100 histories without a step 0.1 are expected to be dated; two in 10,000 such tests."""
    rng = np.random.default_rng(11)
    dated = 0
    for seed in range(100):
        n = int(rng.integers(15, 61))
        values = rng.normal(0, 0.03, (n, 1)) + rng.normal(0, 0.02, (n, 3))
        values[rng.random(n) < 0.05] += np.log(5)
        dated += bool(find_changes(values, GROUPS, seed=seed).points)
    assert dated <= 1


def test_a_detectable_step_is_detected() -> None:
    """Nine of ten, says the promise; binomially fewer than 13 of 20 has a chance of 0.2 %."""
    found = 0
    for seed in range(20):
        values = series(100 + seed, n=36)
        size = float(detectable_step(values, GROUPS)[0])
        assert 0.01 < size < 0.2
        values[24:, 0] += size
        found += bool(find_changes(values, GROUPS).points)
    assert found >= 13


def test_more_runs_with_a_setting_show_smaller_steps() -> None:
    values = series(12)
    few = detectable_contrast(values, np.arange(40) >= 35, 1)
    many = detectable_contrast(values, (np.arange(40) >= 15) & (np.arange(40) < 28), 1)
    assert np.all(many < few)


def test_the_least_runs_are_those_whose_arrangements_are_rare_enough() -> None:
    n = least_runs()
    arrangements = np.prod([(n - i) / (i + 1) for i in range(n // 3)])
    assert 1 / arrangements < FAMILY_ERROR / 2
    assert find_changes(series(1, n=2 * LEAST_STRETCH), GROUPS).points == ()


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="a group for each column"):
        find_changes(np.zeros((20, 2)), GROUPS)


def test_the_running_median_is_that_of_seven_runs() -> None:
    values = series(13, n=21)
    middle = running_median(values)
    for at in range(21):
        first = min(max(at - 3, 0), 21 - 7)
        assert middle[at] == pytest.approx(np.median(values[first : first + 7], axis=0))


def test_costs_of_a_split_are_the_squares_that_it_leaves() -> None:
    values = series(14, n=12)
    at = 5
    squares = sum(((part - part.mean(axis=0)) ** 2).sum() for part in (values[:at], values[at:]))
    assert split_costs(values)[at - LEAST_STRETCH] == pytest.approx(squares)


def test_the_scan_is_the_t_like_contrast_of_least_squares() -> None:
    values = series(15, n=24)
    design = Design.of(24)
    noise = design.residuals(values)
    inside = ((np.arange(24) >= 8) & (np.arange(24) < 16)).astype(float)
    x = np.column_stack([np.ones(24), np.arange(24)])
    left = inside - x @ np.linalg.lstsq(x, inside, rcond=None)[0]
    expected = np.abs(left @ values / np.linalg.norm(left)).max()
    assert Stretches(design).most(noise[None])[0] >= expected * (1 - 1e-5)
    assert design.free_length(inside) == pytest.approx(np.linalg.norm(left))


@pytest.mark.parametrize("at", [61, 201, 352, 385])
@pytest.mark.parametrize("size", [np.log(2), 0.47, -0.47])
def test_a_large_step_of_a_long_history_is_dated_to_the_run(at: int, size: float) -> None:
    """More spreads than an outlier is pulled in to: the side of a run is not to be mistaken."""
    values = series(12, n=400)
    values[at:] += size
    assert find_changes(values, GROUPS).boundaries == (at,)


@pytest.mark.parametrize("at", [5, 10, 15, 20])
def test_a_step_of_runs_that_do_not_scatter_is_dated(at: int) -> None:
    """As on a twin: the same figure in each run, up to a change."""
    values = np.zeros((30, 3))
    values[at:] += 0.05
    assert find_changes(values, GROUPS).boundaries == (at,)


def test_a_mean_is_taken_over_series_that_nearly_all_runs_have() -> None:
    """One size gives way to another, of another level: the mean must not move there."""
    values = np.arange(4.0) + np.zeros((60, 4))
    values[:40, 2], values[40:, 3] = np.nan, np.nan
    joined = joined_series(values, [0, 0, 0, 0])
    assert joined.shape == (60, 5)
    assert np.array_equal(joined[:, 4], np.full(60, 0.5))
    assert joined_series(values, [0, 1, 0, 0]).shape == (60, 5)
    assert joined_series(values[:, 1:], [0, 0, 0]).shape == (60, 3)


@pytest.mark.parametrize("seed", range(4))
def test_a_level_is_the_median_of_the_values_that_are_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(21 + seed, 40))
    values[rng.random(values.shape) < 0.5] = np.nan
    values[0] = rng.normal(size=40)
    found = levels_of(values, [])
    assert found == pytest.approx(np.tile(np.nanmedian(values, axis=0), (len(values), 1)))


def test_a_series_that_no_check_measured_has_the_level_zero() -> None:
    assert (levels_of(np.full((5, 2), np.nan), []) == 0).all()


def test_no_step_shows_where_none_reaches_the_statistic_of_chance() -> None:
    assert np.isposinf(step_of_statistic(np.zeros((40, 2)), float("inf"))).all()
