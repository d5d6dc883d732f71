"""Rows that stand out of their own curve: they agree with neither side of it.

Sizes and values are taken in logarithms, where a latency a + b x size and a bandwidth are smooth.
From the two rows before a row, and from the two after it, its value is extrapolated with every
slope that the curve has around it. A protocol step agrees with one side, so it is no outlier.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from weft.core.units import ROUNDING
from weft.judge.rules import Rules

LEAST_ROWS = 4
"""Among three rows the outlier is unknown."""
Point = tuple[float, float]
"""(ln size, ln value)."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A point of a curve that stands out: its index, and value / the nearer prediction."""

    index: int
    factor: float
    expected: float


def outliers(
    sizes: Sequence[int], values: Sequence[float], rules: Rules, slack: Sequence[float] = ()
) -> list[Outlier]:
    """The rows of one curve that agree with neither side, the worst first.

    `slack` is by how much (in ln) each value may be off by its printed digits. Where two sizes lie
    farther apart than the gap allowed, one curve ends and another begins. Rows found are taken out
    one after another, so that one row does not hide its neighbours. Three rows are no curve.
    """
    slack = slack or [0.0] * len(values)
    order = sorted((i for i, v in enumerate(values) if v > 0), key=lambda i: sizes[i])
    points = {i: (_ln_size(sizes[i]), math.log(values[i])) for i in order}
    found: list[Outlier] = []
    for piece in _pieces(order, points, math.log(rules.curve_gap)):
        for index, deviation in _outliers_of(piece, points, slack, rules):
            factor = math.exp(deviation)
            found.append(Outlier(index, factor, values[index] / factor))
    return found


def _pieces(order: Sequence[int], points: Mapping[int, Point], gap: float) -> list[list[int]]:
    pieces: list[list[int]] = []
    for i in order:
        if pieces and points[i][0] - points[pieces[-1][-1]][0] <= gap + ROUNDING:
            pieces[-1].append(i)
        else:
            pieces.append([i])
    return pieces


def _outliers_of(
    piece: Sequence[int], points: Mapping[int, Point], slack: Sequence[float], rules: Rules
) -> Iterator[tuple[int, float]]:
    left = list(piece)
    while len(left) >= LEAST_ROWS and len(piece) - len(left) <= len(piece) // LEAST_ROWS:
        curve = [points[i] for i in left]
        deviations = [_deviation(curve, at) for at in range(len(left))]
        limits = _limits(curve, rules)
        excess = [
            abs(deviation) - limit - slack[i]
            for deviation, limit, i in zip(deviations, limits, left, strict=True)
        ]
        # A row next to an end spoils the extrapolation to that end, so the inner ones go first.
        inner = max(range(1, len(left) - 1), key=excess.__getitem__)
        ends = max((0, len(left) - 1), key=excess.__getitem__)
        worst = inner if excess[inner] > 0 else ends
        if excess[worst] <= 0:
            return
        yield left.pop(worst), deviations[worst]


def _ln_size(size_bytes: int) -> float:
    """An empty message stands half a step before one byte."""
    return math.log(size_bytes) if size_bytes > 0 else -math.log(2)


def _limits(points: Sequence[Point], rules: Rules) -> list[float]:
    rough = rules.curve_roughness * _roughness(points)
    inside = max(math.log(rules.curve_factor), rough)
    at_end = max(math.log(rules.curve_factor_at_end), rough)
    return [at_end, *[inside] * (len(points) - 2), at_end]


def _roughness(points: Sequence[Point]) -> float:
    """Median distance of a row from the straight line between its neighbours."""
    away = [
        abs(y - _between(points[at - 1], points[at + 1], x))
        for at, (x, y) in enumerate(points)
        if 0 < at < len(points) - 1
    ]
    return median(away) if away else 0.0


def _between(left: Point, right: Point, x: float) -> float:
    return left[1] + _slope(left, right) * (x - left[0])


def _slope(left: Point, right: Point) -> float:
    run = right[0] - left[0]
    return (right[1] - left[1]) / run if run > 0 else 0.0


def _deviation(points: Sequence[Point], at: int) -> float:
    """ln(value / the nearer of what both sides predict); 0 where one side agrees."""
    before, after = points[max(0, at - 2) : at][::-1], points[at + 1 : at + 3]
    x, y = points[at]
    slopes = [_slope(before[1], before[0])] if len(before) > 1 else []
    slopes += [_slope(after[0], after[1])] if len(after) > 1 else []
    if before and after:
        slopes.append(_slope(before[0], after[0]))
    else:
        # Beyond an end nothing confirms a slope, so only those a path can have are gone on with.
        slopes = [min(1.0, max(0.0, slope)) for slope in slopes]
    from_sides = [
        _distance(y, [side[0][1] + slope * (x - side[0][0]) for slope in slopes])
        for side in (before, after)
        if side
    ]
    return min(from_sides, key=abs)


def _distance(value: float, predictions: Sequence[float]) -> float:
    """How far a value lies outside the span of predictions, with its sign."""
    low, high = min(predictions), max(predictions)
    return value - high if value > high else min(0.0, value - low)
