"""The scatter of values, robust against a few outliers."""

import numpy as np
from numpy.typing import ArrayLike

from weft.stats.summary import finite

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation.

SOURCE: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC, 1993: a value's distance from
the median over this spread is its modified z-score.
"""


def robust_sigma(values: ArrayLike) -> float:
    """1.4826 times the median absolute deviation. Raises ValueError on no or non-finite values."""
    array = finite(values)
    return MAD_TO_SIGMA * float(np.median(np.abs(array - np.median(array))))
