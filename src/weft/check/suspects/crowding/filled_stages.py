"""Stages between switches that a moment filled while it filled no other of their paths: what is
slow there is slow at that stage."""

import numpy as np
from scipy.sparse import csr_matrix, diags

from weft.check.readings.crossing import Crossings
from weft.check.readings.readings import Floats, Ints


def in_series(crossings: Crossings) -> dict[int, tuple[int, ...]]:
    """Of the stages between switches that exactly the same readings cross, one behind the other,
    the first one, with the ports of all: no reading separates them."""
    crossed = crossings.by_stage.tocsc()
    crossed.sort_indices()
    by_rows: dict[bytes, list[int]] = {}
    for number, stage in enumerate(crossings.stages):
        if crossings.fabric.between_switches[list(stage)].all():
            rows = crossed.indices[crossed.indptr[number] : crossed.indptr[number + 1]]
            by_rows.setdefault(rows.tobytes(), []).append(number)
    return {
        same[0]: tuple(port for number in same for port in crossings.stages[number])
        for same in by_rows.values()
    }


def filled_by_itself(crossings: Crossings, series: dict[int, tuple[int, ...]]) -> tuple[Ints, Ints]:
    """Rows in whose moment one stage of `series` (above) was filled as far as it ever was, and no
    other of their path half as far; and these stages. Kept only if most rows of the stage in that
    moment qualify."""
    counted = np.zeros(len(crossings.stages))
    counted[list(series)] = 1.0
    load = csr_matrix(crossings.load @ diags(counted))
    load.eliminate_zeros()
    fullest = np.asarray(load.max(axis=0).todense()).reshape(-1)
    rows = np.flatnonzero(np.diff(load.indptr))
    most, second, stage = _two_largest(load, rows)
    limits = crossings.limits
    filled = most >= limits.filled_share * np.minimum(1.0, fullest[stage])
    chosen = filled & (second <= limits.second_share * most)
    rows, stage = rows[chosen], stage[chosen]
    group = crossings.readings.moment * len(crossings.stages)
    crossed = load.tocoo()
    groups, n = np.unique(group[crossed.row] + crossed.col, return_counts=True)
    mine, place, n_mine = np.unique(group[rows] + stage, return_inverse=True, return_counts=True)
    by_itself = (2 * n_mine > n[np.searchsorted(groups, mine)])[place.reshape(-1)]
    return rows[by_itself], stage[by_itself]


def _two_largest(load: csr_matrix, rows: Ints) -> tuple[Floats, Floats, Ints]:
    """Of rows that are not empty: the largest value, the next one (0 without), and the column of
    the largest."""
    row = np.repeat(np.arange(load.shape[0]), np.diff(load.indptr))
    order = np.lexsort((-load.data, row))
    first = load.indptr[rows]
    has_next = np.diff(load.indptr)[rows] > 1
    following = np.minimum(first + 1, max(0, load.data.size - 1))
    largest, column = load.data[order][first], load.indices[order][first]
    second = np.where(has_next, load.data[order][following], 0.0)
    return largest, second, column.astype(np.int64)
