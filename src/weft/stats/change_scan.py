"""The scan for steps: the largest contrast of any stretch of runs, and how chance compares.

A row is a run, a column a cell. The design `X` is what the values may do without a step: a level, a
straight drift, and the steps that are known already.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from weft.core.units import ROUNDING
from weft.stats.summary import Floats

PERMUTATIONS = 2_999
LEAST_STRETCH = 4
"""Runs of a stretch between two steps: up to three strange runs in a row are outliers."""

OUTLIER_SIGMAS = 3.5
"""SOURCE: Iglewicz & Hoaglin, How to Detect and Handle Outliers, ASQC, 1993, section 3.3."""

_REACH = LEAST_STRETCH - 1
# Comparisons that bring the median of seven into the middle: sorting takes ten times as long.
_MEDIAN_OF_SEVEN = (
    *((0, 5), (0, 3), (1, 6), (2, 4), (0, 1), (3, 5), (2, 6)),
    *((2, 3), (3, 6), (4, 5), (1, 4), (1, 3), (3, 4)),
)
_CHUNK = 128
_NEXT_LENGTH = 1.2
_LEAST_FREE = 0.05
"""The share of a contrast that the design must leave, so that the two can be told apart."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Design:
    """An orthonormal basis of what is no step. `q` has shape (runs, parameters)."""

    q: Floats

    @staticmethod
    def of(n_runs: int, boundaries: Sequence[int] = ()) -> "Design":
        """A level for each segment between boundaries, and one straight drift."""
        edges = [0, *boundaries, n_runs]
        columns = [
            np.where((np.arange(n_runs) >= a) & (np.arange(n_runs) < b), 1.0, 0.0)
            for a, b in pairwise(edges)
        ]
        columns.append(np.linspace(-1.0, 1.0, n_runs))
        return Design(np.linalg.qr(np.stack(columns, axis=1))[0])

    @property
    def freedom(self) -> int:
        """Degrees of freedom left to the noise."""
        return int(self.q.shape[0] - self.q.shape[1])

    def residuals(self, values: Floats) -> Floats:
        """The part of (..., runs, columns) that the design does not explain."""
        return np.asarray(values - self.q @ (self.q.T @ values), dtype=np.float64)

    def noise(self, values: Floats) -> Floats:
        """What the design leaves of values (runs, columns), fitted without their outliers."""
        steady = without_outliers(values)
        return np.asarray(values - steady + self.residuals(steady), dtype=np.float64)

    def free_length(self, contrast: Floats) -> float:
        """The length of a contrast of runs, once the design has taken its part; 0 where it takes
        nearly all of it."""
        inside = self.q.T @ contrast
        whole = float(contrast @ contrast)
        free = whole - float(inside @ inside)
        # The level alone always takes a part: what counts is what is left of the centred contrast.
        centred = whole - float(contrast.sum()) ** 2 / contrast.size
        return float(np.sqrt(free)) if free > _LEAST_FREE * max(centred, ROUNDING) else 0.0


class Stretches:
    """Stretches [first, first + length) of runs that may be a step there and back, of lengths that
    grow by a fifth, and every single step: a stretch from the first run on."""

    def __init__(self, design: Design) -> None:
        n = design.q.shape[0]
        sums = np.vstack([np.zeros(design.q.shape[1]), np.cumsum(design.q, axis=0)])
        self._scales: dict[int, Floats] = {}
        for length in _lengths(n - 2 * LEAST_STRETCH):
            inside = sums[length:] - sums[:-length]
            scale = _scale(length - (inside**2).sum(axis=1), length * (1 - length / n))
            # What remains at an end of the history may not be shorter than a stretch either.
            scale[:LEAST_STRETCH] = scale[len(scale) - LEAST_STRETCH :] = 0
            self._scales[length] = scale
        at = np.arange(n + 1)
        self._single = _scale(at - (sums**2).sum(axis=1), at * (1 - at / n))
        self._single[:LEAST_STRETCH] = self._single[n + 1 - LEAST_STRETCH :] = 0

    def most(self, standard: Floats) -> Floats:
        """The largest |statistic| of each draw: (draws, runs, columns) -> (draws)."""
        sums = _sums(standard)
        largest = (np.abs(sums).max(axis=2) * self._single).max(axis=1)
        for length, scale in self._scales.items():
            inside = np.abs(sums[:, length:] - sums[:, :-length]).max(axis=2)
            np.maximum(largest, (inside * scale).max(axis=1), out=largest)
        return np.asarray(largest, dtype=np.float64)

    def best(self, standard: Floats) -> tuple[int, int]:
        """The stretch [first, end) of the largest statistic of one draw (runs, columns)."""
        sums = _sums(standard[None])[0]
        single = np.abs(sums).max(axis=1) * self._single
        found = (float(single.max()), 0, int(np.argmax(single)))
        for length, scale in self._scales.items():
            inside = np.abs(sums[length:] - sums[:-length]).max(axis=1) * scale
            first = int(np.argmax(inside))
            found = max(found, (float(inside[first]), first, first + length))
        return found[1], found[2]


class Contrasts:
    """Given contrasts of runs: shape (contrasts, runs), 1 inside and 0 outside."""

    def __init__(self, design: Design, contrasts: Floats) -> None:
        free = np.array([design.free_length(one) for one in contrasts])
        self.usable = free > 0
        self._weights = (
            contrasts * np.where(self.usable, 1 / np.where(free > 0, free, 1), 0)[:, None]
        )

    def most(self, standard: Floats) -> Floats:
        """The largest |statistic| of each draw: (draws, runs, columns) -> (draws)."""
        return np.asarray(np.abs(self._weights @ standard).max(axis=(1, 2)), dtype=np.float64)

    def best(self, standard: Floats) -> int:
        """The contrast of the largest statistic of one draw (runs, columns)."""
        return int(np.argmax(np.abs(self._weights @ standard).max(axis=1)))


def running_median(scaled: Floats) -> Floats:
    """The median of the seven runs around each run of (..., runs, columns); of the first and last
    seven at the ends."""
    n = scaled.shape[-2]
    middle = np.clip(np.arange(n), _REACH, max(_REACH, n - 1 - _REACH))
    around = [np.minimum(middle + step, n - 1) for step in range(-_REACH, _REACH + 1)]
    part = [scaled[..., at, :] for at in around]
    for i, j in _MEDIAN_OF_SEVEN:
        part[i], part[j] = np.minimum(part[i], part[j]), np.maximum(part[i], part[j])
    return np.asarray(part[_REACH], dtype=np.float64)


def without_outliers(scaled: Floats) -> Floats:
    """Values in standard deviations, (..., runs, columns), up to three strange runs in a row
    replaced by the running median. SOURCE: Hampel's identifier: Pearson, Outliers in process
    modeling and identification, IEEE Trans. Control Syst. Technol. 10, 2002."""
    middle = running_median(scaled)
    return np.where(np.abs(scaled - middle) > OUTLIER_SIGMAS, middle, scaled)


def cleaned(noise: Floats, design: Design) -> Floats:
    """Residuals (..., runs, columns) without outliers, and without the design, standardised."""
    return standardised(design.residuals(without_outliers(noise)), design.freedom)


def standardised(residuals: Floats, freedom: int) -> Floats:
    """Residuals in standard deviations of their column; a column without any is 0."""
    spread = np.sqrt((residuals**2).sum(axis=-2, keepdims=True) / max(1, freedom))
    usable = spread > ROUNDING
    return np.asarray(np.where(usable, residuals / np.where(usable, spread, 1), 0.0), np.float64)


def p_of_no_step(
    values: Floats,
    design: Design,
    most: Callable[[Floats], Floats],
    *,
    alpha: float,
    seed: int,
    n_permutations: int = PERMUTATIONS,
) -> float:
    """The p-value of "nothing but the design and noise" by permuting whole runs.

    Residuals of the design are permuted by rows, so that cells of a run stay together, and the
    largest statistic over all stretches and columns is compared: single-step maxT, as in
    `weft.stats.multiplicity`. SOURCE: Westfall & Young 1993, section 2.5; residuals: Freedman &
    Lane, A nonstochastic interpretation of reported significance levels, 1983. The draw ends as
    soon as p cannot come below `alpha`; SOURCE: Besag & Clifford, Sequential Monte Carlo p-values,
    Biometrika 78, 1991.
    """
    noise = design.noise(values)
    observed = float(most(cleaned(noise, design)[None])[0]) * (1 - ROUNDING)
    if observed <= 0:
        return 1.0
    allowed = alpha * (n_permutations + 1) - 1
    rng = np.random.default_rng(seed)
    reached = drawn = 0
    while drawn < n_permutations and reached <= allowed:
        size = min(_CHUNK, n_permutations - drawn)
        orders = rng.permuted(np.tile(np.arange(len(noise)), (size, 1)), axis=1)
        reached += int((most(cleaned(noise[orders], design)) >= observed).sum())
        drawn += size
    return (1 + reached) / (1 + drawn)


def critical_statistic(
    values: Floats, design: Design, most: Callable[[Floats], Floats], *, alpha: float, seed: int
) -> float:
    """The statistic that chance reaches in `alpha` of histories: a Gumbel distribution by the
    moments of 256 permutations, since the largest of many has that form."""
    noise = design.noise(values)
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(len(noise)), (256, 1)), axis=1)
    largest = np.concatenate(
        [most(cleaned(noise[some], design)) for some in np.array_split(orders, 4)]
    )
    scale = float(largest.std()) * np.sqrt(6) / np.pi
    return float(largest.mean() - np.euler_gamma * scale - scale * np.log(-np.log1p(-alpha)))


def _scale(free: Floats, centred: Floats) -> Floats:
    """1 / free length of contrasts by their squares; 0 where the design takes nearly all."""
    usable = free > np.maximum(_LEAST_FREE * centred, ROUNDING)
    return np.where(usable, 1 / np.sqrt(np.where(usable, free, 1.0)), 0.0).astype(np.float32)


def _lengths(longest: int) -> list[int]:
    found, length = [], LEAST_STRETCH
    while length <= longest:
        found.append(length)
        length = max(length + 1, int(length * _NEXT_LENGTH))
    return found


def _sums(standard: Floats) -> Floats:
    """Sums of the first k runs, k = 0 .. runs: (draws, runs + 1, columns)."""
    draws, runs, columns = standard.shape
    sums = np.zeros((draws, runs + 1, columns), dtype=np.float32)
    np.cumsum(standard, axis=1, out=sums[:, 1:])
    return sums
