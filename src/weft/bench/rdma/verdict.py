"""Whether rails carry what their ports' rates promise."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from weft.bench.rdma.measure import Reading
from weft.bench.rdma.plan import Memory
from weft.catalog.shipped import shipped_figures


class RailState(StrEnum):
    """Of one rail in one direction. IMPOSSIBLE: more than its port's rate."""

    GOOD = "good"
    LOW = "low"
    IMPOSSIBLE = "impossible"
    NO_RATE = "no rate"
    DOWN = "down"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least shares of a port's rate, by memory."""

    host_share: float
    gpu_share: float


@functools.cache
def thresholds() -> Thresholds:
    """The shipped figures."""
    return shipped_figures(Thresholds, "thresholds.toml", "weft.rdma-thresholds/1")


def least_share(memory: Memory) -> float:
    """From which share of its port's rate on a rail is good."""
    return thresholds().host_share if memory == "host" else thresholds().gpu_share


def state_of(reading: Reading, memory: Memory) -> RailState:
    """The state of a reading."""
    if reading.path.pair.down:
        return RailState.DOWN
    if reading.gbps is None:
        return RailState.FAILED
    rate = reading.path.pair.rate_gbps
    if rate is None:
        return RailState.NO_RATE
    if reading.gbps > rate:
        return RailState.IMPOSSIBLE
    return RailState.GOOD if reading.gbps >= least_share(memory) * rate else RailState.LOW


def sums_gbps(readings: Sequence[Reading]) -> dict[tuple[str, str], float]:
    """By (source, target) the sum over all rails."""
    found: dict[tuple[str, str], float] = {}
    for reading in readings:
        ends = (reading.path.source.host, reading.path.target.host)
        found[ends] = found.get(ends, 0.0) + (reading.gbps or 0.0)
    return found
