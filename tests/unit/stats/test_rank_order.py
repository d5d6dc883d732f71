"""Evidence by ranks: its law (the mean over all orders is 1), closed forms, and error rates."""

import math
from itertools import combinations

import numpy as np
import pytest

from weft.stats.rank_order import (
    ALTERNATIVES,
    is_larger,
    log_evidence,
    middle_shift,
    shift_interval,
)


@pytest.mark.parametrize(("n_first", "n_second"), [(1, 1), (2, 3), (4, 4), (5, 2)])
def test_its_mean_over_all_orders_is_1(n_first: int, n_second: int) -> None:
    """A likelihood ratio has the mean 1 where there is no difference: each order is as likely."""
    n = n_first + n_second
    evidence = []
    for places in combinations(range(n), n_second):
        first = [place for place in range(n) if place not in places]
        evidence.append(math.exp(log_evidence(first, list(places))))
    assert np.mean(evidence) == pytest.approx(1.0)


@pytest.mark.parametrize(("n_first", "n_second"), [(4, 4), (6, 3), (9, 5)])
def test_a_clean_separation_gives_nearly_one_of_all_orders(n_first: int, n_second: int) -> None:
    """No test by ranks can give more than the number of orders."""
    orders = math.comb(n_first + n_second, n_second)
    evidence = math.exp(log_evidence(range(n_first), range(100, 100 + n_second)))
    assert 0.75 * orders < evidence < orders


def test_the_weights_are_a_mixture() -> None:
    assert 2 * sum(weight for _, weight in ALTERNATIVES) == pytest.approx(1.0)


def test_ties_count_against_it_and_infinity_is_the_largest() -> None:
    assert log_evidence([1, 1, 1], [1, 1, 1]) < 0
    assert log_evidence([1, 2, 3], [3, 4, 5]) < log_evidence([1, 2, 3], [3.1, 4, 5])
    hung = [math.inf] * 4
    assert is_larger([1, 2, 3, 4], hung, 0.025)
    assert log_evidence(hung, hung) < 0
    assert log_evidence([], [1]) == 0


@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "exponential"])
def test_no_difference_is_rarely_claimed_however_often_one_looks(draw: str) -> None:
    """After each of 40 launches: 400 runs at 5 %, of which 35 may be wrong (the 99.9 % point of the
    binomial distribution is 35)."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(400):
        first, second = getattr(rng, draw)(size=20), getattr(rng, draw)(size=20)
        wrong += any(is_larger(first[:n], second[:n], 0.05) for n in range(1, 21))
    assert wrong <= 35


def test_a_shift_lies_in_its_interval() -> None:
    rng = np.random.default_rng(3)
    outside = 0
    for _ in range(200):
        first, second = rng.normal(0, 1, 10), rng.normal(2, 1, 12)
        low, high = shift_interval(first, second, 0.05)
        assert low <= middle_shift(first, second) <= high
        outside += not low <= 2 <= high
    assert outside <= 20


def test_an_interval_moves_with_its_values_and_is_open_where_there_are_few() -> None:
    first, second = np.array([1.0, 1.2, 1.4, 1.1, 0.9]), np.array([3.0, 3.3, 3.1, 2.9, 3.6])
    low, high = shift_interval(first, second, 0.05)
    moved = shift_interval(first - 1, second + 1, 0.05)
    assert moved == pytest.approx((low + 2, high + 2))
    assert shift_interval(first[:2], second[:2], 0.05) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="finite"):
        shift_interval(first, [math.inf], 0.05)
