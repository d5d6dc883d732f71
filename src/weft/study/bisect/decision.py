"""One environment measured until it is decided: does it behave as GOOD, or as BAD?

A launch is one value, its cost: the logarithm of a figure, counted so that more is worse, and
infinity where the launch failed or hung. Ranks of costs decide (`weft.stats.rank_order`).
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Protocol

import numpy as np

from weft.bench.model import State
from weft.stats.rank_order import is_larger, log_evidence

LEVEL = 0.05
"""The probability of a wrong claim in a whole bisect, over all its cells."""
END_LEVEL = 0.025
"""Of this, the part for "BAD is worse than GOOD"; the rest is shared by the claims about cells."""
POINTER_LEVEL = 0.1
"""For a cell that only says where to look next: a claim that rests on it is tested again."""
FIRST_CLAIMS = 3
"""A bisect of one cause makes two or three claims; later ones get ever smaller parts."""
MOST_A_CELL = 20
"""Launches of a cell, after which it stays undecided."""
MOST_PAIRS = 20
"""Launches of GOOD and of BAD, after which no difference was found."""


def most_cells(n_variables: int) -> int:
    """The cells after which a search stops: a cause of five variables of 30 needs no more."""
    return 4 * math.ceil(math.log2(max(n_variables, 2))) + 12


class Behaviour(StrEnum):
    """What a cell behaves like."""

    BAD = "bad"
    GOOD = "good"
    UNDECIDED = "undecided"
    OTHER = "other"
    """It fails or hangs where neither GOOD nor BAD does."""


@dataclass(frozen=True, slots=True)
class LaunchReading:
    """What one launch showed: its state, and its figures by name where it is OK."""

    state: State
    figures: Mapping[str, float] = field(default_factory=dict)
    message: str = ""


@dataclass(slots=True)
class BisectCell:
    """One environment: GOOD with the variables of these indices as in BAD, and its launches."""

    number: int
    changed: frozenset[int]
    readings: list[LaunchReading] = field(default_factory=list)
    behaviour: Behaviour | None = None
    is_claim: bool = False

    @property
    def usual_state(self) -> State:
        """The state of most launches."""
        return Counter(one.state for one in self.readings).most_common(1)[0][0]


class NoAnswerError(Exception):
    """The search cannot go on, and why."""


class Measuring(Protocol):
    """Whoever launches the command."""

    def __call__(self, cell: BisectCell) -> LaunchReading:
        """One launch in the environment of a cell."""
        ...


LowerIsBetter = Callable[[str], bool]


class Decisions:
    """The cells of one bisect, GOOD and BAD among them, and every launch that decides them."""

    def __init__(
        self,
        n_variables: int,
        measure: Measuring,
        *,
        seed: int = 1,
        lower_is_better: LowerIsBetter = lambda _: True,
        most_pairs: int = MOST_PAIRS,
    ) -> None:
        self.good = BisectCell(0, frozenset())
        self.bad = BisectCell(1, frozenset(range(n_variables)))
        self.cells = [self.good, self.bad]
        self.figure = ""
        self.n_claims = 0
        self._measure = measure
        self._random = Random(seed)  # noqa: S311 - reproducible, not secret
        self._lower_is_better = lower_is_better
        self._most_pairs = most_pairs
        self._most_cells = most_cells(n_variables)

    @property
    def n_launches(self) -> int:
        """All launches so far."""
        return sum(len(cell.readings) for cell in self.cells)

    def cell(self, changed: frozenset[int]) -> BisectCell:
        """The cell of an environment, a new one where none has been asked for. Raises
        NoAnswerError where there are too many."""
        found = next((one for one in self.cells if one.changed == changed), None)
        if found is None:
            n = len(self.cells)
            if n >= self._most_cells:
                raise NoAnswerError(f"no answer after {n} environments")
            found = BisectCell(n, changed)
            self.cells.append(found)
        return found

    def costs(self, cell: BisectCell, figure: str | None = None) -> list[float]:
        """The costs of a cell's launches, by the figure that is judged."""
        name = self.figure if figure is None else figure
        sign = 1.0 if self._lower_is_better(name) else -1.0
        return [
            sign * math.log(one.figures[name])
            if one.state is State.OK and one.figures.get(name, 0.0) > 0
            else math.inf
            for one in cell.readings
        ]

    def ends_differ(self) -> Behaviour:
        """Launch GOOD and BAD, interleaved, until BAD is worse (BAD), better (GOOD), or the most
        launches are over (UNDECIDED).

        With several figures the mean of their evidence counts, which is evidence itself.
        """
        while len(self.bad.readings) < self._most_pairs:
            pair = [self.good, self.bad]
            if self.good.readings:
                self._random.shuffle(pair)
            for cell in pair:
                self._launch(cell)
                found = self._compare_ends()
                if found is not Behaviour.UNDECIDED:
                    return found
        return Behaviour.UNDECIDED

    def refuse_lost_difference(self) -> None:
        """Raise NoAnswerError where all launches of GOOD and BAD together no longer differ: chance
        made the first ones differ."""
        evidence = log_evidence(self.costs(self.good), self.costs(self.bad))
        if evidence < -math.log(LEVEL):
            n = len(self.good.readings) + len(self.bad.readings)
            raise NoAnswerError(f"GOOD and BAD differed at first, and no longer after {n} launches")

    def claim(self, changed: frozenset[int]) -> Behaviour:
        """Decide a cell so surely that the answer may say it. Raises NoAnswerError."""
        cell = self.cell(changed)
        if cell.number < 2:
            return Behaviour.BAD if cell is self.bad else Behaviour.GOOD
        if not cell.is_claim:
            cell.is_claim = True
            self.n_claims += 1
            cell.behaviour = self._decide(cell, claim_level(self.n_claims))
        assert cell.behaviour is not None
        return cell.behaviour

    def pointer(self, changed: frozenset[int]) -> Behaviour:
        """Decide a cell as far as the search needs to go on."""
        cell = self.cell(changed)
        if cell.number < 2:
            return Behaviour.BAD if cell is self.bad else Behaviour.GOOD
        if cell.behaviour is None:
            cell.behaviour = self._decide(cell, POINTER_LEVEL)
        return cell.behaviour

    def _decide(self, cell: BisectCell, level: float) -> Behaviour:
        """Launch a cell, with GOOD or BAD again after each second launch, until it is decided."""
        found = self._behaviour(cell, level)
        while found is Behaviour.UNDECIDED and len(cell.readings) < MOST_A_CELL:
            few = len(self.good.readings) - len(self.bad.readings)
            again = self.good if few < 0 or (not few and self._random.random() < 0.5) else self.bad
            round_ = [cell, cell, again]
            self._random.shuffle(round_)
            for one in round_:
                self._launch(one)
                found = self._behaviour(cell, level)
                if found is not Behaviour.UNDECIDED:
                    break
        return found

    def _behaviour(self, cell: BisectCell, level: float) -> Behaviour:
        if len(cell.readings) < 2:
            return Behaviour.UNDECIDED
        known = {self.good.usual_state, self.bad.usual_state}
        if cell.usual_state not in known and cell.usual_state is not State.OK:
            return Behaviour.OTHER
        good, bad, own = map(self.costs, (self.good, self.bad, cell))
        if _nearer_to_bad(good, bad, own):
            return Behaviour.BAD if is_larger(good, own, level) else Behaviour.UNDECIDED
        return Behaviour.GOOD if is_larger(own, bad, level) else Behaviour.UNDECIDED

    def _compare_ends(self) -> Behaviour:
        """By the mean of the evidence of all figures; the strongest is the one to go on with."""
        figures = sorted({name for one in self.good.readings for name in one.figures})
        if not self.bad.readings:
            return Behaviour.UNDECIDED
        for found, first, second in (
            (Behaviour.GOOD, self.bad, self.good),
            (Behaviour.BAD, self.good, self.bad),
        ):
            evidence = [
                log_evidence(self.costs(first, one), self.costs(second, one)) for one in figures
            ]
            self.figure = self._strongest(figures, evidence, (first, second))
            mean = float(np.logaddexp.reduce(evidence)) - math.log(len(figures))
            if mean >= -math.log(END_LEVEL):
                return found
        return Behaviour.UNDECIDED

    def _strongest(
        self, figures: list[str], evidence: list[float], ends: tuple[BisectCell, BisectCell]
    ) -> str:
        """The figure with the most evidence; of equal ones that whose medians are farthest
        apart."""

        def rank(number: int) -> tuple[float, float]:
            first, second = (float(np.median(self.costs(end, figures[number]))) for end in ends)
            apart = math.inf if math.isinf(second) else second - first
            return round(evidence[number], 6), apart

        return figures[max(range(len(figures)), key=rank)]

    def _launch(self, cell: BisectCell) -> None:
        cell.readings.append(self._measure(cell))


def claim_level(number: int) -> float:
    """The level of the n-th claim, from 1. The levels of all claims sum to LEVEL - END_LEVEL."""
    n = FIRST_CLAIMS + number - 1
    return (LEVEL - END_LEVEL) * FIRST_CLAIMS / (n * (n + 1))


def _nearer_to_bad(good: list[float], bad: list[float], own: list[float]) -> bool:
    """Whether the cell's median is nearer to BAD's; of a BAD that fails, whether it fails."""
    middle = float(np.median(own))
    if math.isinf(float(np.median(bad))):
        return math.isinf(middle)
    return middle > (float(np.median(good)) + float(np.median(bad))) / 2
