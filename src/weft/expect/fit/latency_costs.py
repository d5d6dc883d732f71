"""Host costs from a latency fit: what is left of each regime's line without the fabric's time."""

from dataclasses import dataclass

from weft.expect.fit.loggp import LogGPFit
from weft.expect.wire import Path, zero_load_ns


@dataclass(frozen=True, slots=True)
class HostCost:
    """One regime: overhead of each side in ns, and a cost a byte that each side adds in ns."""

    max_bytes: int | None
    overhead_ns: float
    ns_per_byte: float


def host_costs(fit: LogGPFit, path: Path) -> tuple[HostCost, ...]:
    """Split what the fabric does not explain evenly between sender and receiver.

    For each regime, the line through the fit's time minus the fabric's at the two ends of the
    sizes it was fitted on; never below zero.
    """
    costs = []
    for regime in fit.regimes:
        low, high = regime.first_bytes, regime.last_bytes
        unexplained_low = regime.predict(low) * 1e3 - zero_load_ns(path, low)
        unexplained_high = regime.predict(high) * 1e3 - zero_load_ns(path, high)
        slope = max(0.0, (unexplained_high - unexplained_low) / (high - low)) if high > low else 0.0
        centre = (unexplained_low + unexplained_high) / 2 - slope * (low + high) / 2
        costs.append(HostCost(regime.max_bytes, max(0.0, centre) / 2, slope / 2))
    return tuple(costs)
