"""Whole-process times of commands, as a Markdown table.

    whole_process.py [--runs N]

Medians of repeats after one warm-up, with minimum and maximum: shared machines are noisy.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(sys.executable).parent


def seconds_of(argv: list[str], runs: int) -> list[float]:
    """Wall seconds of each run after one warm-up. Raises CalledProcessError on a failure."""
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        subprocess.run(argv, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return times[1:]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    runs = parser.parse_args().runs
    plan = ["train", "plan", "azure-ndv5", "--model", "grok-1", "--sweep", "8:16384"]
    commands = {
        "`weft --help`": [str(BIN / "weft"), "--help"],
        "`python -c pass` (the floor of the line above)": [sys.executable, "-c", "pass"],
        "`weft platform list`": [str(BIN / "weft"), "platform", "list"],
        f"`weft {' '.join(plan)}`": [str(BIN / "weft"), *plan],
    }
    print("| command | median s | min | max | runs |")
    print("|---|---|---|---|---|")
    for name, argv in commands.items():
        times = seconds_of(argv, runs)
        figures = (statistics.median(times), min(times), max(times))
        print(f"| {name} | {' | '.join(f'{t:.3f}' for t in figures)} | {runs} |")


if __name__ == "__main__":
    main()
