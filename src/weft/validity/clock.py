"""Was the clock good enough for the shortest time that was measured?"""

from collections.abc import Sequence

from weft.core.finding import Finding, FindingKind, Severity
from weft.validity.facts import CoarseClockFacts, ValidityFacts
from weft.validity.proof import Proof
from weft.validity.thresholds import ValidityThresholds


def too_coarse(proofs: Sequence[Proof], limits: ValidityThresholds) -> Finding | None:
    """The clock's step, or what one reading costs, is a good part of the shortest time."""
    for proof in proofs:
        clock, shortest_ns = proof.evidence.clock, proof.shortest_ns
        if clock is None or shortest_ns is None:
            continue
        coarse_ns = max(clock.resolution_ns, clock.cost_ns)
        if coarse_ns >= limits.clock_share * shortest_ns:
            what = "step" if clock.resolution_ns > clock.cost_ns else "reading"
            return Finding(
                FindingKind.ANOMALY,
                Severity.WARNING,
                f"The clock is too coarse for these latencies: one {what} of it takes"
                f" {coarse_ns:,} ns of {shortest_ns:,.0f} ns measured.",
                evidence=(
                    "differences between pairs look smaller than they are",
                    "to mend: /sys/devices/system/clocksource/clocksource0/current_clocksource"
                    " should say tsc (kernel parameter clocksource=tsc), on ARM arch_sys_counter",
                ),
                facts=CoarseClockFacts("coarse-clock", coarse_ns),
            )
    return None


def not_common(proofs: Sequence[Proof]) -> Finding | None:
    """Hosts with clocks of their own, where a flag compares them."""
    for proof in proofs:
        clock = proof.evidence.clock
        if clock is not None and not clock.common and proof.skewed:
            return Finding(
                FindingKind.NOT_JUDGED,
                Severity.NOTE,
                "hosts have clocks of their own, brought together by ping-pong: start skews are"
                " known to half a round trip",
                facts=ValidityFacts("clocks-apart"),
            )
    return None
