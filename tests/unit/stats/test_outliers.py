import numpy as np
import pytest

from weft.stats.outliers import THRESHOLD, modified_z, modified_z_within


def test_one_slow_value_stands_out_and_does_not_hide_itself() -> None:
    values = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02, 40.0]
    scores = modified_z(values)
    assert (np.abs(scores) > THRESHOLD).tolist() == [False] * 6 + [True]


def test_scores_of_normal_values_are_standard_deviations() -> None:
    values = np.random.default_rng(1).normal(5, 2, 20_000)
    assert float(modified_z(values).std()) == pytest.approx(1, abs=0.03)


def test_a_value_is_judged_within_its_group_only() -> None:
    near, far = [1.0, 1.01, 0.99, 1.02, 0.98], [2.0, 2.01, 1.99, 2.02, 1.98]
    groups = ["leaf"] * 5 + ["spine"] * 5
    assert np.abs(modified_z_within([*near, *far], groups)).max() < THRESHOLD
    assert np.abs(modified_z([*near, 2.0])).max() > THRESHOLD


def test_equal_values_have_no_outlier_and_one_other_among_equals_is_one() -> None:
    assert modified_z([3.0] * 5).tolist() == [0.0] * 5
    assert modified_z([3.0] * 9 + [4.0])[-1] > THRESHOLD


def test_every_value_needs_its_group() -> None:
    with pytest.raises(ValueError, match="2 values but 1 group"):
        modified_z_within([1.0, 2.0], ["a"])
