import itertools

import numpy as np
import pytest

from weft.stats.multiplicity import sign_flip_equivalence

MARGIN = float(np.log(1.05))


def test_a_single_column_is_the_larger_of_two_one_sided_sign_flip_tests() -> None:
    values = np.random.default_rng(4).normal(0.01, 0.03, 8)

    def t(x: np.ndarray) -> float:
        return float(x.mean() / (x.std(ddof=1) / np.sqrt(x.size)))

    p_values = []
    for inside in (MARGIN - values, MARGIN + values):
        flips = np.array([t(inside * s) for s in itertools.product((1, -1), repeat=8)])
        p_values.append(float(np.mean(flips >= t(inside) - 1e-12)))
    # Two columns share one family: the reference is the larger t of both under each flip.
    found = sign_flip_equivalence(values[:, None], MARGIN)[0]
    assert max(p_values) <= found <= min(1.0, sum(p_values) * 2)


@pytest.mark.parametrize("draws", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [6, 9])
@pytest.mark.parametrize("sides", [(1, 1, 1, 1), (1, -1, 1, -1), (1, 0, 0, 0)])
def test_columns_at_the_margin_are_called_equal_in_5_of_100_families(
    draws: int, n: int, sides: tuple[int, ...]
) -> None:
    truth = np.array(sides) * MARGIN
    at_margin = np.array(sides) != 0
    rng = np.random.default_rng(n)
    wrong = 0
    for _ in range(draws):
        logs = truth + rng.normal(0, 0.02, (n, 1)) + rng.normal(0, 0.02, (n, len(sides)))
        wrong += sign_flip_equivalence(logs, MARGIN)[at_margin].min() < 0.05
    assert wrong / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)


def test_six_equal_launches_without_noise_are_equal_and_five_are_not() -> None:
    # SOURCE: of 2^n sign patterns one is as far inside.
    assert sign_flip_equivalence(np.zeros((6, 3)), MARGIN).tolist() == [1 / 2**6] * 3
    assert sign_flip_equivalence(np.zeros((4, 3)), MARGIN).min() > 0.05


def test_what_lies_at_the_margin_or_beyond_is_never_equal() -> None:
    rng = np.random.default_rng(1)
    for far in (1.5, -1.5, 10.0):
        logs = far * MARGIN + rng.normal(0, 0.001, (12, 2))
        assert sign_flip_equivalence(logs, MARGIN).min() > 0.5


def test_missing_cells_and_single_values_prove_nothing() -> None:
    logs = np.zeros((9, 3))
    logs[:, 1] = np.nan
    logs[1:, 2] = np.nan
    first, nothing, single = sign_flip_equivalence(logs, MARGIN)
    assert first < 0.05
    assert (nothing, single) == (1.0, 1.0)
    assert sign_flip_equivalence(np.zeros((0, 2)), MARGIN).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("margin", [0.0, -1.0, float("nan")])
def test_a_margin_is_above_zero(margin: float) -> None:
    with pytest.raises(ValueError, match="margin above 0"):
        sign_flip_equivalence(np.zeros((6, 1)), margin)
