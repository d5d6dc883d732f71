"""Units that contradict each other: a bandwidth that is not size over time, nor size x rate.

A reader converts by the unit of the header. Where the header is wrong, all rows are off
by one factor: the table says so, and keeps what it printed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from weft.results.model import Row, Table

UNIT_CONFLICT = "unit_conflict"
"""The condition that names the factor."""

_CHANGE_THE_LAW = frozenset({"algbw_counts", UNIT_CONFLICT})
_PAIRS_OF_IMB = frozenset({"PingPong", "PingPing", "Sendrecv", "Exchange"})
_NEAR = 0.03
_LEAST_MB_S = 5.0
_LEAST_GB_S = 0.5
"""Two decimals say smaller bandwidths to less than 1 %."""
_LEAST_RATE = 1e-3
_BINARY = 2**20 / 1e6
_Ratio = Callable[[Row], float | None]


def with_unit_conflicts(tables: Iterable[Table]) -> list[Table]:
    """The tables; those whose rows all contradict the unit of a column by one factor say which."""
    return [_with_conflict(table) for table in tables]


def _with_conflict(table: Table) -> Table:
    law = _LAWS.get(table.tool)
    if law is None or not _CHANGE_THE_LAW.isdisjoint(table.conditions):
        return table
    if table.tool == "imb" and table.test not in _PAIRS_OF_IMB:
        return table
    name, ratio_of, allowed = law
    factor = _common_factor([r for row in table.rows if (r := ratio_of(row)) is not None])
    if factor is None or any(_is_near(factor, known) for known in allowed):
        return table
    text = f"{name} in every row by a factor of {factor:.3g}"
    return replace(table, conditions={**table.conditions, UNIT_CONFLICT: text})


def _common_factor(ratios: Sequence[float]) -> float | None:
    """The factor that all ratios are near to; None where there is none, or no ratio."""
    if not ratios:
        return None
    factor = median(ratios)
    return factor if all(_is_near(ratio, factor) for ratio in ratios) else None


def _is_near(ratio: float, factor: float) -> bool:
    return abs(ratio / factor - 1) < _NEAR if factor > 0 else False


def _by_message_rate(row: Row) -> float | None:
    rate, bandwidth = row.metrics.get("msg_rate_mps"), row.metrics.get("bandwidth_mb_s")
    if not row.size_bytes or not rate or not bandwidth or bandwidth < _LEAST_MB_S:
        return None
    return bandwidth / (row.size_bytes * rate) if rate >= _LEAST_RATE else None


def _by_time_mb_s(row: Row) -> float | None:
    time_us = row.metrics.get("latency_us_max") or row.metrics.get("latency_us")
    bandwidth = row.metrics.get("bandwidth_mb_s")
    if not row.size_bytes or not time_us or not bandwidth:
        return None
    is_fine = bandwidth >= _LEAST_MB_S and time_us >= 1
    return bandwidth * time_us / row.size_bytes if is_fine else None


def _by_time_gb_s(row: Row) -> float | None:
    time_us, bandwidth = row.metrics.get("latency_us"), row.metrics.get("algbw_gb_s")
    if not row.size_bytes or not time_us or not bandwidth or bandwidth < _LEAST_GB_S:
        return None
    return bandwidth * time_us * 1e3 / row.size_bytes


_RATE = "bandwidth_mb_s differs from size x message rate"
_TIME = "bandwidth_mb_s differs from size over time"
_GPU_TIME = "algbw_gb_s differs from size over time"
_COUNTED = tuple(n * unit for n in (1.0, 2.0, 4.0) for unit in (1.0, 1 / _BINARY))
_LAWS: Mapping[str, tuple[str, _Ratio, tuple[float, ...]]] = {
    "osu": (_RATE, _by_message_rate, (1.0,)),
    "perftest": (_RATE, _by_message_rate, (1.0,)),
    "imb": (_TIME, _by_time_mb_s, _COUNTED),
    "netpipe": (_TIME, _by_time_mb_s, (1.0, 2.0)),
    "nccl-tests": (_GPU_TIME, _by_time_gb_s, (1.0,)),
    "rccl-tests": (_GPU_TIME, _by_time_gb_s, (1.0,)),
}
"""By tool: the contradiction in words, the ratio of a row, and the factors that the tool's own
counting allows. IMB before 2018 was converted from 2^20 bytes."""
