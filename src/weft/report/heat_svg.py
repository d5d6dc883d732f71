"""A matrix of shares as a drawing: darker cells reach less of the norm; slow cells have an edge."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import ceil

import numpy as np
from markupsafe import Markup

from weft.check.readings.readings import Bools, Floats
from weft.report.fabric.share_classes import CLASSES, share_legend, share_square
from weft.report.fabric.svg import element, number, picture
from weft.report.model import LegendKey

SLOW_EDGE = "#d55e00"
ROOM, LEAST_CELL, LARGEST_CELL = 960.0, 1.0, 22.0
FONT, LETTER, LONGEST = 11, 6.3, 26
LEAST_GROUP = 12.0
"""Leaves narrower than this (pixels, on average) get no lines between them."""
SMALL_CELL, MOST_RINGS = 6.0, 200
"""Slow cells smaller than this (pixels) get a ring, up to so many rings."""
MOST_TIPS = 300
"""Slow cells that show their figures under the pointer; the table holds the others."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """`share` from row to column, NaN for none; `groups`: the common property of neighbours (their
    leaf), "" for nothing; `bold` names stand out."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    share: Floats
    slow: Bools
    bold: frozenset[str]


def legend() -> tuple[LegendKey, ...]:
    """The classes and the edge of slow cells."""
    slow = LegendKey(share_square(CLASSES[-1][1], SLOW_EDGE), "slowed by a suspect")
    return (*share_legend(), slow, LegendKey(share_square("#fff"), "not measured, or not judged"))


def draw(heat: HeatMap, *, title: str, id_: str, room: float = ROOM) -> Markup:
    """The whole drawing, at most about `room` pixels wide and no cell below one pixel."""
    n = max(1, len(heat.names))
    cell = min(LARGEST_CELL, max(LEAST_CELL, room / n))
    left = max((len(_cut(name)) for name in heat.names), default=0) * LETTER + 14
    has_groups = any(heat.groups) and len(set(heat.groups)) < n
    top = left + (16 if has_groups else 0)
    grid = element(
        "g",
        *_cells(heat),
        *_edges(heat, cell),
        *_tips(heat),
        transform=f"translate({number(left)} {number(top)})scale({number(cell)})",
    )
    side = cell * n
    frame = element("rect", x=left, y=top, width=side, height=side, fill="none", stroke="#555")
    parts = [grid, frame, *_borders(heat, left, top, cell), *_names(heat, left, top, cell)]
    if has_groups:
        parts += _group_names(heat, left, cell)
    return picture(
        parts, width=left + side + 8, height=top + side + 6, title=title, class_="heat", id_=id_
    )


def _cells(heat: HeatMap) -> list[str]:
    """One path a colour, in cells; neighbours of one colour in a row are one stroke."""
    limits = np.array([limit for limit, _, _ in CLASSES])
    known = ~np.isnan(heat.share)
    place = np.where(known, (heat.share[..., None] < limits).sum(axis=-1), -1)
    by_class: dict[int, list[str]] = defaultdict(list)
    for row, line in enumerate(place):
        cuts = np.flatnonzero(np.diff(line)) + 1
        for start, stop in pairwise([0, *cuts.tolist(), line.size]):
            if stop > start and line[start] >= 0:
                by_class[int(line[start])].append(f"M{start} {row}h{stop - start}")
    return [
        element(
            "path",
            d="".join(strokes),
            stroke=CLASSES[min(number_, len(CLASSES) - 1)][1],
            transform="translate(0 .5)",
            shape_rendering="crispEdges",
        )
        for number_, strokes in sorted(by_class.items())
    ]


def _edges(heat: HeatMap, cell: float) -> list[str]:
    """A coloured edge around every slow cell; between small cells it is a wash over them."""
    rows, columns = np.nonzero(heat.slow)
    width = min(0.5, 1.8 / cell)
    d = "".join(f"M{c} {r}h1v1h-1z" for r, c in zip(rows.tolist(), columns.tolist(), strict=True))
    if not d:
        return []
    edges = [element("path", d=d, fill="none", stroke=SLOW_EDGE, stroke_width=width)]
    if cell < SMALL_CELL and rows.size <= MOST_RINGS:
        edges += [
            element(
                "circle", cx=c + 0.5, cy=r + 0.5, r=SMALL_CELL / cell, fill="none",
                stroke=SLOW_EDGE, stroke_width=width,
            )
            for r, c in zip(rows.tolist(), columns.tolist(), strict=True)
        ]  # fmt: skip
    return edges


def _tips(heat: HeatMap) -> list[str]:
    rows, columns = np.nonzero(heat.slow)
    order = np.argsort(heat.share[rows, columns], kind="stable")[:MOST_TIPS]
    tips = []
    for r, c in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        text = f"{heat.names[r]} to {heat.names[c]}: {100 * heat.share[r, c]:.0f} % of normal"
        tip = element("title", text=text)
        tips.append(element("rect", tip, x=c, y=r, width=1, height=1, fill_opacity=0))
    return tips


def _borders(heat: HeatMap, left: float, top: float, cell: float) -> list[str]:
    """Lines between leaves, across and down."""
    starts = [at for at, (a, b) in enumerate(pairwise(heat.groups), start=1) if a != b]
    side = cell * len(heat.names)
    if (len(starts) + 1) * LEAST_GROUP > side:
        return []
    d = "".join(
        f"M{number(left)} {number(top + at * cell)}h{number(side)}"
        f"M{number(left + at * cell)} {number(top)}v{number(side)}"
        for at in starts
    )
    return [element("path", d=d, stroke="#555", stroke_width=0.7, fill="none")] if d else []


def _names(heat: HeatMap, left: float, top: float, cell: float) -> list[str]:
    """Every name there is room for, and every bold one, at rows and columns."""
    step = max(1, ceil(FONT / cell))
    bold = {at for at, name in enumerate(heat.names) if name in heat.bold}
    parts = []
    for at, name in enumerate(heat.names):
        crowded = at not in bold and any(abs(at - other) < step for other in bold)
        if (at % step and at not in bold) or crowded:
            continue
        centre = (at + 0.5) * cell
        style = {"class_": "odd" if at in bold else None}
        parts.append(
            element(
                "text", text=_cut(name), x=left - 5, y=top + centre + 4, text_anchor="end", **style
            )
        )
        turn = f"translate({number(left + centre + 4)} {number(top - 5)})rotate(-90)"
        parts.append(element("text", text=_cut(name), transform=turn, **style))
    return parts


def _group_names(heat: HeatMap, left: float, cell: float) -> list[str]:
    parts, at = [], 0
    for word, members in groupby(heat.groups):
        n = len(list(members))
        if word and len(word) * LETTER < n * cell:
            x = left + (at + n / 2) * cell
            parts.append(element("text", text=word, x=x, y=11.0, text_anchor="middle"))
        at += n
    return parts


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
