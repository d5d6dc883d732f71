"""How long a large training log takes: processor time of reading and judging one of 2 GB.

python benches/training_log.py [--gb 2]
"""

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import BinaryIO

from weft.train.log.given_figures import GivenFigures
from weft.train.log.judged_log import judge_log

LINES_BETWEEN = 120
"""Other lines between two steps: NCCL's log, warnings, timers."""
RANKS = {"one rank prints its steps": 1, "eight ranks print the same steps": 8}


def step_line(i: int, time_ms: float, rank: int) -> bytes:
    """A line of Megatron-LM."""
    text = (
        f"[default{rank}]: [2026-05-01 12:{i // 60 % 60:02d}:{i % 60:02d}] "
        f"iteration {i:8d}/ 9999999 | consumed samples: {i * 1024:12d} | "
        f"elapsed time per iteration (ms): {time_ms:.1f} | "
        "throughput per GPU (TFLOP/s/GPU): 310.2 | learning rate: 1.365000E-05 | "
        "global batch size:  1024 | lm loss: 2.381640E+00 | loss scale: 1.0 | grad norm: 0.227 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )
    return text.encode()


def other_lines(rng: random.Random) -> list[bytes]:
    """Lines of libraries, in no order."""
    lines = [
        f"node{rng.randrange(64)}:4242:{rng.randrange(9999)} [{i % 8}] NCCL INFO "
        f"Channel {i % 16:02d}/16 : {i % 512}[0] -> {(i + 8) % 512}[1] [receive] "
        f"via NET/IB/{i % 8}/GDRDMA\n"
        for i in range(4000)
    ]
    lines += [
        f"time (ms) | forward-compute: {99 * rng.random():.2f} | optimizer: 63.01 | memory 12%\n"
        for _ in range(2000)
    ]
    rng.shuffle(lines)
    return [line.encode() for line in lines]


def write_log(file: BinaryIO, n_bytes: int, n_ranks: int) -> int:
    """Write a log of so many bytes; the number of its steps."""
    rng = random.Random(1)  # noqa: S311 no secret depends on it
    others, written, step = other_lines(rng), 0, 0
    while written < n_bytes:
        step += 1
        time_ms = 3375.0 * (1 + 0.004 * rng.gauss(0, 1))
        at = rng.randrange(len(others) - LINES_BETWEEN)
        lines = [step_line(step, time_ms, rank) for rank in range(n_ranks)]
        text = b"".join([*lines, *others[at : at + LINES_BETWEEN]])
        written += file.write(text)
    return step


def main() -> None:
    """A line a log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=2.0, help="size of each log")
    n_bytes = int(parser.parse_args().gb * 1e9)
    print("| log | steps | processor time, s | MB/s |")
    print("|---|---|---|---|")
    for name, n_ranks in RANKS.items():
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            path = Path(folder) / "job.log"
            with path.open("wb") as file:
                n_steps = write_log(file, n_bytes, n_ranks)
            begun = time.process_time()
            judged = judge_log(path, GivenFigures())
            took = time.process_time() - begun
            assert judged.log.runs[0].times_s.size == n_steps
        print(f"| {name} | {n_steps:,} | {took:.1f} | {n_bytes / took / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()
