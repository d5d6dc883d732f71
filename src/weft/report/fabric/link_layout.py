"""The places of switches in a drawing of circles and lines: layers by level, or a circle."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from weft.core.natural import natural_key
from weft.report.fabric.matrix_layout import LETTER, LONGEST
from weft.topology.subnet.tiers import Tiers

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
        for number, node in enumerate(nodes):
            places[node] = (MARGIN + (number + 0.5) * step, margin_top + at * LAYER_HEIGHT)
    lost = tiers.switches.get(0, ())
    bottom = margin_top + (len(levels) - 1) * LAYER_HEIGHT + NAMES_HEIGHT
    for number, node in enumerate(lost):
        places[node] = (MARGIN + (number + 0.5) * (WIDTH - 2 * MARGIN) / len(lost), bottom + 60)
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
