"""From nothing to a first latency table on virtual hosts, as a Markdown table.

    cluster_up.py [--hosts N] [--runs N]

Each run makes the hosts anew: keys, kernel and all. Medians, with minimum and maximum.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent


def weft(folder: Path, *argv: str) -> float:
    """Wall seconds of a verb. Raises CalledProcessError on a failure, with what it said."""
    started = time.perf_counter()
    subprocess.run(
        [str(BIN / "weft"), *argv],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
    )
    return time.perf_counter() - started


def one_run(n_hosts: int) -> tuple[float, float]:
    """Seconds of `up`, and of the first table after it."""
    name = f"bench-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            up = weft(Path(folder), "cluster", "up", "--local", str(n_hosts), "--name", name)
            table = weft(Path(folder), "bench", "latency", "--cluster", name, "--repeats", "1")
        finally:
            weft(Path(folder), "cluster", "down", name)
    return up, table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    runs = [one_run(asked.hosts) for _ in range(asked.runs)]
    rows = {
        f"`weft cluster up --local {asked.hosts}`": [up for up, _ in runs],
        "`weft bench latency --cluster NAME --repeats 1`": [table for _, table in runs],
        "from nothing to the table": [up + table for up, table in runs],
    }
    print("| step | median s | min | max | runs |")
    print("|---|---|---|---|---|")
    for step, times in rows.items():
        print(
            f"| {step} | {statistics.median(times):.1f} | {min(times):.1f} | {max(times):.1f} "
            f"| {asked.runs} |"
        )


if __name__ == "__main__":
    main()
