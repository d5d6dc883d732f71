"""Our kernel against HPCC's ping-pong and NetPIPE: same MPI, interleaved launches, same estimator.

    python benches/compare_kernel.py --launches 20

Each tool reports one number of a series it does not show. The kernel writes its series whole, so
the tool's own estimator is applied to it, with the tool's own use of memory (`--buffers`):

* HPCC 1.5 (main_bench_lat_bw.c): 8 bytes, five times a mean of 8 round trips after an untimed one,
  the shortest kept (`--batch 8`; compared as well with a clock reading every round trip, as OSU's
  and our default); 2,000,000 bytes, twice one round trip, the shorter kept. It writes only the
  first and last byte of its send buffer, so Linux backs the rest by its one page of zeros
  (`--buffers untouched`); compared as well with a send buffer that has memory of its own.
* NetPIPE 3.7: three times a mean, the shortest kept; messages are sent from where they arrived
  (`--buffers one`); compared as well with two buffers, as OSU uses.

Needs the Debian packages hpcc, netpipe-openmpi, netpipe-mpich2 with their MPIs; what is missing is
left out, and said. Prints a Markdown table on standard output.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SOURCES = Path(__file__).resolve().parents[1] / "mpi"
HPCC_SIZES = (8, 2_000_000)
NETPIPE_SIZES = (65536, 262144, 1048576, 4194304)
NETPIPE_REPEATS = 100
TIMEOUT_S = 300

# One problem of order 64 on a 1 x 2 grid: HPCC must run its other benchmarks, so they are tiny.
HPCC_INPUT = """HPLinpack benchmark input file
the smallest problem: only the ping-pong is of interest
HPL.out
8
1
64
1
16
0
1
1
2
16.0
1
2
1
4
1
2
1
1
1
1
1
1
2
64
0
0
1
8
--
0
1200
0
40
"""

Times = dict[str, float]
"""Row of the table -> microseconds one way."""


@dataclass(frozen=True, slots=True)
class Mpi:
    """An MPI of this machine: compiler, launcher."""

    name: str
    compiler: str
    launcher: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contest:
    """A tool against our kernel: what each launch of either yields, by row."""

    name: str
    theirs: Callable[[Path], Times]
    ours: Callable[[Path], Times]


def open_mpi() -> Mpi:
    """Debian's Open MPI."""
    root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
    return Mpi("Open MPI", "mpicc.openmpi", ("mpirun.openmpi", *root, "-n", "2"))


def mpich() -> Mpi:
    """Debian's MPICH."""
    return Mpi("MPICH", "mpicc.mpich", ("mpiexec.mpich", "-n", "2"))


def launch(argv: list[str], folder: Path) -> str:
    """Standard output and error of a launch in `folder`; ends the program where it fails."""
    done = subprocess.run(
        argv, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(argv)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def build(mpi: Mpi, folder: Path) -> Path:
    """Our kernel for that MPI."""
    out = folder / mpi.name.replace(" ", "-")
    compiler = shutil.which(mpi.compiler)
    launch(["make", "-s", "-C", str(SOURCES), f"MPICC={compiler}", f"OUT={out}"], folder)
    return out / "weft-kernel"


def kernel_series(mpi: Mpi, kernel: Path, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """Rows of one launch of our kernel."""
    output = launch([*mpi.launcher, str(kernel), *arguments], folder)
    records = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if records[-1]["record"] != "end":
        sys.exit(f"{kernel}: no end record")
    return [record for record in records if record["record"] == "row"]


def best_mean_us(times_ns: list[int], n_blocks: int, block: int) -> float:
    """Shortest of the means of the first `n_blocks` blocks of round trips, one way."""
    blocks = np.array(times_ns[: n_blocks * block], dtype=float).reshape(n_blocks, block)
    return float(blocks.mean(axis=1).min()) / 2e3


def hpcc(mpi: Mpi, kernel: Path) -> Contest:
    """HPCC's ping-pong of two ranks."""

    def theirs(folder: Path) -> Times:
        (folder / "hpccinf.txt").write_text(HPCC_INPUT)
        (folder / "hpccoutf.txt").unlink(missing_ok=True)
        launch([*mpi.launcher, "hpcc"], folder)
        text = (folder / "hpccoutf.txt").read_text()
        value = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
        small_us = float(value["AvgPingPongLatency_usec"])
        large_us = HPCC_SIZES[1] / float(value["AvgPingPongBandwidth_GBytes"]) / 1e3
        return {
            "8 B, clock read once in 8 round trips": small_us,
            "8 B, clock read every round trip": small_us,
            "2 MB, send buffer untouched": large_us,
            "2 MB, send buffer written": large_us,
        }

    def ours(folder: Path) -> Times:
        small, large = map(str, HPCC_SIZES)
        batched, tiny, untouched, written = kernel_series(
            *(mpi, kernel, folder, "--warmup", "1"),
            *("--benchmark", "latency", "--sizes", small, "--iterations", "5", "--batch", "8"),
            *("--benchmark", "latency", "--sizes", small, "--iterations", "40"),
            *("--benchmark", "latency", "--sizes", large, "--iterations", "2"),
            *("--buffers", "untouched", "--warmup", "10"),
            *("--benchmark", "latency", "--sizes", large, "--iterations", "2", "--warmup", "10"),
        )
        return {
            "8 B, clock read once in 8 round trips": best_mean_us(batched["times_ns"], 5, 1),
            "8 B, clock read every round trip": best_mean_us(tiny["times_ns"], 5, 8),
            "2 MB, send buffer untouched": best_mean_us(untouched["times_ns"], 2, 1),
            "2 MB, send buffer written": best_mean_us(written["times_ns"], 2, 1),
        }

    return Contest(f"HPCC, {mpi.name}", theirs, ours)


def netpipe(mpi: Mpi, kernel: Path, program: str) -> Contest:
    """NetPIPE without perturbations, from 64 KiB up."""
    low, high = str(NETPIPE_SIZES[0]), str(NETPIPE_SIZES[-1])

    def theirs(folder: Path) -> Times:
        argv = [*mpi.launcher, program, "-l", low, "-u", high, "-p", "0"]
        text = launch([*argv, "-n", str(NETPIPE_REPEATS)], folder)
        found = re.findall(r"(\d+) bytes\s+\d+ times -->\s+[\d.]+ Mbps in\s+([\d.]+) usec", text)
        by_size = {int(size): float(time_us) for size, time_us in found}
        buffers = ("one buffer", "two buffers")
        return {f"{size >> 10} KiB, {b}": by_size[size] for b in buffers for size in NETPIPE_SIZES}

    def ours(folder: Path) -> Times:
        sizes = ",".join(map(str, NETPIPE_SIZES))
        counts = ("--iterations", str(3 * NETPIPE_REPEATS), "--warmup", "10", "--sizes", sizes)
        rows = kernel_series(
            *(mpi, kernel, folder, *counts),
            *("--benchmark", "latency", "--buffers", "one", "--benchmark", "latency"),
        )
        return {
            f"{row['size_bytes'] >> 10} KiB, {row['buffers']} buffer"
            + ("s" if row["buffers"] == "two" else ""): best_mean_us(
                row["times_ns"], 3, NETPIPE_REPEATS
            )
            for row in rows
        }

    return Contest(f"NetPIPE, {mpi.name}", theirs, ours)


def contests(folder: Path) -> list[Contest]:
    """Those whose programs are on this machine; the others are named on standard error."""
    found = []
    for mpi, programs in ((open_mpi(), ("hpcc", "NPopenmpi")), (mpich(), ("NPmpich2",))):
        present = [program for program in programs if shutil.which(program)]
        if shutil.which(mpi.compiler) is None or not present:
            print(f"{mpi.name}: {mpi.compiler} or {programs} missing, left out", file=sys.stderr)
            continue
        kernel = build(mpi, folder)
        for program in present:
            contest = hpcc(mpi, kernel) if program == "hpcc" else netpipe(mpi, kernel, program)
            found.append(contest)
    return found


def ratio_interval(ours: np.ndarray, theirs: np.ndarray, seed: int) -> tuple[float, float, float]:
    """Ratio of medians, and its 95 % interval by resampling pairs of neighbouring launches."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(ours), size=(10_000, len(ours)))
    ratios = np.median(ours[draws], axis=1) / np.median(theirs[draws], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return float(np.median(ours) / np.median(theirs)), float(low), float(high)


def run(contest: Contest, n_launches: int, folder: Path, seed: int) -> list[str]:
    """The table's lines of one contest: launches in the order A B B A."""
    series: dict[str, list[Times]] = {"ours": [], "theirs": []}
    for number in range(n_launches):
        order = ("ours", "theirs") if number % 2 == 0 else ("theirs", "ours")
        for side in order:
            series[side].append(getattr(contest, side)(folder))
        print(f"{contest.name}: {number + 1}/{n_launches}", file=sys.stderr)
    lines = []
    for row in series["ours"][0]:
        ours = np.array([times[row] for times in series["ours"]])
        theirs = np.array([times[row] for times in series["theirs"]])
        ratio, low, high = ratio_interval(ours, theirs, seed)
        lines.append(
            f"| {contest.name} | {row} | {np.median(ours):.4g} | {np.median(theirs):.4g} "
            f"| {ratio:.3f} | {low:.3f} .. {high:.3f} |"
        )
    return lines


def main() -> None:
    """Read the command line, run every contest, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--launches", type=int, default=20, help="of each side (20)")
    parser.add_argument("--only", default="", help="contests whose name holds this text")
    parser.add_argument("--seed", type=int, default=1, help="of the resampling (1)")
    arguments = parser.parse_args()
    if arguments.launches < 6:
        parser.error("under six launches there is no 95 % interval")
    with tempfile.TemporaryDirectory() as name:
        chosen = [c for c in contests(Path(name)) if arguments.only.lower() in c.name.lower()]
        n = arguments.launches
        print(f"{n} launches of each side, order A B B A; median time one way, us\n")
        print("| against | what | ours | theirs | ratio | 95 % interval |")
        print("|---|---|---|---|---|---|")
        for contest in chosen:
            print("\n".join(run(contest, n, Path(name), arguments.seed)), flush=True)


if __name__ == "__main__":
    main()
