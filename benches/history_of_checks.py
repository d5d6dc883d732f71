"""Are components of checks dated right? Weeks of checks with planted faults, and healthy ones.

    history_of_checks.py [--quiet N] [--planted N] [--runs N] [--seed N] [--keep FOLDER]

A twin (fat-tree of 16 nodes) measures a check, and one with a cable at 90 % of its rate. Nights
repeat their readings with noise of 1 % of each reading and 0.5 % of each node; one night of twenty
has a node that is 1.5 times slower for that night. `weft check` judges each night alone, so that a
history of 20 to 60 nights is drawn from judged ones. Planted from a night on: a node 5 % slower, a
pair 10 % slower, the cable; or a node that drifts to 10 % slower. `--runs` measures the time of
`weft history` over so many run directories, kept rows and not. Prints Markdown tables; exit 1
where more than 1 in 100 healthy histories accuses a component.
"""

import argparse
import dataclasses
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from tests.check_histories import (
    DAY_S,
    FIRST_S,
    Night,
    measured_check,
    night_run,
    slow_node,
    slow_pair,
    write_check,
)

from weft.check.history.kept_rows import keep_row, read_row, row_of
from weft.cli import run as weft
from weft.study.history.component_history import component_history
from weft.study.history.history import histories_of
from weft.study.history.history_run import HistoryRun
from weft.study.run.store import StudyRun, read_run

CABLE = "cable leaf-01[5] <-> spine-01[1]"
CABLE_FAULT = "leaf-01[5] rate=0.9"
NODE, PAIR = "node n003", "pair n002 - n011"
RUNS = (20, 60)
LEAST = 7
BUSY = 1 / 20

Rng = np.random.Generator


def base_check(where: Path, *options: str) -> StudyRun:
    """A measured check, or the one that is there."""
    return read_run(where) if where.exists() else measured_check(where, *options)


def judged_nights(n: int, night: Callable[[int], Night], rng: Rng) -> list[HistoryRun]:
    """Rows of nights, each judged alone."""
    rows = []
    for number in range(n):
        one = night(number)
        if rng.random() < BUSY:
            busy = f"n{rng.integers(1, 17):03d}"
            before, tonight = one.slower, slow_node(busy, 1.5)
            one = dataclasses.replace(
                one, slower=lambda m, a, b, p=before, q=tonight: p(m, a, b) * q(m, a, b)
            )
        rows.append(row_of(night_run(one, number, rng)))
    return rows


def in_order(rows: list[HistoryRun]) -> list[HistoryRun]:
    """The rows, a night each."""
    return [
        dataclasses.replace(row, started_unix_s=FIRST_S + i * DAY_S, directory=Path(f"n{i:03d}"))
        for i, row in enumerate(rows)
    ]


def outcome(rows: list[HistoryRun], planted: str, at: int) -> str:
    """In a word: found, late or early, missed, or false."""
    found = component_history(histories_of(in_order(rows))[0])
    moved = {one.component.text for one in (*found.steps, *found.drifts)}
    moved |= {one.text for one in found.undated}
    if moved - {planted}:
        return "false"
    if planted not in moved:
        return "missed" if planted else "none"
    dates = [one.point.at for one in found.steps]
    if not dates:
        return "drift"
    return "found" if len(dates) == 1 and abs(dates[0] - at) <= 1 else "another date"


def drawn(pool: list[HistoryRun], n: int, rng: Rng) -> list[HistoryRun]:
    """Rows of a pool, none twice."""
    return [pool[i] for i in rng.permutation(len(pool))[:n]]


def planted_outcomes(
    pools: dict[str, list[HistoryRun]], n_histories: int, rng: Rng
) -> dict[str, Counter[str]]:
    """By planted component the outcomes of histories; healthy ones under ''."""
    found: dict[str, Counter[str]] = {name: Counter() for name in pools}
    for name, pool in pools.items():
        for _ in range(n_histories if name else 0):
            n = int(rng.integers(*RUNS))
            at = int(rng.integers(LEAST, n - LEAST))
            rows = drawn(pools[""], at, rng) + drawn(pool, n - at, rng)
            found[name][outcome(rows, name, at)] += 1
    return found


def drift_outcomes(base: StudyRun, n_histories: int, rng: Rng) -> Counter[str]:
    """Outcomes of histories of 30 nights in which a node drifts to 10 % slower."""
    found: Counter[str] = Counter()
    for _ in range(n_histories):
        rows = judged_nights(30, lambda i: Night(base, slow_node("n003", 1 + 0.1 * i / 29)), rng)
        found[outcome(rows, NODE, -1)] += 1
    return found


def seconds_of(where: Path, base: StudyRun, n_runs: int, rng: Rng) -> tuple[float, float, float]:
    """CPU time of judging a run; then of `weft history` over run directories with kept rows, on the
    clock and of the CPU."""
    os.environ["XDG_CACHE_HOME"] = str(where / "cache")
    first = write_check(where / "first", night_run(Night(base), 0, rng))
    pool = judged_nights(40, lambda _: Night(base), rng)
    start = time.process_time()
    row = read_row(first)
    judging = time.process_time() - start
    text = (first / "run.toml").read_text().replace('name = "twin"', 'name = "live"')
    for i in range(n_runs):
        one = where / "runs" / f"check-{i:05d}"
        (one / "samples").mkdir(parents=True)
        started = f"{FIRST_S - (n_runs - i) * 3600.0}"
        (one / "run.toml").write_text(text.replace(str(row.started_unix_s), started))
        for name in ("plan.jsonl", "fabric.json"):
            os.link(first / name, one / name)
        os.link(next((first / "samples").iterdir()), one / "samples/a.jsonl")
        kept = dataclasses.replace(
            pool[i % 40], started_unix_s=float(started), kind="live", identity=str(i)
        )
        keep_row(one, kept)
    start, start_cpu = time.perf_counter(), sum(os.times()[:4])
    weft(["history", str(where / "runs"), "--format", "csv"])
    return judging, time.perf_counter() - start, sum(os.times()[:4]) - start_cpu


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quiet", type=int, default=500)
    parser.add_argument("--planted", type=int, default=100)
    parser.add_argument("--drifts", type=int, default=10)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    with tempfile.TemporaryDirectory() as place:
        keep = asked.keep or Path(place)
        base = base_check(keep / "base")
        cable = base_check(keep / "cable", "--plant", CABLE_FAULT)
        n_false = 0
        if asked.quiet or asked.planted:
            nights = {
                "": (lambda _: Night(base), 240),
                NODE: (lambda _: Night(base, slow_node("n003", 1.05)), 60),
                PAIR: (lambda _: Night(base, slow_pair("n002", "n011", 1.10)), 60),
                CABLE: (lambda _: Night(cable), 60),
            }
            pools = {name: judged_nights(n, night, rng) for name, (night, n) in nights.items()}
            print("| planted | histories | outcomes |\n|---|---|---|")
            quiet: Counter[str] = Counter()
            for _ in range(asked.quiet):
                quiet[outcome(drawn(pools[""], int(rng.integers(*RUNS)), rng), "", 0)] += 1
            n_false = quiet["false"]
            print(f"| nothing | {asked.quiet} | {dict(quiet)} |", flush=True)
            for name, some in planted_outcomes(pools, asked.planted, rng).items():
                if name:
                    print(f"| {name} | {asked.planted} | {dict(some)} |", flush=True)
        if asked.drifts:
            some = drift_outcomes(base, asked.drifts, rng)
            print(f"| {NODE}, drift | {asked.drifts} | {dict(some)} |", flush=True)
        if asked.runs:
            with open(os.devnull, "w", encoding="utf-8") as quiet_out, redirect_stdout(quiet_out):
                judging, seconds, cpu = seconds_of(Path(place), base, asked.runs, rng)
            print(
                f"\n{asked.runs:,} run directories: {seconds:.1f} s on the clock, {cpu:.1f} s of "
                f"the CPU; judging one: {judging:.3f} s of the CPU"
            )
    return int(n_false > asked.quiet / 100)


if __name__ == "__main__":
    sys.exit(main())
