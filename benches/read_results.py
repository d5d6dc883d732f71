"""How long reading a large result file takes, and how much memory, as a Markdown table.

    read_results.py [--runs N] [--megabytes M]

Each run is a new process; its time is that of `read_results` alone, its memory the peak of the
whole process. The files are made here, the same each time.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

_CHILD = """
import resource, sys, time
from pathlib import Path
from weft.results.result_file import read_results
started, cpu_started = time.perf_counter(), time.process_time()
results = read_results(Path(sys.argv[1]))
took, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
rows = sum(len(table.rows) for table in results.tables)
print(took, cpu_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, results.n_lines, rows)
"""
_NCCL_LINES = (
    "NCCL INFO Channel {a:02d}/0 : {a}[{b}] -> {b}[{a}] [send] via NET/IB/{a}/GDRDMA",
    "NCCL INFO Channel {a:02d}/16 :    0   7   6   5   4   3   2   1   8  15  14  13  12  11  10",
    "NCCL INFO Trees [0] {a}/-1/-1->{b}->-1 [1] {b}/-1/-1->{a}->-1 [2] {a}/8/-1->{b}->-1",
    "NCCL INFO NET/IB : Using [0]mlx5_ib{a}:1/IB/SHARP [1]mlx5_ib{b}:1/IB/SHARP [RO]; OOB eth0",
    "NCCL INFO Connected all rings",
    "NCCL INFO threadThresholds 8/8/64 | 128/8/64 | 512 | 512",
    "NCCL INFO AllReduce: opCount {a} sendbuff 0x7f{b:08x} recvbuff 0x7f{a:08x} count 1048576",
)
_FRAMEWORK_LINES = (
    "step {a} | loss {b}.4213 | lr 3.0e-04 | grad norm 0.{a} | {b}12.5 ms | 3{a}1.2 tokens/s",
    "INFO:root:epoch {a} batch {b} of 10000, data loading 0.0{a} s, checkpoint in {b} steps",
    "WARNING worker-{a}: heartbeat {b} ms late",
)


def nccl_lines(rng: random.Random, n: int) -> Iterator[str]:
    """Lines of NCCL_DEBUG=INFO."""
    for _ in range(n):
        a, b = rng.randrange(16), rng.randrange(64)
        line = rng.choice(_NCCL_LINES).format(a=a, b=b)
        yield f"node{b:04d}:{40_000 + a}:{41_000 + b} [{a % 8}] {line}"


def framework_lines(rng: random.Random, n: int) -> Iterator[str]:
    """Lines of a training program, which no reader knows."""
    for _ in range(n):
        yield rng.choice(_FRAMEWORK_LINES).format(a=rng.randrange(100), b=rng.randrange(1000))


def nccl_table(rng: random.Random) -> Iterator[str]:
    """One run of nccl-tests."""
    yield "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5"
    yield "#"
    yield "#                                                              out-of-place"
    yield (
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong"
    )
    yield (
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
        "     (us)  (GB/s)  (GB/s)       "
    )
    for power in range(3, 31):
        time_us = 20 + 2**power / 150_000 * rng.uniform(0.9, 1.1)
        rate = 2**power / time_us / 1000
        half = f"{time_us:9.2f} {rate:7.2f} {rate * 1.875:7.2f}      0"
        count = 2**power // 4
        yield f"{2**power:12d} {count:13d}     float     sum      -1 {half}{half}"
    yield "# Out of bounds values : 0 OK"
    yield "# Avg bus bandwidth    : 98.7654"


def osu_table(rng: random.Random) -> Iterator[str]:
    """One run of osu_allreduce."""
    yield "# OSU MPI Allreduce Latency Test v7.4"
    yield "# Datatype: MPI_CHAR."
    yield "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    for power in range(2, 23):
        mean = 3 + 2**power / 9_000 * rng.uniform(0.9, 1.1)
        yield f"{2**power:<10d}{mean:18.2f}{mean * 0.9:18.2f}{mean * 1.2:18.2f}{1000:12d}"


def log(rng: random.Random) -> Iterator[str]:
    """Mostly NCCL's own lines, with a table now and then."""
    while True:
        prefix = rng.choice(("", "[1,0]<stdout>:"))
        for part in (nccl_lines(rng, 4000), nccl_table(rng), osu_table(rng)):
            for line in part:
                yield prefix + line


def training_log(rng: random.Random) -> Iterator[str]:
    """Mostly unknown lines, with a table now and then."""
    while True:
        yield from framework_lines(rng, 4000)
        yield from nccl_table(rng)


CASES: tuple[tuple[str, Callable[[random.Random], Iterator[str]]], ...] = (
    ("log: NCCL's lines with tables in between", log),
    ("log: unknown lines with tables in between", training_log),
)


def write(path: Path, lines: Iterator[str], n_bytes: int) -> None:
    """Lines until the file has so many bytes."""
    written = 0
    with path.open("w") as file:
        while written < n_bytes:
            written += file.write(next(lines) + "\n")


def measure(path: Path, runs: int) -> list[list[float]]:
    """(seconds, of which CPU, peak KiB, lines, rows) of each run, each in a new process."""
    argv = [sys.executable, "-c", _CHILD, str(path)]
    found = []
    for _ in range(runs):
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        found.append([float(word) for word in done.stdout.split()])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    print("| file | MB | lines | rows | median s | min | max | CPU s | peak memory MB | runs |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, lines in CASES:
            path = Path(scratch) / "log.txt"
            write(path, lines(random.Random(1)), arguments.megabytes * 10**6)  # noqa: S311
            found = measure(path, arguments.runs)
            seconds = [run[0] for run in found]
            cpu_s = statistics.median(run[1] for run in found)
            peak_mb = max(run[2] for run in found) * 1024 / 1e6
            print(
                f"| {name} | {arguments.megabytes} | {found[0][3]:,.0f} | {found[0][4]:,.0f} "
                f"| {statistics.median(seconds):.2f} | {min(seconds):.2f} | {max(seconds):.2f} "
                f"| {cpu_s:.2f} | {peak_mb:.0f} | {arguments.runs} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
