"""Whether rails carry their ports' rates, in states and as plain values."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from weft.bench.rdma.measure import Reading
from weft.bench.rdma.plan import Memory, PerftestOptions
from weft.catalog.toml_file import shipped_figures
from weft.core.shell_line import shell_line

SCHEMA = "weft.rdma-pairs/1"


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


def uneven(readings: Sequence[Reading]) -> list[str]:
    """Rails of a lower rate than their partner or than other rails: each carries what its port has,
    and its port may have less than it could."""
    rails = {one.path.pair.name: one.path.pair for one in readings}
    ends = {(rail.name, rail.rate_gbps) for pair in rails.values() for rail in (pair.a, pair.b)}
    rates = sorted({rate for _, rate in ends if rate is not None})
    slow = sorted(name for name, rate in ends if rate is not None and rate < rates[-1])
    listed = ", ".join(dict.fromkeys(slow))
    return [f"{listed}: a port slower than the {rates[-1]:g} Gb/s of others"] if slow else []


def sums_gbps(readings: Sequence[Reading]) -> dict[tuple[str, str], float]:
    """By (source, target) the sum over all rails."""
    found: dict[tuple[str, str], float] = {}
    for reading in readings:
        ends = (reading.path.source.host, reading.path.target.host)
        found[ends] = found.get(ends, 0.0) + (reading.gbps or 0.0)
    return found


def record_of(
    hosts: tuple[str, str], readings: Sequence[Reading], options: PerftestOptions
) -> dict[str, Any]:
    """Rows in the order of directions and rails, sums by direction, and what was asked."""
    rates = {r.path.pair.name: r.path.pair.rate_gbps for r in readings}
    known = [rate for rate in rates.values() if rate is not None]
    return {
        "schema": SCHEMA,
        "hosts": list(hosts),
        "memory": options.memory,
        "size_bytes": options.size_bytes,
        "seconds": options.seconds,
        "least_share": least_share(options.memory),
        "would_show": [f"a path below {100 * least_share(options.memory):g} % of its port's rate"],
        "warnings": uneven(readings),
        "rails": len(rates),
        "rates_gbps": sum(known) if len(known) == len(rates) else None,
        "sums": [
            {"from": source, "to": target, "gbps": round(total, 3)}
            for (source, target), total in sums_gbps(readings).items()
        ],
        "rows": [_row(reading, options) for reading in readings],
    }


def _row(reading: Reading, options: PerftestOptions) -> dict[str, Any]:
    path, rate = reading.path, reading.path.pair.rate_gbps
    gpus = {end: gpu.index for end, gpu in path.gpus.items()}
    share = None if reading.gbps is None or rate is None else round(reading.gbps / rate, 4)
    return {
        "rail": path.pair.name,
        "from": path.source.host,
        "to": path.target.host,
        "gbps": None if reading.gbps is None else round(reading.gbps, 3),
        "rate_gbps": rate,
        "share": share,
        "state": state_of(reading, options.memory).value,
        "from_device": path.source_rail.name,
        "to_device": path.target_rail.name,
        "from_numa": path.source_rail.numa,
        "to_numa": path.target_rail.numa,
        "from_gpu": gpus.get("source"),
        "to_gpu": gpus.get("target"),
        "cause": "" if reading.cause is None else reading.cause.what,
        "remedy": "" if reading.cause is None else reading.cause.remedy,
        "client": shell_line(path.client(options)),
        "server": shell_line(path.server(options)),
    }
