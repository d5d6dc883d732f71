"""Change points of many series of runs at once: where their levels step, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from weft.core.units import ROUNDING
from weft.stats.change_scan import (
    LEAST_STRETCH,
    OUTLIER_SIGMAS,
    PERMUTATIONS,
    Bools,
    Contrasts,
    Design,
    Stretches,
    cleaned,
    critical_statistic,
    p_of_no_step,
)
from weft.stats.change_series import (
    MOST_ROWS,
    clipped_series,
    in_blocks,
    joined_series,
    levels_of,
    middle_of_least,
    p_of_two,
    split_costs,
    without_slope,
)
from weft.stats.summary import Floats

FAMILY_ERROR = 0.001
"""The share of histories without a step in which one is dated, over all series and places."""


LOCAL_ERROR = 0.001
"""Of the test that a step which the scan found still stands between its neighbours."""

POWER = 0.9
"""The share of steps of the detectable size that are found."""

_MOST_STEPS = 20
_FEW_RUNS, _MORE_PERMUTATIONS = 24, 9_999
"""So few runs have few arrangements: more are drawn, so that the rare one is told from a rarer."""
_DATES_HOLD = 0.99


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A step before run `at`. `first` to `last` are the dates that hold it with 99 %; `p` is that
    of the scan which found it."""

    at: int
    first: int
    last: int
    p: float


@dataclass(frozen=True, slots=True)
class Changes:
    """`points` in order. `drifts`: a smooth drift explains the values as well as steps do, or the
    runs depend on each other, so that nothing is dated. `p` is that of "no step at all"."""

    points: tuple[ChangePoint, ...]
    drifts: bool
    p: float

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The runs before which a step stands."""
        return tuple(point.at for point in self.points)


def find_changes(
    values: ArrayLike, groups: Sequence[int], contrasts: Sequence[Bools] = (), *, seed: int = 1
) -> Changes:
    """The steps of `values`: logarithms, shape (runs, series), NaN where a run has no value.

    `groups` joins series that are expected to move together (sizes of one benchmark): their mean
    is a series of its own. `contrasts` are runs that had a setting: tested first, with half of the
    error. Then every stretch of runs is. Steps are added one by one, moved to where they fit best,
    and dropped if they do not stand between their neighbours. Raises ValueError on another shape.

    The method: circular binary segmentation (Olshen, Venkatraman, Lucito & Wigler, Biostatistics 5,
    2004) over clipped values, with a straight drift as part of "no step".
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != len(groups):
        raise ValueError("expected rows of runs, columns of series, and a group for each column")
    if matrix.shape[0] > MOST_ROWS:
        return _of_blocks(matrix, groups, contrasts, seed)
    return _Search(matrix, groups, contrasts, seed).run()


def least_runs(error: float = FAMILY_ERROR / 2) -> int:
    """The fewest runs in which a setting that was on for a third of them could show: among all
    choices of so many runs, the one that stands out must be rarer than `error`."""
    n = 2 * LEAST_STRETCH
    while 1 / comb(n, n // 3) >= error:
        n += 1
    return n


def detectable_step(values: ArrayLike, groups: Sequence[int], *, seed: int = 1) -> Floats:
    """By series the smallest step (of a logarithm) over the last third of the runs that is found
    in 90 % of histories with this noise; inf where no step could be. Shapes as `find_changes`."""
    matrix = in_blocks(np.asarray(values, dtype=np.float64))
    design = Design.of(len(matrix))
    joined = joined_series(clipped_series(matrix, ())[0], groups)
    most = Stretches(design).most
    critical = critical_statistic(joined, design, most, alpha=FAMILY_ERROR / 2, seed=seed)
    return step_of_statistic(matrix, critical)


def step_of_statistic(values: Floats, critical: float) -> Floats:
    """As `detectable_step`, where the statistic that chance reaches is known."""
    matrix = in_blocks(values)
    design, sigma = Design.of(len(matrix)), clipped_series(matrix, ())[1]
    last_third = np.arange(len(matrix)) >= len(matrix) - max(LEAST_STRETCH, len(matrix) // 3)
    free = design.free_length(last_third.astype(np.float64))
    lengths = _noise_lengths(critical, design)
    # Of runs without any scatter, too, no step shows where none reaches the statistic.
    reached = bool(free) and np.isfinite(lengths)
    return sigma * lengths / free if reached else np.full(len(sigma), np.inf)


def detectable_contrast(values: ArrayLike, inside: Bools, n_tests: int) -> Floats:
    """As `detectable_step`, for runs that had a setting against the others, one of `n_tests`."""
    matrix = np.asarray(values, dtype=np.float64)
    design = Design.of(len(matrix))
    sigma = clipped_series(matrix, ())[1]
    free = design.free_length(inside.astype(np.float64))
    if design.freedom < 2 or not free:
        return np.full(len(sigma), np.inf)
    t = stats.t.isf(FAMILY_ERROR / 4 / n_tests, design.freedom - 1) + stats.norm.isf(1 - POWER)
    return np.asarray(sigma * float(t) / free, dtype=np.float64)


class _Search:
    def __init__(
        self, matrix: Floats, groups: Sequence[int], contrasts: Sequence[Bools], seed: int
    ) -> None:
        self.matrix, self.groups, self.seed = matrix, groups, seed
        self.n = len(matrix)
        self.contrasts = [one for one in contrasts if _can_show(one)]

    def run(self) -> Changes:
        """The whole search."""
        found: list[int] = []
        p_of: dict[int, float] = {}
        first_p = 1.0
        while len(found) < _MOST_STEPS and self.n >= 2 * LEAST_STRETCH + 2:
            p, more = self._next(found)
            first_p = first_p if found else p
            if not more:
                break
            before = list(found)
            found = self._standing(self._moved(sorted({*found, *more})))
            p_of.update({at: p for at in found if at not in p_of})
            # A step that only took the place of another would go back and forth with it.
            if len(found) <= len(before):
                break
        if not found:
            return Changes((), drifts=False, p=first_p)
        if not self._fits(found):
            return Changes((), drifts=True, p=first_p)
        points = tuple(self._dated(found, i, p_of[at]) for i, at in enumerate(found))
        return Changes(points, drifts=False, p=first_p)

    def _next(self, found: list[int]) -> tuple[float, list[int]]:
        """The p-value of "no further step", and the steps to add."""
        design = Design.of(self.n, found)
        if design.freedom < 3:
            return 1.0, []
        values = joined_series(clipped_series(self.matrix, found)[0], self.groups)
        standard = cleaned(design.noise(values), design)
        alpha = FAMILY_ERROR / 2 if self.contrasts else FAMILY_ERROR
        p, inside, most_given = 1.0, None, 0.0
        stretches = Stretches(design)
        if self.contrasts:
            given = Contrasts(design, np.stack(self.contrasts).astype(np.float64))
            p = p_of_no_step(
                values,
                design,
                given.most,
                alpha=alpha,
                seed=self.seed,
                n_permutations=PERMUTATIONS if self.n > _FEW_RUNS else _MORE_PERMUTATIONS,
            )
            inside = self.contrasts[given.best(standard)]
            most_given = float(given.most(standard[None])[0])
        if p >= alpha:
            anywhere = p_of_no_step(values, design, stretches.most, alpha=alpha, seed=self.seed)
            if anywhere >= alpha:
                return min(1.0, 2 * min(p, anywhere)), []
            p, inside = anywhere, None
        # A setting that changed near a step stands out, too: the values say where the step is.
        if inside is not None and most_given >= float(stretches.most(standard[None])[0]):
            return p, [int(at) + 1 for at in np.flatnonzero(np.diff(inside))]
        return p, [at for at in stretches.best(standard) if 0 < at < self.n]

    def _moved(self, found: list[int]) -> list[int]:
        """Each step where it fits best between its neighbours, until none moves."""
        values = self._kept(found)
        for _ in range(10):
            before = list(found)
            for i in range(len(found)):
                low, high = self._room(found, i)
                if high <= low:
                    continue
                found[i] = low + LEAST_STRETCH + middle_of_least(split_costs(values[low:high]))
            if found == before:
                break
        return [at for i, at in enumerate(found) if i == 0 or at - found[i - 1] >= LEAST_STRETCH]

    def _kept(self, found: Sequence[int]) -> Floats:
        """The series and their means without their drift, NaN where absent or an outlier: a run far
        from the level of its own stretch and from those of the stretches beside it."""
        _, spread = clipped_series(self.matrix, found)
        rows, usable = levels_of(self.matrix, found), spread > 0
        levels = rows[[0, *found]]
        # Not clipped: a run on the wrong side of a step that is not yet in its place is far off.
        scaled = (self.matrix - rows.mean(axis=0)) / np.where(usable, spread, 1)
        values = np.where(usable, scaled, 0.0)
        own = np.searchsorted(np.asarray(found, dtype=int), np.arange(self.n), side="right")
        beside = [np.clip(own + step, 0, len(found)) for step in (-1, 0, 1)]
        near = np.min([np.abs(self.matrix - levels[some]) for some in beside], axis=0)
        absent = ~(near <= OUTLIER_SIGMAS * spread) & usable
        kept = without_slope(np.where(absent, np.nan, values), own)
        return joined_series(kept, self.groups)

    def _room(self, found: Sequence[int], i: int) -> tuple[int, int]:
        """The segments on both sides of a step, as runs [low, high); empty if too short."""
        low = found[i - 1] if i else 0
        high = found[i + 1] if i + 1 < len(found) else self.n
        return (low, high) if high - low >= 2 * LEAST_STRETCH else (low, low)

    def _standing(self, found: list[int]) -> list[int]:
        """The steps whose two segments differ in a series, the weakest dropped first."""
        while found:
            values = self._kept(found)
            p_values = []
            for i, at in enumerate(found):
                low, high = self._room(found, i)
                p_values.append(p_of_two(values[low:at], values[at:high]))
            worst = int(np.argmax(p_values))
            if p_values[worst] < LOCAL_ERROR:
                return found
            found = self._moved(found[:worst] + found[worst + 1 :])
        return found

    def _along(self, found: Sequence[int], weights: Floats) -> Floats:
        """One value a run: its place along a direction of the series; NaN for a run that is
        strange or absent in half of them."""
        values = self._kept(found)[:, : self.matrix.shape[1]]
        present = np.where(np.isfinite(values), np.abs(weights), 0.0).sum(axis=1)
        whole = float(np.abs(weights).sum())
        sums = np.where(np.isfinite(values), values * weights, 0.0).sum(axis=1)
        usable = present > whole / 2
        return np.where(usable, sums * whole / np.where(usable, present, 1.0), np.nan)

    def _moves(self, found: Sequence[int]) -> Floats:
        """How far each step moves each series, in its spreads: shape (steps, series)."""
        matrix, spread = self.matrix, clipped_series(self.matrix, found)[1]
        levels = levels_of(matrix, found)[[0, *found]]
        moves = np.diff(levels, axis=0) / np.where(spread > 0, spread, 1)
        return np.where((spread > 0) & np.isfinite(moves), moves, 0.0)

    def _fits(self, found: Sequence[int]) -> bool:
        """Whether steps describe the values better than smooth drifts, and leave noise."""
        moves = self._moves(found)
        # The sum over steps of each step's own direction, turned so that they add up.
        signs = np.where(moves @ moves[np.argmax((moves**2).sum(axis=1))] < 0, -1.0, 1.0)
        along = self._along(found, signs @ moves)
        kept = np.flatnonzero(np.isfinite(along))
        places = [int(np.searchsorted(kept, at)) for at in found]
        places = sorted({at for at in places if 0 < at < len(kept)})
        return not (_is_smooth(along[kept], places) or _depend(along[kept], places))

    def _dated(self, found: Sequence[int], i: int, p: float) -> ChangePoint:
        """The dates of a step: under equal chances beforehand, those that hold 99 % of the
        probability. SOURCE: Smith, A Bayesian approach to inference about a change-point in a
        sequence of random variables, Biometrika 62, 1975."""
        at = found[i]
        low, high = self._room(found, i)
        if high <= low:
            return ChangePoint(at, at, at, p)
        along = self._along(found, self._moves(found)[i])[low:high]
        costs = split_costs(along[:, None])
        freedom = max(1, int(np.isfinite(along).sum()) - 2)
        least = max(float(costs.min()), ROUNDING)
        odds = -freedom / 2 * np.log(np.maximum(costs, least) / least)
        weights = np.exp(odds - odds.max())
        order = np.argsort(-weights, kind="stable")
        held = np.cumsum(weights[order]) / weights.sum()
        dates = order[: int(np.searchsorted(held, _DATES_HOLD)) + 1] + low + LEAST_STRETCH
        return ChangePoint(at, min(at, int(dates.min())), max(at, int(dates.max())), p)


def _is_smooth(along: Floats, found: Sequence[int]) -> bool:
    """Whether a polynomial in the run's number explains the values as well as the steps and a
    straight drift do, by Schwarz' criterion. SOURCE: Schwarz, Ann. Statist. 6, 1978. A step costs
    two parameters, its date and its size."""
    n = len(along)
    of_steps = _schwarz(Design.of(n, found), along, 2 + 2 * len(found))
    x = np.linspace(-1.0, 1.0, n)
    highest = min(2 + 2 * len(found), 7, n // 4)
    smooth = [
        _schwarz(Design(np.linalg.qr(np.vander(x, degree + 1))[0]), along, degree + 1)
        for degree in range(1, highest + 1)
    ]
    return min(smooth, default=np.inf) <= of_steps


def _schwarz(design: Design, values: Floats, n_parameters: int) -> float:
    n = len(values)
    left = float((design.residuals(values[:, None]) ** 2).sum())
    return n * float(np.log(max(left, ROUNDING**2))) + n_parameters * float(np.log(n))


def _depend(along: Floats, found: Sequence[int]) -> bool:
    """Whether what the steps leave still runs together: von Neumann's ratio, one-sided."""
    noise = Design.of(len(along), found).residuals(along[:, None])[:, 0]
    whole = float((noise**2).sum())
    if whole <= ROUNDING:
        return False
    ratio = float((np.diff(noise) ** 2).sum()) / whole
    n = len(noise)
    together = (ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1))
    return bool(together < stats.norm.ppf(LOCAL_ERROR))


def _can_show(inside: Bools) -> bool:
    return LEAST_STRETCH <= int(inside.sum()) <= inside.size - LEAST_STRETCH


def _noise_lengths(critical: float, design: Design) -> float:
    """A statistic as the length of a step over the noise, in standard deviations, so that it is
    reached with `POWER`; inf where no step reaches it."""
    share = critical**2 / design.freedom
    if share >= 1 or design.freedom < 2:
        return float("inf")
    t = np.sqrt(share * (design.freedom - 1) / (1 - share))
    return float(t + stats.norm.isf(1 - POWER))


def _of_blocks(
    matrix: Floats, groups: Sequence[int], contrasts: Sequence[Bools], seed: int
) -> Changes:
    size = -(-len(matrix) // MOST_ROWS)
    n_blocks = len(in_blocks(matrix))
    of_blocks = [
        2 * one[: n_blocks * size].reshape(n_blocks, size).sum(axis=1) > size for one in contrasts
    ]
    coarse = _Search(in_blocks(matrix), groups, of_blocks, seed).run()
    search = _Search(matrix, groups, (), seed)
    found = search._standing(search._moved([at * size for at in coarse.boundaries]))
    p = dict(zip(found, (point.p for point in coarse.points), strict=False))
    points = tuple(search._dated(found, i, p.get(at, coarse.p)) for i, at in enumerate(found))
    return Changes(points, coarse.drifts, coarse.p)
