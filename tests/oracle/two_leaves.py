"""The twin of a virtual cluster of two leaves, and the impact of aggressors on a job there."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from weft.cli import run
from weft.cluster.local.impairment import queue_bytes

MBIT = 200
RATE = f"{MBIT}mbit/2kb"
"""Of each host and of the uplinks: hardly more than a frame passes at once."""
MTU_BYTES, FRAME_BYTES = 1448, 1514
"""A frame of TCP with time stamps: its payload, and all of it as `tc` counts it."""
PAYLOAD_BITS_PER_S = round(MBIT * 1e6 * MTU_BYTES / FRAME_BYTES)
CABLE_PS = 1000


@dataclass(frozen=True, slots=True)
class Impact:
    """How many times longer a message takes beside aggressors, with weft's interval of 95 %: a
    point for a twin, which has one launch."""

    alone_us: float
    impact: float
    low: float
    high: float

    def differs_from(self, other: "Impact") -> bool:
        """Whether the intervals lie apart."""
        return self.high < other.low or other.high < self.low

    def beside(self, other: "Impact") -> "Impact":
        """This one alone, and what `other` is beside the aggressors."""
        change = other.alone_us / self.alone_us
        return Impact(self.alone_us, other.impact * change, other.low * change, other.high * change)


def impacts(rows: Sequence[dict[str, Any]]) -> dict[int, Impact]:
    """Of the means, by size in bytes: rows of `impact` of `weft bench --format json`."""
    found = {}
    for row in rows:
        mean = row["figures"]["mean"]
        low, high = (mean[end] or mean["impact"] for end in ("low", "high"))
        found[row["size_bytes"]] = Impact(mean["alone"], mean["impact"], low, high)
    return found


@dataclass(frozen=True, slots=True)
class CpuWait:
    """How often a process that never sleeps is found without a CPU, and for how long then: ns."""

    share: float
    mean_ns: float


_POLL = """
import sys, time
end = time.perf_counter_ns() + int(sys.argv[1])
last, gaps = time.perf_counter_ns(), []
while last < end:
    now = time.perf_counter_ns()
    if now - last > 100_000:
        gaps.append(now - last)
    last = now
print(sum(gaps), sum(gap * gap for gap in gaps))
"""


def cpu_wait(n_processes: int, seconds: float = 3.0) -> CpuWait:
    """Measured on so many processes at once. A moment that is drawn at random falls into a long gap
    more often than into a short one, and into its middle on average: sum of squares over twice the
    sum."""
    polling = [
        subprocess.Popen(
            [sys.executable, "-c", _POLL, str(round(seconds * 1e9))], stdout=subprocess.PIPE
        )
        for _ in range(n_processes)
    ]
    said = [process.communicate(timeout=60)[0].split() for process in polling]
    total, squares = (sum(float(line[at]) for line in said) for at in (0, 1))
    return CpuWait(total / (n_processes * seconds * 1e9), squares / (2 * total) if total else 0.0)


def fabric_document(leaves: Sequence[Sequence[str]]) -> dict[str, object]:
    """The cables of the cluster, each with the rate of its payload."""
    links = []
    for number, leaf in enumerate(leaves, 1):
        ends = [(f"{host}/hca0[1]", f"leaf{number}[{at}]") for at, host in enumerate(leaf, 1)]
        ends.append((f"leaf{number}[{len(leaf) + 1}]", f"spine[{number}]"))
        links += [
            {"a": a, "b": b, "bits_per_s": PAYLOAD_BITS_PER_S, "delay_ps": CABLE_PS}
            for a, b in ends
        ]
    switches = [
        {"name": f"leaf{number}", "ports": len(leaf) + 1, "level": 1}
        for number, leaf in enumerate(leaves, 1)
    ]
    return {
        "schema": "weft.fabric/1",
        "name": "virtual",
        "nodes": [{"name": host, "hcas": [f"{host}/hca0"]} for leaf in leaves for host in leaf],
        "switches": [*switches, {"name": "spine", "ports": len(leaves), "level": 2}],
        "links": links,
        "routing": {"engine": "minhop"},
    }


def twin_options(
    base: Path, leaves: Sequence[Sequence[str]], folder: Path
) -> tuple[str, str, str, str]:
    """The options of a twin of the cluster: its cables, and the platform that is fitted to the run
    `base` of latencies, with the frames, the queues and the MPI of the set-up in place of what the
    fit assumes."""
    platform, fabric = folder / "virtual.toml", folder / "virtual.json"
    link = f"{PAYLOAD_BITS_PER_S / 1e9} Gb/s"
    words = ["platform", "fit", str(base), "--link", link, "--name", "virtual"]
    assert run([*words, "-o", str(platform)]) == 0
    document = tomllib.loads(platform.read_text())
    # No header is left: the rate is that of the payload.
    document["packets"] |= {"headers": "ethernet"}
    document["packets"]["mtu"] |= {"value": float(MTU_BYTES), "source": "TCP over Ethernet"}
    document["switch"]["buffer"] |= {"value": float(queue_bytes(RATE)), "source": "weft's queue"}
    document["mpi"] |= {"library": "MPICH", "choice": "mpich", "one_sided": "processor"}
    platform.write_text(tomli_w.dumps(document))
    fabric.write_text(json.dumps(fabric_document(leaves)))
    return ("--twin", str(platform), "--fabric", str(fabric))
