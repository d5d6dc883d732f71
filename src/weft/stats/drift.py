"""Drift: whether the machine changed during a run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from weft.stats.summary import finite

SPEARMAN_FROM = 6
SIGNIFICANT = 0.01
"""Stricter than a comparison: every benchmark of a run is checked, and false alarms cost trust."""

NOTABLE = 0.02
"""A smaller relative change is not reported, at any certainty."""


@dataclass(frozen=True, slots=True)
class Drift:
    """`change` is relative, last third against first third (or end against run); `p` two-sided."""

    change: float
    p: float
    method: str

    @property
    def notable(self) -> bool:
        """Whether a verdict should mention it."""
        return self.p < SIGNIFICANT and abs(self.change) >= NOTABLE


def trend(times_s: ArrayLike, values: ArrayLike) -> Drift | None:
    """Spearman's rank correlation of values with time; None under six values or without spread."""
    when, what = finite(times_s), finite(values)
    if when.size != what.size:
        raise ValueError(f"{when.size} times but {what.size} values")
    if when.size < SPEARMAN_FROM or np.ptp(when) == 0 or np.ptp(what) == 0:
        return None
    order = np.argsort(when, kind="stable")
    third = max(2, when.size // 3)
    early, late = np.median(what[order[:third]]), np.median(what[order[-third:]])
    p = float(stats.spearmanr(when, what).pvalue)
    return Drift(float(late / early - 1) if early else 0.0, p, "Spearman against time")


def return_to_baseline(during: ArrayLike, at_end: ArrayLike) -> Drift | None:
    """The baseline repeated at the end against the baseline during the run, by the exact rank-sum
    test; None when two and six values are not there."""
    run, end = np.asarray(during, dtype=float), np.asarray(at_end, dtype=float)
    if run.size < SPEARMAN_FROM or end.size < 2:
        return None
    finite(run), finite(end)
    p = float(stats.mannwhitneyu(end, run, alternative="two-sided", method="auto").pvalue)
    usual = float(np.median(run))
    change = float(np.median(end)) / usual - 1 if usual else 0.0
    return Drift(change, p, "baseline repeated at the end")
