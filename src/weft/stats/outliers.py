"""Values that do not belong to their group, by the modified z-score."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from weft.stats.summary import Floats, finite

THRESHOLD = 3.5
"""SOURCE: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC, 1993."""

_MAD_TO_SIGMA = 1.4826
_MEAN_DEVIATION_TO_SIGMA = 1.2533


def modified_z(values: ArrayLike) -> Floats:
    """(value - median) / (1.4826 MAD); zero where all values are equal.

    Where more than half of the values are equal the MAD is zero, and the mean absolute deviation
    (times 1.2533) stands in. Raises ValueError on no or non-finite values.
    """
    array = finite(values)
    distance = array - np.median(array)
    scale = _MAD_TO_SIGMA * float(np.median(np.abs(distance)))
    if scale == 0:
        scale = _MEAN_DEVIATION_TO_SIGMA * float(np.mean(np.abs(distance)))
    if scale == 0:
        return np.zeros_like(array)
    scores: Floats = distance / scale
    return scores


def modified_z_within(values: ArrayLike, groups: Sequence[Hashable]) -> Floats:
    """The modified z-score of each value within its own group (a hop class, say)."""
    array = finite(values)
    if len(groups) != array.size:
        raise ValueError(f"{array.size} values but {len(groups)} group names")
    scores = np.zeros_like(array)
    for group in dict.fromkeys(groups):
        rows = np.array([i for i, name in enumerate(groups) if name == group])
        scores[rows] = modified_z(array[rows])
    return scores
