"""P-values adjusted for many sizes by flipping the signs of whole launches."""

import numpy as np
from numpy.typing import ArrayLike

from weft.core.units import ROUNDING
from weft.stats.summary import Floats

EXACT_UP_TO_FLIPS = 2**14
SAMPLED_FLIPS = 2**14
_CHUNK = 1024


def sign_flip_max_t(log_ratios: ArrayLike, *, seed: int = 1) -> Floats:
    """Adjusted two-sided p-values, one a column, of "no effect in this column".

    `log_ratios` has one row a pair of launches and one column a measured cell (a benchmark and
    size); NaN where a launch has no such cell. Under no effect a pair's two labels may be swapped,
    and all its columns swap together, which keeps their correlation. The reference distribution is
    the largest |t| over columns: all 2^rows flips up to 2^14, else that many drawn with `seed`.
    SOURCE: Westfall & Young, Resampling-Based Multiple Testing, 1993, section 2.5 (single-step
    maxT). Raises ValueError unless the array has two dimensions.
    """
    matrix = _matrix(log_ratios)
    n_rows, n_columns = matrix.shape
    if n_rows == 0 or n_columns == 0:
        return np.ones(n_columns)
    observed = np.abs(_t(np.ones((1, n_rows)), matrix)[0])
    reached = np.zeros(n_columns)
    flips = _flips(n_rows, seed)
    for start in range(0, len(flips), _CHUNK):
        largest = np.abs(_t(flips[start : start + _CHUNK], matrix)).max(axis=1)
        reached += (largest[:, None] >= observed * (1 - ROUNDING)).sum(axis=0)
    return np.asarray(np.minimum(1.0, reached / len(flips)), dtype=np.float64)


def sign_flip_equivalence(log_ratios: ArrayLike, log_margin: float, *, seed: int = 1) -> Floats:
    """Adjusted p-values, one a column, of "the effect is as large as the margin, or larger".

    Two one-sided tests a column: its mean against +log_margin from below, and against -log_margin
    from above; the larger p of both counts. SOURCE: Schuirmann, A Comparison of the Two One-Sided
    Tests Procedure and the Power Approach, J. Pharmacokin. Biopharm. 15, 1987. Rows flip whole
    around the margins; the reference is the largest t over both tests of all columns. A column
    with fewer than two values has p 1. Raises ValueError as `sign_flip_max_t` does, and unless the
    margin is above 0.
    """
    matrix = _matrix(log_ratios)
    if not log_margin > 0:
        raise ValueError("expected a margin above 0")
    n_rows, n_columns = matrix.shape
    if n_rows == 0 or n_columns == 0:
        return np.ones(n_columns)
    # Above 0 where the column lies inside: the distance to the upper margin, then to the lower.
    inside = np.hstack([log_margin - matrix, log_margin + matrix])
    observed = _t(np.ones((1, n_rows)), inside)[0]
    usable = np.tile(np.isfinite(matrix).sum(axis=0) >= 2, 2)
    least = np.where(usable, observed - np.abs(observed) * ROUNDING, -np.inf)
    reached = np.zeros(2 * n_columns)
    flips = _flips(n_rows, seed)
    for start in range(0, len(flips), _CHUNK):
        t = _t(flips[start : start + _CHUNK], inside)
        # A pattern and its negative, whose t is -t.
        for largest in (t.max(axis=1), (-t).max(axis=1)):
            reached += (largest[:, None] >= least).sum(axis=0)
    p_values = np.minimum(1.0, reached / (2 * len(flips)))
    return np.asarray(np.maximum(p_values[:n_columns], p_values[n_columns:]), dtype=np.float64)


def critical_t(log_ratios: ArrayLike, share: float, *, seed: int = 1) -> float:
    """The |t| that one column of a study with this scatter must exceed to differ: at most `share`
    of the sign flips of whole rows reach it in any column. Columns as in `sign_flip_max_t`, each
    taken from its own mean. Infinite where so few rows have too few flips."""
    matrix = _matrix(log_ratios)
    n_rows, n_columns = matrix.shape
    flips = _flips(n_rows, seed) if n_rows else np.empty((0, 0))
    allowed = int(np.floor(share * len(flips)))
    if n_columns == 0 or allowed < 1:
        return float("inf")
    n = np.maximum(np.isfinite(matrix).sum(axis=0), 1)
    centred = matrix - np.nansum(matrix, axis=0) / n
    parts = range(0, len(flips), _CHUNK)
    largest = np.concatenate(
        [np.abs(_t(flips[i : i + _CHUNK], centred)).max(axis=1) for i in parts]
    )
    # The study's own labels are one of the flips, and count among those that reach it.
    return float(np.sort(largest)[-allowed])


def _matrix(log_ratios: ArrayLike) -> Floats:
    matrix = np.asarray(log_ratios, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError("expected rows of pairs and columns of cells")
    return matrix


def _flips(n_rows: int, seed: int) -> Floats:
    """Every sign pattern with one sign fixed (|t| is the same for a pattern and its negative); or a
    seeded sample with the observed pattern, so that p is never zero."""
    if 2**n_rows <= EXACT_UP_TO_FLIPS:
        numbers = np.arange(2 ** (n_rows - 1))
        bits = (numbers[:, None] >> np.arange(n_rows)) & 1
        return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], (SAMPLED_FLIPS, n_rows))
    signs[0] = 1.0
    return signs


def _t(signs: Floats, matrix: Floats) -> Floats:
    """t of each column (second axis) under each sign pattern (first axis); 0 where undefined."""
    present = np.isfinite(matrix)
    values = np.where(present, matrix, 0.0)
    n = present.sum(axis=0)
    squares = (values**2).sum(axis=0)
    mean = signs @ values / np.maximum(n, 1)
    usable = (n >= 2) & (squares > 0)
    # Rounding must not make a column without spread look infinitely certain in one pattern only.
    floor = np.where(usable, squares * 1e-12, 1.0)
    variance = np.maximum(squares - n * mean**2, floor) / np.maximum(n - 1, 1)
    t = mean * np.sqrt(n / variance)
    return np.asarray(np.where(usable, t, 0.0), dtype=np.float64)
