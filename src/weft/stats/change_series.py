"""Series of runs as arrays: levels, spreads, means of groups, and how two stretches differ."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from weft.core.units import ROUNDING
from weft.stats.change_scan import LEAST_STRETCH, Bools, Design, Stretches, cleaned
from weft.stats.summary import Floats

MOST_SPREADS = 10.0
"""A value farther away counts as if it were here: a run five times slower is no worse than that."""

Ints = NDArray[np.intp]

_DRAWS = 256
_AT_ONCE = 2_000_000
"""Values of the permutations that are scanned together: some hundred megabytes."""

_NO_OUTLIER = 0.85
"""The share of runs that are no outliers, at least."""

NEARLY_ALL = 0.9
"""Of the runs: a mean is taken over series that have so many."""

EXACT_SPREAD = 1e-4
"""Of runs that do not scatter, in logarithms: a step of a thousandth is ten of it."""

MOST_ROWS = 240
"""Longer histories are scanned by medians of neighbouring runs, then dated run by run."""


def clipped_series(matrix: Floats, boundaries: Sequence[int]) -> tuple[Floats, Floats]:
    """Values with far ones pulled in, in spreads of their column from its levels, and these
    spreads; absent values are at their level. Levels are medians between boundaries.

    The spread is the quantile of 85 % over that of a normal distribution: a setting that was on in
    more runs than 15 % counts as spread, so that the search for outliers leaves it alone. Between
    known boundaries no setting hides: there it is the median absolute deviation.
    """
    levels = levels_of(matrix, boundaries)
    away = matrix - levels
    spread = _spread(away, _NO_OUTLIER)
    if len(boundaries):
        middle = _spread(away, 0.5)
        spread = np.where(middle > ROUNDING, middle, spread)
        # Stretches without any scatter, as of a twin: their levels differ by more than rounding.
        exact = (spread <= ROUNDING) & (np.ptp(levels, axis=0) > ROUNDING)
        spread = np.where(exact, EXACT_SPREAD, spread)
    usable = spread > ROUNDING
    scaled = np.clip(away / np.where(usable, spread, 1), -MOST_SPREADS, MOST_SPREADS)
    above = (levels - levels.mean(axis=0)) / np.where(usable, spread, 1)
    found = np.where(usable, np.where(np.isfinite(scaled), scaled, 0.0) + above, 0.0)
    return np.asarray(found, np.float64), np.asarray(np.where(usable, spread, 0.0), np.float64)


def _spread(away: Floats, share: float) -> Floats:
    return np.asarray(_quantile(np.abs(away), share) / stats.norm.isf((1 - share) / 2))


def levels_of(matrix: Floats, boundaries: Sequence[int]) -> Floats:
    """The median of each column between boundaries, in the shape of the matrix."""
    levels = np.empty_like(matrix)
    edges = [0, *boundaries, len(matrix)]
    for a, b in pairwise(edges):
        levels[a:b] = _quantile(matrix[a:b], 0.5)
    return levels


def joined_series(values: Floats, groups: Sequence[int]) -> Floats:
    """The series, and the mean of each group of several, of those that nearly all runs have: with
    others it would move where one of them begins or ends. NaN where most of a group is."""
    whole = np.isfinite(values).mean(axis=0) >= NEARLY_ALL
    members = [np.flatnonzero(np.asarray(groups) == one) for one in dict.fromkeys(groups)]
    joined = [some[whole[some]] for some in members]
    if len(members) > 1:
        joined.append(np.flatnonzero(whole))
    joined = [some for some in joined if len(some) > 1]
    return np.hstack([values, *(_mean(values[:, some])[:, None] for some in joined)])


def _mean(values: Floats) -> Floats:
    present = np.isfinite(values)
    n = present.sum(axis=1)
    sums = np.where(present, values, 0.0).sum(axis=1)
    return np.where(2 * n > values.shape[1], sums / np.maximum(n, 1), np.nan)


def without_slope(values: Floats, stretch: Ints) -> Floats:
    """Columns without the straight drift that all stretches share; `stretch` numbers each row."""
    x = np.where(np.isfinite(values), np.linspace(-1.0, 1.0, len(values))[:, None], np.nan)
    squares = products = np.zeros(values.shape[1])
    for number in range(int(stretch.max()) + 1):
        rows = stretch == number
        n = np.maximum(np.isfinite(x[rows]).sum(axis=0), 1)
        away = x[rows] - np.nansum(x[rows], axis=0) / n
        squares = squares + np.nansum(away**2, axis=0)
        products = products + np.nansum(away * values[rows], axis=0)
    slope = products / np.maximum(squares, ROUNDING)
    return np.asarray(values - slope * np.linspace(-1.0, 1.0, len(values))[:, None], np.float64)


def split_costs(values: Floats) -> Floats:
    """The squares left over all series (NaN where absent) if the rows split before row k; k is at
    least LEAST_STRETCH from both ends."""
    present = np.isfinite(values)
    known = np.where(present, values, 0.0)
    sums, counts = (
        np.vstack([np.zeros(known.shape[1]), np.cumsum(one, axis=0)]) for one in (known, present)
    )
    before, after = np.maximum(counts, 1), np.maximum(counts[-1] - counts, 1)
    explained = sums**2 / before + (sums[-1] - sums) ** 2 / after
    inner = explained[LEAST_STRETCH : len(values) - LEAST_STRETCH + 1].sum(axis=1)
    return np.asarray((known**2).sum() - inner, dtype=np.float64)


def middle_of_least(costs: Floats) -> int:
    """The place of the least cost; the middle one of equal neighbours."""
    least = np.flatnonzero(costs <= costs.min() + ROUNDING * max(1.0, float(np.abs(costs).max())))
    return int(least[len(least) // 2])


def p_of_two(before: Floats, after: Floats) -> float:
    """The smallest p-value of Welch's test over the series, adjusted for their number."""
    sides = []
    for rows in (before, after):
        present = np.isfinite(rows)
        n = present.sum(axis=0)
        mean = np.where(present, rows, 0.0).sum(axis=0) / np.maximum(n, 1)
        squares = np.where(present, (rows - mean) ** 2, 0.0).sum(axis=0)
        sides.append((n, mean, squares / np.maximum(n - 1, 1) / np.maximum(n, 1)))
    (n1, m1, v1), (n2, m2, v2) = sides
    usable = np.minimum(n1, n2) >= 2
    if not usable.any():
        return 1.0
    error = np.maximum(v1 + v2, ROUNDING**2)
    freedom = error**2 / np.maximum(
        v1**2 / np.maximum(n1 - 1, 1) + v2**2 / np.maximum(n2 - 1, 1), error**2 / 1e6
    )
    p = 2 * stats.t.sf(np.abs(m2 - m1) / np.sqrt(error), freedom)
    return float(min(1.0, p[usable].min() * usable.sum()))


def _quantile(values: Floats, share: float) -> Floats:
    """A quantile of the present values of each column, between the two nearest of them; 0 where
    there is none. numpy's `nanquantile` calls Python for each column: minutes for many blocks."""
    present = np.isfinite(values)
    last = np.maximum(present.sum(axis=0) - 1, 0)
    # INVARIANT: absent values are sorted behind all others, so that rows 0 to `last` are present.
    behind = np.where(present.any(axis=0), np.inf, 0.0)
    ordered = np.sort(np.where(present, values, behind), axis=0)
    below = np.floor(share * last).astype(np.intp)
    low, high = (
        np.take_along_axis(ordered, rows[None], axis=0)[0]
        for rows in (below, np.minimum(below + 1, last))
    )
    return np.asarray(low + (high - low) * (share * last - below), dtype=np.float64)


def in_blocks(matrix: Floats) -> Floats:
    """The medians of neighbouring runs, at most MOST_ROWS of them."""
    size = -(-len(matrix) // MOST_ROWS)
    if size == 1:
        return matrix
    starts = range(0, len(matrix) - size + 1, size)
    return np.stack([_quantile(matrix[a : a + size], 0.5) for a in starts])


def series_apart(matrix: Floats, *, alpha: float, seed: int) -> tuple[Bools, float]:
    """By series of (runs, series) whether it steps somewhere more than chance does: in `alpha` of
    histories without any step one of all series is marked. And the statistic from which on it is.

    As `find_changes`, with one scan over thousands of series: whole runs are permuted, and the
    largest statistic over all stretches and series counts. Its distribution is Gumbel's, by the
    moments of 256 permutations, since the largest of many has that form.
    """
    rows = in_blocks(matrix)
    design = Design.of(len(rows))
    if len(rows) < 2 * LEAST_STRETCH + 2 or not rows.shape[1]:
        return np.zeros(rows.shape[1], np.bool_), float("inf")
    noise, stretches = design.noise(clipped_series(rows, ())[0]), Stretches(design)
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(len(rows)), (_DRAWS, 1)), axis=1)
    n_parts = min(_DRAWS, 1 + orders.shape[0] * noise.size // _AT_ONCE)
    largest = np.concatenate(
        [stretches.most(cleaned(noise[some], design)) for some in np.array_split(orders, n_parts)]
    )
    scale = float(largest.std()) * np.sqrt(6) / np.pi
    critical = float(largest.mean()) - np.euler_gamma * scale - scale * np.log(-np.log1p(-alpha))
    # Each series as a draw of its own: its largest statistic, not that of all.
    own = stretches.most(cleaned(noise, design).T[:, :, None])
    return np.asarray(own > critical), critical
