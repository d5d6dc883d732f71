"""The cables between two levels of switches by the share they reached, suspects marked."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from weft.report.fabric.matrix_layout import MatrixLayout, layout_of
from weft.report.fabric.matrix_svg import block_lines, column_names, row_names
from weft.report.fabric.share_classes import CLASSES, share_key, share_legend
from weft.report.fabric.svg import LETTER, element, legend_key, number, picture, rectangles
from weft.report.model import LegendKey
from weft.topology.subnet.cable_matrix import Cell, Matrix

NEVER = "#ffffff"
RING = "#b3261e"
MOST_MARKS = 60
GAP = 14.0
"""Between the matrix and the names of suspects."""

CableKey = frozenset[str]
"""Both ports of a cable by name."""

CablesOf = Mapping[tuple[int, int], Sequence[CableKey]]
"""The cables of a cell, by its row and column."""


@dataclass(frozen=True, slots=True)
class SuspectMark:
    """A suspect: a cable, by its ports, or a switch (all its cables); `text` gives the reason."""

    cable: CableKey | None
    switch: str | None
    label: str
    text: str


def legend() -> tuple[LegendKey, ...]:
    """The classes, the cables without readings, and the ring."""
    ring = element("circle", cx=8, cy=8, r=6, fill="none", stroke=RING, stroke_width=2)
    suspect = legend_key("suspect", ring, title="suspect")
    return (*share_legend(), share_key("cable that no pair crossed", NEVER), suspect)


def draw(
    matrix: Matrix,
    names: CablesOf,
    shares: Mapping[CableKey, float],
    suspects: Sequence[SuspectMark],
    *,
    title: str,
    id_: str,
) -> Markup:
    """The whole drawing. `names`: the cables of a cell by their ports; `shares`: the median of what
    readings over a cable reached, of those that any crossed."""
    layout = layout_of(matrix)
    found = []
    for cell in matrix.cells:
        ends = (matrix.rows[cell.row].name, matrix.columns[cell.column].name)
        cables = names[cell.row, cell.column]
        found += [(cell, one) for one in suspects if one.cable in cables or one.switch in ends]
    marked = [cell for cell, _ in found]
    parts = [
        *_fills(matrix, layout, names, shares),
        element("path", d=block_lines(matrix, layout), stroke="#888", fill="none"),
        element("g", *row_names(matrix, layout, marked), class_="rows"),
        element("g", *column_names(matrix, layout, marked), class_="columns"),
        *_rings(layout, found[:MOST_MARKS]),
    ]
    longest = max((len(one.label) for one in suspects), default=0)
    return picture(
        parts,
        width=layout.width + (GAP + longest * LETTER + 12 if longest else 8),
        height=layout.height,
        title=title,
        class_="lit-matrix",
        id_=id_,
    )


def _fills(
    matrix: Matrix,
    layout: MatrixLayout,
    names: CablesOf,
    shares: Mapping[CableKey, float],
) -> list[str]:
    """One path a colour: a cell has the colour of its slowest cable."""
    places: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for cell in matrix.cells:
        known = [shares[cable] for cable in names[cell.row, cell.column] if cable in shares]
        classes = (colour for limit, colour, _ in CLASSES if known and min(known) >= limit)
        colour = next(classes, CLASSES[-1][1] if known else NEVER)
        corner = layout.at(cell.row, cell.column)
        places[colour].append((*corner, layout.cell_width, layout.cell_height))
    edge = "#fff" if min(layout.cell_width, layout.cell_height) >= 6 else None
    return [
        element(
            "path",
            d=rectangles(at),
            fill=colour,
            stroke="#ddd" if colour == NEVER else edge,
            stroke_width=0.5,
        )
        for colour, at in places.items()
    ]


def _rings(layout: MatrixLayout, found: Sequence[tuple[Cell, SuspectMark]]) -> list[str]:
    """A ring around each marked cell; a line from the first cell of each suspect to its name."""
    parts, labelled = [], set()
    w, h = layout.cell_width, layout.cell_height
    for cell, one in found:
        x, y = layout.at(cell.row, cell.column)
        x, y = x + w / 2, y + h / 2
        radius = max(w, h) / 2 + 4
        marks = [element("circle", cx=x, cy=y, r=radius, class_="ring", fill="none", stroke=RING)]
        if one.label not in labelled:
            labelled.add(one.label)
            line = f"M{number(x + radius)} {number(y)}H{number(layout.width + GAP)}"
            at = layout.width + GAP + 3
            marks.append(element("path", d=line, stroke=RING, fill="none"))
            marks.append(element("text", text=one.label, x=at, y=y + 4, class_="lit"))
        # The target of the pointer: a ring alone has no inside.
        marks.append(element("circle", cx=x, cy=y, r=radius, fill_opacity=0))
        parts.append(element("g", element("title", text=one.text), *marks))
    return parts
