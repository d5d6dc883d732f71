"""Where cells stand: few columns fold into panels, many shrink, names keep their room."""

from weft.report.fabric.matrix_layout import (
    LETTER,
    WIDTH,
    groups_of,
    layout_of,
    own_name,
)
from weft.topology.subnet.cable_matrix import Matrix, MatrixLine


def matrix(n_rows: int, n_columns: int) -> Matrix:
    rows = tuple(MatrixLine(f"leaf{at:03d}", (at,)) for at in range(n_rows))
    columns = tuple(MatrixLine(f"core{at}", (n_rows + at,)) for at in range(n_columns))
    return Matrix(level=1, by_director=False, by_board=False, rows=rows, columns=columns, cells=())


def test_182_rows_of_6_columns_fold_into_five_panels_that_fit_the_page() -> None:
    layout = layout_of(matrix(182, 6))
    # 7 letters and 16 pixels to the left, 6 cells of 24, a gap of 26: 230 pixels a panel.
    assert layout.panel_width == 7 * LETTER + 16 + 6 * 24 + 26
    assert (layout.n_panels, layout.panel_rows) == (5, 37)
    assert layout.width <= WIDTH
    assert layout.at(37, 0) == (layout.panel_width + layout.left, layout.top)
    assert layout.at(36, 5) == (layout.left + 5 * 24, layout.top + 36 * layout.cell_height)


def test_many_columns_shrink_to_the_width_of_the_page_and_name_every_other_one() -> None:
    layout = layout_of(matrix(182, 120))
    assert layout.n_panels == 1
    assert layout.cell_width == (WIDTH - layout.left) / 120
    assert layout.width <= WIDTH + 4
    assert layout.column_step == 2
    assert layout.row_step * layout.cell_height >= 11 > (layout.row_step - 1) * layout.cell_height


def test_a_small_matrix_has_cells_as_large_as_its_numbers() -> None:
    layout = layout_of(matrix(4, 2))
    assert (layout.cell_width, layout.cell_height, layout.n_panels) == (24, 18, 1)


def test_boards_stand_under_the_name_of_their_director() -> None:
    lines = [
        MatrixLine(name, (at,)) for at, name in enumerate(["a L1", "a L2", "b L1", "b L2", "c"])
    ]
    assert groups_of(lines) == (("a", 0, 2), ("b", 2, 4))
    assert own_name(lines[1], in_group=True) == "L2"
    assert groups_of(lines[1:3]) == ()


def test_of_a_long_name_the_middle_is_left_out() -> None:
    assert (
        own_name(MatrixLine("x" * 20 + "y" * 20, (0,)), in_group=False) == "x" * 12 + "…" + "y" * 12
    )


def test_boards_named_with_a_slash_stand_together_too() -> None:
    lines = [MatrixLine(f"director-0{d}/line-0{b}", (10 * d + b,)) for d in (1, 2) for b in (1, 2)]
    assert groups_of(lines) == (("director-01", 0, 2), ("director-02", 2, 4))
    assert own_name(lines[3], in_group=True) == "line-02"
