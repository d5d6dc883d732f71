"""How often verdicts err, over drawn studies whose truth is known."""

import functools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from weft.catalog.load import benchmark
from weft.study.comparison.cells import StudyCell, Value
from weft.study.comparison.effects import EffectFacts, effect_findings
from weft.study.comparison.rows import (
    GOOD,
    ComparisonRow,
    ComparisonRules,
    RowOutcome,
    rows_of,
)

SIZES = (8, 4096, 65536)
MARGIN = 0.05
RULES = ComparisonRules(functools.cache(benchmark), margin=MARGIN)
FEW, MANY = 250, 10_000
pytestmark = pytest.mark.timeout(1200)

Scatter = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(0, 1, shape)


def _heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t with 3 degrees of freedom: stragglers, on both sides."""
    return rng.standard_t(3, shape)


def _study(
    rng: np.random.Generator, n: int, logs: np.ndarray, spread: float, scatter: Scatter
) -> list[ComparisonRow]:
    """Rows of `n` pairs; all sizes of a launch share half of its luck."""
    shape = (2, n, len(logs))
    luck = scatter(rng, (2, n, 1)) + scatter(rng, shape)
    values = np.exp(spread * luck / 2)
    values[1] *= np.exp(logs)
    arms = [
        [
            Value(
                arm,
                StudyCell("allreduce", 2, 1, size),
                0,
                frozenset({"n1", "n2"}),
                repeat,
                "latency_us_p50",
                float(values[side, repeat, column]),
                0.0,
            )
            for repeat in range(n)
            for column, size in enumerate(SIZES)
        ]
        for side, arm in enumerate(("first", "second"))
    ]
    return rows_of(*arms, RULES)


def _share(
    draws: int,
    logs: tuple[float, ...],
    spread: float,
    is_hit: Callable[[list[ComparisonRow]], bool],
    *,
    n: int = 9,
    scatter: Scatter = _normal,
) -> float:
    rng = np.random.default_rng(draws)
    hits = sum(is_hit(_study(rng, n, np.array(logs), spread, scatter)) for _ in range(draws))
    return hits / draws


def _at_most(share: float, draws: int) -> float:
    """Three standard errors above a share."""
    return share + 3 * float(np.sqrt(share * (1 - share) / draws))


@pytest.mark.parametrize(
    ("draws", "scatter"),
    [(FEW, _normal), (FEW, _heavy), pytest.param(MANY, _normal, marks=pytest.mark.slow)],
)
def test_equal_arms_are_called_different_in_5_of_100_studies_at_most(
    draws: int, scatter: Scatter
) -> None:
    def accused(rows: list[ComparisonRow]) -> bool:
        return any(row.outcome in (RowOutcome.FASTER, RowOutcome.SLOWER) for row in rows)

    share = _share(draws, (0.0, 0.0, 0.0), 0.1, accused, scatter=scatter)
    assert share <= _at_most(0.05, draws)


@pytest.mark.parametrize(
    ("draws", "sign", "scatter"),
    [
        (FEW, 1, _normal),
        (FEW, -1, _heavy),
        pytest.param(MANY, 1, _normal, marks=pytest.mark.slow),
        pytest.param(MANY, 1, _heavy, marks=pytest.mark.slow),
    ],
)
def test_arms_that_differ_by_the_margin_are_called_equal_in_5_of_100_studies_at_most(
    draws: int, sign: int, scatter: Scatter
) -> None:
    edge = sign * float(np.log1p(MARGIN))

    def reassured(rows: list[ComparisonRow]) -> bool:
        return any(row.outcome is RowOutcome.EQUIVALENT for row in rows)

    share = _share(draws, (edge, edge, edge), 0.05, reassured, scatter=scatter)
    assert share <= _at_most(0.05, draws)


@pytest.mark.parametrize(
    ("draws", "spread"),
    [
        *((FEW, spread) for spread in (0.02, 0.05, 0.2)),
        pytest.param(MANY, 0.05, marks=pytest.mark.slow),
    ],
)
def test_one_slow_size_among_equal_ones_is_missed_in_5_of_100_studies_at_most(
    draws: int, spread: float
) -> None:
    # "would show": a size slower by the margin is called good, whatever the scatter.
    slow = (0.0, float(np.log1p(MARGIN)), 0.0)

    def missed(rows: list[ComparisonRow]) -> bool:
        return any(row.cell.size_bytes == SIZES[1] and row.outcome in GOOD for row in rows)

    assert _share(draws, slow, spread, missed) <= _at_most(0.05, draws)


@pytest.mark.parametrize("draws", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_the_test_can_fail_equal_arms_with_little_scatter_are_called_equal(draws: int) -> None:
    def decided(rows: list[ComparisonRow]) -> bool:
        return all(row.outcome is RowOutcome.EQUIVALENT for row in rows)

    # A standard error of 0.02 / 3, seven of which are the margin.
    assert _share(draws, (0.0, 0.0, 0.0), 0.02, decided) >= 0.8
    assert _share(FEW, (0.0, 0.0, 0.0), 0.5, decided) <= 0.05


def test_a_slowdown_of_three_margins_is_a_regression() -> None:
    def found(rows: list[ComparisonRow]) -> bool:
        return all(row.outcome is RowOutcome.SLOWER for row in rows)

    slow = (float(np.log(1.15)),) * 3
    assert _share(FEW, slow, 0.05, found) >= 0.9


@pytest.mark.slow
def test_of_the_launches_that_a_study_asks_for_most_decide_it() -> None:
    rng = np.random.default_rng(5)
    again: Counter[bool] = Counter()
    while again.total() < 40:
        rows = _study(rng, 9, np.zeros(3), 0.12, _normal)
        needed = max(
            one.facts.n_units_needed
            for one in effect_findings(rows, MARGIN)
            if isinstance(one.facts, EffectFacts)
        )
        if needed:
            more = _study(rng, min(needed, 200), np.zeros(3), 0.12, _normal)
            again[all(row.outcome is not RowOutcome.UNDECIDED for row in more)] += 1
    assert again[True] >= 24
