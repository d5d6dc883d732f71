import numpy as np
import pytest
from scipy import stats

from weft.stats.outlier import farthest


def test_the_distance_is_that_of_a_t_test_of_one_value_against_the_others() -> None:
    # SOURCE: leaving one value out, the residual over its standard error is the pooled two-sample t
    # of that value against the others (Cook & Weisberg, section 2.2.2).
    rng = np.random.default_rng(2)
    values = np.exp(rng.normal(0, 0.1, 9))
    values[4] *= 1.6
    found = farthest(values, ["one set"] * 9)
    assert found is not None
    others = np.delete(values, 4)
    known = stats.ttest_ind([np.log(values[4])], np.log(others))
    assert (found.index, found.n_others) == (4, 8)
    assert found.sigmas == pytest.approx(abs(float(known.statistic)))
    assert found.p == pytest.approx(float(known.pvalue))
    assert found.ratio == pytest.approx(values[4] / np.median(others))


def test_within_node_sets_of_different_levels_a_launch_is_compared_with_its_set() -> None:
    sets = [name for name in "abc" for _ in range(3)]
    levels = np.array([1.0, 1.02, 0.98, 3.0, 3.06, 2.94, 9.0, 9.18, 8.82])
    alone = levels.copy()
    alone[4] *= 1.5
    found = farthest(alone, sets)
    assert found is not None
    assert (found.index, found.n_others) == (4, 2)
    assert found.ratio == pytest.approx(3.06 * 1.5 / np.median([3.0, 2.94]))
    quiet = farthest(levels, sets)
    assert quiet is not None
    assert quiet.p > 0.05


def test_one_value_among_equal_ones_is_infinitely_far() -> None:
    found = farthest([5.0] * 8 + [6.0], range(9))
    assert found is not None
    assert (found.index, found.p, found.sigmas) == (8, 0.0, float("inf"))


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [3.0] * 9, [1 + 1e-13] + [1.0] * 8])
def test_too_few_values_and_equal_ones_hold_no_outlier(values: list[float]) -> None:
    assert farthest(values, ["s"] * len(values)) is None


def test_of_log_normal_values_5_of_100_are_called_outliers_at_most() -> None:
    rng, draws = np.random.default_rng(1), 2000
    hits = 0
    for values in np.exp(rng.normal(0, 0.2, (draws, 9))):
        found = farthest(values, ["s"] * 9)
        hits += found is not None and found.p * 9 < 0.05
    # Three standard errors around 5 %; Bonferroni costs next to nothing here.
    assert 0.03 <= hits / draws <= 0.065


@pytest.mark.parametrize(
    ("values", "blocks", "said"),
    [([1.0, 2.0], ["a"], "blocks"), ([1.0, 0.0], ["a", "a"], "positive")],
)
def test_unusable_values_are_refused(values: list[float], blocks: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        farthest(values, blocks)
