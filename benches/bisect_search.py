"""Is weft bisect right? Simulated commands: no difference at all, planted causes, planted pairs."""

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from weft.bench.model import State
from weft.study.bisect.decision import (
    Behaviour,
    BisectCell,
    Decisions,
    LaunchReading,
    NoAnswerError,
)
from weft.study.bisect.search import search

N_VARIABLES = (1, 2, 8, 16, 30)
NOISES = ("even", "tailed", "drifting", "wandering")


@dataclass(slots=True)
class SimulatedCommand:
    """A command whose time depends on its environment: `planted` variables together multiply it by
    `ratio`. The noise of a launch has the standard deviation `sigma` of its logarithm: `even`, or
    `tailed` (one launch in ten takes up to three times as long), `drifting` (30 % slower after 100
    launches) or `wandering` (launches that follow each other are alike)."""

    planted: frozenset[int]
    ratio: float
    sigma: float
    noise: str
    random: Random
    n_launches: int = 0
    level: float = 0.0

    def __call__(self, cell: BisectCell) -> LaunchReading:
        """One launch."""
        draw = self.random.gauss(0, self.sigma)
        if self.noise == "tailed" and self.random.random() < 0.1:
            draw += self.random.random() * math.log(3)
        if self.noise == "drifting":
            draw += math.log(1.3) * self.n_launches / 100
        if self.noise == "wandering":
            self.level = 0.8 * self.level + 0.6 * draw
            draw = self.level
        self.n_launches += 1
        slow = bool(self.planted) and self.planted <= cell.changed
        return LaunchReading(
            State.OK, {"t_us": 1000 * (self.ratio if slow else 1.0) * math.exp(draw)}
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """The fate of one bisect: its answer, its cells and launches."""

    answer: str
    n_cells: int
    n_launches: int


def bisect(command: SimulatedCommand, n: int, seed: int) -> Trial:
    """One bisect of `n` variables: 'right', 'wrong', 'undecided' or 'no difference'."""
    decisions = Decisions(n, command, seed=seed)
    answer = _answer(decisions, n, tuple(sorted(command.planted)))
    return Trial(answer, len(decisions.cells), decisions.n_launches)


def _answer(decisions: Decisions, n: int, planted: tuple[int, ...]) -> str:
    found = decisions.ends_differ()
    if found is not Behaviour.BAD:
        return "no difference" if found is Behaviour.UNDECIDED else "wrong"
    try:
        result = search(decisions, n)
    except NoAnswerError:
        return "undecided"
    if [one.variables for one in result.causes] == [planted]:
        return "right"
    doubted = any(not one.is_decided for one in result.causes)
    return "undecided" if doubted or result.without is not Behaviour.GOOD else "wrong"


def trials(n_planted: int, n_runs: int, ratio: float, sigma: float) -> Iterator[tuple[int, Trial]]:
    """Bisects over all numbers of variables and kinds of noise in turn, each with its number."""
    for run in range(n_runs):
        # Reproducible, not secret.
        random = Random(f"{n_planted} {ratio} {sigma} {run}")  # noqa: S311
        n = max(N_VARIABLES[run % len(N_VARIABLES)], n_planted)
        noise = NOISES[run // len(N_VARIABLES) % len(NOISES)]
        planted = frozenset(random.sample(range(n), n_planted))
        command = SimulatedCommand(planted, ratio, sigma, noise, random)
        yield n, bisect(command, n, run)


def line(n_planted: int, n_runs: int, ratio: float, sigma: float) -> str:
    """One row of the table."""
    done = list(trials(n_planted, n_runs, ratio, sigma))
    answers = Counter(trial.answer for _, trial in done)
    over = sum(t.n_cells > 2 * math.log2(n) + 4 for n, t in done) if n_planted == 1 else 0
    cells, launches = (sorted(getattr(t, key) for _, t in done) for key in Trial.__slots__[1:])
    shown = ", ".join(f"{answers[key]} {key}" for key in sorted(answers))
    middle = len(done) // 2
    return (
        f"{n_planted} planted, x{ratio:g}, noise {100 * sigma:g} %: {shown}; "
        f"cells {cells[middle]} (most {cells[-1]}), launches {launches[middle]} "
        f"(most {launches[-1]}); over 2 log2 n + 4 cells: {over}"
    )


def main() -> None:
    """Print the table; the arguments are how many null runs, single causes and pairs."""
    n_null, n_single, n_pairs = (int(word) for word in sys.argv[1:4] or ("10000", "2000", "1000"))
    print(line(0, n_null, 1.0, 0.05), flush=True)
    for ratio, sigma in ((1.3, 0.05), (2.0, 0.05), (2.0, 0.2), (10.0, 0.3)):
        print(line(1, n_single // 4, ratio, sigma), flush=True)
        print(line(2, n_pairs // 4, ratio, sigma), flush=True)


if __name__ == "__main__":
    main()
