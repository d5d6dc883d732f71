"""The cables between levels in plain characters: odd rows alone, others folded."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from weft.topology.subnet.cable_matrix import Cell, Matrix
    from weft.topology.subnet.subnet import Subnet
    from weft.topology.subnet.tiers import Tiers

MOST_COLUMNS = 40
MOST_ROWS = 30
MOST_ODD = 8
LEAST_NAME = 12
GLYPHS = {
    "missing": "x",
    "down": "!",
    "fewer": "-",
    "slower": "v",
    "more": "+",
}
NOTHING, MANY = ".", "*"
LEGEND = {
    "x": "x none where siblings have some",
    "!": "! a cable is down",
    "-": "- fewer than the siblings",
    "v": "v slower",
    "+": "+ more",
}


def picture(subnet: "Subnet", width: int | None) -> list[str]:
    """Lines for every matrix: its finding, the matrix where it has few columns, what is odd."""
    from weft.topology.subnet.anomalies import title_of
    from weft.topology.subnet.cable_matrix import matrices_of, square_of
    from weft.topology.subnet.tiers import tiers_of

    tiers = tiers_of(subnet)
    if not tiers.is_layered:
        if tiers.n_switches < 2 or not (tiers.sideways or tiers.between):
            return []
        square = square_of(tiers)
        return [f"{title_of(square)}.", *_odd_lines(subnet, tiers, square)]
    lines: list[str] = []
    for matrix in matrices_of(tiers):
        if matrix.says_more:
            lines += ["", *_matrix_lines(subnet, tiers, matrix, width or 100)]
    return lines[1:]


def _matrix_lines(subnet: "Subnet", tiers: "Tiers", matrix: "Matrix", width: int) -> list[str]:
    from weft.topology.subnet.anomalies import title_of

    lines = [f"{title_of(matrix)}."]
    if len(matrix.columns) <= min(MOST_COLUMNS, width - 2 * LEAST_NAME):
        lines += _rows(matrix, width)
    return [*lines, *_odd_lines(subnet, tiers, matrix)]


def _odd_lines(subnet: "Subnet", tiers: "Tiers", matrix: "Matrix") -> list[str]:
    from weft.topology.subnet.anomalies import cable_anomalies

    lines = []
    odd = cable_anomalies(subnet, tiers, matrix)
    for one in odd[:MOST_ODD]:
        look_at = f"; {one.look_at}" if one.look_at else ""
        lines.append(f"  {one.row} to {one.column}: {one.what}{look_at}")
    if len(odd) > MOST_ODD:
        lines.append(f"  and {len(odd) - MOST_ODD} more: --report PAGE.html lists them all")
    return lines


def _rows(matrix: "Matrix", width: int) -> list[str]:
    """Neighbours that look alike are one line; where there are too many, odd ones alone."""
    strings = _glyphs(matrix)
    folded: list[tuple[int, int, str]] = []
    for at, text in enumerate(strings):
        if folded and folded[-1][2] == text:
            folded[-1] = (folded[-1][0], at, text)
        else:
            folded.append((at, at, text))
    odd = {cell.row for cell in matrix.unexpected}
    shown = folded if len(folded) <= MOST_ROWS else [one for one in folded if one[0] in odd]
    names = [_name(matrix, first, last) for first, last, _ in shown[:MOST_ROWS]]
    room = max(LEAST_NAME, width - len(matrix.columns) - 4)
    names = [_cut(name, room) for name in names]
    pad = max((len(name) for name in names), default=0)
    lines = [
        f"  {name.ljust(pad)}  {_painted(text)}"
        for name, (_, _, text) in zip(names, shown, strict=False)
    ]
    left_out = len(matrix.rows) - sum(last - first + 1 for first, last, _ in shown[:MOST_ROWS])
    if left_out:
        lines.append(f"  ({left_out} more rows)")
    return [*lines, *_legend(matrix, strings)]


def _glyphs(matrix: "Matrix") -> list[str]:
    """A row is a string: the number of cables of a cell, or what is odd about it."""
    rows = [[NOTHING] * len(matrix.columns) for _ in matrix.rows]
    for cell in matrix.cells:
        rows[cell.row][cell.column] = _glyph(cell)
    return ["".join(row) for row in rows]


def _glyph(cell: "Cell") -> str:
    n = len(cell.cables)
    return GLYPHS.get(cell.state.value) or (str(n) if n < 10 else MANY)


def _name(matrix: "Matrix", first: int, last: int) -> str:
    names = matrix.rows[first].name, matrix.rows[last].name
    return names[0] if first == last else f"{names[0]} to {names[1]}"


def _cut(name: str, room: int) -> str:
    return name if len(name) <= room else name[: room - 3] + "..."


def _legend(matrix: "Matrix", strings: Sequence[str]) -> list[str]:
    """What columns are, and the marks that occur."""
    used = set("".join(strings))
    first, last = matrix.columns[0].name, matrix.columns[-1].name
    columns = first if len(matrix.columns) == 1 else f"{first} to {last}"
    marks = ["a figure: cables", *(words for glyph, words in LEGEND.items() if glyph in used)]
    return [f"  columns: {columns}; {', '.join(marks)}"]


def _painted(text: str) -> str:
    """Odd marks in bold red on a terminal, unless NO_COLOR says no."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    odd = set(GLYPHS.values())
    return "".join(
        click.style(letter, fg="red", bold=True) if letter in odd else letter for letter in text
    )
