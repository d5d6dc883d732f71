"""What was measured between two hosts, as plain values."""

import shlex
from collections.abc import Sequence
from typing import Any

from weft.bench.rdma.measure import Reading
from weft.bench.rdma.plan import Asked
from weft.bench.rdma.verdict import least_share, state_of, sums_gbps

SCHEMA = "weft.rdma-pairs/1"


def record_of(hosts: tuple[str, str], readings: Sequence[Reading], asked: Asked) -> dict[str, Any]:
    """Rows in the order of directions and rails, sums by direction, and what was asked."""
    rates = {r.way.pair.name: r.way.pair.rate_gbps for r in readings}
    known = [rate for rate in rates.values() if rate is not None]
    return {
        "schema": SCHEMA,
        "hosts": list(hosts),
        "memory": asked.memory,
        "size_bytes": asked.size_bytes,
        "seconds": asked.seconds,
        "least_share": least_share(asked.memory),
        "rails": len(rates),
        "rates_gbps": sum(known) if len(known) == len(rates) else None,
        "sums": [
            {"from": source, "to": target, "gbps": round(total, 3)}
            for (source, target), total in sums_gbps(readings).items()
        ],
        "rows": [_row(reading, asked) for reading in readings],
    }


def _row(reading: Reading, asked: Asked) -> dict[str, Any]:
    way, rate = reading.way, reading.way.pair.rate_gbps
    gpus = {end: gpu.index for end, gpu in way.gpus.items()}
    share = None if reading.gbps is None or rate is None else round(reading.gbps / rate, 4)
    return {
        "rail": way.pair.name,
        "from": way.source.host,
        "to": way.target.host,
        "gbps": None if reading.gbps is None else round(reading.gbps, 3),
        "rate_gbps": rate,
        "share": share,
        "state": state_of(reading, asked.memory).value,
        "from_device": way.source_rail.name,
        "to_device": way.target_rail.name,
        "from_numa": way.source_rail.numa,
        "to_numa": way.target_rail.numa,
        "from_gpu": gpus.get("source"),
        "to_gpu": gpus.get("target"),
        "cause": "" if reading.cause is None else reading.cause.what,
        "remedy": "" if reading.cause is None else reading.cause.remedy,
        "client": shlex.join(way.client(asked)),
        "server": shlex.join(way.server(asked)),
    }
