"""The place of a matrix's rows and columns on the page: few columns fold into panels."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from weft.report.fabric.svg import LETTER, LONGEST
from weft.topology.subnet.cable_matrix import Matrix, MatrixLine

WIDTH = 1180
"""Width of a page in pixels."""
TALLEST = 880
"""Height of a screen in pixels."""
WIDEST_CELL, TALLEST_CELL, LEAST_CELL = 24.0, 18.0, 1.5
FONT = 11
PANEL_ROWS = 40
PANEL_GAP = 26


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """Pixels, before any zoom. A panel holds `panel_rows` rows and every column."""

    n_rows: int
    n_columns: int
    cell_width: float
    cell_height: float
    left: float
    top: float
    panel_rows: int
    panel_width: float

    @property
    def n_panels(self) -> int:
        """How many panels stand side by side."""
        return max(1, ceil(self.n_rows / self.panel_rows))

    @property
    def width(self) -> float:
        """Of all panels."""
        return self.n_panels * self.panel_width - (PANEL_GAP if self.n_panels > 1 else 0)

    @property
    def height(self) -> float:
        """Of the highest panel, with the names of its columns."""
        return self.top + min(self.panel_rows, self.n_rows) * self.cell_height + 4

    @property
    def row_step(self) -> int:
        """Every so many rows there is room for a name."""
        return max(1, ceil(FONT / self.cell_height))

    @property
    def column_step(self) -> int:
        """Every so many columns there is room for a name."""
        return max(1, ceil(FONT / self.cell_width))

    def at(self, row: int, column: int) -> tuple[float, float]:
        """The upper left corner of a cell."""
        panel, in_panel = divmod(row, self.panel_rows)
        x = panel * self.panel_width + self.left + column * self.cell_width
        return x, self.top + in_panel * self.cell_height


def layout_of(matrix: Matrix) -> MatrixLayout:
    """The layout of a matrix."""
    n_rows, n_columns = len(matrix.rows), max(1, len(matrix.columns))
    left = max((len(own_name(row, in_group=False)) for row in matrix.rows), default=0) * LETTER + 16
    groups = groups_of(matrix.columns)
    in_group = {at for _, first, stop in groups for at in range(first, stop)}
    names = (own_name(line, in_group=at in in_group) for at, line in enumerate(matrix.columns))
    top = max(map(len, names), default=0) * LETTER + 14 + (16 if groups else 0)
    folded = left + n_columns * WIDEST_CELL + PANEL_GAP
    n_panels = min(int((WIDTH + PANEL_GAP) / folded), ceil(n_rows / PANEL_ROWS))
    if n_rows > PANEL_ROWS and n_panels > 1:
        panel_rows = ceil(n_rows / n_panels)
        cell = min(TALLEST_CELL, max(8.0, TALLEST / panel_rows))
        return MatrixLayout(n_rows, n_columns, WIDEST_CELL, cell, left, top, panel_rows, folded)
    width = min(WIDEST_CELL, max(LEAST_CELL, (WIDTH - left) / n_columns))
    height = min(TALLEST_CELL, max(LEAST_CELL, (TALLEST - top) / max(1, n_rows)))
    panel_width = left + n_columns * width + 4
    return MatrixLayout(n_rows, n_columns, width, height, left, top, max(1, n_rows), panel_width)


def groups_of(lines: Sequence[MatrixLine]) -> tuple[tuple[str, int, int], ...]:
    """Neighbours whose names begin with the same word ('core0 L01', 'core0/L02'): the word, the
    first line and the one behind the last; nothing where most lines are by themselves."""
    words = [_split(line.name)[0] for line in lines]
    starts = [at for at, word in enumerate(words) if at == 0 or word != words[at - 1]]
    found = [
        (words[first], first, stop)
        for first, stop in pairwise([*starts, len(lines)])
        if words[first] and stop - first > 1
    ]
    return tuple(found) if 2 * len(found) <= len(lines) and found else ()


def _split(name: str) -> tuple[str, str]:
    """'core0', 'L01' of 'core0 L01' and 'core0/L01'."""
    at = max(name.rfind(" "), name.rfind("/"))
    return name[: max(at, 0)], name[at + 1 :]


def own_name(line: MatrixLine, *, in_group: bool) -> str:
    """A name as it is drawn: without the word of its group, shortened to both ends where long."""
    name = _split(line.name)[1] if in_group else line.name
    if len(name) <= LONGEST:
        return name
    half = LONGEST // 2 - 1
    return f"{name[:half]}…{name[-half:]}"
