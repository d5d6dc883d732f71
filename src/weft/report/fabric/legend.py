"""Legends: squares and lines with their meanings."""

from markupsafe import Markup

from weft.report.fabric.matrix_svg import COLOURS, LOAD_CLASSES, mark
from weft.report.fabric.svg import element, picture
from weft.report.model import LegendKey
from weft.topology.subnet.cable_matrix import CableState, Matrix

_STATE_WORDS = {
    CableState.AS_EXPECTED: "as the siblings",
    CableState.FEWER: "fewer cables than the siblings (minus)",
    CableState.MISSING: "no cable where the siblings have some (cross)",
    CableState.SLOWER: "a cable slower than the others or than both ends can do (arrow down)",
    CableState.DOWN: "a cable that is down (exclamation mark)",
    CableState.MORE: "more cables than the siblings (plus)",
}


def state_legend(matrix: Matrix, *, loaded: bool) -> tuple[LegendKey, ...]:
    """The states that occur, with colour and mark."""
    states = {cell.state for cell in matrix.cells}
    return tuple(
        LegendKey(_state_square(state, loaded=loaded), _words(matrix, state))
        for state in reversed(CableState)
        if state in states and not (loaded and state is CableState.AS_EXPECTED)
    )


def _words(matrix: Matrix, state: CableState) -> str:
    if state is CableState.AS_EXPECTED and not matrix.has_pattern:
        return "cables" if matrix.level == 0 else "cables (their number follows no pattern)"
    return _STATE_WORDS[state]


def load_legend() -> tuple[LegendKey, ...]:
    """The classes of load."""
    return tuple(LegendKey(_load_square(colour), words) for _, colour, words in LOAD_CLASSES)


def _state_square(state: CableState, *, loaded: bool) -> Markup:
    """A square of the legend for a state."""
    ink = "#fff" if state is CableState.DOWN and not loaded else "#000"
    fill = "#fff" if loaded else COLOURS[state]
    edge = state in (CableState.MISSING, CableState.FEWER) or loaded
    square = element(
        "rect", x=1, y=1, width=14, height=14, fill=fill, stroke="#000" if edge else fill
    )
    strokes = element("path", d=mark(state, 1, 1, 14, 14), stroke=ink, class_="mark")
    return picture([square, strokes], width=16, height=16, title=state.value, class_="key")


def _load_square(colour: str) -> Markup:
    """A square of the legend for a class of load."""
    square = element("rect", x=1, y=1, width=14, height=14, fill=colour, stroke="#999")
    return picture([square], width=16, height=16, title="load", class_="key")
