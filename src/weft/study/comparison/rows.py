"""Rows: each cell under two arms, launch against launch, with intervals and adjusted p-values."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite, log1p
from typing import Any

import numpy as np

from weft.core.work.progress import each
from weft.stats.multiplicity import sign_flip_equivalence, sign_flip_max_t
from weft.stats.nodesets import CannotBeKnown, SetsRatio, ratio_for_sets_like_these
from weft.stats.power import detectable
from weft.stats.ratio import NotEnoughData, Ratio, paired_ratio
from weft.stats.signed_rank import p_below
from weft.stats.summary import Floats
from weft.study.comparison.cells import HeadlineOf, StudyCell, Value, mostly_bimodal
from weft.study.comparison.replication import Pair, Unit, units_of_pairs

SIGNIFICANT = 0.05
TOLERANCE = 0.01
"""A smaller relative difference is no finding, at any certainty."""
MARGIN = 0.05
"""The default margin of equivalence, as a relative difference."""


PlannedUnits = Mapping[StudyCell, Collection[tuple[int, int]]]
"""By cell its launches, each as (node set, repeat)."""


@dataclass(frozen=True, slots=True)
class ComparisonRules:
    """How rows are judged: `n_comparisons` is how many pairs of arms share the verdict, `simulated`
    whether twins were measured. Arms are equal if the ratio lies within 1 + margin or its inverse.
    `unproved` are factors without evidence: a setting that was not in force looks equal. `planned`
    are the launches of the second arm: one that is lost may have been the slowest.
    """

    headline: HeadlineOf
    tolerance: float = TOLERANCE
    margin: float = MARGIN
    n_comparisons: int = 1
    simulated: bool = False
    unproved: tuple[str, ...] = ()
    planned: PlannedUnits = field(default_factory=dict)


class RowOutcome(StrEnum):
    """The result of the second arm against the first."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equal"
    UNDECIDED = "not decided"
    TOO_FEW = "not enough data"
    LOST = "launches lost"
    UNPROVED = "not proved"
    NO_VERDICT = "supports no verdict"


GOOD = (RowOutcome.FASTER, RowOutcome.EQUIVALENT)
"""Outcomes that rule a slowdown out."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One cell under two arms. `effect` and `sets` hold second / first of `metric`. `p_adjusted` of
    "no difference" and `p_equivalent` of "a difference of the margin or more" are over all cells
    and arms compared. Pairs, effect and medians are of the units of replication (`unit`). 4 of 5
    studies with this scatter find a ratio of `detectable` or its inverse; infinite: no ratio.
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
    p_equivalent: float
    detectable: float
    outcome: RowOutcome
    unit: Unit
    lower_is_better: bool
    remarks: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    n_lost: int = 0

    @property
    def slowdown(self) -> float:
        """How many times slower the second arm is; under 1 where it is faster."""
        return self.effect.ratio if self.lower_is_better else 1 / self.effect.ratio

    def to_record(self) -> dict[str, Any]:
        """The row as plain JSON values, for --format json and csv."""
        known = self.effect if isinstance(self.effect, Ratio) else None
        sets = self.sets if isinstance(self.sets, SetsRatio) else None
        return {
            "benchmark": self.cell.benchmark,
            "size_bytes": self.cell.size_bytes,
            "n_nodes": self.cell.n_nodes,
            "tasks_per_node": self.cell.tasks_per_node,
            "condition": self.cell.condition,
            "metric": self.metric,
            "first": self.first,
            "second": self.second,
            "n_pairs": self.n_pairs,
            "unit": self.unit.value,
            "median_first": self.median_first,
            "median_second": self.median_second,
            "ratio": self.effect.ratio,
            "ratio_low": known.low if known else None,
            "ratio_high": known.high if known else None,
            "p": known.p if known else None,
            "p_adjusted": self.p_adjusted if known else None,
            "p_equivalent": self.p_equivalent if known else None,
            "detectable_ratio": self.detectable if isfinite(self.detectable) else None,
            "sets_ratio_low": sets.low if sets else None,
            "sets_ratio_high": sets.high if sets else None,
            "outcome": self.outcome.value,
            "remarks": "; ".join(self.remarks),
        }


def rows_of(
    first: Sequence[Value],
    second: Sequence[Value],
    rules: ComparisonRules,
    only: Collection[StudyCell] | None = None,
) -> list[ComparisonRow]:
    """One row a cell that both arms have, in the order of cells; `only` of these cells, whose
    p-values are over all."""
    units = {
        cell: units_of_pairs(pairs, simulated=rules.simulated)
        for cell, pairs in _paired(first, second).items()
    }
    pairs = {cell: found for cell, (found, _) in units.items()}
    counted = {(value.cell, value.pairs_with) for value in second}
    certainties = _certainties(pairs, rules)
    return [
        _row(
            cell,
            pairs[cell],
            units[cell][1],
            certainties[cell],
            rules,
            lost=[one for one in rules.planned.get(cell, ()) if (cell, one) not in counted],
        )
        for cell in each(sorted(pairs), "comparing cells")
        if only is None or cell in only
    ]


_Pairs = dict[StudyCell, list[Pair]]


def _paired(first: Sequence[Value], second: Sequence[Value]) -> _Pairs:
    of_second = {(value.cell, value.pairs_with): value for value in second}
    pairs: _Pairs = {}
    for value in sorted(first, key=lambda value: value.pairs_with):
        partner = of_second.get((value.cell, value.pairs_with))
        if partner is not None:
            pairs.setdefault(value.cell, []).append((value, partner))
    return pairs


@dataclass(frozen=True, slots=True)
class _Certainty:
    """Adjusted p-values of a cell: of "no difference", and of "the margin or more"; the logarithm
    of the ratio that most such studies find."""

    difference: float
    equivalence: float
    detectable: float


def _certainties(pairs: _Pairs, rules: ComparisonRules) -> Mapping[StudyCell, _Certainty]:
    """Over cells by sign flips of whole launches, over arms by Bonferroni: arms share the baseline,
    so their flips cannot be drawn together."""
    cells = sorted(pairs)
    launches = sorted({a.pairs_with for values in pairs.values() for a, _ in values})
    row_of = {launch: i for i, launch in enumerate(launches)}
    logs: Floats = np.full((len(launches), len(cells)), np.nan)
    for column, cell in enumerate(cells):
        for a, b in pairs[cell]:
            logs[row_of[a.pairs_with], column] = np.log(b.value) - np.log(a.value)
    p_values = np.stack([sign_flip_max_t(logs), sign_flip_equivalence(logs, log1p(rules.margin))])
    adjusted = np.minimum(1.0, p_values * rules.n_comparisons)
    found = detectable(logs, SIGNIFICANT / rules.n_comparisons)
    return {
        cell: _Certainty(float(adjusted[0, i]), float(adjusted[1, i]), float(found[i]))
        for i, cell in enumerate(cells)
    }


def _row(
    cell: StudyCell,
    pairs: list[Pair],
    unit: Unit,
    certainty: _Certainty,
    rules: ComparisonRules,
    *,
    lost: list[tuple[int, int]],
) -> ComparisonRow:
    a = [first.value for first, _ in pairs]
    b = [second.value for _, second in pairs]
    effect = paired_ratio(a, b)
    flags = sorted({flag for pair in pairs for value in pair for flag in value.no_verdict})
    metric, known = pairs[0][0].metric, rules.headline(cell.benchmark)
    is_headline = metric == known.headline
    lower = known.better == "lower" if is_headline else metric.startswith("latency")
    outcome = _outcome(effect, certainty, lower, rules.tolerance)
    if flags and outcome is not RowOutcome.TOO_FEW:
        outcome = RowOutcome.NO_VERDICT
    n_lost = len(lost)
    if unit is Unit.NODE_SET:
        n_lost = len({node_set for node_set, _ in lost} - {one.node_set for one, _ in pairs})
    slower = np.log(np.array(b) / a) if lower else np.log(np.array(a) / b)
    if n_lost and outcome in GOOD and p_below(slower, log1p(rules.margin), n_lost) >= SIGNIFICANT:
        outcome = RowOutcome.LOST
    if rules.unproved and outcome is RowOutcome.EQUIVALENT:
        outcome = RowOutcome.UNPROVED
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
        p_adjusted=certainty.difference,
        p_equivalent=certainty.equivalence,
        detectable=max(float(np.exp(certainty.detectable)), 1 + rules.tolerance),
        outcome=outcome,
        unit=unit,
        lower_is_better=lower,
        remarks=(*flags, *_bimodality(pairs)),
        unproved=rules.unproved,
        n_lost=n_lost,
    )


def _bimodality(pairs: list[Pair]) -> tuple[str, ...]:
    for side, name in enumerate(("first", "second")):
        if mostly_bimodal([pair[side] for pair in pairs]):
            return (f"bimodal in the {name} arm",)
    return ()


def _outcome(
    effect: Ratio | NotEnoughData, certainty: _Certainty, lower_is_better: bool, tolerance: float
) -> RowOutcome:
    if isinstance(effect, NotEnoughData):
        return RowOutcome.TOO_FEW
    certain = certainty.difference < SIGNIFICANT and effect.differs
    if certain and abs(effect.ratio - 1) >= tolerance:
        return RowOutcome.FASTER if (effect.ratio < 1) == lower_is_better else RowOutcome.SLOWER
    return RowOutcome.EQUIVALENT if certainty.equivalence < SIGNIFICANT else RowOutcome.UNDECIDED
