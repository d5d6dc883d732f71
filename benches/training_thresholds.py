"""How often weft takes stalls of a training job for another unit, and restarts for several ranks.

The constants of weft.results.training.unit_mix and .interleaved were chosen on these draws.
training_thresholds.py [--runs 500]     so many runs of each kind and spread
"""

import argparse
import io
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.unit.results.training.log_texts import megatron

from weft.results.training.interleaved import joined_runs
from weft.results.training.log_pass import LogPass
from weft.results.training.unit_mix import mixed_readings

SPREADS = (0.01, 0.03, 0.1, 0.3)
Rng = np.random.Generator
Times = np.ndarray


def usual(rng: Rng, spread: float) -> Times:
    """8 to 2,000 times around one: some slow, and up to five slow first ones."""
    times = np.exp(spread * rng.standard_normal(int(_between(rng, 8, 2000))))
    slow = rng.random(times.size) < rng.choice([0, 0.01, 0.05, 0.2])
    times[slow] *= _between(rng, 1.2, 10, int(slow.sum()))
    n_first = int(rng.integers(0, 6))
    times[:n_first] *= _between(rng, 1, 1000, n_first)
    return times


def _between(rng: Rng, low: float, high: float, size: int | None = None) -> Times:
    """Alike at every scale."""
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def with_stalls(rng: Rng, spread: float, kind: str) -> Times:
    """Times of one unit."""
    times = usual(rng, spread)
    n = times.size
    if kind == "periodic stalls":
        period = int(rng.choice([5, 10, 20, 50, 100]))
        at = np.arange(period - 1, n, period)
    elif kind == "stalls of a thousand steps":
        at = rng.choice(n, min(int(rng.integers(3, 11)), n // 5), replace=False)
    else:
        at = rng.choice(n, min(int(rng.integers(1, 21)), n // 4), replace=False)
    jitter = np.exp(rng.choice(SPREADS[:3]) * rng.standard_normal(at.size))
    lengths: dict[str, Callable[[], Times]] = {
        "no stalls": lambda: times[at],
        "stalls of any length": lambda: _between(rng, 10, 1e5, at.size),
        "stalls of a thousand steps": lambda: 1000 * np.exp(0.02 * rng.standard_normal(at.size)),
    }
    times[at] = lengths.get(kind, lambda: _between(rng, 10, 1e5) * jitter)()
    return times


def in_two_units(rng: Rng, spread: float, kind: str) -> Times:
    """Times of which three or more are a thousand times longer or shorter."""
    times = usual(rng, spread)
    n, factor = times.size, rng.choice([1000, 0.001])
    if kind == "one change":
        times[int(rng.integers(3, n - 2)) :] *= factor
    elif kind == "a block of 3 to 30":
        at = int(rng.integers(0, n - 3))
        times[at : at + int(rng.integers(3, min(n - at, 30) + 1))] *= factor
    elif kind == "10 to 50 % of the steps":
        times[rng.random(n) < rng.uniform(0.1, 0.5)] *= factor
    else:
        times[rng.choice(n, min(max(3, n * 3 // 100), n // 5), replace=False)] *= factor
    return times


ONE_UNIT = (
    *("no stalls", "stalls of any length", "stalls of one length", "periodic stalls"),
    "stalls of a thousand steps",
)
TWO_UNITS = ("one change", "a block of 3 to 30", "10 to 50 % of the steps", "3 % of the steps")


def ranks(rng: Rng, n_ranks: int, lost: float) -> list[int]:
    """Steps in the order of their lines: each rank lags by up to six steps, and not evenly."""
    most, n_steps = rng.uniform(1.2, 6), int(rng.integers(10, 121))
    lines = []
    for _ in range(n_ranks):
        lag = rng.uniform(0, most)
        for step in range(1, n_steps + 1):
            lag = min(most, max(0.0, lag + rng.normal(0, 0.3)))
            if rng.random() >= lost:
                lines.append((step + lag + 0.2 * rng.random(), step))
    return [step for _, step in sorted(lines)]


def restarts(rng: Rng, n_failures: int) -> list[int]:
    """A job that fails in drawn steps, and goes on from its last checkpoint."""
    n_steps, every = int(rng.integers(30, 201)), int(rng.choice([5, 10, 20, 50]))
    begin, steps = 1, []
    for fails in sorted(rng.integers(1, n_steps + 1, n_failures)):
        steps += range(begin, int(fails) + 1)
        begin = int(fails) // every * every + 1
    return [*steps, *range(begin, n_steps + 1)]


def failing(rng: Rng, n_failures: int) -> list[int]:
    """A job that fails so often behind each checkpoint."""
    n_steps, every = int(rng.integers(20, 101)), int(rng.choice([3, 5, 10, 20]))
    steps: list[int] = []
    for begin in range(1, n_steps + 1, every):
        for _ in range(n_failures):
            steps += range(begin, begin + int(rng.integers(1, every + 1)))
        steps += range(begin, begin + every)
    return steps


def is_joined(steps: list[int]) -> bool:
    """Whether weft takes several runs of such a log for one."""
    text = "".join(map(megatron, steps)).encode()
    collector, _ = LogPass().read(io.BytesIO(text))
    return len(joined_runs(collector.ranks[""])) == 1


def goes_back(steps: list[int]) -> bool:
    """Whether the number of the step goes back by two or more."""
    return any(after < before - 1 for before, after in pairwise(steps))


def unit_rows(n: int) -> Iterator[str]:
    """Wrong answers about units, by kind and spread."""
    for kinds, draw, right in ((ONE_UNIT, with_stalls, False), (TWO_UNITS, in_two_units, True)):
        for kind in kinds:
            cells = []
            for spread in SPREADS:
                rng = np.random.default_rng(7)
                runs = [draw(rng, spread, kind) for _ in range(n)]
                found = [mixed_readings(one, np.zeros(one.size, bool)).any() for one in runs]
                cells.append(f"{np.mean([one != right for one in found]):.1%}")
            yield f"| {'two units' if right else 'one unit'}, {kind} | {' | '.join(cells)} |"


def rank_rows(n: int) -> Iterator[str]:
    """Wrong answers about ranks, of the logs whose steps go back."""
    for n_ranks in (2, 3, 4, 8):
        for lost in (0.0, 0.05, 0.15):
            draw = partial(ranks, n_ranks=n_ranks, lost=lost)
            yield _rank_row(f"{n_ranks} ranks, {lost:.0%} of the lines lost", draw, n, True)
    for n_failures in (1, 3, 10, 30):
        yield _rank_row(f"{n_failures} failures", partial(restarts, n_failures=n_failures), n)
    for n_failures in (1, 2, 4):
        name = f"{n_failures} failures behind each checkpoint"
        yield _rank_row(name, partial(failing, n_failures=n_failures), n)


def _rank_row(name: str, draw: Callable[[Rng], list[int]], n: int, right: bool = False) -> str:
    rng = np.random.default_rng(5)
    logs = [steps for steps in (draw(rng) for _ in range(n)) if goes_back(steps)]
    wrong = np.mean([is_joined(steps) != right for steps in logs])
    return f"| {name} | {len(logs)} | {wrong:.1%} |"


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500, help="of each kind and spread")
    n = parser.parse_args().runs
    print(f"| {n} runs each | {' | '.join(f'spread {one:.0%}' for one in SPREADS)} |")
    print("|---|---|---|---|---|")
    for row in unit_rows(n):
        print(row, flush=True)
    print("\n| logs | whose steps go back | wrong |\n|---|---|---|")
    for row in rank_rows(n * 3 // 5):
        print(row, flush=True)


if __name__ == "__main__":
    main()
