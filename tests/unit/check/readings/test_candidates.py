"""What the same readings cross is one candidate."""

import numpy as np
from scipy.sparse import csc_matrix

from weft.check.readings.candidates import Candidates, Family, joined, kinds_of_columns
from weft.check.readings.components import PARTS, Part

NODE, CABLE = PARTS.index(Part.NODE), PARTS.index(Part.CABLE)
Matrix = list[list[float]]
"""Rows are readings, columns components."""


def family(part: int, crossed: Matrix) -> Family:
    return (csc_matrix(np.array(crossed)), [[(part, i)] for i in range(len(crossed[0]))])


def rows_by_members(candidates: Candidates) -> dict[tuple[tuple[int, int], ...], list[int]]:
    return {of: candidates.rows(i).tolist() for i, of in enumerate(candidates.members)}


def test_each_candidate_has_its_own_readings() -> None:
    nodes = family(NODE, [[1, 0], [1, 1], [0, 1]])
    assert rows_by_members(joined([nodes], 0.5)) == {((NODE, 0),): [0, 1], ((NODE, 1),): [1, 2]}


def test_components_that_the_same_readings_cross_are_one_across_families() -> None:
    nodes = family(NODE, [[1, 0], [1, 1], [0, 1]])
    cables = family(CABLE, [[1, 0, 1], [1, 0, 0], [0, 1, 0]])
    candidates = joined([nodes, cables], 0.5)
    assert rows_by_members(candidates) == {
        ((NODE, 0), (CABLE, 0)): [0, 1],
        ((NODE, 1),): [1, 2],
        ((CABLE, 1),): [2],
        ((CABLE, 2),): [0],
    }
    assert len(candidates) == 4
    assert candidates.of_part(Part.CABLE) == {0: 0, 1: 2, 2: 3}
    assert candidates.of_part(Part.SWITCH) == {}


def test_a_component_of_two_families_is_named_once() -> None:
    cables = family(CABLE, [[1, 0], [1, 1]])
    assert rows_by_members(joined([cables, cables], 0.5)) == {
        ((CABLE, 0),): [0, 1],
        ((CABLE, 1),): [1],
    }


def test_what_no_reading_crosses_is_no_candidate() -> None:
    assert rows_by_members(joined([family(CABLE, [[0, 1], [0, 0]])], 0.5)) == {((CABLE, 1),): [0]}


def test_a_reading_that_sends_too_small_a_share_does_not_cross() -> None:
    """Of the most that any reading sends through that component, not of all."""
    cables = family(CABLE, [[1.0, 0.2], [0.5, 0.1], [0.4, 0.0]])
    assert rows_by_members(joined([cables], 0.5)) == {((CABLE, 0), (CABLE, 1)): [0, 1]}
    halves = joined([cables], 0.3)
    assert rows_by_members(halves) == {((CABLE, 0),): [0, 1, 2], ((CABLE, 1),): [0, 1]}
    assert set(halves.columns.data.tolist()) == {1.0}


def test_nothing_measured_has_no_candidates() -> None:
    for families in ([], [family(NODE, [[1.0]])[0][:0]]):
        made = [(matrix, [[(NODE, 0)]]) for matrix in families]
        assert len(joined(made, 0.5)) == 0
    assert joined([], 0.5).columns.shape == (0, 0)


def test_columns_of_equal_content_share_a_number() -> None:
    columns = csc_matrix(np.array([[1, 1, 0, 2, 0], [0, 0, 0, 0, 1], [3, 3, 0, 3, 3]]))
    first, same, empty, other_values, other_rows = kinds_of_columns(columns).tolist()
    assert first == same >= 0
    assert empty == -1
    assert len({first, other_values, other_rows}) == 3
    assert min(other_values, other_rows) >= 0


def test_columns_are_equal_however_their_rows_are_stored() -> None:
    data, rows, starts = [1.0, 2.0, 2.0, 1.0], [0, 1, 1, 0], [0, 2, 4]
    unsorted = csc_matrix((data, rows, starts), shape=(2, 2))
    assert kinds_of_columns(unsorted).tolist() == [0, 0]
