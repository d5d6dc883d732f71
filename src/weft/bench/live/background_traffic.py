"""What moved on the network devices while no rank sent."""

from typing import Any

from weft.bench.live.device_bytes import BYTE_COUNTERS, bytes_of
from weft.bench.live.kernel_records import KernelOutput, QuietCounter

MOST_MOVED = 8
"""Evidence keeps this many counters, busiest first, and counts the others."""


def quiet_evidence(output: KernelOutput) -> dict[str, Any]:
    """How long the network was watched, and the byte counters that moved meanwhile; {} where
    it was not. A rate is in MB/s (10^6 bytes), `link_share` is of the device's own rate."""
    if output.header is None or output.header.quiet_ns == 0:
        return {}
    moved = [_entry(quiet) for quiet in output.quiet if _is_traffic(quiet)]
    moved.sort(key=lambda entry: (-(entry["link_share"] or 0), -entry["mb_s"]))
    return {
        "seconds": output.header.quiet_ns / 1e9,
        "n_moved": len(moved),
        "moved": moved[:MOST_MOVED],
    }


def _is_traffic(quiet: QuietCounter) -> bool:
    return quiet.counter in BYTE_COUNTERS and quiet.link_layer != "Loopback"


def _entry(quiet: QuietCounter) -> dict[str, Any]:
    bytes_per_s = bytes_of(quiet) / (quiet.elapsed_ns / 1e9)
    rate = quiet.link_rate_gbps
    return {
        "host": quiet.host,
        "device": quiet.name,
        "counter": quiet.counter,
        "mb_s": round(bytes_per_s / 1e6, 3),
        "link_share": round(bytes_per_s * 8 / (rate * 1e9), 4) if rate else None,
    }
