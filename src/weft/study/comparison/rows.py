"""Rows: each cell under two arms, launch against launch, with intervals and adjusted p-values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from weft.stats.multiplicity import sign_flip_max_t
from weft.stats.nodesets import CannotBeKnown, SetsRatio, ratio_for_sets_like_these
from weft.stats.ratio import NotEnoughData, Ratio, paired_ratio
from weft.stats.summary import Floats
from weft.study.comparison.cells import HeadlineOf, StudyCell, Value, mostly_bimodal

SIGNIFICANT = 0.05
TOLERANCE = 0.01
"""A smaller relative difference counts as none, at any certainty."""


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """How rows are judged: `n_comparisons` is how many pairs of arms share the verdict."""

    headline: HeadlineOf
    tolerance: float = TOLERANCE
    n_comparisons: int = 1


class RowOutcome(StrEnum):
    """The result of the second arm against the first."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no difference shown"
    TOO_FEW = "not enough data"
    NO_VERDICT = "supports no verdict"


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One cell under two arms. `effect` and `sets` hold second / first of `metric`; `p_adjusted` is
    over all cells and arms compared. `median_first` and `median_second` are over paired launches.
    """

    cell: StudyCell
    metric: str
    first: str
    second: str
    n_pairs: int
    median_first: float
    median_second: float
    effect: Ratio | NotEnoughData
    sets: SetsRatio | CannotBeKnown
    p_adjusted: float
    outcome: RowOutcome
    remarks: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """The row as plain JSON values, for --format json and csv."""
        known = self.effect if isinstance(self.effect, Ratio) else None
        sets = self.sets if isinstance(self.sets, SetsRatio) else None
        return {
            "benchmark": self.cell.benchmark,
            "size_bytes": self.cell.size_bytes,
            "n_nodes": self.cell.n_nodes,
            "tasks_per_node": self.cell.tasks_per_node,
            "metric": self.metric,
            "first": self.first,
            "second": self.second,
            "n_pairs": self.n_pairs,
            "median_first": self.median_first,
            "median_second": self.median_second,
            "ratio": known.ratio if known else None,
            "ratio_low": known.low if known else None,
            "ratio_high": known.high if known else None,
            "p": known.p if known else None,
            "p_adjusted": self.p_adjusted if known else None,
            "sets_ratio_low": sets.low if sets else None,
            "sets_ratio_high": sets.high if sets else None,
            "outcome": self.outcome.value,
            "remarks": "; ".join(self.remarks),
        }


def rows_of(
    first: Sequence[Value], second: Sequence[Value], rules: ComparisonRules
) -> list[ComparisonRow]:
    """One row a cell that both arms have, in the order of cells."""
    pairs = _paired(first, second)
    adjusted = _adjusted(pairs, rules)
    return [_row(cell, pairs[cell], adjusted[cell], rules) for cell in sorted(pairs)]


_Pairs = dict[StudyCell, list[tuple[Value, Value]]]


def _paired(first: Sequence[Value], second: Sequence[Value]) -> _Pairs:
    of_second = {(value.cell, value.pairs_with): value for value in second}
    pairs: _Pairs = {}
    for value in sorted(first, key=lambda value: value.pairs_with):
        partner = of_second.get((value.cell, value.pairs_with))
        if partner is not None:
            pairs.setdefault(value.cell, []).append((value, partner))
    return pairs


def _adjusted(pairs: _Pairs, rules: ComparisonRules) -> Mapping[StudyCell, float]:
    """Over cells by sign flips of whole launches, over arms by Bonferroni: arms share the baseline,
    so their flips cannot be drawn together."""
    cells = sorted(pairs)
    launches = sorted({a.pairs_with for values in pairs.values() for a, _ in values})
    row_of = {launch: i for i, launch in enumerate(launches)}
    logs: Floats = np.full((len(launches), len(cells)), np.nan)
    for column, cell in enumerate(cells):
        for a, b in pairs[cell]:
            logs[row_of[a.pairs_with], column] = np.log(b.value) - np.log(a.value)
    p_values = sign_flip_max_t(logs)
    return {
        cell: min(1.0, float(p) * rules.n_comparisons)
        for cell, p in zip(cells, p_values, strict=True)
    }


def _row(
    cell: StudyCell,
    pairs: list[tuple[Value, Value]],
    p_adjusted: float,
    rules: ComparisonRules,
) -> ComparisonRow:
    a = [first.value for first, _ in pairs]
    b = [second.value for _, second in pairs]
    effect = paired_ratio(a, b)
    flags = sorted({flag for pair in pairs for value in pair for flag in value.no_verdict})
    metric, known = pairs[0][0].metric, rules.headline(cell.benchmark)
    is_headline = metric == known.headline
    lower = known.better == "lower" if is_headline else metric.startswith("latency")
    outcome = _outcome(effect, p_adjusted, lower, rules.tolerance)
    if flags and outcome in (RowOutcome.FASTER, RowOutcome.SLOWER, RowOutcome.SAME):
        outcome = RowOutcome.NO_VERDICT
    return ComparisonRow(
        cell=cell,
        metric=metric,
        first=pairs[0][0].arm,
        second=pairs[0][1].arm,
        n_pairs=len(pairs),
        median_first=float(np.median(a)),
        median_second=float(np.median(b)),
        effect=effect,
        sets=ratio_for_sets_like_these(a, b, [first.nodes for first, _ in pairs]),
        p_adjusted=p_adjusted,
        outcome=outcome,
        remarks=(*flags, *_bimodality(pairs)),
    )


def _bimodality(pairs: list[tuple[Value, Value]]) -> tuple[str, ...]:
    for side, name in enumerate(("first", "second")):
        if mostly_bimodal([pair[side] for pair in pairs]):
            return (f"bimodal in the {name} arm",)
    return ()


def _outcome(
    effect: Ratio | NotEnoughData, p_adjusted: float, lower_is_better: bool, tolerance: float
) -> RowOutcome:
    if isinstance(effect, NotEnoughData):
        return RowOutcome.TOO_FEW
    if p_adjusted >= SIGNIFICANT or not effect.differs or abs(effect.ratio - 1) < tolerance:
        return RowOutcome.SAME
    return RowOutcome.FASTER if (effect.ratio < 1) == lower_is_better else RowOutcome.SLOWER
