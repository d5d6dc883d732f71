"""How fast logs are read: MB/s of a job's NCCL log, of a foreign one, and both mixed.

python benches/doctor_log.py [--mb 400]
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from weft.bench.logs.log_facts import log_facts_of

N_RANKS, TASKS_PER_NODE, N_CHANNELS = 512, 8, 16
REPEATS = 5


def nccl_lines() -> Iterator[str]:
    """NCCL 2.27's log of a ring over 64 nodes; ranks' lines alternate."""
    for channel in range(N_CHANNELS):
        for rank in range(N_RANKS):
            node, device = divmod(rank, TASKS_PER_NODE)
            after = (rank + 1) % N_RANKS
            head = f"node{node}:{1000 + device}:{2000 + device} [{device}] NCCL INFO "
            ends = f"{rank}[{device}] -> {after}[{after % TASKS_PER_NODE}]"
            if after // TASKS_PER_NODE == node:
                yield f"{head}Channel {channel:02d}/0 : {ends} via P2P/CUMEM/read"
            else:
                yield f"{head}Channel {channel:02d}/0 : {ends} [send] via NET/IB/{device}/GDRDMA"
            if channel == 0:
                yield f"{head}Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1 [2] 1/-1/-1->0->-1"
                yield f"{head}NCCL_IB_TIMEOUT set by environment to 22."


def foreign_lines() -> Iterator[str]:
    """The output of a training job."""
    for step in range(10_000):
        yield f"[2026-11-23 04:00:00] iteration {step:8d} | loss: 1.234 | elapsed (ms): 123.4 |"


def mixed_lines() -> Iterator[str]:
    """Both, line by line."""
    for pair in zip(nccl_lines(), foreign_lines(), strict=False):
        yield from pair


LOGS = {"NCCL": nccl_lines, "of another program": foreign_lines, "mixed": mixed_lines}


def megabytes_per_s(path: Path) -> float:
    """The best of several readings: a disturbance only slows."""
    n_bytes = path.stat().st_size
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        log_facts_of([str(path)])
        times.append(time.perf_counter() - begun)
    return n_bytes / min(times) / 1e6


def main() -> None:
    """A table of logs and rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=400, help="size of each log")
    size = parser.parse_args().mb * 1_000_000
    print("| log | MB/s |")
    print("|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in LOGS.items():
            text = "\n".join(lines()) + "\n"
            path = Path(folder) / "job.log"
            with path.open("w") as file:
                for _ in range(size // len(text) + 1):
                    file.write(text)
            print(f"| {name} | {megabytes_per_s(path):.0f} |", flush=True)


if __name__ == "__main__":
    main()
