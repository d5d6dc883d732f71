"""The algorithm of each cell: the fastest arm that is faster than the library's choice beyond
doubt, or else the library's choice."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from weft.stats.ratio import Ratio
from weft.study.comparison.cells import StudyCell
from weft.study.comparison.comparison import compare_arms
from weft.study.comparison.rows import ComparisonRow, RowOutcome
from weft.study.run.store import StudyRun
from weft.study.tuning.arms import AlgorithmArms

DECIDED = (RowOutcome.FASTER, RowOutcome.SLOWER, RowOutcome.EQUIVALENT, RowOutcome.UNPROVED)
"""Outcomes that tell enough about an arm to choose by."""


@dataclass(frozen=True, slots=True)
class CellChoice:
    """What is best at one size on so many ranks: an arm, or "" for the library's choice.

    `speed_up` is how many times faster the arm is than the library's choice, with its interval;
    1 for the library's own. `undecided` names the outcomes that left the library's choice in place
    without a verdict, if all of them did.
    """

    benchmark: str
    n_ranks: int
    size_bytes: int
    arm: str
    speed_up: float = 1.0
    speed_up_low: float = 1.0
    speed_up_high: float = 1.0
    undecided: str = ""

    @property
    def is_default(self) -> bool:
        """Whether the library's choice stays."""
        return not self.arm


def choices_of(run: StudyRun, arms: AlgorithmArms) -> list[CellChoice]:
    """A choice a number of ranks and size, in that order, by the verdicts of `weft compare`.

    Cells of one number of ranks (on other nodes, under other conditions) share a choice, as a
    library tells no more apart: an arm has to be faster in each. Of several such arms the fastest
    by the product of its ratios is taken: whichever it is, it beats the library's choice.
    """
    compared = compare_arms(run, baseline=arms.default, overturned={})
    places: dict[tuple[int, int], dict[str, dict[StudyCell, ComparisonRow]]] = {}
    for row in compared.rows:
        if row.cell.benchmark == arms.benchmark and row.second in arms.algorithms:
            key = (row.cell.n_nodes * row.cell.tasks_per_node, row.cell.size_bytes)
            places.setdefault(key, {}).setdefault(row.second, {})[row.cell] = row
    return [
        _choice(arms.benchmark, key, {arm: list(rows.values()) for arm, rows in by_arm.items()})
        for key, by_arm in sorted(places.items())
    ]


def _choice(
    benchmark: str, key: tuple[int, int], by_arm: dict[str, list[ComparisonRow]]
) -> CellChoice:
    n_cells = max(len(rows) for rows in by_arm.values())
    faster = {
        arm: rows
        for arm, rows in by_arm.items()
        if len(rows) == n_cells and all(row.outcome is RowOutcome.FASTER for row in rows)
    }
    if not faster:
        outcomes = dict.fromkeys(row.outcome for rows in by_arm.values() for row in rows)
        decided = any(one in DECIDED for one in outcomes)
        words = "" if decided else ", ".join(outcome.value for outcome in outcomes)
        return CellChoice(benchmark, *key, arm="", undecided=words)
    best = min(faster, key=lambda arm: _mean_log([row.slowdown for row in faster[arm]]))
    rows = faster[best]
    ends = [_speed_up_interval(row) for row in rows]
    return CellChoice(
        benchmark,
        *key,
        arm=best,
        speed_up=exp(-_mean_log([row.slowdown for row in rows])),
        speed_up_low=min(low for low, _ in ends),
        speed_up_high=max(high for _, high in ends),
    )


def _speed_up_interval(row: ComparisonRow) -> tuple[float, float]:
    assert isinstance(row.effect, Ratio), "an arm is faster by its interval"
    if row.lower_is_better:
        return 1 / row.effect.high, 1 / row.effect.low
    return row.effect.low, row.effect.high


def _mean_log(values: Sequence[float]) -> float:
    return sum(map(log, values)) / len(values)
