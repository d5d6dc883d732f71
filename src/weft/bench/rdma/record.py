"""What was measured between two hosts, as plain values."""

import shlex
from collections.abc import Sequence
from typing import Any

from weft.bench.rdma.measure import Reading
from weft.bench.rdma.plan import PerftestOptions
from weft.bench.rdma.verdict import least_share, state_of, sums_gbps

SCHEMA = "weft.rdma-pairs/1"


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
        "client": shlex.join(path.client(options)),
        "server": shlex.join(path.server(options)),
    }
