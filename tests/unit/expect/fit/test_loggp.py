"""Latency by regime: planted knees are found, planted anomalies named, strangers predicted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.fit.loggp import find_anomalies, fit, judge_out_of_sample

SIZES = [0, *(2**i for i in range(23))]


def piecewise(size: int) -> float:
    """Two lines a user could have planted: 1.5 us + 1 ns/B up to 4 KiB, 8 us + 0.1 ns/B above."""
    return 1.5 + 1e-3 * size if size <= 4096 else 8 + 1e-4 * size


def published_latency() -> list[tuple[int, float]]:
    table = platform("azure-a9").table("latency")
    assert table is not None
    return list(table.rows)


def test_a_single_line_is_one_regime_with_its_parameters() -> None:
    fitted = fit(SIZES, [2 + 4e-5 * size for size in SIZES])
    assert len(fitted.regimes) == 1
    assert fitted.n_parameters == 2
    assert fitted.regimes[0].a_us == pytest.approx(2)
    assert fitted.regimes[0].b_us_per_byte == pytest.approx(4e-5)


def test_a_planted_knee_is_found_between_the_right_rows() -> None:
    fitted = fit(SIZES, [piecewise(size) for size in SIZES])
    assert len(fitted.regimes) == 2
    lower, upper = fitted.regimes
    assert (lower.last_bytes, upper.first_bytes) == (4096, 8192)
    assert lower.max_bytes is not None
    assert 4096 <= lower.max_bytes < 8192
    assert upper.b_us_per_byte == pytest.approx(1e-4)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), scale=st.floats(0.1, 100))
def test_noise_below_the_floor_invents_no_regime(seed: int, scale: float) -> None:
    import random

    rng = random.Random(seed)
    times = [scale * (1 + size / 1e4) * rng.uniform(0.99, 1.01) for size in SIZES]
    assert len(fit(SIZES, times).regimes) == 1


@settings(max_examples=25, deadline=None)
@given(factor=st.floats(0.01, 1000))
def test_the_unit_of_time_does_not_matter(factor: float) -> None:
    fitted = fit(SIZES, [piecewise(size) for size in SIZES])
    scaled = fit(SIZES, [factor * piecewise(size) for size in SIZES])
    for size in (0, 3, 5000, 10**7):
        assert scaled.predict(size) == pytest.approx(factor * fitted.predict(size), rel=1e-6)


def test_no_regime_falls_with_size_or_starts_below_zero() -> None:
    fitted = fit(SIZES, [10.0 if size < 100 else 5.0 + size / 1e5 for size in SIZES])
    assert all(regime.b_us_per_byte >= 0 for regime in fitted.regimes)
    assert all(regime.a_us >= 0 for regime in fitted.regimes)


def test_a_single_high_row_is_named_and_not_fitted() -> None:
    times = [2 + 4e-5 * size for size in SIZES]
    times[10] *= 3
    fitted = fit(SIZES, times)
    assert [anomaly.size_bytes for anomaly in fitted.anomalies] == [SIZES[10]]
    assert fitted.predict(SIZES[10]) == pytest.approx(2 + 4e-5 * SIZES[10])


def test_a_single_low_row_is_named() -> None:
    times = [2 + 4e-5 * size for size in SIZES]
    times[18] /= 3
    assert [a.size_bytes for a in find_anomalies(list(zip(SIZES, times, strict=True)))] == [
        SIZES[18]
    ]


@pytest.mark.parametrize("factor", [0.3, 5.0])
def test_a_last_row_no_line_through_its_predecessor_reaches_is_named(factor: float) -> None:
    rows = [(size, 2 + 4e-5 * size) for size in SIZES]
    size, time = rows[-1]
    assert find_anomalies(rows) == ()
    spoiled = [*rows[:-1], (size, factor * time)]
    assert [anomaly.size_bytes for anomaly in find_anomalies(spoiled)] == [size]
    assert fit(*zip(*spoiled, strict=True)).predict(size) == pytest.approx(time, rel=1e-6)


def test_a_fall_that_lasts_is_a_protocol_change_not_an_anomaly() -> None:
    assert find_anomalies(published_latency()) == ()


def test_where_a_table_cannot_say_the_faster_protocol_is_taken() -> None:
    # Sizes 1 to 64 on a slow, steep line and 1024 up on a fast, flat one: between 64 and 1024
    # the flat line is below the steep one everywhere.
    sizes = [1, 8, 64, 1024, 4096, 16384]
    times = [10 + size if size <= 64 else 5 + size / 1e3 for size in sizes]
    fitted = fit(sizes, times)
    assert fitted.predict(65) == pytest.approx(5.065, rel=1e-3)


def test_every_held_out_row_of_the_published_table_within_20_percent() -> None:
    judged = judge_out_of_sample(published_latency())
    assert len(judged.held_out) == 12
    assert judged.max_error < 0.20
    assert judged.median_error < 0.06


def test_held_out_rows_are_not_fitted() -> None:
    rows = [(size, 2 + 4e-5 * size) for size in SIZES]
    spoiled = [(s, t * (1.05 if i % 2 else 1.0)) for i, (s, t) in enumerate(rows)]
    judged = judge_out_of_sample(spoiled)
    assert judged.median_error == pytest.approx(1 - 1 / 1.05, rel=1e-6)


@pytest.mark.parametrize(
    ("sizes", "times", "message"),
    [
        ([1], [1.0], "1 rows are too few"),
        ([1, 2], [1.0], "2 sizes but 1 latencies"),
        ([1, 1], [1.0, 1.0], "appears twice"),
        ([1, 2], [1.0, 0.0], "not a positive number"),
        ([1, 2], [1.0, float("nan")], "not a positive number"),
    ],
)
def test_a_table_that_cannot_be_fitted_is_an_input_error(
    sizes: list[int], times: list[float], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        fit(sizes, times)


def test_the_half_that_is_fitted_learns_nothing_from_the_half_that_judges_it() -> None:
    rows = [(2**k, 1.0 + 0.01 * 2**k) for k in range(16)]
    fitted = judge_out_of_sample(rows).fit
    # An anomaly among the rows held out moves no row into the other half.
    odd = [(size, 3 * time if i == 7 else time) for i, (size, time) in enumerate(rows)]
    judged = judge_out_of_sample(odd)
    assert judged.fit == fitted
    assert [row.size_bytes for row in judged.held_out] == [
        size for i, (size, _) in enumerate(rows) if i % 2 and i != 7
    ]


def test_three_rows_cannot_be_judged_out_of_sample() -> None:
    with pytest.raises(InputError, match="3 rows are too few to hold half of them out"):
        judge_out_of_sample([(1, 1.0), (2, 1.1), (4, 1.2)])


def test_rows_per_parameter_keeps_a_noisy_table_from_a_line_for_every_pair_of_rows() -> None:
    sizes = [2**k for k in range(16)]
    rough = [1.0 + 0.4 * (k % 3) + 0.001 * 2**k for k in range(16)]
    free = fit(sizes, rough)
    bound = fit(sizes, rough, rows_per_parameter=2.0)
    assert bound.n_parameters <= bound.n_rows / 2 < free.n_parameters
