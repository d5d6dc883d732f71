"""The cables between levels in plain characters: rows with anomalies, others folded."""

import os
import sys
from collections.abc import Sequence

import click

from weft.topology.subnet.anomalies import cable_anomalies, title_of
from weft.topology.subnet.cable_matrix import Matrix, matrices_of, square_of
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.tiers import Tiers, tiers_of

MOST_COLUMNS = 40
MOST_ROWS = 30
MOST_ANOMALIES = 8
LEAST_NAME = 12
NOTHING, MANY = ".", "*"
LEGEND = {
    "missing": "x none where siblings have some",
    "down": "! a cable is down",
    "fewer": "- fewer than the siblings",
    "slower": "v slower",
    "more": "+ more",
}
"""By state of a cell its mark and the meaning of that."""
GLYPHS = {state: words[0] for state, words in LEGEND.items()}


def picture(subnet: Subnet, width: int | None) -> list[str]:
    """Lines for every matrix: its finding, the matrix if it has few columns, its anomalies."""
    tiers = tiers_of(subnet)
    if not tiers.is_layered:
        if tiers.n_switches < 2 or not (tiers.sideways or tiers.between):
            return []
        square = square_of(tiers)
        return [f"{title_of(square)}.", *_anomaly_lines(subnet, tiers, square)]
    lines: list[str] = []
    for matrix in matrices_of(tiers):
        if matrix.says_more:
            lines += ["", f"{title_of(matrix)}."]
            if len(matrix.columns) <= min(MOST_COLUMNS, (width or 100) - 2 * LEAST_NAME):
                lines += _rows(matrix, width or 100)
            lines += _anomaly_lines(subnet, tiers, matrix)
    return lines[1:]


def _anomaly_lines(subnet: Subnet, tiers: Tiers, matrix: Matrix) -> list[str]:
    lines = []
    anomalies = cable_anomalies(subnet, tiers, matrix)
    for one in anomalies[:MOST_ANOMALIES]:
        look_at = f"; {one.look_at}" if one.look_at else ""
        lines.append(f"  {one.row} to {one.column}: {one.what}{look_at}")
    if len(anomalies) > MOST_ANOMALIES:
        lines.append(
            f"  and {len(anomalies) - MOST_ANOMALIES} more: --report PAGE.html lists them all"
        )
    return lines


def _rows(matrix: Matrix, width: int) -> list[str]:
    """Neighbours that look alike are one line; of too many lines only those with anomalies."""
    strings = _glyphs(matrix)
    folded: list[tuple[int, int, str]] = []
    for at, text in enumerate(strings):
        if folded and folded[-1][2] == text:
            folded[-1] = (folded[-1][0], at, text)
        else:
            folded.append((at, at, text))
    unexpected = {cell.row for cell in matrix.unexpected}
    shown = folded if len(folded) <= MOST_ROWS else [one for one in folded if one[0] in unexpected]
    room = max(LEAST_NAME, width - len(matrix.columns) - 4)
    names = []
    for first, last, _ in shown[:MOST_ROWS]:
        name = " to ".join(dict.fromkeys((matrix.rows[first].name, matrix.rows[last].name)))
        names.append(name if len(name) <= room else name[: room - 3] + "...")
    pad = max((len(name) for name in names), default=0)
    lines = [
        f"  {name.ljust(pad)}  {_painted(text)}"
        for name, (_, _, text) in zip(names, shown, strict=False)
    ]
    left_out = len(matrix.rows) - sum(last - first + 1 for first, last, _ in shown[:MOST_ROWS])
    if left_out:
        lines.append(f"  ({left_out} more rows)")
    return [*lines, *_legend(matrix, strings)]


def _glyphs(matrix: Matrix) -> list[str]:
    """A row is a string: the number of cables of a cell, or the mark of its anomaly."""
    rows = [[NOTHING] * len(matrix.columns) for _ in matrix.rows]
    for cell in matrix.cells:
        n = len(cell.cables)
        glyph = GLYPHS.get(cell.state.value) or (str(n) if n < 10 else MANY)
        rows[cell.row][cell.column] = glyph
    return ["".join(row) for row in rows]


def _legend(matrix: Matrix, strings: Sequence[str]) -> list[str]:
    """The meaning of columns, and the marks that occur."""
    used = set("".join(strings))
    first, last = matrix.columns[0].name, matrix.columns[-1].name
    columns = first if len(matrix.columns) == 1 else f"{first} to {last}"
    marks = ["a figure: cables", *(words for words in LEGEND.values() if words[0] in used)]
    return [f"  columns: {columns}; {', '.join(marks)}"]


def _painted(text: str) -> str:
    """Marks of anomalies in bold red on a terminal, unless NO_COLOR is set."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    marks = set(GLYPHS.values())
    return "".join(
        click.style(letter, fg="red", bold=True) if letter in marks else letter for letter in text
    )
