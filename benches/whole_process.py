"""Whole-process times of commands, and of the engine's W1a, as a Markdown table.

    whole_process.py [--runs N]

Medians of repeats after one warm-up, with minimum and maximum: shared machines are noisy.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parent.parent


def seconds_of(argv: list[str], runs: int) -> list[float]:
    """Wall seconds of each run after one warm-up. Raises CalledProcessError on a failure."""
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        subprocess.run(argv, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return times[1:]


def w1a_scenario() -> dict[str, object]:
    """128 hosts, k=8 three-level tree, 200 Gb/s: host s sends 10 MB to host (s + 64) mod 128."""
    rate = 200_000_000_000
    fabric = {
        "generate": "fat_tree",
        "levels": 3,
        "nodes": 128,
        "radix": 8,
        "host_bits_per_s": rate,
        "switch_bits_per_s": rate,
        "host_delay_ps": 500_000,
        "switch_delay_ps": 500_000,
    }
    regime = {
        "max_bytes": 2**40,
        "protocol": "eager",
        "send_overhead_ns": 0,
        "recv_overhead_ns": 0,
        "send_ns_per_byte": 0,
        "recv_ns_per_byte": 0,
    }
    messages = [
        {"src": s, "dst": (s + 64) % 128, "size_bytes": 10_000_000, "start_ps": 0}
        for s in range(128)
    ]
    return {
        "schema": "weft.scenario/1",
        "seed": 1,
        "fidelity": "packet",
        "fabric": fabric,
        "routing": {"engine": "dmodk"},
        "packets": {"mtu_bytes": 4096, "headers": "infiniband"},
        "switch": {
            "model": "voq",
            "forwarding": "cut_through",
            "delay_ps": 200_000,
            "buffer_bytes": 65536,
        },
        "host": {"regimes": [regime], "message_gap_ns": 0},
        "placement": {"nodes": [f"n{i:03d}" for i in range(1, 129)], "tasks_per_node": 1},
        "work": [{"benchmark": "messages", "messages": messages}],
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as scratch:
        scenario = Path(scratch) / "w1a.json"
        scenario.write_text(json.dumps(w1a_scenario()))
        commands = {
            "`weft --help`": [str(BIN / "weft"), "--help"],
            "`python -c pass` (the floor of the line above)": [sys.executable, "-c", "pass"],
            "`weft platform list`": [str(BIN / "weft"), "platform", "list"],
            "`weft-sim` W1a (1.88 M data packet hops)": [
                str(ROOT / "target" / "release" / "weft-sim"),
                str(scenario),
            ],
        }
        print("| command | median s | min | max | runs |")
        print("|---|---|---|---|---|")
        for name, argv in commands.items():
            times = seconds_of(argv, runs)
            figures = (statistics.median(times), min(times), max(times))
            print(f"| {name} | {' | '.join(f'{t:.3f}' for t in figures)} | {runs} |")


if __name__ == "__main__":
    main()
