"""What the measured pairs touched: pairs of all pairs, cables of all cables."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.core.words import counted
from weft.diagnose.check.measured.network import Cable
from weft.diagnose.check.measured.readings import Ints
from weft.diagnose.check.suspects.survey import Survey
from weft.diagnose.check.trials import SURVEY


@dataclass(frozen=True, slots=True)
class Covered:
    """`endpoints` is what a pair consists of, "nodes", or "ranks" where one host holds them all.
    `n_cables` is None without a fabric; `cables_never_crossed` holds both ends of each; the others
    were crossed by `least_crossings` readings of the survey or more."""

    n_nodes: int
    endpoints: str
    n_pairs: int
    n_pairs_possible: int
    n_rounds: int
    n_cables: int | None
    cables_never_crossed: tuple[Cable, ...]
    least_crossings: int

    @property
    def text(self) -> str:
        """One line."""
        line = (
            f"{self.n_pairs:,} of {self.n_pairs_possible:,} pairs"
            f" of {self.n_nodes} {self.endpoints}"
            f" in {counted(self.n_rounds, 'round')}"
        )
        if self.n_cables is None:
            return f"{line}; which cables they crossed is not known without a fabric"
        crossed = self.n_cables - len(self.cables_never_crossed)
        line += f"; {crossed:,} of {self.n_cables:,} cables crossed, each by"
        line += f" {counted(self.least_crossings, 'reading')} or more"
        if self.cables_never_crossed:
            first = " - ".join(self.cables_never_crossed[0])
            more = len(self.cables_never_crossed) - 1
            line += f"; never crossed: {first}" + (f" and {more:,} more" if more else "")
        return line

    def to_record(self) -> dict[str, Any]:
        """The coverage as plain JSON values."""
        return {
            "nodes": self.n_nodes,
            "endpoints": self.endpoints,
            "pairs": self.n_pairs,
            "pairs_possible": self.n_pairs_possible,
            "rounds": self.n_rounds,
            "cables": self.n_cables,
            "least_crossings": self.least_crossings,
            "cables_never_crossed": [list(cable) for cable in self.cables_never_crossed],
        }


def covered(survey: Survey) -> Covered:
    """What the readings of the survey touched (all readings where none is called so)."""
    readings, crossings = survey.readings, survey.crossings
    rows = readings.of_trial(SURVEY)
    if not rows.size:
        rows = np.arange(len(readings))
    hosts = crossings.host_number
    one_host = len(crossings.hosts) == 1
    a, b = (readings.a, readings.b) if one_host else (hosts[readings.a], hosts[readings.b])
    n = len(readings.endpoints) if one_host else len(crossings.hosts)
    low, high = np.minimum(a, b)[rows], np.maximum(a, b)[rows]
    n_cables: int | None = None
    never: tuple[Cable, ...] = ()
    least = 0
    if crossings.network is not None:
        by_cable = _crossings_of_cables(survey, rows)
        cables = crossings.network.cables
        n_cables = len(cables)
        never = tuple(cables[i] for i in np.flatnonzero(by_cable == 0))
        least = int(by_cable[by_cable > 0].min(initial=by_cable.max(initial=0)))
    return Covered(
        n_nodes=n,
        endpoints="ranks" if one_host else "nodes",
        n_pairs=int(np.unique(low * n + high).size),
        n_pairs_possible=n * (n - 1) // 2,
        n_rounds=int(np.unique(readings.round[rows]).size),
        n_cables=n_cables,
        cables_never_crossed=never,
        least_crossings=least,
    )


def _crossings_of_cables(survey: Survey, rows: Ints) -> Ints:
    """By cable: readings that cross it, once a direction."""
    crossings = survey.crossings
    of_stage = np.asarray((crossings.by_stage[rows] > 0).sum(axis=0)).reshape(-1)
    shares = crossings.by_port
    counts = np.repeat(of_stage, np.diff(shares.indptr))
    by_port = np.bincount(shares.indices, weights=counts, minlength=shares.shape[1])
    summed: Ints = by_port.reshape(-1, 2).sum(axis=1).astype(np.int64)
    return summed
