"""Switches as circles, cables as lines: a drawing of a small fabric that prints."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot

from markupsafe import Markup

from weft.report.fabric.link_layout import SLANT, LinkLayout, link_layout
from weft.report.fabric.matrix_layout import LONGEST
from weft.report.fabric.matrix_svg import load_colour
from weft.report.fabric.svg import element, number, picture
from weft.report.model import LegendKey
from weft.topology.subnet.anomalies import cable_text
from weft.topology.subnet.cable_matrix import CableState, Cell, Matrix, is_down
from weft.topology.subnet.labels import shown
from weft.topology.subnet.link_load import Load
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import Subnet, SubnetCable
from weft.topology.subnet.tiers import Tiers

HOW_TO_READ = (
    "A circle is a switch, with the number of its hosts; a line stands for the cables between two "
    "switches, as wide as their rates together, with their number where there is more than one."
)
HOW_TO_READ_LOAD = HOW_TO_READ + (
    " The darker a line, the more its fullest direction carries for its fair share."
)
FEW_HOSTS = 4
"""Up to so many hosts of a switch are named in the drawing; more are only counted."""
MANY_LINES = 80
"""From here on lines are thin."""
INK = {
    CableState.AS_EXPECTED: "#8195a8",
    CableState.FEWER: "#b35c00",
    CableState.SLOWER: "#a3457f",
    CableState.DOWN: "#000000",
    CableState.MORE: "#0072b2",
    CableState.MISSING: "#b3261e",
}
DASHES = {
    CableState.FEWER: "9 4",
    CableState.SLOWER: "2 3",
    CableState.DOWN: "1 5",
    CableState.MISSING: "2 6",
}
_WORDS = {
    CableState.AS_EXPECTED: "as the siblings",
    CableState.FEWER: "fewer cables than the siblings",
    CableState.SLOWER: "slower",
    CableState.DOWN: "down",
    CableState.MORE: "more cables than the siblings",
    CableState.MISSING: "no cable where the siblings have some",
}
Pair = tuple[int, int]


def draw(
    subnet: Subnet, tiers: Tiers, matrices: Sequence[Matrix], load: Load | None, *, title: str
) -> Markup:
    """The whole drawing."""
    layout = link_layout(tiers)
    cells = _cells(matrices)
    by_pair = _by_pair(tiers)
    canvas = _Canvas(subnet, tiers, layout, load, len(by_pair))
    fastest = max((_gbps(cables) for cables in by_pair.values()), default=0.0)
    parts = []
    for pair in sorted(
        {**by_pair, **_missing(cells)}, key=lambda pair: _fullest(by_pair, pair, load)
    ):
        cables, cell = by_pair.get(pair, []), cells.get(pair)
        state = cell.state if cell else _state(cables)
        share = _gbps(cables) / fastest if fastest else 0.0
        parts.append(_line(canvas, pair, cables, state, share))
    parts += [_switch(canvas, node) for node in layout.places]
    return picture(
        parts,
        width=layout.width,
        height=layout.height,
        title=title,
        class_="links",
        id_="links-svg",
    )


def legend(matrices: Sequence[Matrix]) -> tuple[LegendKey, ...]:
    """Line styles that occur."""
    states = {cell.state for m in matrices for cell in m.cells} - {CableState.AS_EXPECTED}
    return tuple(
        LegendKey(
            picture(
                [_stroke("M0 8H34", state, 3.0)],
                width=34,
                height=16,
                title=state.value,
                class_="key",
            ),
            words,
        )
        for state, words in _WORDS.items()
        if state in states
    )


def _cells(matrices: Sequence[Matrix]) -> dict[Pair, Cell]:
    """Cells between single switches, by both."""
    found = {}
    for matrix in matrices:
        for cell in matrix.cells:
            row, column = matrix.rows[cell.row].switches, matrix.columns[cell.column].switches
            if len(row) == len(column) == 1:
                found[row[0], column[0]] = cell
    return found


def _missing(cells: Mapping[Pair, Cell]) -> dict[Pair, list[SubnetCable]]:
    return {pair: [] for pair, cell in cells.items() if not cell.cables}


def _by_pair(tiers: Tiers) -> dict[Pair, list[SubnetCable]]:
    by_pair: dict[Pair, list[SubnetCable]] = defaultdict(list)
    for cables in tiers.between.values():
        for cable in cables:
            by_pair[cable.a.node, cable.b.node].append(cable)
    for cable in tiers.sideways:
        by_pair[min(cable.a.node, cable.b.node), max(cable.a.node, cable.b.node)].append(cable)
    return dict(by_pair)


def _fullest(by_pair: Mapping[Pair, Sequence[SubnetCable]], pair: Pair, load: Load | None) -> float:
    """The fullest cable is drawn last, above the others."""
    cables = by_pair.get(pair, ())
    return max((load.of(cable.ends) for cable in cables), default=0.0) if load else 0.0


def _state(cables: Sequence[SubnetCable]) -> CableState:
    return CableState.DOWN if any(is_down(cable) for cable in cables) else CableState.AS_EXPECTED


def _gbps(cables: Sequence[SubnetCable]) -> float:
    return sum(cable.gbps or 0.0 for cable in cables)


def _stroke(
    d: str, state: CableState, width: float, colour: str | None = None, title: str | None = None
) -> str:
    return element(
        "path",
        *([element("title", text=title)] if title else []),
        d=d,
        class_="link",
        fill="none",
        stroke=colour or INK[state],
        stroke_width=width,
        stroke_dasharray=DASHES.get(state),
    )


@dataclass(frozen=True, slots=True)
class _Canvas:
    subnet: Subnet
    tiers: Tiers
    layout: LinkLayout
    load: Load | None
    n_lines: int

    @property
    def thinnest(self) -> float:
        return 1.2 if self.n_lines <= MANY_LINES else 0.8

    @property
    def thickness(self) -> float:
        return 4.8 if self.n_lines <= MANY_LINES else 2.2


def _line(
    canvas: _Canvas, pair: Pair, cables: Sequence[SubnetCable], state: CableState, share: float
) -> str:
    """The cables of a pair; `share`: of the rate of the pair with the highest."""
    tiers, layout, load = canvas.tiers, canvas.layout, canvas.load
    (x1, y1), (x2, y2) = (layout.places[node] for node in pair)
    colour, texts = None, [cable_text(tiers, cable) for cable in cables]
    if load is not None and cables:
        fullest = max(load.of(cable.ends) for cable in cables)
        colour = load_colour(fullest)
        texts.append(f"load {fullest:.2f} times the fair share")
    if state is CableState.MISSING:
        names = " - ".join(tiers.labels[node].name for node in pair)
        texts = [f"{names}: no cable, where the siblings have some"]
    bend = _bend(layout, (x1, y1), (x2, y2))
    curve = f"M{number(x1)} {number(y1)}{bend}{number(x2)} {number(y2)}"
    line = _stroke(
        curve, state, canvas.thinnest + canvas.thickness * share, colour, "\n".join(texts)
    )
    if len(cables) < 2 and state not in (CableState.FEWER, CableState.MISSING):
        return line
    at = 0.3 if layout.layered else 0.5
    x, y = x1 + at * (x2 - x1), y1 + at * (y2 - y1)
    is_anomaly = state in (CableState.FEWER, CableState.MISSING)
    count = element(
        "text", text=str(len(cables)), x=x, y=y + 4, class_="odd" if is_anomaly else "n"
    )
    return line + count


def _bend(layout: LinkLayout, a: tuple[float, float], b: tuple[float, float]) -> str:
    """Chords of a circle bend towards its centre, so that neighbours stay distinct."""
    if layout.layered:
        return "L"
    cx, cy = layout.width / 2, layout.height / 2
    x, y = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
    # The longer a chord, the more it bends: neighbours stay next to each other.
    bend = 0.4 * hypot(a[0] - b[0], a[1] - b[1]) / layout.height
    return f"Q{number(x + bend * (cx - x))} {number(y + bend * (cy - y))} "


def _switch(canvas: _Canvas, node: int) -> str:
    subnet, tiers, layout = canvas.subnet, canvas.tiers, canvas.layout
    x, y = layout.places[node]
    dx, dy = layout.outward[node]
    hosts = tiers.hosts.get(node, ())
    name = tiers.labels[node].name
    texts = [f"{name}: {len(hosts)} hosts and other adapters"]
    texts += [f"[{port}] {shown(subnet.name(host))}" for port, host in hosts]
    parts = [
        element("title", text="\n".join(texts)),
        element("circle", cx=x, cy=y, r=12.0, class_="switch"),
    ]
    if hosts:
        parts.append(element("text", text=str(len(hosts)), x=x, y=y + 4, class_="n"))
    lines = [_cut(name)]
    if 0 < len(hosts) <= FEW_HOSTS and layout.layered and len(tiers.switches.get(1, ())) <= 12:
        lines += [_cut(host_of(shown(subnet.name(host)))) for _, host in hosts]
    parts += _names(lines, (x, y), (dx, dy), layout)
    at = list(tiers.labels).index(node)
    return element("g", *parts, class_="node", data_switch=at, tabindex=0)


def _names(
    lines: Sequence[str],
    at: tuple[float, float],
    outward: tuple[float, float],
    layout: LinkLayout,
) -> list[str]:
    (x, y), (dx, dy) = at, outward
    if layout.slanted:
        down = dy > 0
        turn = f"translate({number(x)} {number(y + (22 if down else -17))})"
        turn += f"rotate({SLANT if down else -SLANT})"
        return [element("text", text=lines[0], transform=turn, text_anchor="start")]
    if not layout.layered:
        anchor = "start" if dx > 0.2 else "end" if dx < -0.2 else "middle"
        return [
            element("text", text=lines[0], x=x + 18 * dx, y=y + 18 * dy + 4, text_anchor=anchor)
        ]
    first = y - 19 if dy < 0 else y + 28
    return [
        element("text", text=text, x=x, y=first + 14 * number_, class_=None if not number_ else "n")
        for number_, text in enumerate(lines)
    ]


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
