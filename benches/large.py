"""What takes no gate but memory or patience: 27,648 hosts, and the beginning of W3(1024).

    large.py [--runs N]

W3 is a ring allreduce of 1 GiB on 1,024 ranks. It is stopped after `EVENTS` events, and what the
whole would take is that pace times all its hops: an extrapolation, not a measurement.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches import workloads
from benches.engine import run_once
from benches.workloads import Document

EVENTS = 15_000_000
RANKS = 1024
CHUNK_BYTES = 2**30 // RANKS


def full_tree(*, adaptive: bool) -> Document:
    """A random permutation of 100 kB a host on a whole tree of 48-port switches."""
    n_hosts = 48**3 // 4
    triples = workloads.random_permutation(n_hosts, 100_000, seed=1)
    tree = workloads.deep_tree(48)
    return workloads.scenario(tree, workloads.messages(triples), adaptive=adaptive)


def w3(*, adaptive: bool) -> Document:
    """W3(1024), stopped early; its messages are agreed on first."""
    step = {"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 2**30}
    made = workloads.scenario(workloads.deep_tree(16), [step], adaptive=adaptive)
    return made | {
        "host": {"regimes": [{"protocol": "rendezvous"}]},
        "limits": {"max_events": EVENTS},
    }


def w3_hops() -> float:
    """Packets of all 2 (p - 1) steps, times the links they cross.

    A chunk is 256 packets, an acknowledgement, and three of the agreement. Of the 1,024 right-hand
    neighbours 7/8 are on the same leaf of 8, 7/64 in the same pod of 64, 1/64 in another.
    """
    links = 2 * 7 / 8 + 4 * 7 / 64 + 6 / 64
    return 2 * (RANKS - 1) * RANKS * (CHUNK_BYTES / 4096 + 4) * links


def main() -> None:
    """Print the table, and W3's extrapolation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    runs = parser.parse_args().runs
    chosen = (
        ("27,648 hosts, random, static", full_tree(adaptive=False)),
        ("27,648 hosts, random, adaptive", full_tree(adaptive=True)),
        ("W3(1024), the beginning, static", w3(adaptive=False)),
    )
    print("| workload | M hops | simulated ms | CPU s, set-up included | ns a hop | peak MB |")
    print("|---|---|---|---|---|---|", flush=True)
    pace_ns = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        path, out = Path(scratch) / "large.json", Path(scratch) / "out.json"
        for name, scenario in chosen:
            path.write_text(json.dumps(scenario))
            found = [run_once(path, out) for _ in range(runs)]
            cpu_s = statistics.median(seconds for seconds, _ in found)
            peak_mb = max(peak for _, peak in found)
            outcome = json.loads(out.read_bytes())
            hops, ms = outcome["hops"], outcome["end_ps"] / 1e9
            pace_ns = cpu_s * 1e9 / hops
            print(
                f"| {name} | {hops / 1e6:.2f} | {ms:.3f} | {cpu_s:.2f} | {pace_ns:.0f}"
                f" | {peak_mb:.0f} |",
                flush=True,
            )
    print(
        f"\nW3(1024) has {w3_hops() / 1e9:.2f} G hops: at the pace of its beginning the whole would"
        f"\ntake {w3_hops() * pace_ns / 1e9:.0f} s of CPU, which is extrapolated, not measured."
    )


if __name__ == "__main__":
    main()
