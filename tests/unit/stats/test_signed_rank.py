import itertools

import numpy as np
import pytest
from scipy import stats

from weft.stats.signed_rank import critical_rank, cumulative, p_below, p_value


@pytest.mark.parametrize("n", range(1, 11))
def test_the_distribution_counts_every_sign_pattern_once(n: int) -> None:
    sums = [
        sum(rank for rank, plus in zip(range(1, n + 1), signs, strict=True) if plus)
        for signs in itertools.product((False, True), repeat=n)
    ]
    counted = np.cumsum(np.bincount(sums, minlength=n * (n + 1) // 2 + 1)) / 2**n
    np.testing.assert_allclose(cumulative(n), counted, atol=1e-15)


@pytest.mark.parametrize("n", [6, 9, 12, 20, 25])
@pytest.mark.parametrize("shift", [0.0, 0.3, 1.5])
def test_p_agrees_with_scipys_exact_test(n: int, shift: float) -> None:
    differences = np.random.default_rng(n).normal(shift, 1, n)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert p_value(differences) == pytest.approx(expected, rel=1e-9)


def test_ties_give_the_p_of_all_sign_patterns_of_the_mid_ranks() -> None:
    differences = np.array([1.0, 1.0, -1.0, 2.0, 2.0, 3.0, 3.0])
    ranks = stats.rankdata(np.abs(differences))
    sums = [float(np.dot(signs, ranks)) for signs in itertools.product((0, 1), repeat=ranks.size)]
    observed = float(ranks[differences > 0].sum())
    smaller = min(observed, float(ranks.sum()) - observed)
    assert p_value(differences) == pytest.approx(2 * np.mean(np.array(sums) <= smaller))


def test_no_difference_at_all_is_p_one() -> None:
    assert p_value(np.zeros(9)) == 1.0


@pytest.mark.parametrize(("n", "rank"), [(5, 0), (6, 1), (9, 6), (12, 14), (25, 90)])
def test_critical_ranks_are_those_of_the_printed_tables(n: int, rank: int) -> None:
    # SOURCE: Wilcoxon & Wilcox 1964, two-sided 5 %: T = -, 0, 5, 13, 89 for these n; k is T + 1.
    assert critical_rank(n) == rank


@pytest.mark.parametrize("n", [6, 9, 15])
@pytest.mark.parametrize("limit", [-0.5, 0.0, 0.8])
def test_p_below_agrees_with_scipys_one_sided_test(n: int, limit: float) -> None:
    values = np.random.default_rng(n).normal(0, 1, n)
    expected = stats.wilcoxon(values - limit, method="exact", alternative="less").pvalue
    assert p_below(values, limit) == pytest.approx(expected, rel=1e-9)


def test_a_lost_value_counts_as_the_farthest_above() -> None:
    values = np.random.default_rng(3).normal(0, 1, 10)
    for n_lost in (1, 2, 5):
        worst = np.append(values, np.full(n_lost, 1e6) + np.arange(n_lost))
        assert p_below(values, 2.0, n_lost) == pytest.approx(p_below(worst, 2.0), rel=0.35)
        assert p_below(values, 2.0, n_lost) > p_below(values, 2.0, n_lost - 1)
    assert p_below(np.zeros(0), 1.0) == 1.0
