"""Switches as circles, cables as lines: a drawing of a small fabric that prints."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb, cos, hypot, pi, sin

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from weft.core.natural import natural_key
from weft.report.fabric.matrix_svg import load_colour
from weft.report.fabric.svg import (
    LETTER,
    LONGEST,
    cut,
    element,
    legend_key,
    number,
    picture,
)
from weft.report.model import LegendKey
from weft.topology.subnet.anomalies import cable_text
from weft.topology.subnet.cable_matrix import CableState, Cell, Matrix, is_down
from weft.topology.subnet.labels import shown
from weft.topology.subnet.link_load import Load
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import Subnet, SubnetCable
from weft.topology.subnet.tiers import Tiers

HOW_TO_READ = (
    "A circle is a switch, with the number of its hosts. A line stands for the cables between two "
    "switches. It is as wide as their rates together, and has their number if there are several."
)
HOW_TO_READ_LOAD = HOW_TO_READ + (
    " The darker a line, the more its fullest direction carries for its fair share."
)
WIDTH = 1140
LAYER_HEIGHT = 150
MARGIN = 50
SLANT, SLANT_ROOM = 40, 4.0
"""Degrees, and the height in pixels that a letter of a slanted name needs."""
NAMES_HEIGHT = 110
"""Of a switch's name and those of its few hosts."""
RADIUS_OF_ONE = 26
"""Pixels that each switch of a circle adds to its circumference, over 2 pi."""
MOST_IN_A_LAYER = 34
LEAST_GROUP = 3
GAP = 1.0
"""Between groups of a circle, in switches."""
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
RADIUS, CLEARANCE = 12.0, 2.0
"""Of a switch, and how far other switches' cables stay off it, in pixels."""
Pair = tuple[int, int]
Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LinkLayout:
    """Switches by node: x, y in pixels; `outward` is the direction in which names and hosts go;
    `slanted`: names are, since they have no room side by side."""

    width: float
    height: float
    places: Mapping[int, tuple[float, float]]
    outward: Mapping[int, tuple[float, float]]
    layered: bool
    slanted: bool = False


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
    missing = (pair for pair, cell in cells.items() if not cell.cables)
    pairs = dict.fromkeys((*by_pair, *missing))
    # The fullest cable is drawn last, above the others.
    for pair in sorted(pairs, key=lambda pair: _fullest(by_pair, pair, load)):
        cables, cell = by_pair.get(pair, []), cells.get(pair)
        state = CableState.DOWN if any(map(is_down, cables)) else CableState.AS_EXPECTED
        state = cell.state if cell else state
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
        legend_key(words, _stroke("M0 8H34", state, 3.0), title=state.value, width=34)
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


def _by_pair(tiers: Tiers) -> dict[Pair, list[SubnetCable]]:
    by_pair: dict[Pair, list[SubnetCable]] = defaultdict(list)
    for cables in tiers.between.values():
        for cable in cables:
            by_pair[cable.a.node, cable.b.node].append(cable)
    for cable in tiers.sideways:
        by_pair[min(cable.a.node, cable.b.node), max(cable.a.node, cable.b.node)].append(cable)
    return dict(by_pair)


def _fullest(by_pair: Mapping[Pair, Sequence[SubnetCable]], pair: Pair, load: Load | None) -> float:
    cables = by_pair.get(pair, ())
    return max((load.of(cable.ends) for cable in cables), default=0.0) if load else 0.0


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
    curve = f"M{number(x1)} {number(y1)}{_bend(layout, pair)}"
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


def _bend(layout: LinkLayout, pair: Pair) -> str:
    """What leads from one switch of a pair to the other, of the path of an SVG: between levels the
    first of a line, an S and ever wider bows that stays clear of all other switches. Chords of a
    circle bend towards its centre, so that neighbours stay distinct."""
    a, b = (layout.places[node] for node in pair)
    if not layout.layered:
        # The longer a chord, the more it bends: neighbours stay next to each other.
        bend = 0.4 * hypot(a[0] - b[0], a[1] - b[1]) / layout.height
        x, y = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
        return _path((x + bend * (layout.width / 2 - x), y + bend * (layout.height / 2 - y)), b)
    others = np.array([at for node, at in layout.places.items() if node not in pair])
    return next((_path(*by) for by in _ways(layout, a, b) if _is_clear((a, *by), others)), _path(b))


def _ways(layout: LinkLayout, a: Place, b: Place) -> Iterator[tuple[Place, ...]]:
    """Bezier points after the first one, the simplest way first, bows towards the middle first."""
    yield (b,)
    middle = (a[1] + b[1]) / 2
    if a[1] != b[1]:
        yield (a[0], middle), (b[0], middle), b
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = hypot(dx, dy) or 1.0
    inwards = 1 if (middle < layout.height / 2) == (dx > 0) else -1
    for step in range(1, 8):
        # Twice the height of the bow: a curve reaches half the way to its middle point.
        bow = step * LAYER_HEIGHT / 2
        for side in (inwards * bow, -inwards * bow):
            yield ((a[0] + b[0]) / 2 - side * dy / length, middle + side * dx / length), b


def _path(*points: Place) -> str:
    return "LQC"[len(points) - 1] + " ".join(f"{number(x)} {number(y)}" for x, y in points)


def _is_clear(points: Sequence[Place], others: npt.NDArray[np.float64]) -> bool:
    """Whether a Bezier curve stays off the circles at `others`, (switch, 2)."""
    if not others.size:
        return True
    n = len(points) - 1
    t = np.linspace(0, 1, 129)[:, None]
    along = sum(
        comb(n, i) * t**i * (1 - t) ** (n - i) * np.array(at) for i, at in enumerate(points)
    )
    apart = np.linalg.norm(np.asarray(along)[:, None, :] - others[None], axis=2)
    return bool(apart.min() >= RADIUS + CLEARANCE)


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
        element("circle", cx=x, cy=y, r=RADIUS, class_="switch"),
    ]
    if hosts:
        parts.append(element("text", text=str(len(hosts)), x=x, y=y + 4, class_="n"))
    lines = [cut(name)]
    if 0 < len(hosts) <= FEW_HOSTS and layout.layered and len(tiers.switches.get(1, ())) <= 12:
        lines += [cut(host_of(shown(subnet.name(host)))) for _, host in hosts]
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


def link_layout(tiers: Tiers) -> LinkLayout:
    """Layers where there are levels that fit the page, else one circle, groups side by side."""
    widest = max((len(nodes) for nodes in tiers.switches.values()), default=0)
    if tiers.is_layered and widest <= MOST_IN_A_LAYER:
        return _layers(tiers)
    return _circle(tiers)


def _layers(tiers: Tiers) -> LinkLayout:
    levels = [level for level in sorted(tiers.switches, reverse=True) if level]
    longest = max(len(label.name) for label in tiers.labels.values())
    widest = max(len(tiers.switches[level]) for level in levels)
    slanted = min(longest, LONGEST) * LETTER > (WIDTH - 2 * MARGIN) / widest
    margin_top = MARGIN + (SLANT_ROOM * min(longest, LONGEST) if slanted else 0)
    places: dict[int, tuple[float, float]] = {}
    for at, level in enumerate(levels):
        nodes = tiers.switches[level]
        step = (WIDTH - 2 * MARGIN) / len(nodes)
        for column, node in enumerate(nodes):
            places[node] = (MARGIN + (column + 0.5) * step, margin_top + at * LAYER_HEIGHT)
    lost = tiers.switches.get(0, ())
    bottom = margin_top + (len(levels) - 1) * LAYER_HEIGHT + NAMES_HEIGHT
    for column, node in enumerate(lost):
        places[node] = (MARGIN + (column + 0.5) * (WIDTH - 2 * MARGIN) / len(lost), bottom + 60)
    top = levels[0] if levels else 0
    outward = {
        node: (0.0, -1.0) if tiers.level[node] == top and len(levels) > 1 else (0.0, 1.0)
        for node in places
    }
    height = bottom + (130 if lost else 0)
    return LinkLayout(WIDTH, height, places, outward, layered=True, slanted=slanted)


def _circle(tiers: Tiers) -> LinkLayout:
    groups = _groups(tiers)
    n_places = len(tiers.labels) + (GAP * len(groups) if len(groups) > 1 else 0)
    radius = max(120.0, n_places * RADIUS_OF_ONE / pi)
    centre_x, centre_y = radius + 190, radius + 60
    places, outward, at = {}, {}, 0.0
    for group in groups:
        for node in group:
            angle = 2 * pi * at / n_places - pi / 2
            outward[node] = (cos(angle), sin(angle))
            places[node] = (centre_x + radius * cos(angle), centre_y + radius * sin(angle))
            at += 1
        at += GAP if len(groups) > 1 else 0
    return LinkLayout(2 * centre_x, 2 * centre_y, places, outward, layered=False)


def _groups(tiers: Tiers) -> Sequence[Sequence[int]]:
    """By name; neighbours that are all joined to one another, as in a group of a dragonfly, stand
    together, where all switches are in such groups."""
    joined: dict[int, set[int]] = defaultdict(set)
    cables = [*tiers.sideways, *(cable for found in tiers.between.values() for cable in found)]
    for cable in cables:
        joined[cable.a.node].add(cable.b.node)
        joined[cable.b.node].add(cable.a.node)
    groups: list[list[int]] = []
    in_order = sorted(tiers.labels, key=lambda node: natural_key(tiers.labels[node].name))
    for node in in_order:
        if groups and joined[node].issuperset(groups[-1]):
            groups[-1].append(node)
        else:
            groups.append([node])
    return groups if all(len(group) >= LEAST_GROUP for group in groups) else [in_order]
