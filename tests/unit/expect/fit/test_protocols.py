"""Tables of one library share their changes of protocol; each keeps its own lines."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core.units import in_force
from weft.expect.fit.loggp import fit, partition
from weft.expect.fit.protocols import Protocols, fit_protocols

SIZES = [2**k for k in range(20)]


def steps(limit: int, low: float, high: float) -> list[tuple[int, float]]:
    return [(s, (low if s <= limit else high) + 1e-4 * s) for s in SIZES]


def limits_of(protocols: Protocols, table: int) -> list[int | None]:
    return [regime.max_bytes for regime in protocols.lines[table]]


def test_a_change_that_both_tables_show_is_one_change() -> None:
    found = fit_protocols([steps(512, 2, 5), steps(512, 0.5, 1.5)])
    assert len(found.limits) == 1
    assert limits_of(found, 0) == limits_of(found, 1)
    assert found.n_parameters == 2 * 4 + 1


def test_it_lies_where_the_gaps_of_both_tables_overlap() -> None:
    # One table has no row between 512 and 4096, the other none between 128 and 1024.
    first = [row for row in steps(600, 5, 2) if row[0] not in (1024, 2048)]
    second = [row for row in steps(600, 3, 1) if row[0] not in (256, 512)]
    (limit,) = fit_protocols([first, second]).limits
    assert 512 <= limit < 1024


def test_changes_far_apart_stay_two() -> None:
    found = fit_protocols([steps(64, 2, 5), steps(16384, 0.5, 1.5)])
    assert len(found.limits) == 2
    low, high = found.limits
    assert 64 <= low < 128
    assert 16384 <= high < 32768
    assert limits_of(found, 0) == [low, None]
    assert limits_of(found, 1) == [high, None]


def test_one_table_alone_is_fitted_as_ever() -> None:
    rows = steps(512, 2, 5)
    (lines,) = fit_protocols([rows]).lines
    assert lines == fit(*zip(*rows, strict=True)).regimes


def test_a_change_known_from_another_table_needs_less_evidence() -> None:
    def n_lines(step: float, knees: list[tuple[int, int]]) -> int:
        rows = [(s, (1.0 if s <= 512 else step) * (1 + 1e-5 * s)) for s in SIZES]
        return len(partition(rows, 3, knees=knees).starts)

    steps_seen = [1 + 0.001 * k for k in range(1, 200)]
    alone = next(step for step in steps_seen if n_lines(step, []) == 2)
    known = next(step for step in steps_seen if n_lines(step, [(512, 1024)]) == 2)
    elsewhere = next(step for step in steps_seen if n_lines(step, [(8, 16)]) == 2)
    assert known < alone == elsewhere


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_noise_below_the_floor_invents_no_change_in_either_table(seed: int) -> None:
    rng = random.Random(seed)
    tables = [
        [(s, (2 + s / 1e4) * rng.uniform(0.99, 1.01)) for s in SIZES],
        [(s, (1 + s / 2e4) * rng.uniform(0.99, 1.01)) for s in SIZES],
    ]
    assert fit_protocols(tables).limits == ()


@pytest.mark.parametrize("size", [1, 512, 513, 1 << 19, 1 << 30])
def test_every_size_has_a_line_of_every_table(size: int) -> None:
    found = fit_protocols([steps(512, 2, 5), steps(8192, 0.5, 1.5)])
    for lines in found.lines:
        regime = in_force(lines, size)
        assert regime.max_bytes is None or size <= regime.max_bytes
