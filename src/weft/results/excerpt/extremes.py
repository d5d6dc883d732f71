"""Of rows that are alike but for their figures, those whose figures are the least and the greatest,
and those whose figures stand to each other as in no other row."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from weft.results.excerpt.row_lines import Floats, Hashes, Ints

MOST_PAIRED = 8
"""Up to so many columns each is compared with each other, of more each with the next one."""
_LAW = 0.02
"""Products or quotients of two columns that scatter less are a law of the two."""
_OFF_LAW = 0.04
_LEAST = 1e-9
_LEVEL = float(np.log(1.05))
_MOST_LEVELLED = 2000
"""Groups of a piece; rows of more groups are few of each."""
_LEAST_STEP = 0.01
"""Half of the last digit that most tools print, twice: a smaller figure is rounded to nothing."""


class Extreme(NamedTuple):
    """A row (its index) that is an extreme of its group by one criterion: the less, the more."""

    group: int
    criterion: tuple[int, ...]
    value: float
    row: int


@dataclass(frozen=True, slots=True)
class _Groups:
    """Rows in the order of their groups: which row, where each group begins, whose group it is."""

    order: Ints
    starts: Ints
    of: Ints
    keys: Hashes


def extremes(keys: Hashes, rows: Ints, values: Floats, sweeps: Ints) -> Iterator[Extreme]:
    """The extreme rows of each group of equal keys. A line of `values` (rows x columns) belongs to
    the row of that index in `rows`; a column is NaN in all of a group or in none. `sweeps` is the
    sweep of each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    groups = _Groups(rows[order], starts, of, ordered[starts])
    figures = values[order]
    for column in range(figures.shape[1]):
        yield from _least(groups, figures[:, column], (column, 0))
        yield from _least(groups, -figures[:, column], (column, 1))
    yield from _least(groups, -_steps(values, sweeps)[order], (figures.shape[1], 1))
    yield from _off_their_law(groups, np.log(np.maximum(figures, _LEAST)))


def levels(
    keys: Hashes, rows: Ints, values: Floats, met: set[tuple[int, int, int]]
) -> Iterator[tuple[tuple[int, int, int], int]]:
    """(group, column, level) not met before, with the first row of it: levels are 5 % apart, so
    that rows between the extremes have their like."""
    known, of = np.unique(keys, return_inverse=True)
    if len(known) > _MOST_LEVELLED:
        return
    for column in range(values.shape[1]):
        figures = values[:, column]
        has = np.flatnonzero(~np.isnan(figures))
        if not len(has):
            continue
        level = np.floor(np.log(np.maximum(figures[has], _LEAST)) / _LEVEL).astype(np.int64)
        lowest = int(level.min())
        width = int(level.max()) - lowest + 1
        codes = of[has] * width + level - lowest
        first = np.full(len(known) * width, -1, np.int64)
        first[codes[::-1]] = has[::-1]
        for code in np.flatnonzero(first >= 0).tolist():
            name = (int(known[code // width]), column, code % width + lowest)
            if name not in met:
                met.add(name)
                yield name, int(rows[first[code]])


def _steps(values: Floats, sweeps: Ints) -> Floats:
    """How far each row is from the one before it in its sweep: the sum over columns of |log|."""
    logs = np.log(np.maximum(values, _LEAST_STEP))
    steps = np.full(len(values), np.nan)
    steps[1:] = np.nansum(np.abs(np.diff(logs, axis=0)), axis=1)
    steps[1:][np.diff(sweeps) != 0] = np.nan
    return steps


def _least(groups: _Groups, figures: Floats, criterion: tuple[int, ...]) -> Iterator[Extreme]:
    """The first of the least rows of each group that has a figure."""
    least = np.fmin.reduceat(figures, groups.starts)
    hits = np.flatnonzero((figures == least[groups.of]) & np.isfinite(figures))
    of = groups.of[hits]
    first = np.flatnonzero(np.diff(of, prepend=-1))
    for hit, group in zip(hits[first].tolist(), of[first].tolist(), strict=True):
        yield Extreme(
            int(groups.keys[group]), criterion, float(figures[hit]), int(groups.order[hit])
        )


def _off_their_law(groups: _Groups, logs: Floats) -> Iterator[Extreme]:
    """Rows of which two columns break what holds for them in the others of the group: a constant
    product or quotient, or the order of the two."""
    width = logs.shape[1]
    pairs = combinations(range(width), 2) if width <= MOST_PAIRED else _next_ones(width)
    counts = np.diff(np.append(groups.starts, len(groups.order)))
    for one, other in pairs:
        for sign in (1, -1):
            joined = logs[:, one] - sign * logs[:, other]
            centre = np.add.reduceat(joined, groups.starts) / counts
            off = np.abs(joined - centre[groups.of])
            is_law = np.add.reduceat(off, groups.starts) / counts < _LAW
            broken = np.where(is_law[groups.of] & (off > _OFF_LAW), -off, np.nan)
            yield from _least_known(groups, broken, (one, other, sign))
        above = logs[:, one] > logs[:, other] + _LAW
        usual = np.add.reduceat(above.astype(np.int64), groups.starts) * 2 > counts
        turned = above != usual[groups.of]
        gap = np.where(turned, -np.abs(logs[:, one] - logs[:, other]), np.nan)
        yield from _least_known(groups, gap, (one, other, 0))


def _least_known(groups: _Groups, figures: Floats, criterion: tuple[int, ...]) -> Iterator[Extreme]:
    if not np.isnan(figures).all():
        yield from _least(groups, np.where(np.isnan(figures), np.inf, figures), criterion)


def _next_ones(width: int) -> Iterator[tuple[int, int]]:
    return ((column, column + 1) for column in range(width - 1))
