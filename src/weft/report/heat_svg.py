"""A matrix of shares as a drawing: darker cells reach less of the norm; slow cells have an edge."""

from collections import defaultdict
from itertools import groupby, pairwise
from math import ceil

import numpy as np
from markupsafe import Markup

from weft.check.verdict.pair_shares import PairShares
from weft.report.fabric.matrix_layout import FONT
from weft.report.fabric.matrix_svg import has_room
from weft.report.fabric.share_classes import CLASSES, share_key, share_legend
from weft.report.fabric.svg import LETTER, cut, element, number, picture
from weft.report.model import LegendKey

SLOW_EDGE = "#d55e00"
ROOM, LEAST_CELL, LARGEST_CELL = 960.0, 1.0, 22.0
LEAST_GROUP = 12.0
"""Leaves narrower than this (pixels, on average) get no lines between them."""
SMALL_CELL, MOST_RINGS = 6.0, 200
"""Slow cells smaller than this (pixels) get a ring, up to so many rings."""
MOST_TIPS = 300
"""Slow cells that show their figures under the pointer; the table holds the others."""


def legend() -> tuple[LegendKey, ...]:
    """The classes and the edge of slow cells."""
    slow = share_key("slowed by a suspect", CLASSES[-1][1], SLOW_EDGE)
    return (*share_legend(), slow, share_key("not measured, or not judged", "#fff"))


def draw(
    heat: PairShares, bold: frozenset[str], *, title: str, id_: str, room: float = ROOM
) -> Markup:
    """The whole drawing, at most about `room` pixels wide and no cell below one pixel; `bold` names
    stand out."""
    n = max(1, len(heat.names))
    cell = min(LARGEST_CELL, max(LEAST_CELL, room / n))
    left = max((len(cut(name)) for name in heat.names), default=0) * LETTER + 14
    has_groups = any(heat.leaves) and len(set(heat.leaves)) < n
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
    parts = [grid, frame, *_borders(heat, left, top, cell), *_names(heat, bold, left, top, cell)]
    if has_groups:
        parts += _group_names(heat, left, cell)
    return picture(
        parts, width=left + side + 8, height=top + side + 6, title=title, class_="heat", id_=id_
    )


def _cells(heat: PairShares) -> list[str]:
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


def _edges(heat: PairShares, cell: float) -> list[str]:
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


def _tips(heat: PairShares) -> list[str]:
    rows, columns = np.nonzero(heat.slow)
    order = np.argsort(heat.share[rows, columns], kind="stable")[:MOST_TIPS]
    tips = []
    for r, c in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        text = f"{heat.names[r]} to {heat.names[c]}: {100 * heat.share[r, c]:.0f} % of normal"
        tip = element("title", text=text)
        tips.append(element("rect", tip, x=c, y=r, width=1, height=1, fill_opacity=0))
    return tips


def _borders(heat: PairShares, left: float, top: float, cell: float) -> list[str]:
    """Lines between leaves, across and down."""
    starts = [at for at, (a, b) in enumerate(pairwise(heat.leaves), start=1) if a != b]
    side = cell * len(heat.names)
    if (len(starts) + 1) * LEAST_GROUP > side:
        return []
    d = "".join(
        f"M{number(left)} {number(top + at * cell)}h{number(side)}"
        f"M{number(left + at * cell)} {number(top)}v{number(side)}"
        for at in starts
    )
    return [element("path", d=d, stroke="#555", stroke_width=0.7, fill="none")] if d else []


def _names(
    heat: PairShares, bold_names: frozenset[str], left: float, top: float, cell: float
) -> list[str]:
    """Every name there is room for, and every bold one, at rows and columns."""
    step = max(1, ceil(FONT / cell))
    bold = {at for at, name in enumerate(heat.names) if name in bold_names}
    parts = []
    for at, name in enumerate(heat.names):
        if at not in bold and not has_room(at, step, bold):
            continue
        centre = (at + 0.5) * cell
        style = {"class_": "odd" if at in bold else None}
        parts.append(
            element(
                "text", text=cut(name), x=left - 5, y=top + centre + 4, text_anchor="end", **style
            )
        )
        turn = f"translate({number(left + centre + 4)} {number(top - 5)})rotate(-90)"
        parts.append(element("text", text=cut(name), transform=turn, **style))
    return parts


def _group_names(heat: PairShares, left: float, cell: float) -> list[str]:
    parts, at = [], 0
    for word, members in groupby(heat.leaves):
        n = len(list(members))
        if word and len(word) * LETTER < n * cell:
            x = left + (at + n / 2) * cell
            parts.append(element("text", text=word, x=x, y=11.0, text_anchor="middle"))
        at += n
    return parts
