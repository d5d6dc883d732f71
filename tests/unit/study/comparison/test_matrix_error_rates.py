"""How often a whole matrix errs: nodes x ranks a node x sizes, whose sizes are correlated."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.unit.study.comparison.conclusion.drawn_study import (
    cells_of_matrix,
    drawn_values,
    judged,
)

from weft.study.comparison.cells import Value
from weft.study.comparison.conclusion.anomalies import anomaly_findings
from weft.study.comparison.rows import RowOutcome

FEW, MANY = 100, 10_000
CELLS = cells_of_matrix()
pytestmark = pytest.mark.timeout(7200)


def _share(draws: int, is_hit: Callable[[list[Value]], bool]) -> float:
    rng = np.random.default_rng(draws)
    return sum(is_hit(drawn_values(rng, CELLS)) for _ in range(draws)) / draws


def _at_most(share: float, draws: int) -> float:
    """Three standard errors above a share."""
    return share + 3 * float(np.sqrt(share * (1 - share) / draws))


@pytest.mark.parametrize("draws", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_any_cell_of_a_null_matrix_is_called_different_in_5_of_100_studies_at_most(
    draws: int,
) -> None:
    def accused(values: list[Value]) -> bool:
        moved = (RowOutcome.FASTER, RowOutcome.SLOWER)
        return any(row.outcome in moved for row in judged(values))

    share = _share(draws, accused)
    print(f"{share:.4f} of {draws} null studies of {len(CELLS)} cells")
    assert share <= _at_most(0.05, draws)


@pytest.mark.parametrize("draws", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_a_matrix_without_odd_launches_has_an_anomaly_in_5_of_100_studies_at_most(
    draws: int,
) -> None:
    def named(values: list[Value]) -> bool:
        return bool(anomaly_findings(values, (), lambda *_: (), simulated=False, margin=0.0))

    share = _share(draws, named)
    print(f"{share:.4f} of {draws} studies without anomalies, {len(CELLS)} cells")
    assert share <= _at_most(0.05, draws)
