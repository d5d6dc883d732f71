from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from weft.stats.unpaired_ratio import _u_distribution, unpaired_ratio


def test_the_distribution_of_u_is_that_of_all_arrangements() -> None:
    n, m = 5, 6
    ranks = Counter(sum(chosen) - n * (n - 1) // 2 for chosen in combinations(range(n + m), n))
    total = sum(ranks.values())
    expected = [ranks[u] / total for u in range(n * m + 1)]
    assert _u_distribution(n, m) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "m"), [(6, 6), (10, 15), (30, 40)])
def test_the_interval_covers_the_ratio_as_often_as_it_says(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    covered = 0
    for _ in range(1000):
        found = unpaired_ratio(rng.lognormal(0, 0.1, n), 1.3 * rng.lognormal(0, 0.1, m))
        assert found is not None
        covered += found.low <= 1.3 <= found.high
    assert 930 <= covered <= 985


def test_long_samples_are_thinned() -> None:
    rng = np.random.default_rng(1)
    found = unpaired_ratio(rng.lognormal(0, 0.1, 50_000), 2 * rng.lognormal(0, 0.1, 9_000))
    assert found is not None
    assert found.ratio == pytest.approx(2, rel=0.01)


def test_few_values_have_no_interval_and_times_are_positive() -> None:
    assert unpaired_ratio([1.0] * 5, [1.0] * 9) is None
    with pytest.raises(ValueError, match="positive"):
        unpaired_ratio([0.0] * 6, [1.0] * 6)
