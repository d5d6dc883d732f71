"""Are change points dated right? Histories with planted toggles, and quiet ones.

    history.py [--histories N] [--quiet N] [--seed N] [--keep FILE] [--processes N]

Values come from a pool of launches of a twin (fat-tree of 128 nodes with OpenSM's minhop tables,
alltoall on 32 random nodes, adaptive routing off and on): each run of a history is the median of
twelve drawn launches, with noise of 1 to 5 % (half of it shared by the sizes), one run of twenty
five times slower, and in a third of the histories a drift of up to 10 %. Prints Markdown tables;
exit 1 where more than one of 1,000 quiet histories is dated.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.cli import run as weft
from weft.study.comparison.cells import cells_of
from weft.study.comparison.headlines import Headlines
from weft.study.history.history import History, histories_of
from weft.study.history.history_run import HistoryCell, HistoryRun
from weft.study.history.shifts import shifts_of
from weft.study.run.store import read_run

Floats = NDArray[np.float64]
SIZES = (4096, 65536, 131072, 262144)
N_SETS = 100
LAUNCHES = 12
RUNS = (15, 60)
NOISE = (0.01, 0.05)
OUTLIERS, OUTLIER = 1 / 20, 5.0
DRIFT = 0.10
STRETCH = 5
DAY_S = 86_400.0
KEY = "adaptive routing"

STUDY = f"""
schema = "weft.study/1"
name = "history-pool"
title = "Launches for histories"
question = "What does adaptive routing change?"
repeats = 1
nodes = [32]
node_sets = {N_SETS}
[[benchmarks]]
name = "alltoall"
sizes = "{",".join(map(str, SIZES))}"
[[factors]]
name = "adaptive"
[[factors.settings]]
name = "off"
options = {{ routing = "minhop", adaptive_routing = "off" }}
[[factors.settings]]
name = "on"
options = {{ routing = "minhop", adaptive_routing = "on" }}
"""


def pool(keep: Path | None) -> Floats:
    """Latencies in us, shape (off and on, launches, sizes); simulated once."""
    if keep is not None and keep.exists():
        return np.asarray(np.load(keep), dtype=np.float64)
    with tempfile.TemporaryDirectory() as place:
        study, where = Path(place) / "pool.toml", Path(place) / "run"
        study.write_text(STUDY)
        argv = ["study", "run", str(study), "--twin", "fat-tree", "--nodes", "128"]
        with open(os.devnull, "w", encoding="utf-8") as quiet:
            sys.stdout, shown = quiet, sys.stdout
            try:
                weft([*argv, "--dir", str(where)])
            finally:
                sys.stdout = shown
        run = read_run(where)
        values = cells_of(run, Headlines([run])).values
    arms = ("adaptive=off", "adaptive=on")
    found = np.array(
        [
            [
                [v.value for v in values if (v.arm, v.cell.size_bytes) == (arm, size)]
                for size in SIZES
            ]
            for arm in arms
        ]
    ).transpose(0, 2, 1)
    if keep is not None:
        np.save(keep, found)
    return found


def drawn(
    rng: np.random.Generator, launches: Floats, on: NDArray[np.bool_], noise: float
) -> Floats:
    """Figures of a history, shape (runs, sizes); `on` are the runs with adaptive routing."""
    n = len(on)
    picks = rng.integers(0, launches.shape[1], (n, LAUNCHES))
    values = np.log(np.median(launches[on.astype(int)[:, None], picks], axis=1))
    values += rng.normal(0, noise * np.sqrt(0.5), (n, 1)) + rng.normal(
        0, noise * np.sqrt(0.5), values.shape
    )
    if rng.random() < 1 / 3:
        values += rng.uniform(-DRIFT, DRIFT) * np.linspace(0, 1, n)[:, None]
    values[rng.random(n) < OUTLIERS] += np.log(OUTLIER)
    return np.asarray(values, dtype=np.float64)


def history_of(values: Floats, settings: dict[str, list[str]], seed: int) -> History:
    """A history of runs with these figures and settings."""
    cells = [HistoryCell("alltoall", 32, 1, "only", "latency_us_p50", size) for size in SIZES]
    runs = [
        HistoryRun(
            directory=Path(f"run-{number:03d}"),
            started_unix_s=1.6e9 + number * DAY_S,
            ended_unix_s=1.6e9 + number * DAY_S,
            no_time="",
            fabric="twin",
            kind="twin",
            identity=str(number),
            files=frozenset(),
            n_over=LAUNCHES,
            settings={key: some[number] for key, some in settings.items()},
            values={cell: float(np.exp(v)) for cell, v in zip(cells, row, strict=True)},
            slowness={cell: float(v) for cell, v in zip(cells, row, strict=True)},
            left_out={},
        )
        for number, row in enumerate(values)
    ]
    return histories_of(runs, seed=seed)[0]


def one(number: int, *, seed: int, kind: str, launches: Floats) -> tuple[str, int, float]:
    """The outcome of a history, the noise in steps of 1 %, and whether the date set holds."""
    rng = np.random.default_rng([seed, number, len(kind)])
    n = int(rng.integers(RUNS[0], RUNS[1] + 1))
    noise = float(rng.uniform(*NOISE))
    first = int(rng.integers(STRETCH, n - 2 * STRETCH + 1))
    end = int(rng.integers(first + STRETCH, n - STRETCH + 1))
    inside = (np.arange(n) >= first) & (np.arange(n) < end)
    on = inside if kind != "quiet" else np.zeros(n, dtype=bool)
    decoy = np.arange(n) >= int(rng.integers(1, n))
    settings = {"UCX version": [str(1 + int(x)) for x in decoy]}
    if kind != "blind":
        settings[KEY] = ["on" if x else "off" for x in inside]
    history = history_of(drawn(rng, launches, on, noise), settings, seed)
    return judged(history, (first, end), kind), int(100 * noise), _held(history, (first, end))


def _held(history: History, true: tuple[int, int]) -> float:
    """The share of dated steps whose dates of 99 % hold the true one."""
    points = history.changes.points
    held = [any(p.first <= at <= p.last for at in true) for p in points]
    return float(np.mean(held)) if held else np.nan


def judged(history: History, true: tuple[int, int], kind: str) -> str:
    """In a word: right, named wrong, one only, none, drift, or false."""
    dates = history.changes.boundaries
    if kind == "quiet" or not dates:
        return "false" if dates else ("drift" if history.changes.drifts else "none")
    if any(min(abs(at - place) for place in true) > 1 for at in dates) or len(dates) > 2:
        return "false"
    if len(dates) < 2:
        return "one only"
    named = {event.key for shift in shifts_of(history) for event in shift.changed}
    return "right" if kind == "blind" or KEY in named else "named wrong"


OUTCOMES = ("right", "named wrong", "one only", "none", "drift", "false")


def lines_of(kind: str, outcomes: list[tuple[str, int, float]]) -> Iterator[str]:
    """A row an amount of noise, and one of all."""
    for low in [*sorted({noise for _, noise, _ in outcomes}), None]:
        some = [one for one in outcomes if low is None or one[1] == low]
        counts = Counter(word for word, _, _ in some)
        held = np.array([share for _, _, share in some])
        held = held[np.isfinite(held)]
        share = f"{held.mean():.1%}" if held.size and kind != "quiet" else "-"
        name = "all" if low is None else f"{low} to {low + 1} %"
        cells = " | ".join(str(counts[word]) for word in OUTCOMES)
        yield f"| {kind} | {name} | {len(some)} | {cells} | {share} |"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--blind", type=int, default=0)
    parser.add_argument("--quiet", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    launches = pool(asked.keep)
    off, on = np.median(launches, axis=1)
    print("medians of the pool, us (off -> on): ", end="")
    print(", ".join(f"{s} B {a:.1f} -> {b:.1f}" for s, a, b in zip(SIZES, off, on, strict=True)))
    print(f"\n| histories | noise | number | {' | '.join(OUTCOMES)} | dates of 99 % hold |")
    print(f"|---|---|{'---|' * (len(OUTCOMES) + 2)}", flush=True)
    n_false = 0
    kinds = {"recorded": asked.histories, "blind": asked.blind, "quiet": asked.quiet}
    with ProcessPoolExecutor(asked.processes) as workers:
        for kind, n in kinds.items():
            if n:
                do = partial(one, seed=asked.seed, kind=kind, launches=launches)
                outcomes = list(workers.map(do, range(n), chunksize=10))
                print("\n".join(lines_of(kind, outcomes)), flush=True)
                n_false = sum(word == "false" for word, _, _ in outcomes)
    return int(n_false > max(1, asked.quiet / 1000))


if __name__ == "__main__":
    sys.exit(main())
