"""The coverage of a check: measured pairs of all pairs, crossed cables of all cables."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.check.readings.components import Thing
from weft.check.readings.network import Cable
from weft.check.readings.readings import Ints
from weft.check.suspects.survey import Survey
from weft.check.trials import SURVEY
from weft.core.words import counted


@dataclass(frozen=True, slots=True)
class Covered:
    """`endpoints` are the ends of a pair: "nodes", or "ranks" where one host holds them all.
    `n_cables` is None without a fabric; `cables_never_crossed` holds both ends of each; the others
    were crossed by `least_crossings` readings of the survey or more.

    `cables_never_filled` were crossed, but no round sent as much through them as they bear, in one
    direction at least; the filled ones were filled in `least_fillings` rounds or more, in each
    direction.
    Those `out_of_use` carried no message, whatever the tables hold."""

    n_nodes: int
    endpoints: str
    n_pairs: int
    n_pairs_possible: int
    n_rounds: int
    n_cables: int | None
    cables_never_crossed: tuple[Cable, ...]
    least_crossings: int
    cables_never_filled: tuple[Cable, ...] = ()
    least_fillings: int = 0
    out_of_use: frozenset[Thing] = frozenset()

    @property
    def noun(self) -> str:
        """One of `endpoints`."""
        return self.endpoints.removesuffix("s")

    @property
    def cables_text(self) -> str:
        """'every cable filled >= 3 times', or how many were, and the state of the others."""
        if self.n_cables is None:
            return "cables unknown (--fabric names them)"
        others = (
            (len(self.out_of_use), "out of use"),
            (self._n_in_use(self.cables_never_filled), "crossed and never filled"),
            (self._n_in_use(self.cables_never_crossed), "never crossed"),
        )
        n_filled = self.n_cables - sum(n for n, _ in others)
        if not n_filled:
            parts = [f"no cable of {self.n_cables:,} filled"]
        elif n_filled == self.n_cables:
            parts = [f"every cable filled {self._least_text}"]
        else:
            parts = [f"{n_filled:,} of {self.n_cables:,} cables filled {self._least_text}"]
        return ", ".join([*parts, *(f"{n:,} {state}" for n, state in others if n)])

    def _n_in_use(self, cables: Iterable[Cable]) -> int:
        return len({("cable", tuple(sorted(cable))) for cable in cables} - self.out_of_use)

    @property
    def _least_text(self) -> str:
        return f">= {counted(self.least_fillings, 'time')}"

    @property
    def text(self) -> str:
        """One line."""
        line = (
            f"{self.n_pairs:,} of {self.n_pairs_possible:,} pairs"
            f" of {counted(self.n_nodes, self.noun)}"
            f" in {counted(self.n_rounds, 'round')}"
        )
        if self.n_cables is None:
            return f"{line}; their cables are unknown (--fabric names them)"
        crossed = self.n_cables - len(self.cables_never_crossed)
        line += f"; {crossed:,} of {self.n_cables:,} cables crossed, each by"
        line += f" {counted(self.least_crossings, 'reading')} or more; {self.cables_text}"
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
            "least_fillings": self.least_fillings,
            "cables_never_filled": [list(cable) for cable in self.cables_never_filled],
            "cables_out_of_use": len(self.out_of_use),
        }


def covered(survey: Survey) -> Covered:
    """The coverage of the survey; of all readings where none belongs to a survey."""
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
    never, unfilled = tuple[Cable, ...](), tuple[Cable, ...]()
    least = least_fillings = 0
    if crossings.network is not None:
        by_cable = _crossings_of_cables(survey, rows)
        cables = crossings.network.cables
        n_cables = len(cables)
        never = tuple(cables[i] for i in np.flatnonzero(by_cable == 0))
        least = _least(by_cable)
        filled = _fillings_of_cables(survey, rows)
        unfilled = tuple(cables[i] for i in np.flatnonzero((by_cable > 0) & (filled == 0)))
        least_fillings = _least(filled)
    return Covered(
        n_nodes=n,
        endpoints="ranks" if one_host else "nodes",
        n_pairs=int(np.unique(low * n + high).size),
        n_pairs_possible=n * (n - 1) // 2,
        n_rounds=int(np.unique(readings.round[rows]).size),
        n_cables=n_cables,
        cables_never_crossed=never,
        least_crossings=least,
        cables_never_filled=unfilled,
        least_fillings=least_fillings,
    )


def _least(counts: Ints) -> int:
    """The least of those that are not zero; zero where all are."""
    return int(counts[counts > 0].min(initial=counts.max(initial=0)))


def _crossings_of_cables(survey: Survey, rows: Ints) -> Ints:
    """By cable: readings that cross it, once a direction."""
    crossings = survey.crossings
    of_stage = np.asarray((crossings.by_stage[rows] > 0).sum(axis=0)).reshape(-1)
    by_port = (crossings.by_port > 0).T @ of_stage
    return np.asarray(by_port.reshape(-1, 2).sum(axis=1), np.int64)


def _fillings_of_cables(survey: Survey, rows: Ints) -> Ints:
    """By cable: rounds that filled it, in the direction that was filled less of those crossed."""
    crossings, readings = survey.crossings, survey.readings
    n_stages = len(crossings.stages)
    load = crossings.load[rows].tocoo()
    full = load.data >= survey.limits.filled_share
    n_rounds = int(readings.round.max(initial=0)) + 1
    round_ = (readings.trial * n_rounds + readings.round)[rows[load.row[full]]]
    filled = np.unique(round_ * n_stages + load.col[full])
    of_stage = np.bincount(filled % max(1, n_stages), minlength=n_stages)
    ports = crossings.by_port.tocoo()
    of_port = np.zeros(ports.shape[1], np.int64)
    np.maximum.at(of_port, ports.col, of_stage[ports.row])
    crossed = np.zeros(ports.shape[1], np.bool_)
    stage_crossed = np.asarray((crossings.by_stage[rows] > 0).sum(axis=0)).reshape(-1) > 0
    crossed[ports.col[stage_crossed[ports.row]]] = True
    most = int(of_port.max(initial=0)) + 1
    each = np.where(crossed, of_port, most).reshape(-1, 2).min(axis=1)
    return np.asarray(np.where(each == most, 0, each), np.int64)
