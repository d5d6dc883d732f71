"""Flows that a dead cable stalls, under the subnet manager alone and under SHIELD: prints a table.

    dead_cable.py [--runs N] [--write]

32 hosts on four leaves send by a shift, and a cable between a leaf and a spine dies at a random
time while they do. A flow stalls if its message takes longer than 10 ms: the timeout is 4.29 s.
`--write` puts the table into docs/concepts/fidelity.md.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.page import print_tables
from benches.routing import ROOT, outcomes
from benches.workloads import Document

PAGE = ROOT / "docs" / "concepts" / "fidelity.md"
N_HOSTS, PER_LEAF = 32, 8
BITS_PER_S = 200_000_000_000
STALL_PS = 10_000_000_000
DEFAULT_RUNS = 150


@dataclass(frozen=True, slots=True)
class Shift:
    """Messages of every host to the one `by` further."""

    by: int
    size_bytes: int
    n_messages: int = 1
    spines: int = 8

    def __str__(self) -> str:
        size = f"{self.size_bytes // 1000:,} kB"
        return f"{self.n_messages} x {size} | {self.by} | {self.spines}"

    @property
    def busy_ns(self) -> int:
        """How long a cable between switches is busy, at the least."""
        bits = 8 * self.size_bytes * self.n_messages * PER_LEAF / self.spines
        return int(bits / BITS_PER_S * 1e9)


SHIFTS = (
    Shift(8, 4_000_000),
    Shift(8, 16_000_000),
    Shift(8, 1_000_000, n_messages=4),
    Shift(8, 64_000, n_messages=60),
    Shift(5, 4_000_000),
    Shift(16, 4_000_000, spines=4),
    Shift(8, 400_000),
    Shift(8, 64_000),
)


def scenario(
    shift: Shift, draw: random.Random, link_death: Document, routing: Document
) -> Document:
    """A shift whose cable dies at a drawn time."""
    link = f"leaf-{draw.randint(1, 4):02}[{draw.randint(PER_LEAF + 1, PER_LEAF + shift.spines)}]"
    flows = [
        {"src": src, "dst": (src + shift.by) % N_HOSTS, "size_bytes": shift.size_bytes}
        for src in range(N_HOSTS)
        for _ in range(shift.n_messages)
    ]
    fabric = {
        "generate": "fat_tree",
        "levels": 2,
        "nodes": N_HOSTS,
        "nodes_per_leaf": PER_LEAF,
        "spines": shift.spines,
        "host_bits_per_s": BITS_PER_S,
        "switch_bits_per_s": BITS_PER_S,
        "host_delay_ps": 15_000,
        "switch_delay_ps": 50_000,
    }
    return {
        "schema": "weft.scenario/1",
        "fabric": fabric,
        "routing": {"engine": "dmodk", "link_death": link_death, **routing},
        "switch": {"delay_ps": 100_000, "buffer_bytes": 131_072},
        "host": {"regimes": [{}]},
        "seed": draw.randrange(1 << 32),
        "work": [{"benchmark": "messages", "messages": flows}],
        "faults": [{"link": link, "down": True, "from_ns": draw.randint(1000, shift.busy_ns)}],
    }


def stalled(outcome: Any) -> int:
    """How many flows took longer than a stall."""
    return sum(duration_ps > STALL_PS for duration_ps in outcome["rows"]["duration_ps"])


def table(n_runs: int) -> Iterator[str]:
    """A row for each shift and routing: stalled flows a run, and of all runs under SHIELD."""
    yield "| messages of a host | shift | spines | routing | manager alone: a run | SHIELD | runs |"
    yield "|---|---:|---:|---|---:|---:|---:|"
    for shift in SHIFTS:
        for name, routing in (("tables", {}), ("adaptive", {"adaptive": {}})):
            found = {}
            for reaction in ("subnet_manager", "switch"):
                draw = random.Random(f"{shift} {name}")  # noqa: S311
                runs = n_runs if reaction == "switch" else max(1, n_runs // 10)
                made = [scenario(shift, draw, {"reaction": reaction}, routing) for _ in range(runs)]
                found[reaction] = [stalled(outcome) for outcome in outcomes(made)]
            alone = found["subnet_manager"]
            span = f"{min(alone)} to {max(alone)}"
            yield f"| {shift} | {name} | {span} | {sum(found['switch'])} | {n_runs} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=DEFAULT_RUNS)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    print_tables(PAGE, "benches/dead_cable.py", table(given.runs), write=given.write)


if __name__ == "__main__":
    main()
