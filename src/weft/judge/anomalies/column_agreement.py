"""Columns of one row that hold the same figure twice: do they agree?

NCCL's tests print size, time, algorithm and bus bandwidth; perftest bandwidth and message rate; IMB
and NetPIPE time and rate. Whoever edits a figure, or slips a unit, breaks one of these laws.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from weft.catalog.tools import NCCL_TOOLS
from weft.judge.rules import Rules
from weft.results.model import Row, Table


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Columns of one row that cannot both be right; `metric` is the one that is then doubtful."""

    row: int
    metric: str
    text: str


@dataclass(frozen=True, slots=True)
class Law:
    """`metric` = `other` terms of the row, up to one of `factors` that the tool's own unit allows.

    `value` gives the right side, None where a column is absent.
    """

    metric: str
    name: str
    value: Callable[[Row], float | None]
    inputs: tuple[str, ...]
    factors: tuple[float, ...] = (1.0,)


UNITS: dict[str, tuple[float, ...]] = {
    "perftest": (1.0, 125.0, 1.048576),
    "netpipe": (1.0, 0.125, 0.131072),
    "gpcnet": (1.0, 1.048576),
    "mpi4py": (1.0, 1e6),
}
"""What a reader multiplies a printed figure by, where it is not 1: Gb/s, MiB, seconds."""

SLIPS: dict[str, float] = {
    "bits for bytes (8)": 8.0,
    "MiB for MB (1.0486)": 1.048576,
    "KiB for kB (1.024)": 1.024,
    "GiB for GB (1.0737)": 1.073741824,
    "a thousand": 1000.0,
}
"""Unit slips by name; each also inverted."""

ORDERS: tuple[tuple[str, ...], ...] = (
    ("latency_us_min", "latency_us", "latency_us_max"),
    ("latency_us_min", "latency_us_p50", "latency_us_p90", "latency_us_p95", "latency_us_p99"),
    ("latency_us_p99", "latency_us_p999"),
    ("latency_us_p999", "latency_us_max"),
    ("bandwidth_mb_s", "bandwidth_peak_mb_s"),
)
"""Metrics that cannot fall from left to right; the tool's own time is `latency_us`."""

_PERCENTILES_OF_ALL = frozenset({"perftest"})
"""Tools whose percentiles are of the same samples as their mean, least and greatest."""


def contradictions(table: Table, n_ranks: int | None, rules: Rules) -> list[Contradiction]:
    """Every row of the table whose columns contradict each other."""
    found = [
        contradiction
        for law in laws_of(table, n_ranks)
        for contradiction in _against(table, law, rules)
    ]
    for index, row in enumerate(table.rows):
        text = _disorder(table.tool, row, rules)
        if text is not None:
            found.append(Contradiction(index, text[0], text[1]))
    return found


def laws_of(table: Table, n_ranks: int | None) -> list[Law]:
    """The laws between the columns of this tool's tables."""
    if table.tool in NCCL_TOOLS:
        busbw_factor = bus_factor(table.benchmark, n_ranks)
        return [
            Law("algbw_gb_s", "size / time", _size_over_time_gb_s, ("latency_us",)),
            Law(
                "busbw_gb_s",
                "its factor x algorithm bandwidth",
                lambda row: row.metrics.get("algbw_gb_s"),
                ("algbw_gb_s",),
                () if busbw_factor is None else (busbw_factor,),
            ),
            Law(
                "busbw_gb_s",
                "its factor x size / time",
                _size_over_time_gb_s,
                ("latency_us",),
                () if busbw_factor is None else (busbw_factor,),
            ),
        ]
    old_units = (1.0, 1 / 1.048576)
    if table.tool == "imb":
        counted = tuple(n * unit for n in (1.0, 2.0, 4.0) for unit in old_units)
        return [_rate_law(counted)]
    if table.tool in ("netpipe", "mpi4py"):
        return [_rate_law((1.0, 2.0))]
    rate = "message rate x size"
    law = Law("bandwidth_mb_s", rate, _size_times_rate_mb_s, ("msg_rate_mps",))
    return [law] if table.tool in ("osu", "perftest") else []


def bus_factor(benchmark: str, n_ranks: int | None) -> float | None:
    """Bus bandwidth / algorithm bandwidth. None where the number of ranks is needed and unknown.

    SOURCE: NVIDIA/nccl-tests doc/PERFORMANCE.md.
    """
    if benchmark not in ("allreduce", "allgather", "reduce_scatter", "alltoall", "gather"):
        return None if benchmark in ("", "alltoallv", "scatter") else 1.0
    if n_ranks is None or n_ranks < 2:
        return None
    share = (n_ranks - 1) / n_ranks
    return 2 * share if benchmark == "allreduce" else share


DECIMALS: dict[str, dict[str, int]] = {
    **{tool: {"algbw_gb_s": 2, "busbw_gb_s": 2} for tool in NCCL_TOOLS},
    "osu": {"latency_us": 2, "bandwidth_mb_s": 2},
    "perftest": dict.fromkeys(
        (f"latency_us{end}" for end in ("", "_min", "_max", "_p50", "_p99", "_p999", "_stdev")), 2
    ),
    "imb": {"latency_us": 2, "latency_us_min": 2, "latency_us_max": 2, "bandwidth_mb_s": 2},
}
"""Digits behind the point that a tool always prints. SOURCE: NVIDIA/nccl-tests src/common.cu; OSU
micro-benchmarks, FLOAT_PRECISION; intel/mpi-benchmarks, IMB_output.c; linux-rdma/perftest,
REPORT_FMT_LAT."""


def half_digit(value: float, tool: str, metric: str) -> float:
    """Half of the last printed digit of a figure, in the least exact unit it may have come from.

    Where the tool's digits are not known, zeros at the end of a figure are not seen, so that a
    round figure counts as less exact.
    """
    decimals = DECIMALS.get(tool, {}).get(metric)
    if decimals is not None:
        return 0.5 * 10.0**-decimals
    return max(0.5 * 10.0 ** -_decimals(value / unit) * unit for unit in UNITS.get(tool, (1.0,)))


def slip_name(ratio: float, rules: Rules) -> str | None:
    """The unit slip that a ratio, or its inverse, is near to; None where it is near to none."""
    for name, factor in SLIPS.items():
        for of_factor in (factor, 1 / factor):
            if abs(math.log(ratio / of_factor)) < min(rules.rounding, abs(math.log(factor)) / 2):
                return name
    return None


def _rate_law(factors: tuple[float, ...]) -> Law:
    """Rate = size / time of the slowest rank where the row has that, else of the row's own time."""

    def value(row: Row) -> float | None:
        time_us = row.metrics.get("latency_us_max") or row.metrics.get("latency_us", 0.0)
        return row.size_bytes / time_us if row.size_bytes and time_us > 0 else None

    return Law("bandwidth_mb_s", "size / time", value, ("latency_us_max", "latency_us"), factors)


def _size_over_time_gb_s(row: Row) -> float | None:
    time_us = row.metrics.get("latency_us", 0.0)
    return row.size_bytes / time_us / 1e3 if row.size_bytes and time_us > 0 else None


def _size_times_rate_mb_s(row: Row) -> float | None:
    rate = row.metrics.get("msg_rate_mps")
    return row.size_bytes * rate if row.size_bytes and rate else None


def _against(table: Table, law: Law, rules: Rules) -> list[Contradiction]:
    sides = {
        index: side
        for index, row in enumerate(table.rows)
        if (side := _sides(table.tool, row, law)) is not None
    }
    factor = _factor(law, list(sides.values()), rules)
    if factor is None:
        return []
    return [
        Contradiction(index, law.metric, _text(law, side, factor, rules))
        for index, side in sides.items()
        if side.contradicts(factor, rules)
    ]


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both sides of a law in one row; `half_digit` of the left, `rounding` (a share) of the
    right."""

    left: float
    right: float
    half_digit: float
    rounding: float

    def contradicts(self, factor: float, rules: Rules) -> bool:
        """Whether no rounding of the printed figures makes the sides equal."""
        right = factor * self.right
        slack = self.half_digit + right * self.rounding + rules.rounding * max(self.left, right)
        return abs(self.left - right) > slack

    def is_exact(self, rules: Rules) -> bool:
        """Whether the row has digits enough to say what the factor is."""
        share = self.half_digit / self.left if self.left > 0 else math.inf
        return max(share, self.rounding) <= 0.5 / rules.digits_to_compare


def _sides(tool: str, row: Row, law: Law) -> _Sides | None:
    left, right = row.metrics.get(law.metric), law.value(row)
    used = next((name for name in law.inputs if row.metrics.get(name, 0.0) > 0), None)
    if left is None or right is None or left < 0 or right <= 0 or used is None:
        return None
    value = row.metrics[used]
    return _Sides(
        left, right, half_digit(left, tool, law.metric), half_digit(value, tool, used) / value
    )


def _factor(law: Law, sides: Sequence[_Sides], rules: Rules) -> float | None:
    """The factor of this table: the allowed one nearest to its rows, or theirs where none is."""
    ratios = [side.left / side.right for side in sides if side.is_exact(rules)]
    if len(law.factors) == 1:
        return law.factors[0]
    if not ratios:
        return None
    median_value = median(ratios)
    if not law.factors or median_value <= 0:
        return median_value or None
    return min(law.factors, key=lambda factor: abs(math.log(median_value / factor)))


def _text(law: Law, side: _Sides, factor: float, rules: Rules) -> str:
    ratio = side.left / (side.right * factor)
    slip = slip_name(ratio, rules) if ratio > 0 else None
    named = f": {slip}?" if slip else ""
    return f"{law.metric} is {ratio:.3g} times {law.name}{named}"


def _disorder(tool: str, row: Row, rules: Rules) -> tuple[str, str] | None:
    for order in ORDERS:
        names = [name for name in order if row.metrics.get(name, 0.0) > 0]
        if len(names) < 2 or (_mixes(names) and tool not in _PERCENTILES_OF_ALL):
            continue
        for lower, upper in pairwise(names):
            left, right = row.metrics[lower], row.metrics[upper]
            slack = half_digit(left, tool, lower) + half_digit(right, tool, upper)
            if left > right * (1 + rules.rounding) + slack:
                return _doubtful(lower, upper), f"{lower} {left:g} is above {upper} {right:g}"
    return _mean_far_from_median(tool, row, rules)


def _mixes(names: Sequence[str]) -> bool:
    """Whether an order compares percentiles with the extremes of a mean over ranks."""
    percentiles = [name for name in names if "_us_p" in name]
    return bool(percentiles) and len(percentiles) != len(names)


def _doubtful(lower: str, upper: str) -> str:
    return lower if lower in ("latency_us", "bandwidth_mb_s") else upper


def _mean_far_from_median(tool: str, row: Row, rules: Rules) -> tuple[str, str] | None:
    """A mean is never farther from the median than one standard deviation."""
    metrics: Mapping[str, float] = row.metrics
    if not {"latency_us", "latency_us_p50", "latency_us_stdev"} <= metrics.keys():
        return None
    mean, median_value = metrics["latency_us"], metrics["latency_us_p50"]
    slack = half_digit(mean, tool, "latency_us") + half_digit(median_value, tool, "latency_us_p50")
    slack += rules.rounding * mean
    if abs(mean - median_value) <= metrics["latency_us_stdev"] + slack:
        return None
    return "latency_us", (
        f"the mean {mean:g} us lies farther from the median {median_value:g} us than the standard"
        f" deviation {metrics['latency_us_stdev']:g} us allows"
    )


def _decimals(value: float) -> int:
    text = f"{value:.9g}"
    mantissa, _, exponent = text.partition("e")
    digits = len(mantissa.partition(".")[2])
    return digits - (int(exponent) if exponent else 0)
