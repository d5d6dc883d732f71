"""Host costs by protocol from the lines of tables, less what the fabric takes.

A table of windows says how long a message keeps its sender, a table of latencies how long it is on
its path; the excess over the first occupies no processor. SOURCE: Alexandrov, Ionescu, Schauser,
Scheiman, "LogGP" (SPAA 1995): o, g and G bind streams of messages, L and 2 o one message.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.catalog.document import SourceClass
from weft.catalog.machine.platform import HostRegime
from weft.core.units import format_size, in_force
from weft.expect.fit.loggp import Regime
from weft.expect.fit.protocols import Protocols
from weft.expect.wire import Path, zero_load_ns

STEEPEST_NS_PER_BYTE = 1000.0
"""What the engine takes for a cost a byte; steeper is a step between two sizes, not a rate."""
TICK_NS = 1e-3
"""The engine's clock: shorter times are equal."""
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class CostLine:
    """at(size) = a + b x size, in ns; a, b >= 0."""

    a_ns: float
    b_ns_per_byte: float

    def at(self, size_bytes: int) -> float:
        """In ns."""
        return self.a_ns + self.b_ns_per_byte * size_bytes


@dataclass(frozen=True, slots=True)
class Pace:
    """Which table of a `Protocols` says what of windows; None where no table does.

    `gap` is the table that paces one sender; `busy` the one whose pace bounds the processor time of
    one send and one receive together, being `busy_messages` of its paces.
    """

    gap: int | None
    busy: int | None
    busy_messages: int


@dataclass(frozen=True, slots=True)
class _Part:
    """A range of sizes in which every table has one line."""

    first: int
    last: int
    limit: int | None


def host_regimes(
    protocols: Protocols, pace: Pace, path: Path, sizes: tuple[int, int], source: str
) -> tuple[HostRegime, ...]:
    """One regime for each protocol. `sizes` are the smallest and the largest that was fitted."""
    limits = [limit for limit in protocols.limits if sizes[0] <= limit < sizes[1]]
    firsts = [sizes[0], *(limit + 1 for limit in limits)]
    lasts = [*limits, sizes[1]]
    tops = [*limits, None]
    fitted_on = f"fitted on {format_size(sizes[0])} to {format_size(sizes[1])}"
    parts = [_Part(*part) for part in zip(firsts, lasts, tops, strict=True)]
    return tuple(_regime(protocols.lines, pace, path, part, (source, fitted_on)) for part in parts)


def _regime(
    lines: Sequence[Sequence[Regime]],
    pace: Pace,
    path: Path,
    part: _Part,
    provenance: tuple[str, str],
) -> HostRegime:
    unexplained = _unexplained_latency(in_force(lines[0], part.last), path, part)
    busy = unexplained
    if pace.busy is not None:
        low, high = _at_ends(in_force(lines[pace.busy], part.last), part)
        busy = (pace.busy_messages * low, pace.busy_messages * high)
    free = _free(unexplained, busy, part)
    each = _line(
        (unexplained[0] - free.at(part.first)) / 2, (unexplained[1] - free.at(part.last)) / 2, part
    )
    gap = CostLine(0.0, 0.0)
    if pace.gap is not None:
        gap = _line(*_at_ends(in_force(lines[pace.gap], part.last), part), part)
    return HostRegime(
        max_bytes=part.limit,
        protocol="eager",
        send_overhead_ns=round(each.a_ns, 3),
        recv_overhead_ns=round(each.a_ns, 3),
        send_ns_per_byte=_short(each.b_ns_per_byte),
        recv_ns_per_byte=_short(each.b_ns_per_byte),
        latency_ns=round(free.a_ns, 3),
        latency_ns_per_byte=_short(free.b_ns_per_byte),
        gap_ns=round(gap.a_ns, 3),
        gap_ns_per_byte=_short(gap.b_ns_per_byte),
        source=provenance[0],
        conditions=provenance[1],
        **{"class": SourceClass.FITTED},
    )


def _at_ends(regime: Regime, part: _Part) -> tuple[float, float]:
    return regime.predict(part.first) * 1e3, regime.predict(part.last) * 1e3


def _unexplained_latency(line: Regime, path: Path, part: _Part) -> tuple[float, float]:
    """What the fabric does not explain, at both ends: not below 0, not falling.

    Where it falls, one value for both: the mean with the weights of relative errors, so that what
    is nothing next to a long message is not taken off a short one.
    """
    times = _at_ends(line, part)
    low, high = times[0] - zero_load_ns(path, part.first), times[1] - zero_load_ns(path, part.last)
    if high < low:
        weights = [1 / max(time, TICK_NS) ** 2 for time in times]
        low = high = (low * weights[0] + high * weights[1]) / sum(weights)
    return max(0.0, low), max(0.0, high)


def _free(unexplained: tuple[float, float], busy: tuple[float, float], part: _Part) -> CostLine:
    """What of the rest keeps no processor: as little as the pace of windows allows."""
    low, high = (max(0.0, a - b) for a, b in zip(unexplained, busy, strict=True))
    return _line(low, max(low, high), part)


def _line(low: float, high: float, part: _Part) -> CostLine:
    """Through two points; through the upper one alone where it would start below 0."""
    first, last = part.first, part.last
    if last == first:
        return CostLine(low, 0.0)
    slope = max(0.0, (high - low) / (last - first))
    if slope > STEEPEST_NS_PER_BYTE:
        return CostLine((low + high) / 2, 0.0)
    start = low - slope * first
    return CostLine(start, slope) if start >= 0 else CostLine(0.0, high / last)


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
