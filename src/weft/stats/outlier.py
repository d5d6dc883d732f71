"""Whether one value of a sample lies off the others: the externally studentised residual."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from weft.core.units import ROUNDING
from weft.stats.summary import Floats, finite

_Integers = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True)
class FarthestValue:
    """The value at `index`: `ratio` to the median of the `n_others` values it is compared with, and
    the two-sided `p` of a value as far off, before any adjustment. `sigmas` is the distance in
    standard deviations of the others; infinite where they are all equal."""

    index: int
    ratio: float
    sigmas: float
    p: float
    n_others: int


def farthest(values: ArrayLike, blocks: Sequence[Hashable]) -> FarthestValue | None:
    """The value that lies farthest off; None where none differs, or too few leave a scatter.

    The logarithms of the values are compared within their block (a node set) if every block has two
    values or more, else over all of them. Each value is left out in turn; its distance from the
    mean of the others, over their standard deviation, has Student's t distribution if the
    logarithms are normal. SOURCE: Cook & Weisberg, Residuals and Influence in Regression, 1982,
    section 2.2.2. Multiply p by the number of values tried. Raises ValueError on values that are
    not positive and finite, or of another number than `blocks`.
    """
    array = finite(values)
    if array.size != len(blocks):
        raise ValueError(f"{array.size} values but {len(blocks)} blocks")
    if array.min() <= 0:
        raise ValueError("a logarithm needs positive values")
    names = {name: number for number, name in enumerate(dict.fromkeys(blocks))}
    block = np.array([names[name] for name in blocks])
    sizes = np.bincount(block)
    if sizes.min() < 2:
        block, sizes = np.zeros_like(block), np.array([array.size])
    t, freedom = _studentised(np.log(array), block, sizes)
    if freedom < 1 or not np.any(t):
        return None
    index = int(np.argmax(np.abs(t)))
    others = array[(block == block[index]) & (np.arange(array.size) != index)]
    p = 2 * float(special.stdtr(freedom, -abs(t[index])))
    ratio = float(array[index] / np.median(others))
    return FarthestValue(index, ratio, abs(float(t[index])), p, others.size)


def _studentised(logs: Floats, block: _Integers, sizes: _Integers) -> tuple[Floats, int]:
    """Externally studentised residuals from the means of blocks, and their degrees of freedom. A
    residual that is rounding is 0; one from others without any scatter is infinite."""
    means = np.bincount(block, logs) / sizes
    residuals = logs - means[block]
    residuals[np.abs(residuals) <= ROUNDING] = 0.0
    left = 1 - 1 / sizes[block]
    freedom = logs.size - sizes.size - 1
    if freedom < 1:
        return np.zeros_like(logs), freedom
    squares = float(np.sum(residuals**2))
    of_others = squares - residuals**2 / left
    variance = np.where(of_others <= squares * 1e-12, 0.0, of_others) / freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        t = residuals / np.sqrt(variance * left)
    return np.where(residuals == 0, 0.0, t), freedom
