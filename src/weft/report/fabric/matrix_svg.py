"""A matrix of cables as a drawing: colour shows the state (or the load), a mark repeats it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from weft.report.fabric.matrix_layout import MatrixLayout, groups_of, own_name
from weft.report.fabric.svg import LETTER, element, legend_key, number, picture, rectangles
from weft.report.model import LegendKey
from weft.topology.subnet.cable_matrix import CableState, Cell, Matrix, MatrixLine
from weft.topology.subnet.link_load import Load

# SOURCE: Okabe & Ito, Color Universal Design (2008).
COLOURS: Mapping[CableState, str] = {
    CableState.MISSING: "#ffffff",
    CableState.DOWN: "#000000",
    CableState.FEWER: "#e69f00",
    CableState.SLOWER: "#cc79a7",
    CableState.MORE: "#56b4e9",
    CableState.AS_EXPECTED: "#c3d0dc",
}
LOAD_CLASSES: tuple[tuple[float, str, str], ...] = (
    (0.5, "#e6ecf3", "below 0.5"),
    (0.9, "#c6d9ea", "0.5 to 0.9"),
    (1.1, "#9dbfdc", "0.9 to 1.1"),
    (1.5, "#5a92c0", "1.1 to 1.5"),
    (2.0, "#22609c", "1.5 to 2"),
    (float("inf"), "#08284d", "2 and more"),
)
"""Up to which multiple of the fair share, in which colour, in which words: the darker the more."""
_STATE_WORDS = {
    CableState.AS_EXPECTED: "as the siblings",
    CableState.FEWER: "fewer cables than the siblings (minus)",
    CableState.MISSING: "no cable where the siblings have some (cross)",
    CableState.SLOWER: "a cable slower than the others or than both ends can do (arrow down)",
    CableState.DOWN: "a cable that is down (exclamation mark)",
    CableState.MORE: "more cables than the siblings (plus)",
}
SMALL = 10.0
"""Below so many pixels a mark cannot be seen, and a ring points at it."""
MOST_RINGS = 200
MOST_NUMBERS = 2500
"""A matrix with more cells than this shows no numbers in them."""


LIGHT_BELOW = 1.1
"""From this class on the fill is dark, and text on it white."""


def load_colour(share: float) -> str:
    """The colour of a multiple of the fair share."""
    return next(colour for limit, colour, _ in LOAD_CLASSES if share < limit)


def draw(
    matrix: Matrix, layout: MatrixLayout, load: Load | None, *, title: str, id_: str
) -> Markup:
    """The whole drawing. The names and the cells are groups that the page's script knows."""
    anomalies = [cell for cell in matrix.cells if cell.state is not CableState.AS_EXPECTED]
    parts = [
        element("g", *_fills(matrix, layout, load), class_="cells"),
        element("path", d=_grid(matrix, layout), stroke="#fff", stroke_width=0.5, fill="none"),
        element("path", d=block_lines(matrix, layout), stroke="#888", fill="none"),
        element("g", *_numbers(matrix, layout, load), class_="numbers"),
        element("g", *_marks(anomalies, layout, load), class_="odd"),
        element("g", class_="found"),
        element("g", *row_names(matrix, layout, anomalies), class_="rows"),
        element("g", *column_names(matrix, layout, anomalies), class_="columns"),
    ]
    return picture(
        parts, width=layout.width, height=layout.height, title=title, class_="matrix", id_=id_
    )


def _fills(matrix: Matrix, layout: MatrixLayout, load: Load | None) -> list[str]:
    """One path a colour; neighbours of one colour in a row are one rectangle."""
    by_colour: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    last: tuple[int, int, str] | None = None
    for cell in sorted(matrix.cells, key=lambda cell: (cell.row, cell.column)):
        colour = COLOURS[cell.state]
        if load is not None and cell.cables:
            colour = load_colour(max(load.of(cable.ends) for cable in cell.cables))
        x, y = layout.at(cell.row, cell.column)
        if last == (cell.row, cell.column - 1, colour):
            before = by_colour[colour][-1]
            by_colour[colour][-1] = (*before[:2], before[2] + layout.cell_width, before[3])
        else:
            by_colour[colour].append((x, y, layout.cell_width, layout.cell_height))
        last = (cell.row, cell.column, colour)
    return [
        element("path", d=rectangles(places), fill=colour) for colour, places in by_colour.items()
    ]


def _grid(matrix: Matrix, layout: MatrixLayout) -> str:
    """White lines between cells, block by block, where there is room for them."""
    if min(layout.cell_width, layout.cell_height) < 4:
        return ""
    parts = []
    for rows, columns in _panes(matrix, layout):
        (x, y), w = layout.at(rows[0], columns[0]), len(columns) * layout.cell_width
        h = len(rows) * layout.cell_height
        for at in range(1, len(rows)):
            parts.append(f"M{number(x)} {number(y + at * layout.cell_height)}h{number(w)}")
        for at in range(1, len(columns)):
            parts.append(f"M{number(x + at * layout.cell_width)} {number(y)}v{number(h)}")
    return "".join(parts)


def block_lines(matrix: Matrix, layout: MatrixLayout) -> str:
    """A frame around each block, broken where the block goes on in the next panel."""
    places = []
    for rows, columns in _panes(matrix, layout):
        x, y = layout.at(rows[0], columns[0])
        places.append((x, y, len(columns) * layout.cell_width, len(rows) * layout.cell_height))
    return rectangles(places)


def _panes(matrix: Matrix, layout: MatrixLayout) -> list[tuple[range, range]]:
    """The rows and columns of every block, cut at the ends of panels."""
    panes = []
    for block in sorted({line.block for line in matrix.columns}):
        rows, columns = _span(matrix.rows, block), _span(matrix.columns, block)
        first = rows.start
        while first < rows.stop and columns:
            stop = min(rows.stop, (first // layout.panel_rows + 1) * layout.panel_rows)
            panes.append((range(first, stop), columns))
            first = stop
    return panes


def _span(lines: Sequence[MatrixLine], block: int) -> range:
    places = [at for at, line in enumerate(lines) if line.block == block]
    return range(places[0], places[-1] + 1) if places else range(0)


def _numbers(matrix: Matrix, layout: MatrixLayout, load: Load | None) -> list[str]:
    """How many cables, in every cell where there is room; next to the mark where there is one."""
    w, h = layout.cell_width, layout.cell_height
    if w < 16 or h < 12 or len(matrix.cells) > MOST_NUMBERS:
        return []
    parts = []
    for cell in matrix.cells:
        x, y = layout.at(cell.row, cell.column)
        at = 0.5 if cell.state is CableState.AS_EXPECTED else 0.28
        parts.append(
            element(
                "text",
                text=str(len(cell.cables)),
                x=x + at * w,
                y=y + h / 2 + 4,
                class_="light" if _is_dark(cell, load) else None,
            )
        )
    return parts


def _is_dark(cell: Cell, load: Load | None) -> bool:
    """Whether text on the cell's colour must be white."""
    if load is None or not cell.cables:
        return cell.state is CableState.DOWN
    return max(load.of(cable.ends) for cable in cell.cables) >= LIGHT_BELOW


def _marks(anomalies: Sequence[Cell], layout: MatrixLayout, load: Load | None) -> list[str]:
    parts = []
    w, h = layout.cell_width, layout.cell_height
    ring = min(w, h) < SMALL and len(anomalies) <= MOST_RINGS
    for cell in anomalies:
        x, y = layout.at(cell.row, cell.column)
        ink = "#fff" if _is_dark(cell, load) else "#000"
        if cell.state in (CableState.MISSING, CableState.FEWER) or load is not None:
            parts.append(element("rect", x=x, y=y, width=w, height=h, class_="edge"))
        at = mark(cell.state, x + 0.45 * w, y, 0.55 * w, h) if w >= 16 else ""
        at = at or mark(cell.state, x, y, w, h)
        parts.append(element("path", d=at, stroke=ink, class_="mark"))
        if ring:
            parts.append(
                element("circle", cx=x + w / 2, cy=y + h / 2, r=max(w, h) / 2 + 5, class_="ring")
            )
    return parts


def mark(state: CableState, x: float, y: float, w: float, h: float) -> str:
    """The strokes that show a state without colour: a cross if all are missing, a minus, a plus,
    an arrow down where slower, a bar where down."""
    size = min(w, h) * 0.3
    cx, cy = x + w / 2, y + h / 2
    left, right, up, low = (number(v) for v in (cx - size, cx + size, cy - size, cy + size))
    mid_x, mid_y = number(cx), number(cy)
    return {
        CableState.MISSING: f"M{left} {up}L{right} {low}M{left} {low}L{right} {up}",
        CableState.FEWER: f"M{left} {mid_y}H{right}",
        CableState.MORE: f"M{left} {mid_y}H{right}M{mid_x} {up}V{low}",
        CableState.SLOWER: f"M{left} {up}L{mid_x} {low}L{right} {up}",
        CableState.DOWN: f"M{mid_x} {up}V{mid_y}M{mid_x} {low}v-.5",
        CableState.AS_EXPECTED: "",
    }[state]


def row_names(matrix: Matrix, layout: MatrixLayout, anomalies: Sequence[Cell]) -> list[str]:
    """The name of every row there is room for, and of every row with an anomaly, in bold."""
    marked = {cell.row for cell in anomalies}
    parts = []
    for at, line in enumerate(matrix.rows):
        if at in marked or has_room(at, layout.row_step, marked):
            x, y = layout.at(at, 0)
            parts.append(
                element(
                    "text",
                    text=own_name(line, in_group=False),
                    x=x - 6,
                    y=y + layout.cell_height / 2 + 4,
                    class_="odd" if at in marked else None,
                )
            )
    return parts


def has_room(at: int, step: int, marked: set[int]) -> bool:
    """Whether a name fits that is not marked: every so many, away from marked ones."""
    near = range(at - step + 1, at + step)
    return at % step == 0 and not any(other in marked for other in near if other != at)


def column_names(matrix: Matrix, layout: MatrixLayout, anomalies: Sequence[Cell]) -> list[str]:
    """The same above the columns of every panel, with the words of their groups."""
    marked = {cell.column for cell in anomalies}
    groups = groups_of(matrix.columns)
    in_group = {at for _, first, stop in groups for at in range(first, stop)}
    parts = []
    for panel in range(layout.n_panels):
        row = panel * layout.panel_rows
        for at, line in enumerate(matrix.columns):
            if at in marked or has_room(at, layout.column_step, marked):
                x, y = layout.at(row, at)
                x, y = x + layout.cell_width / 2 + 4, y - 5
                parts.append(
                    element(
                        "text",
                        text=own_name(line, in_group=at in in_group),
                        transform=f"translate({number(x)} {number(y)})rotate(-90)",
                        class_="odd" if at in marked else None,
                    )
                )
        for word, first, stop in groups:
            parts += _group_name(layout, row, word, first, stop)
    return parts


def _group_name(layout: MatrixLayout, row: int, word: str, first: int, stop: int) -> list[str]:
    x, _ = layout.at(row, first)
    w = (stop - first) * layout.cell_width
    if len(word) * LETTER > w:
        word = word[: max(1, int(w / LETTER) - 1)] + "…"
    line = f"M{number(x + 1)} 17v-3h{number(w - 2)}v3"
    return [
        element("path", d=line, stroke="#555", fill="none"),
        element("text", text=word, x=x + w / 2, y=11.0, class_="group"),
    ]


def state_legend(matrix: Matrix, *, loaded: bool) -> tuple[LegendKey, ...]:
    """The states that occur, with colour and mark."""
    states = {cell.state for cell in matrix.cells}
    return tuple(
        _state_key(matrix, state, loaded=loaded)
        for state in reversed(CableState)
        if state in states and not (loaded and state is CableState.AS_EXPECTED)
    )


def _state_key(matrix: Matrix, state: CableState, *, loaded: bool) -> LegendKey:
    words = _STATE_WORDS[state]
    if state is CableState.AS_EXPECTED and not matrix.has_pattern:
        words = "cables" if matrix.level == 0 else "cables (their number follows no pattern)"
    ink = "#fff" if state is CableState.DOWN and not loaded else "#000"
    fill = "#fff" if loaded else COLOURS[state]
    edge = "#000" if state in (CableState.MISSING, CableState.FEWER) or loaded else fill
    square = element("rect", x=1, y=1, width=14, height=14, fill=fill, stroke=edge)
    strokes = element("path", d=mark(state, 1, 1, 14, 14), stroke=ink, class_="mark")
    return legend_key(words, square, strokes, title=state.value)


def load_legend() -> tuple[LegendKey, ...]:
    """The classes of load."""
    squares = {
        words: element("rect", x=1, y=1, width=14, height=14, fill=colour, stroke="#999")
        for _, colour, words in LOAD_CLASSES
    }
    return tuple(legend_key(words, square, title="load") for words, square in squares.items())
