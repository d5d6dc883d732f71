import itertools

import numpy as np
import pytest

from weft.stats.multiplicity import sign_flip_max_t


def test_a_single_column_is_the_plain_sign_flip_test() -> None:
    values = np.random.default_rng(4).normal(0.3, 1, 8)

    def t(x: np.ndarray) -> float:
        return abs(x.mean()) / (x.std(ddof=1) / np.sqrt(x.size))

    flips = [t(values * signs) for signs in itertools.product((1, -1), repeat=8)]
    expected = np.mean(np.array(flips) >= t(values) * (1 - 1e-9))
    assert sign_flip_max_t(values[:, None])[0] == pytest.approx(expected)


def test_the_family_is_wrong_about_one_time_in_twenty_however_many_sizes() -> None:
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(400):
        launch = rng.normal(0, 0.02, (9, 1))  # all sizes of a launch share its luck
        wrong += sign_flip_max_t(launch + rng.normal(0, 0.02, (9, 20))).min() < 0.05
    assert wrong / 400 <= 0.075  # 0.05 and two and a half standard errors


def test_nine_pairs_find_one_size_among_twenty() -> None:
    # Holm over 20 sizes cannot: its smallest p at nine pairs is 20 * 2 / 2^9 = 0.078.
    rng = np.random.default_rng(12)
    logs = rng.normal(0, 0.01, (9, 20))
    logs[:, 3] += 0.2
    adjusted = sign_flip_max_t(logs)
    assert adjusted[3] == pytest.approx(2 / 2**9)
    assert np.delete(adjusted, 3).min() > 0.05


def test_above_14_rows_flips_are_drawn_by_seed() -> None:
    logs = np.random.default_rng(1).normal(0.005, 0.01, (20, 3))
    assert (sign_flip_max_t(logs, seed=5) == sign_flip_max_t(logs, seed=5)).all()
    assert (sign_flip_max_t(logs, seed=5) > 0).all()
    np.testing.assert_allclose(
        sign_flip_max_t(logs, seed=5), sign_flip_max_t(logs, seed=6), atol=0.02
    )


def test_cells_that_failed_are_missing_not_zero() -> None:
    logs = np.full((10, 2), 0.1) + np.random.default_rng(0).normal(0, 0.01, (10, 2))
    logs[8:, 1] = np.nan
    assert (sign_flip_max_t(logs) < 0.01).all()


@pytest.mark.parametrize(
    "logs", [np.zeros((9, 2)), np.full((9, 2), np.nan), np.zeros((0, 2)), np.full((1, 2), 0.3)]
)
def test_nothing_to_see_is_p_one(logs: np.ndarray) -> None:
    assert (sign_flip_max_t(logs) == 1.0).all()


def test_columns_without_any_noise_are_still_judged() -> None:
    assert sign_flip_max_t(np.full((9, 2), 0.1)).tolist() == pytest.approx([2 / 2**9] * 2)


def test_a_table_is_required() -> None:
    with pytest.raises(ValueError, match="rows of pairs"):
        sign_flip_max_t([1.0, 2.0])
