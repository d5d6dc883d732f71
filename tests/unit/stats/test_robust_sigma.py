import numpy as np
import pytest

from weft.stats.summary import robust_sigma


def test_of_normal_values_it_is_the_standard_deviation() -> None:
    values = np.random.default_rng(1).normal(5, 2, 20_000)
    assert robust_sigma(values) == pytest.approx(2, rel=0.03)


def test_a_wild_value_hardly_moves_it() -> None:
    values = np.linspace(1, 2, 101)
    assert robust_sigma([*values, 1e9]) == pytest.approx(robust_sigma(values), rel=0.05)


def test_equal_values_do_not_scatter() -> None:
    assert robust_sigma([3.0] * 9) == 0


@pytest.mark.parametrize("values", [[], [1.0, float("nan")]])
def test_what_is_no_figure_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"finite|value"):
        robust_sigma(values)
