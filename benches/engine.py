"""The packet engine on its workloads, one core, as Markdown tables.

    engine.py [--runs N] [--instructions] [--only NAME...]

Whole processes of the shipped `weft-sim` (release profile, no `target-cpu`), interleaved; "set-up"
is the same scenario stopped at its first event: reading, fabric, routes, checks. Times are CPU,
user plus system. `--instructions` counts instructions a packet hop with callgrind: the difference
of two message sizes, so that set-up drops out; without valgrind that table is left out.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches import workloads

ROOT = Path(__file__).resolve().parent.parent
WEFT_SIM = ROOT / "target" / "release" / "weft-sim"


@dataclass(frozen=True, slots=True)
class Workload:
    """A scenario with a gate and a goal in CPU seconds of the simulation; none without."""

    name: str
    scenario: dict[str, Any]
    gate_s: float | None = None
    goal_s: float | None = None


@dataclass(slots=True)
class Runs:
    """CPU seconds of whole runs and of set-ups, and what one run printed and took."""

    whole_s: list[float] = field(default_factory=list)
    setup_s: list[float] = field(default_factory=list)
    hops: int = 0
    end_us: float = 0.0
    peak_mb: float = 0.0


def all_workloads() -> list[Workload]:
    """W1a to W4, in the order of the table."""
    made = []
    for name, static, adaptive in (
        ("W1a", (0.12, 0.06), (None, None)),
        ("W1b", (None, None), (None, None)),
        ("W1c", (1.0, 0.6), (None, None)),
        ("W1r", (0.35, 0.2), (0.5, 0.3)),
        ("8192", (None, None), (6.0, 2.0)),
    ):
        title = "8,192 hosts, random" if name == "8192" else name
        made.append(Workload(f"{title}, static", workloads.w1(name, adaptive=False), *static))
        made.append(Workload(f"{title}, adaptive", workloads.w1(name, adaptive=True), *adaptive))
    for form in workloads.W2_FORMS:
        for adaptive_on in (False, True):
            gates = (2.5, 1.5) if form.startswith("window 1,") else (None, None)
            title = f"W2 {form}, {'adaptive' if adaptive_on else 'static'}"
            made.append(Workload(title, workloads.w2(form, adaptive=adaptive_on), *gates))
    made.append(Workload("allreduce of 8 B by switches, 8,008 hosts", workloads.sharp(), 0.5))
    for form in ("as is", "lasting", "outside"):
        for adaptive_on in (False, True):
            title = f"W4 {form}, {'adaptive' if adaptive_on else 'static'}"
            made.append(Workload(title, workloads.w4(form=form, adaptive=adaptive_on), 0.05, 0.02))
    return made


def peak_kb_of(pid: int) -> int:
    """Peak resident memory of a process so far; 0 where it has gone."""
    try:
        found = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def run_once(path: Path, out: Path) -> tuple[float, float]:
    """CPU seconds and peak resident MB of one run. Raises RuntimeError on a bad exit."""
    with out.open("wb") as stream:
        process = subprocess.Popen(
            [str(WEFT_SIM), str(path)], stdout=stream, stderr=subprocess.PIPE
        )
        peak_kb, reaped = 0, 0
        while not reaped:
            # Of the new program alone: what wait4 says of memory counts the one that forked too.
            peak_kb = max(peak_kb, peak_kb_of(process.pid))
            reaped, status, usage = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0 if reaped else 0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
    message = process.stderr.read().decode() if process.stderr else ""
    if process.returncode not in (0, 4):
        raise RuntimeError(f"weft-sim ended with {process.returncode}: {message}")
    return usage.ru_utime + usage.ru_stime, peak_kb / 1000


def measure(chosen: list[Workload], runs: int, scratch: Path) -> dict[str, Runs]:
    """Every workload `runs` times, interleaved, after one warm-up of each."""
    results = {workload.name: Runs() for workload in chosen}
    for number, workload in enumerate(chosen):
        (scratch / f"{number}.json").write_text(json.dumps(workload.scenario))
        stopped = {**workload.scenario, "limits": {"max_events": 1}}
        (scratch / f"{number}-setup.json").write_text(json.dumps(stopped))
    for repeat in range(runs + 1):
        for number, workload in enumerate(chosen):
            result, out = results[workload.name], scratch / "out.json"
            setup_s, _ = run_once(scratch / f"{number}-setup.json", out)
            whole_s, peak_mb = run_once(scratch / f"{number}.json", out)
            if repeat == 0:
                outcome = json.loads(out.read_bytes())
                assert outcome["status"] == "complete", (workload.name, outcome["message"])
                result.hops, result.end_us = outcome["hops"], outcome["end_ps"] / 1e6
                result.peak_mb = peak_mb
                continue
            result.setup_s.append(setup_s)
            result.whole_s.append(whole_s)
    return results


def print_times(chosen: list[Workload], results: dict[str, Runs]) -> None:
    """The table of times."""
    print(
        "| workload | ends at us | M hops | gate s | goal s | simulation s: median | min | max |",
        end="",
    )
    print(" set-up s | ns a hop | peak MB |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for workload in chosen:
        result = results[workload.name]
        setup_s = statistics.median(result.setup_s)
        times = [max(whole - setup_s, 0.0) for whole in result.whole_s]
        median_s = statistics.median(times)
        limits = [f"{limit:g}" if limit else "-" for limit in (workload.gate_s, workload.goal_s)]
        cells = [
            workload.name,
            f"{result.end_us:.2f}",
            f"{result.hops / 1e6:.2f}",
            *limits,
            *(f"{value:.3f}" for value in (median_s, min(times), max(times), setup_s)),
            f"{median_s * 1e9 / result.hops:.1f}",
            f"{result.peak_mb:.0f}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def instructions_of(path: Path, scratch: Path) -> int:
    """Instructions of one run under callgrind."""
    argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch / 'callgrind'}"]
    done = subprocess.run([*argv, str(WEFT_SIM), str(path)], capture_output=True, check=False)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    if found is None:
        raise RuntimeError(done.stderr.decode()[-500:])
    return int(found[1])


def print_instructions(scratch: Path) -> None:
    """Instructions a hop of small cousins of the workloads."""
    print("\n| workload (two sizes, the difference counted) | routing | instructions a hop |")
    print("|---|---|---|")
    cousins = {
        "W1a, 0.5 and 1 MB": lambda size: (8, workloads.half_shift(128, size)),
        "random, 128 hosts, 0.5 and 1 MB": lambda size: (
            8,
            workloads.random_permutation(128, size, 1),
        ),
    }
    for title, make in cousins.items():
        for adaptive in (False, True):
            counts, hops = [], []
            for size in (500_000, 1_000_000):
                radix, triples = make(size)
                tree = workloads.deep_tree(radix)
                step = workloads.messages(triples)
                path, out = scratch / "small.json", scratch / "small.out"
                path.write_text(json.dumps(workloads.scenario(tree, step, adaptive=adaptive)))
                run_once(path, out)
                hops.append(json.loads(out.read_bytes())["hops"])
                counts.append(instructions_of(path, scratch))
            slope = (counts[1] - counts[0]) / (hops[1] - hops[0])
            print(f"| {title} | {'adaptive' if adaptive else 'static'} | {slope:.0f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    chosen = [
        workload
        for workload in all_workloads()
        if not given.only or any(part in workload.name for part in given.only)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        print_times(chosen, measure(chosen, given.runs, Path(scratch)))
        if given.instructions and shutil.which("valgrind"):
            print_instructions(Path(scratch))


if __name__ == "__main__":
    main()
