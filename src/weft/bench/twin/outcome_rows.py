"""The rows of an outcome, sorted for reading series by series."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Rows:
    """Durations by step, round and pair; within a pair in the order of iterations."""

    phase: NDArray[np.uint64]
    duration_ns: NDArray[np.float64]

    def times_ns(self, step: int) -> list[float]:
        """The series of a step without rounds."""
        return [float(time) for time in self._of(step, 0)]

    def by_pair(self, step: int, round_: int, n_pairs: int) -> NDArray[np.float64]:
        """The series of a round: one row a pair, one column an iteration."""
        return self._of(step, round_).reshape(n_pairs, -1)

    def _of(self, step: int, round_: int) -> NDArray[np.float64]:
        wanted = np.uint64(step << 32 | round_)
        first, end = (np.searchsorted(self.phase, wanted, side) for side in ("left", "right"))
        return self.duration_ns[first:end]

    def slowest_ns(self, step: int, n_iterations: int) -> list[float]:
        """The slowest message of each iteration of a step whose messages have rows of their own."""
        slowest = self._of(step, 0).reshape(-1, n_iterations).max(axis=0)
        return [float(time) for time in slowest]


def rows_of(outcome: Mapping[str, Any]) -> Rows:
    """The outcome's rows, sorted once: searching each pair's among all would be quadratic."""
    columns = (np.asarray(outcome[name], dtype=np.uint64) for name in ("step", "round", "pair"))
    step, round_, pair = columns
    order = np.lexsort((pair, round_, step))
    durations = np.asarray(outcome["duration_ps"], dtype=np.float64) / 1e3
    return Rows((step << np.uint64(32) | round_)[order], durations[order])
