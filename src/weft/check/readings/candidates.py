"""Possible causes of slowness: components; those that the same readings cross are joined."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csc_matrix, hstack

from weft.check.readings.components import PARTS, Part
from weft.check.readings.readings import Ints

Member = tuple[int, int]
"""A component by number: of its part, and of the component."""


def cable_ports(member: Member) -> tuple[int, ...]:
    """Both ports of a cable, the one of a direction, none of anything else."""
    part, index = PARTS[member[0]], member[1]
    if part is Part.CABLE:
        return (2 * index, 2 * index + 1)
    return (index,) if part is Part.DIRECTION else ()


@dataclass(frozen=True)
class Candidates:
    """`columns`: readings x candidates, true where a reading crosses. `members`: the components of
    each candidate, which no reading separates."""

    columns: csc_matrix
    members: tuple[tuple[Member, ...], ...]

    def __len__(self) -> int:
        return len(self.members)

    def of_part(self, part: Part) -> dict[int, int]:
        """By number of a component of this part: its candidate."""
        return self._by_part.get(PARTS.index(part), {})

    @cached_property
    def _by_part(self) -> dict[int, dict[int, int]]:
        found: dict[int, dict[int, int]] = {}
        for candidate, members in enumerate(self.members):
            for part, index in members:
                found.setdefault(part, {})[index] = candidate
        return found

    def rows(self, candidate: int) -> Ints:
        """The readings that cross a candidate."""
        first, last = self.columns.indptr[candidate : candidate + 2]
        rows: Ints = self.columns.indices[first:last].astype(np.int64)
        return rows


Family = tuple[csc_matrix, list[list[Member]]]
"""Readings x components, and the components of each column."""


def kinds_of_columns(matrix: csc_matrix) -> Ints:
    """Columns of equal content share a number; -1 for an empty one."""
    numbers: dict[bytes, int] = {}
    kinds = np.full(matrix.shape[1], -1, np.int64)
    matrix.sort_indices()
    for column in np.flatnonzero(np.diff(matrix.indptr)):
        span = slice(matrix.indptr[column], matrix.indptr[column + 1])
        key = matrix.indices[span].tobytes() + matrix.data[span].tobytes()
        kinds[column] = numbers.setdefault(key, len(numbers))
    return kinds


def joined(families: Sequence[Family], least_share: float) -> Candidates:
    """One candidate for all components that the same readings cross. A reading counts for a
    component if it sends at least this share of the most that any reading sends."""
    if not families or not families[0][0].shape[0]:
        return Candidates(csc_matrix((0, 0)), ())
    crossed = csc_matrix(hstack([matrix for matrix, _ in families], format="csc"))
    crossed.sum_duplicates()
    largest = np.asarray(crossed.max(axis=0).todense()).reshape(-1)
    of_column = np.repeat(np.arange(crossed.shape[1]), np.diff(crossed.indptr))
    crossed.data = (crossed.data >= least_share * largest[of_column]).astype(np.float64)
    crossed.eliminate_zeros()
    crossed.data = crossed.data.astype(np.float64)
    kinds = kinds_of_columns(crossed)
    members: dict[int, list[Member]] = {}
    first: dict[int, int] = {}
    every = [of for _, listed in families for of in listed]
    for column in np.flatnonzero(kinds >= 0).tolist():
        members.setdefault(int(kinds[column]), []).extend(every[column])
        first.setdefault(int(kinds[column]), column)
    chosen = csc_matrix(crossed[:, list(first.values())])
    return Candidates(chosen, tuple(tuple(dict.fromkeys(of)) for of in members.values()))
