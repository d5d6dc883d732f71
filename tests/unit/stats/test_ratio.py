import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.stats.ratio import (
    EXACT_UP_TO,
    NotEnoughData,
    Ratio,
    hodges_lehmann,
    paired_ratio,
)

positive = st.floats(0.01, 1e6)


def _ratio(first: object, second: object, **options: int) -> Ratio:
    found = paired_ratio(first, second, **options)  # type: ignore[arg-type]
    assert isinstance(found, Ratio)
    return found


@pytest.mark.parametrize(
    ("n", "trials"),
    [(6, 1500), (9, 2000), pytest.param(12, 2000, marks=pytest.mark.slow), (25, 400)],
)
@pytest.mark.parametrize("heavy_tail", [False, True])
def test_the_interval_covers_the_truth_as_often_as_it_says(
    n: int, trials: int, heavy_tail: bool
) -> None:
    truth, hits = 1.3, 0
    rng = np.random.default_rng(n)
    for _ in range(trials):
        noise = rng.standard_t(2, n) * 0.05 if heavy_tail else rng.normal(0, 0.1, n)
        level = rng.lognormal(0, 0.5, n)
        found = _ratio(level, truth * level * np.exp(noise))
        hits += found.low <= truth <= found.high
    assert hits / trials >= 0.93


def test_the_bootstrap_t_covers_above_25_pairs() -> None:
    truth, hits, trials = 0.8, 0, 100
    rng = np.random.default_rng(7)
    for trial in range(trials):
        first = rng.lognormal(0, 0.1, EXACT_UP_TO + 3)
        found = _ratio(first, truth * rng.lognormal(0, 0.1, first.size), seed=trial)
        hits += found.low <= truth <= found.high
    assert hits >= 88  # 100 draws of a 95 % interval fall below 88 hits once in two hundred


def test_many_pairs_narrow_around_the_truth() -> None:
    rng = np.random.default_rng(3)
    first = rng.lognormal(0, 0.1, 400)
    found = _ratio(first, 1.1 * first * rng.lognormal(0, 0.02, 400))
    assert found.low < 1.1 < found.high
    assert found.high - found.low < 0.01


@pytest.mark.parametrize("n", range(6))
def test_under_six_pairs_there_is_no_interval_but_a_plain_word(n: int) -> None:
    found = paired_ratio([1.0] * n, [2.0] * n)
    assert isinstance(found, NotEnoughData)
    assert found.text == f"not enough data: {n} pair{'' if n == 1 else 's'}, 6 needed"


@given(st.lists(st.tuples(positive, positive), min_size=6, max_size=20))
def test_swapping_the_arms_inverts_ratio_and_interval(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    there, back = _ratio(first, second), _ratio(second, first)
    assert back.ratio == pytest.approx(1 / there.ratio, rel=1e-9)
    assert (back.low, back.high) == pytest.approx((1 / there.high, 1 / there.low), rel=1e-9)
    assert back.p == pytest.approx(there.p)


@given(st.lists(positive, min_size=6, max_size=30), st.floats(0.1, 10))
def test_a_constant_factor_is_found_exactly(first: list[float], factor: float) -> None:
    found = _ratio(first, [value * factor for value in first])
    assert (found.ratio, found.low, found.high) == pytest.approx((factor,) * 3, rel=1e-9)


def test_the_interval_excludes_one_exactly_where_the_test_rejects() -> None:
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(200):
        first = rng.lognormal(0, 0.1, 10)
        found = _ratio(first, first * rng.lognormal(0.06, 0.1, 10))
        assert found.differs == (found.p <= 0.05)
        seen.add(found.differs)
    assert seen == {True, False}


def test_hodges_lehmann_is_the_median_of_all_pairwise_means() -> None:
    # SOURCE: by hand; the means of 1, 2 and 9 with themselves and each other are 1 1.5 2 5 5.5 9.
    assert hodges_lehmann([1, 2, 9]) == 3.5


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([1.0] * 6, [1.0] * 7, "cannot be paired"),
        ([1.0] * 6, [0.0] * 6, "positive"),
        ([1.0] * 6, [float("nan")] * 6, "finite"),
    ],
)
def test_values_without_a_ratio_are_refused(
    first: list[float], second: list[float], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        paired_ratio(first, second)
