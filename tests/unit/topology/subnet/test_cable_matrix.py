"""Cells of the matrix against their siblings: every figure counted by hand."""

from tests.unit.topology.hand_subnet import Ends, described, tree_cables, tree_switches

from weft.topology.subnet.cable_matrix import CableState, Cell, Matrix, matrices_of
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.tiers import tiers_of


def only_matrix(subnet: Subnet) -> Matrix:
    (matrix,) = matrices_of(tiers_of(subnet))
    return matrix


def odd_cells(matrix: Matrix) -> list[tuple[str, str, CableState, int, int | None]]:
    return [
        (
            matrix.rows[cell.row].name,
            matrix.columns[cell.column].name,
            cell.state,
            len(cell.cables),
            cell.n_expected,
        )
        for cell in matrix.unexpected
    ]


def at(matrix: Matrix, row: int, column: int) -> Cell:
    return next(cell for cell in matrix.cells if (cell.row, cell.column) == (row, column))


def test_a_whole_tree_has_nothing_odd() -> None:
    matrix = only_matrix(described(tree_switches(), tree_cables()))
    assert [row.name for row in matrix.rows] == ["leaf0", "leaf1", "leaf2", "leaf3"]
    assert (len(matrix.cells), matrix.n_cables, matrix.unexpected) == (8, 16, ())
    assert {cell.n_expected for cell in matrix.cells} == {2}


def test_a_cable_that_its_siblings_have_is_missed() -> None:
    cables = [cable for cable in tree_cables() if cable[:2] != ("leaf2", 3)]
    matrix = only_matrix(described(tree_switches(), cables))
    assert odd_cells(matrix) == [("leaf2", "spine0", CableState.FEWER, 1, 2)]
    assert at(matrix, 2, 0).n_missing == 1


def test_no_cable_at_all_is_missing_and_counts_all_of_them() -> None:
    cables = [c for c in tree_cables() if (c[0], c[2]) != ("leaf2", "spine0")]
    matrix = only_matrix(described(tree_switches(), cables))
    assert odd_cells(matrix) == [("leaf2", "spine0", CableState.MISSING, 0, 2)]
    assert at(matrix, 2, 0).n_missing == 2


def test_a_cable_in_the_wrong_switch_is_fewer_here_and_more_there() -> None:
    wrong: Ends = ("leaf2", 3, "spine1", 39)
    cables = [wrong if cable[:2] == ("leaf2", 3) else cable for cable in tree_cables()]
    matrix = only_matrix(described(tree_switches(), cables))
    assert odd_cells(matrix) == [
        ("leaf2", "spine0", CableState.FEWER, 1, 2),
        ("leaf2", "spine1", CableState.MORE, 3, 2),
    ]


def test_one_slow_cable_and_one_below_what_its_ends_can_do_are_slower() -> None:
    cables = tree_cables()
    slow, below = ("leaf1", 2, "spine0", 3), ("leaf3", 5, "spine1", 8)
    assert {slow, below} <= set(cables)
    subnet = described(tree_switches(), cables, rates={slow: 100.0}, able={below: 400.0})
    assert odd_cells(only_matrix(subnet)) == [
        ("leaf1", "spine0", CableState.SLOWER, 2, 2),
        ("leaf3", "spine1", CableState.SLOWER, 2, 2),
    ]


def test_a_leaf_of_older_switches_is_no_slower_than_its_own_cables() -> None:
    cables = tree_cables()
    rates = {cable: 100.0 for cable in cables if cable[0] == "leaf1"}
    assert only_matrix(described(tree_switches(), cables, rates=rates)).unexpected == ()


def test_a_cable_that_is_down_is_worse_than_a_slow_one() -> None:
    cables = tree_cables()
    down, slow = ("leaf1", 2, "spine0", 3), ("leaf1", 3, "spine0", 4)
    subnet = described(tree_switches(), cables, rates={slow: 100.0}, down=[down])
    assert odd_cells(only_matrix(subnet)) == [("leaf1", "spine0", CableState.DOWN, 2, 2)]


def test_a_leaf_with_half_the_up_links_of_the_others_everywhere_is_of_another_kind() -> None:
    # Four spines, so that a row is alike in itself: 1, 1, 1, 1 beside 2, 2, 2, 2.
    cables = [
        cable
        for cable in tree_cables(leaves=5, spines=4)
        if not (cable[0] == "leaf4" and cable[2].startswith("spine") and cable[1] % 2 == 0)
    ]
    matrix = only_matrix(described(tree_switches(5, 4), cables))
    assert matrix.unexpected == ()
    assert at(matrix, 4, 0).n_expected == 1


def test_two_leaves_and_two_spines_are_too_few_to_know_better() -> None:
    cables = [c for c in tree_cables(leaves=2, per_spine=1) if c[:2] != ("leaf0", 2)]
    matrix = only_matrix(described(tree_switches(2), cables))
    # Three of the four cells have one cable, but of two leaves either may be the wrong one.
    assert odd_cells(matrix) == []
    single = [c for c in tree_cables(leaves=2, spines=1, per_spine=2) if c[:2] != ("leaf0", 2)]
    assert only_matrix(described(tree_switches(2, 1), single)).unexpected == ()


def test_pods_are_blocks_and_what_lies_between_them_is_not_missed() -> None:
    switches: dict[str, int | None] = {}
    cables: list[Ends] = []
    for pod in "ab":
        for leaf in range(3):
            switches[f"{pod}leaf{leaf}"] = 1
            cables += [
                (f"{pod}leaf{leaf}", 2 + spine, f"{pod}spine{spine}", leaf + 1)
                for spine in range(2)
            ]
        switches |= {f"{pod}spine{spine}": 2 for spine in range(2)}
    # Named so that the pods would alternate, were they sorted by name alone.
    matrix = only_matrix(described(switches, cables))
    assert [row.block for row in matrix.rows] == [0, 0, 0, 1, 1, 1]
    assert [column.block for column in matrix.columns] == [0, 0, 1, 1]
    assert (len(matrix.cells), matrix.unexpected) == (12, ())


def directors() -> tuple[dict[str, int | None], list[Ends]]:
    """Four leaves, two directors of two line boards each: leaf n has two cables to each director,
    leaves 0 and 1 at the first board, 2 and 3 at the second."""
    boards = {f"MF0;core{core}:X/L{board}/U1": 2 for core in range(2) for board in range(2)}
    switches: dict[str, int | None] = {f"leaf{leaf}": 1 for leaf in range(4)} | boards
    cables: list[Ends] = [
        (
            f"leaf{leaf}",
            10 + 2 * core + lane,
            f"MF0;core{core}:X/L{leaf // 2}/U1",
            2 * leaf + lane + 1,
        )
        for leaf in range(4)
        for core in range(2)
        for lane in range(2)
    ]
    return switches, cables


def test_boards_fold_into_directors_and_are_drawn_one_by_one_after_them() -> None:
    overview, boards = matrices_of(tiers_of(described(*directors())))
    assert (overview.by_director, boards.by_board) == (True, True)
    assert [column.name for column in overview.columns] == ["core0", "core1"]
    assert [column.name for column in boards.columns] == [
        "core0 L0",
        "core0 L1",
        "core1 L0",
        "core1 L1",
    ]
    assert {len(cell.cables) for cell in overview.cells} == {2}
    assert (overview.unexpected, boards.unexpected, boards.has_pattern) == ((), (), False)


def test_a_missing_cable_to_a_director_is_missed_though_no_board_has_a_pattern() -> None:
    switches, cables = directors()
    overview, boards = matrices_of(tiers_of(described(switches, cables[1:])))
    assert odd_cells(overview) == [("leaf0", "core0", CableState.FEWER, 1, 2)]
    assert boards.unexpected == ()


def test_a_ring_has_no_levels_and_no_matrix() -> None:
    ring: list[Ends] = [(f"s{at}", 1, f"s{(at + 1) % 4}", 2) for at in range(4)]
    tiers = tiers_of(described({f"s{at}": 1 for at in range(4)}, ring))
    assert (len(tiers.sideways), tiers.is_layered, matrices_of(tiers)) == (4, False, ())
