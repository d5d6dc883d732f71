"""The second interval: for node sets like these, not only for these."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from weft.core.words import counted
from weft.stats.ratio import hodges_lehmann, log_ratios
from weft.stats.summary import CONFIDENCE

SETS_FROM = 5
"""Fewer sets do not determine the spread between sets."""


@dataclass(frozen=True, slots=True)
class SetsRatio:
    """second / first on node sets like these: `low` and `high` bound the mean log effect."""

    ratio: float
    low: float
    high: float
    n_sets: int


@dataclass(frozen=True, slots=True)
class CannotBeKnown:
    """Too few node sets for a statement about others."""

    n_sets: int

    @property
    def text(self) -> str:
        """One clause for a table or a page."""
        measured = counted(self.n_sets, "set")
        return f"unknown for other node sets: {measured} measured, {SETS_FROM} needed"


def ratio_for_sets_like_these(
    first: ArrayLike, second: ArrayLike, sets: Sequence[Hashable]
) -> SetsRatio | CannotBeKnown:
    """The node set as a random effect: a Student interval over one estimate a set.

    Each set contributes its own Hodges-Lehmann log ratio, whose spread over the sets holds both the
    sets' difference and the noise within them, so unequal sets need no further model. Raises
    ValueError as `paired_ratio` does, and when `sets` has another length.
    """
    logs = log_ratios(first, second)
    if len(sets) != logs.size:
        raise ValueError(f"{logs.size} pairs but {len(sets)} node sets named")
    names = list(dict.fromkeys(sets))
    if len(names) < SETS_FROM:
        return CannotBeKnown(len(names))
    members = [[i for i, name in enumerate(sets) if name == wanted] for wanted in names]
    effects = np.array([hodges_lehmann(logs[rows]) for rows in members])
    centre = float(effects.mean())
    error = float(effects.std(ddof=1)) / np.sqrt(effects.size)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, effects.size - 1)) * error
    return SetsRatio(
        ratio=float(np.exp(centre)),
        low=float(np.exp(centre - reach)),
        high=float(np.exp(centre + reach)),
        n_sets=len(names),
    )
