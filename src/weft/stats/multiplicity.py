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
    matrix = np.asarray(log_ratios, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError("expected rows of pairs and columns of cells")
    n_rows, n_columns = matrix.shape
    if n_rows == 0 or n_columns == 0:
        return np.ones(n_columns)
    observed = _abs_t(np.ones((1, n_rows)), matrix)[0]
    reached = np.zeros(n_columns)
    flips = _flips(n_rows, seed)
    for start in range(0, len(flips), _CHUNK):
        largest = _abs_t(flips[start : start + _CHUNK], matrix).max(axis=1)
        reached += (largest[:, None] >= observed * (1 - ROUNDING)).sum(axis=0)
    return np.asarray(np.minimum(1.0, reached / len(flips)), dtype=np.float64)


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


def _abs_t(signs: Floats, matrix: Floats) -> Floats:
    """|t| of each column (second axis) under each sign pattern (first axis); 0 where undefined."""
    present = np.isfinite(matrix)
    values = np.where(present, matrix, 0.0)
    n = present.sum(axis=0)
    squares = (values**2).sum(axis=0)
    mean = signs @ values / np.maximum(n, 1)
    usable = (n >= 2) & (squares > 0)
    # Rounding must not make a column without spread look infinitely certain in one pattern only.
    floor = np.where(usable, squares * 1e-12, 1.0)
    variance = np.maximum(squares - n * mean**2, floor) / np.maximum(n - 1, 1)
    t = np.abs(mean) * np.sqrt(n / variance)
    return np.asarray(np.where(usable, t, 0.0), dtype=np.float64)
