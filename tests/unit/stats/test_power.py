import numpy as np
import pytest
from scipy import stats

from weft.stats.multiplicity import critical_t, sign_flip_max_t
from weft.stats.power import POWER, detectable


def _study(rng: np.random.Generator, n: int, cells: int, effect: float) -> np.ndarray:
    """Log ratios whose cells share half of their launch's luck; the first has an effect."""
    logs = 0.1 * (rng.normal(0, 1, (n, 1)) + rng.normal(0, 1, (n, cells))) / np.sqrt(2)
    logs[:, 0] += effect
    return np.asarray(logs)


@pytest.mark.parametrize(("n", "cells"), [(9, 1), (9, 12), (12, 3)])
def test_studies_find_an_effect_of_the_size_they_state_in_about_4_of_5_cases(
    n: int, cells: int
) -> None:
    rng, draws = np.random.default_rng(n * cells), 300
    stated = [detectable(_study(rng, n, cells, 0.0), 0.05)[0] for _ in range(60)]
    effect = float(np.median(stated))
    found = [sign_flip_max_t(_study(rng, n, cells, effect))[0] < 0.05 for _ in range(draws)]
    # Measured 0.75 to 0.90 over 6 to 20 launches and 1 to 24 cells; three standard errors are 0.07.
    assert 0.68 <= np.mean(found) <= 0.95
    half = [sign_flip_max_t(_study(rng, n, cells, effect / 3))[0] < 0.05 for _ in range(draws)]
    assert np.mean(half) < 0.4


def test_one_cell_of_many_launches_needs_the_effect_of_a_t_test() -> None:
    # SOURCE: Cohen, 1988: a one-sample t test at 5 % with power 0.8 needs (z_975 + z_80) standard
    # errors, 2.80, as launches grow many.
    rng = np.random.default_rng(4)
    logs = rng.normal(0, 0.1, (2000, 1))
    error = float(logs.std(ddof=1)) / np.sqrt(2000)
    expected = stats.norm.ppf(0.975) + stats.norm.ppf(POWER)
    assert detectable(logs, 0.05)[0] / error == pytest.approx(expected, rel=0.02)


def test_too_few_launches_find_nothing_of_any_size() -> None:
    logs = np.array([[0.1], [0.3], [0.2], [0.15]])
    # SOURCE: 4 rows have 8 sign patterns up to their negative, none of which is 5 % of them.
    assert critical_t(logs, 0.05) == float("inf")
    assert detectable(logs, 0.05)[0] == float("inf")
    rng = np.random.default_rng(1)
    six = rng.normal(0, 0.1, (6, 1))
    assert np.isfinite(detectable(six, 0.05)[0])
    assert detectable(six, 0.05 / 2)[0] == float("inf")


def test_missing_cells_and_cells_without_scatter_are_no_error() -> None:
    logs = np.array([[0.0, np.nan]] * 4 + [[0.0, 0.1]] * 4)
    zero, scattered = detectable(logs, 0.05)
    assert zero == 0.0
    assert scattered == 0.0
    assert detectable(np.empty((0, 2)), 0.05).tolist() == [float("inf")] * 2
