from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from weft.stats.bimodal import are_bimodal, bimodality_coefficients


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_two_speeds_are_flagged(share: float) -> None:
    rng = np.random.default_rng(1)
    fast = rng.normal(1.0, 0.03, int(200 * (1 - share)))
    slow = rng.normal(1.5, 0.03, int(200 * share))
    assert is_bimodal(np.concatenate([fast, slow]))


def is_bimodal(values: Sequence[float] | np.ndarray) -> bool:
    return are_bimodal([values])[0]


def test_one_speed_with_noise_or_a_few_stragglers_is_not_flagged() -> None:
    rng = np.random.default_rng(2)
    assert not any(is_bimodal(rng.normal(1, 0.1, 200)) for _ in range(50))
    with_stragglers = np.concatenate([rng.normal(1, 0.02, 195), [3.0] * 5])
    assert not is_bimodal(with_stragglers)


def test_the_coefficient_of_a_uniform_distribution_is_five_ninths() -> None:
    assert bimodality_coefficients(np.linspace(0, 1, 20_001)[np.newaxis])[0] == pytest.approx(
        5 / 9, abs=1e-3
    )


def test_few_or_equal_values_are_never_flagged() -> None:
    assert not is_bimodal([1.0] * 9 + [2.0] * 10)
    assert not is_bimodal([4.0] * 100)


@pytest.mark.parametrize("n", [4, 20, 500])
def test_the_coefficient_rests_on_scipys_unbiased_moments(n: int) -> None:
    values = np.random.default_rng(n).gamma(2.0, 1.0, n)
    skewness = float(stats.skew(values, bias=False))
    excess = float(stats.kurtosis(values, bias=False))
    expected = (skewness**2 + 1) / (excess + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3)))
    assert bimodality_coefficients(values[np.newaxis])[0] == pytest.approx(expected)


def test_samples_of_any_length_are_told_together() -> None:
    """Each as alone, in the order given."""
    rng = np.random.default_rng(2)
    two = np.concatenate([rng.normal(1, 0.02, 60), rng.normal(2, 0.02, 40)])
    one = rng.normal(1, 0.1, 100)
    equal, none = np.full(100, 4.0), np.array([])
    samples = [two, one, none, equal, two[:19], rng.permutation(two), two[30:80]]
    told = are_bimodal(samples)
    assert told == [is_bimodal(one) for one in samples]
    assert told == [True, False, False, False, False, True, True]
    with pytest.raises(ValueError, match="not finite"):
        are_bimodal([one, [*one[:99], float("nan")]])
