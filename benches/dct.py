"""The cost of changing connections: alltoalls with `dct`, and with a connection a pair.

dct.py    print the table of docs/concepts/fidelity.md
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.workloads import GBPS

from benches import workloads
from weft.bench.twin.backend import simulate

N_HOSTS = 32
INITIATORS = (1, 2, 4, 8, 32)
RECONNECT_NS = 1000
"""Assumed, as without the key."""
SIZES = (8, 4096, 65536)


def alltoall_us(size_bytes: int, algorithm: str, transport: dict[str, Any]) -> float:
    """One alltoall of free hosts on a full tree."""
    fabric = workloads.tapered_tree(N_HOSTS) | {"nodes_per_leaf": 8, "spines": 8}
    fabric["host_bits_per_s"] = 200 * GBPS
    step = {"benchmark": "alltoall", "algorithm": algorithm, "size_bytes": size_bytes}
    made = workloads.scenario(fabric, [step], adaptive=False)
    outcome = simulate({**made, "faults": [], "transport": transport})
    return float(outcome["duration_ps"][0]) / 1e6


def dct(initiators: int, scale: float = 1.0) -> dict[str, Any]:
    """So many initiators a rank; the time of a turn times `scale`."""
    model = {"initiators": initiators, "reconnect_ns": RECONNECT_NS * scale}
    return {"kind": "dct", "dct": model}


def lines() -> Iterator[str]:
    """The table: every rank sends to all others at once, or to one after the other."""
    yield "### Cost of changing connections"
    yield ""
    yield f"An alltoall of {N_HOSTS} hosts on a full tree at 200 Gb/s, with no costs of hosts:"
    yield "how many times as long it takes with `dct` as with a connection a pair. A turn takes 1"
    yield "us (in brackets half and twice that), which is assumed."
    yield ""
    yield f"| algorithm | block | connections us | {' | '.join(map(str, INITIATORS))} initiators |"
    yield f"|---|---:|---:|{'---:|' * len(INITIATORS)}"
    for algorithm in ("linear", "pairwise"):
        for size in SIZES:
            fixed = alltoall_us(size, algorithm, {})
            cells = []
            for n in INITIATORS:
                half, one, twice = (
                    alltoall_us(size, algorithm, dct(n, scale)) / fixed for scale in (0.5, 1, 2)
                )
                cells.append(f"{one:.2f} ({half:.2f}, {twice:.2f})")
            yield f"| {algorithm} | {size} B | {fixed:.2f} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
