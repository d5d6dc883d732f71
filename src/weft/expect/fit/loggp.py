"""LogGP latency by protocol regime: t(size) = a + b * size, with the knees found in the data.

SOURCE: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP" (SPAA 1995) for the line; Schwarz,
"Estimating the Dimension of a Model" (Annals of Statistics 1978) for the number of regimes.
Lines are fitted on relative error, because latency tables span three decades. Times are in us.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import median

from weft.core.errors import InputError
from weft.core.units import in_force

MIN_ROWS_PER_REGIME = 2
NOISE_FLOOR = 0.02
"""Relative spread between launches below which a table cannot tell two models apart."""
ANOMALY_RATIO = 1.10
"""A row is an anomaly when it alone breaks monotony by more than this."""

MOST_REGIMES = 8
"""More protocols than any library has; it bounds the search on long tables."""

Row = tuple[int, float]
Knee = tuple[int, int]
"""The last size of one regime and the first of the next: the change lies between."""


@dataclass(frozen=True, slots=True)
class Regime:
    """One protocol regime: latency_us = a_us + b_us_per_byte * size, up to `max_bytes`.

    `first_bytes` and `last_bytes` are the smallest and largest size fitted; `max_bytes` is where
    the next regime takes over (None for the last one).
    """

    a_us: float
    b_us_per_byte: float
    first_bytes: int
    last_bytes: int
    max_bytes: int | None

    def predict(self, size_bytes: int) -> float:
        """Latency in us, on this regime's line."""
        return self.a_us + self.b_us_per_byte * size_bytes


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A row no model of rising lines can give: named, not fitted."""

    size_bytes: int
    latency_us: float
    neighbours_us: tuple[float, float]


@dataclass(frozen=True, slots=True)
class LogGPFit:
    """Regimes in order of size, the rows left out, and the residuals of the rows fitted."""

    regimes: tuple[Regime, ...]
    anomalies: tuple[Anomaly, ...]
    n_rows: int
    median_error: float
    max_error: float

    @property
    def n_parameters(self) -> int:
        """Two for a line, one for a knee."""
        return 3 * len(self.regimes) - 1

    def predict(self, size_bytes: int) -> float:
        """Latency in us. Beyond the fitted sizes the last line goes on."""
        return in_force(self.regimes, size_bytes).predict(size_bytes)


@dataclass(frozen=True, slots=True)
class OtherTables:
    """What another table of the same fit adds to the criterion: its rows, its squared errors."""

    n_rows: int
    squares: float


NO_OTHER_TABLE = OtherTables(0, 0.0)


@dataclass(frozen=True, slots=True)
class Partition:
    """A table cut into lines: the place of each line's first row, and the squared errors left."""

    rows: tuple[Row, ...]
    starts: tuple[int, ...]
    squares: float

    @property
    def knees(self) -> tuple[Knee, ...]:
        """The gaps between the rows of two regimes."""
        return tuple((self.rows[i - 1][0], self.rows[i][0]) for i in self.starts[1:])

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """The line of each part, without limits yet."""
        stops = (*self.starts[1:], len(self.rows))
        return tuple(_regime(self.rows[a:b]) for a, b in zip(self.starts, stops, strict=True))


@dataclass(frozen=True, slots=True)
class HeldOutRow:
    """A row the fit has not seen. `error` is predicted / measured - 1."""

    size_bytes: int
    measured_us: float
    predicted_us: float

    @property
    def error(self) -> float:
        """Relative error with its sign."""
        return self.predicted_us / self.measured_us - 1


@dataclass(frozen=True, slots=True)
class OutOfSample:
    """The fit of every second row, and its prediction of the others. `anomalies`: sizes (bytes) of
    rows that are neither fitted nor predicted."""

    fit: LogGPFit
    held_out: tuple[HeldOutRow, ...]
    median_error: float
    max_error: float
    anomalies: frozenset[int]


def fit(
    sizes_bytes: Sequence[int], latency_us: Sequence[float], *, rows_per_parameter: float = 1.0
) -> LogGPFit:
    """The piecewise line with the smallest BIC. Raises InputError on a table it cannot fit.

    `rows_per_parameter` bounds the number of lines: a published table is smooth enough for one row
    a parameter, a fresh measurement with its noise is not.
    """
    rows = _checked_rows(sizes_bytes, latency_us)
    anomalies = find_anomalies(rows)
    named = {anomaly.size_bytes for anomaly in anomalies}
    kept = tuple(row for row in rows if row[0] not in named)
    regimes = _with_limits(partition(kept, most_regimes(len(kept), rows_per_parameter)).regimes)
    bare = LogGPFit(regimes, anomalies, len(kept), 0.0, 0.0)
    errors = sorted(abs(bare.predict(size) / time - 1) for size, time in kept)
    return LogGPFit(regimes, anomalies, len(kept), median(errors), errors[-1])


def judge_out_of_sample(rows: Sequence[Row], *, rows_per_parameter: float = 1.0) -> OutOfSample:
    """Fit the first, third, fifth ... row by size; predict the others. Options as of `fit`.

    The fit looks for anomalies among its own rows alone; a row that is one in the whole table is
    not predicted. Raises InputError under four rows.
    """
    table = _checked_rows([size for size, _ in rows], [time for _, time in rows])
    named = {anomaly.size_bytes for anomaly in find_anomalies(table)}
    if len(table) - len(named) < 2 * MIN_ROWS_PER_REGIME:
        raise InputError(
            f"{len(table) - len(named)} rows are too few to hold half of them out",
            expected=f"at least {2 * MIN_ROWS_PER_REGIME} sizes",
        )
    sizes, times = zip(*table[::2], strict=True)
    fitted = fit(sizes, times, rows_per_parameter=rows_per_parameter)
    unseen = (row for row in table[1::2] if row[0] not in named)
    held_out = tuple(HeldOutRow(size, time, fitted.predict(size)) for size, time in unseen)
    errors = sorted(abs(row.error) for row in held_out)
    left_out = named & {size for size, _ in table[1::2]}
    left_out |= {anomaly.size_bytes for anomaly in fitted.anomalies}
    return OutOfSample(fitted, held_out, median(errors), errors[-1], frozenset(left_out))


def find_anomalies(rows: Sequence[Row]) -> tuple[Anomaly, ...]:
    """Single rows that break monotony, where the table without them would be monotone there.

    A fall that lasts (each later row is below the earlier ones too) is a protocol change, not an
    anomaly. The last row has no later one to confirm a change, so it must lie where some line
    through its predecessor goes: no lower, and no higher than in proportion to its size.
    """
    found: list[Anomaly] = []
    for i in range(1, len(rows) - 2):
        before, left, right, after = (rows[k][1] for k in range(i - 1, i + 3))
        if left <= right * ANOMALY_RATIO:
            continue
        is_peak, is_dip = before <= right, left <= after
        if not is_peak and not is_dip:
            continue
        peak_excess = math.log(left / math.sqrt(before * right))
        dip_excess = math.log(math.sqrt(left * after) / right)
        is_dip = is_dip and (not is_peak or dip_excess > peak_excess)
        at = i + 1 if is_dip else i
        found.append(Anomaly(*rows[at], (rows[at - 1][1], rows[at + 1][1])))
    return (*found, *_last_row_anomaly(rows))


def _last_row_anomaly(rows: Sequence[Row]) -> tuple[Anomaly, ...]:
    if len(rows) <= MIN_ROWS_PER_REGIME:
        return ()
    (size, time), (last_size, last_time) = rows[-2:]
    too_high = size > 0 and last_time > time * ANOMALY_RATIO * last_size / size
    if not too_high and last_time * ANOMALY_RATIO >= time:
        return ()
    return (Anomaly(last_size, last_time, (time, time)),)


def _checked_rows(sizes_bytes: Sequence[int], latency_us: Sequence[float]) -> tuple[Row, ...]:
    expected = f"at least {MIN_ROWS_PER_REGIME} different sizes, each with one positive latency"
    if len(sizes_bytes) != len(latency_us):
        raise InputError(
            f"{len(sizes_bytes)} sizes but {len(latency_us)} latencies", expected=expected
        )
    rows = tuple(sorted((int(s), float(t)) for s, t in zip(sizes_bytes, latency_us, strict=True)))
    if len({size for size, _ in rows}) != len(rows):
        raise InputError("a size appears twice in a latency table", expected=expected)
    if len(rows) < MIN_ROWS_PER_REGIME:
        raise InputError(f"{len(rows)} rows are too few for a line", expected=expected)
    if any(size < 0 or not math.isfinite(time) or time <= 0 for size, time in rows):
        raise InputError("a latency that is not a positive number", expected=expected)
    return rows


Line = tuple[float, float, float]


def line_on_relative_error(rows: Sequence[Row]) -> Line:
    """(a, b, sum of squared relative errors) of the best a + b * size with a >= 0 and b >= 0."""
    weights = [1 / (time * time) for _, time in rows]
    total = math.fsum(weights)
    mean_size = math.fsum(w * s for w, (s, _) in zip(weights, rows, strict=True)) / total
    mean_time = math.fsum(w * t for w, (_, t) in zip(weights, rows, strict=True)) / total
    spread = math.fsum(w * (s - mean_size) ** 2 for w, (s, _) in zip(weights, rows, strict=True))
    both = math.fsum(
        w * (s - mean_size) * (t - mean_time) for w, (s, t) in zip(weights, rows, strict=True)
    )
    slope = max(0.0, both / spread) if spread > 0 else 0.0
    intercept = mean_time - slope * mean_size
    if intercept < 0:
        squares = math.fsum(w * s * s for w, (s, _) in zip(weights, rows, strict=True))
        product = math.fsum(w * s * t for w, (s, t) in zip(weights, rows, strict=True))
        intercept, slope = 0.0, product / squares
    squared_errors = math.fsum(((intercept + slope * s) / t - 1) ** 2 for s, t in rows)
    return intercept, slope, squared_errors


def most_regimes(n_rows: int, rows_per_parameter: float) -> int:
    """As many lines as rows allow, k lines being 3 k - 1 parameters; at least one."""
    by_parameters = int((n_rows / rows_per_parameter + 1) // 3)
    return max(1, min(n_rows // MIN_ROWS_PER_REGIME, by_parameters, MOST_REGIMES))


def partition(
    rows: Sequence[Row],
    most: int,
    *,
    knees: Sequence[Knee] = (),
    other: OtherTables = NO_OTHER_TABLE,
) -> Partition:
    """Where the lines of a table begin: the cut of at most `most` lines with the smallest BIC.

    `knees` are known from another table of the same library: a cut in one of those gaps costs no
    parameter for its place. `other` are the other tables of the fit: both share one noise.
    """
    n_rows, n_all = len(rows), len(rows) + other.n_rows

    @cache
    def cost(start: int, stop: int) -> float:
        return line_on_relative_error(rows[start:stop])[2]

    @cache
    def is_known(start: int) -> bool:
        return any(overlap((rows[start - 1][0], rows[start][0]), knee) for knee in knees)

    @cache
    def best(stop: int, n_regimes: int, n_known: int) -> tuple[float, tuple[int, ...]]:
        if n_regimes == 1:
            return (cost(0, stop), (0,)) if n_known == 0 else (math.inf, (0,))
        first = (n_regimes - 1) * MIN_ROWS_PER_REGIME
        candidates: list[tuple[float, tuple[int, ...]]] = [(math.inf, (0,))]
        for start in range(first, stop - MIN_ROWS_PER_REGIME + 1):
            known_before = n_known - is_known(start)
            if known_before >= 0:
                before, starts = best(start, n_regimes - 1, known_before)
                candidates.append((before + cost(start, stop), (*starts, start)))
        return min(candidates)

    def bic(n_regimes: int, n_known: int) -> tuple[float, tuple[int, ...], float]:
        squares, starts = best(n_rows, n_regimes, n_known)
        variance = max((squares + other.squares) / n_all, NOISE_FLOOR**2)
        n_parameters = 3 * n_regimes - 1 - n_known
        return n_all * math.log(variance) + n_parameters * math.log(n_all), starts, squares

    shapes = [(k, known) for k in range(1, most + 1) for known in range(k if knees else 1)]
    _, starts, squares = min(bic(k, known) for k, known in shapes)
    return Partition(tuple(rows), starts, squares)


def overlap(a: Knee, b: Knee) -> bool:
    """Whether one change of protocol can lie in both gaps between rows."""
    return max(a[0], b[0]) < min(a[1], b[1])


def _regime(rows: Sequence[Row]) -> Regime:
    intercept, slope, _ = line_on_relative_error(rows)
    return Regime(intercept, slope, rows[0][0], rows[-1][0], None)


def _with_limits(regimes: tuple[Regime, ...]) -> tuple[Regime, ...]:
    limited = []
    for lower, upper in pairwise(regimes):
        limit = threshold(lower, upper)
        limited.append(
            Regime(lower.a_us, lower.b_us_per_byte, lower.first_bytes, lower.last_bytes, limit)
        )
    return (*limited, regimes[-1])


def threshold(lower: Regime, upper: Regime) -> int:
    """Where the upper regime takes over, between the last row of one and the first of the next.

    A table cannot say where in that gap a library switches. A protocol is taken for the sizes at
    which it is the faster of the two.
    """
    first, last = lower.last_bytes, upper.first_bytes
    lower_pays_at_first = lower.predict(first + 1) <= upper.predict(first + 1)
    lower_pays_at_last = lower.predict(last - 1) <= upper.predict(last - 1)
    if lower_pays_at_first and lower_pays_at_last:
        return last - 1
    if not lower_pays_at_first:
        return first
    crossing = (upper.a_us - lower.a_us) / (lower.b_us_per_byte - upper.b_us_per_byte)
    return min(max(int(crossing), first), last - 1)
