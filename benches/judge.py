"""How long `weft judge` takes, and how much memory, as a Markdown table.

    judge.py [--runs N] [--megabytes M]

Each run is a new process: one small file, a folder of 400 files, one file of M megabytes of tables
(200 MB hold 2.8 million rows), and one five times as long that is a single table of osu_latency.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from read_results import nccl_table, osu_table, write

FIELD = Path(__file__).parents[1] / "tests" / "fixtures" / "field"
SMALL = FIELD / "c01-flux-hpcx-hdr.txt"
N_FILES = 400


def measure(argv: list[str]) -> tuple[float, float, float]:
    """(seconds, of which CPU, peak MB) of one process whose output goes nowhere."""
    started = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=quiet)
    _, _, used = os.wait4(pid, 0)
    took = time.perf_counter() - started
    return took, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def cases(scratch: Path, megabytes: int) -> list[tuple[str, Path]]:
    """Each measured path with what it is."""
    folder = scratch / "files"
    folder.mkdir()
    samples = sorted(path for path in FIELD.iterdir() if path.suffix in (".txt", ".out"))
    for number in range(N_FILES):
        sample = samples[number % len(samples)]
        shutil.copy(sample, folder / f"{number // len(samples)}-{sample.name}")
    long = scratch / "tables.txt"
    write(long, rows_only(random.Random(1)), megabytes * 10**6)  # noqa: S311
    endless = scratch / "table.txt"
    write(endless, one_table(random.Random(2)), 5 * megabytes * 10**6)  # noqa: S311
    return [
        ("one small file", SMALL),
        (f"a folder of {N_FILES} files", folder),
        (f"{megabytes} MB of tables", long),
        (f"{5 * megabytes} MB of one table", endless),
    ]


def rows_only(rng: random.Random) -> Iterator[str]:
    """One table after another."""
    while True:
        yield from nccl_table(rng)
        yield from osu_table(rng)


def one_table(rng: random.Random) -> Iterator[str]:
    """Sweeps of osu_latency without end, under one title."""
    yield "# OSU MPI Latency Test v5.9"
    yield "# Size          Latency (us)"
    while True:
        for power in range(23):
            time_us = (1 + 2**power / 12_000) * rng.uniform(0.95, 1.05)
            yield f"{2**power:<10d}{time_us:18.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    weft = str(Path(sys.executable).with_name("weft"))
    print("| `weft judge` of | median s | min | max | CPU s | peak memory MB | runs |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in cases(Path(scratch), arguments.megabytes):
            found = [measure([weft, "judge", str(path)]) for _ in range(arguments.runs)]
            seconds, cpu_s, peak_mb = zip(*found, strict=True)
            print(
                f"| {name} | {statistics.median(seconds):.2f} | {min(seconds):.2f} "
                f"| {max(seconds):.2f} | {statistics.median(cpu_s):.2f} | {max(peak_mb):.0f} "
                f"| {arguments.runs} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
