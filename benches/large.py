"""Workloads that take memory or patience: 27,648 hosts, and W3(1024).

    large.py [--runs N]

W3 is a ring allreduce of 1 GiB on 1,024 ranks, packet by packet to its end.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches.engine import run_once
from benches.workloads import Document

from benches import workloads


def full_tree(*, adaptive: bool) -> Document:
    """A random permutation of 100 kB a host on a whole tree of 48-port switches."""
    n_hosts = 48**3 // 4
    triples = workloads.random_permutation(n_hosts, 100_000, seed=1)
    tree = workloads.deep_tree(48)
    return workloads.scenario(tree, workloads.messages(triples), adaptive=adaptive)


def w3() -> Document:
    """W3(1024); its messages are agreed on first."""
    step = {"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 2**30}
    made = workloads.scenario(workloads.deep_tree(16), [step], adaptive=False)
    return made | {"host": {"regimes": [{"protocol": "rendezvous"}]}}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    runs = parser.parse_args().runs
    chosen = (
        ("27,648 hosts, random, static", full_tree(adaptive=False)),
        ("27,648 hosts, random, adaptive", full_tree(adaptive=True)),
        ("W3(1024), static", w3()),
    )
    print("| workload | M hops | simulated ms | CPU s, set-up included | ns a hop | peak MB |")
    print("|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        path, out = Path(scratch) / "large.json", Path(scratch) / "out.json"
        for name, scenario in chosen:
            path.write_text(json.dumps(scenario))
            found = [run_once(path, out) for _ in range(runs)]
            cpu_s = statistics.median(seconds for seconds, _ in found)
            peak_mb = max(peak for _, peak in found)
            outcome = json.loads(out.read_bytes())
            hops, ms = outcome["hops"], outcome["end_ps"] / 1e9
            print(
                f"| {name} | {hops / 1e6:.2f} | {ms:.3f} | {cpu_s:.2f} | {cpu_s * 1e9 / hops:.0f}"
                f" | {peak_mb:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
