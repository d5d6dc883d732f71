"""The map of verdicts: a panel a number of ranks a node, sizes down, nodes across."""

from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum

from markupsafe import Markup

from weft.core.units import format_size
from weft.core.words import counted
from weft.report.fabric.svg import element, legend_key, picture
from weft.report.model import LegendKey, ReportDrawing
from weft.study.comparison.comparison import Comparison
from weft.study.comparison.effects import percent
from weft.study.comparison.rows import ComparisonRow, RowOutcome

CELL_WIDTH, CELL_HEIGHT, LEFT, TOP = 52.0, 22.0, 62.0, 34.0
LINE_HEIGHT, LETTER = 15.0, 7.2
"""Of a panel's caption, whose letters are no wider."""
DAGGER = "\N{DAGGER}"
"""Marks a verdict that does not survive another value of an assumed constant."""


class MapClass(StrEnum):
    """The classes of cells, in the words of the legend."""

    HELPS = "helps"
    HURTS = "hurts"
    NO_DIFFERENCE = "no difference"
    NOT_DECIDED = "not decided"


# SOURCE: Okabe & Ito, Color Universal Design (2008): blue against orange; stripes, a plain grey and
# a dotted edge tell the classes apart without colours.
_FILLS = {
    MapClass.HELPS: ("#0072b2", "#fff"),
    MapClass.HURTS: ("#f2b98c", "#222"),
    MapClass.NO_DIFFERENCE: ("#e4e4e4", "#222"),
    MapClass.NOT_DECIDED: ("#fff", "#222"),
}
_HALO = ";paint-order:stroke;stroke:#f2b98c;stroke-width:3px"
_SIGNS = {
    MapClass.HELPS: "+",
    MapClass.HURTS: "\N{MINUS SIGN}",
    MapClass.NO_DIFFERENCE: "=",
    MapClass.NOT_DECIDED: "?",
}
_OF_OUTCOME = {
    RowOutcome.FASTER: MapClass.HELPS,
    RowOutcome.SLOWER: MapClass.HURTS,
    RowOutcome.EQUIVALENT: MapClass.NO_DIFFERENCE,
}


def class_of(row: ComparisonRow) -> MapClass:
    """The class of a cell; whatever has no verdict is not decided."""
    return _OF_OUTCOME.get(row.outcome, MapClass.NOT_DECIDED)


def drawings(comparison: Comparison, prefix: str) -> tuple[ReportDrawing, ...]:
    """A drawing a benchmark and arm; none for cells of one scale, which a curve shows better."""
    if len({row.cell.scale for row in comparison.rows}) < 2:
        return ()
    groups: dict[tuple[str, str], list[ComparisonRow]] = defaultdict(list)
    for row in comparison.rows:
        groups[row.cell.benchmark, row.second].append(row)
    return tuple(
        ReportDrawing(
            title=_title(rows),
            how_to_read=f"A number is the speed-up of {rows[0].second}: above 1 it is faster than "
            f"{rows[0].first}. Nodes across, sizes down.",
            svg=_panels(rows, comparison, f"{prefix}-map{number}"),
            legend=_legend(rows, comparison, f"{prefix}-map{number}-key"),
        )
        for number, rows in enumerate(groups.values())
    )


def _title(rows: Sequence[ComparisonRow]) -> str:
    """'allreduce with sharp=on: helps in 12 of 24 cells, hurts in 12.'"""
    n = {one: sum(class_of(row) is one for row in rows) for one in MapClass}
    parts = [f"{one} in {n[one]}" for one in (MapClass.HELPS, MapClass.HURTS) if n[one]]
    parts += [f"{one} in {n[one]}" for one in (MapClass.NO_DIFFERENCE,) if n[one]]
    parts += [f"{n[MapClass.NOT_DECIDED]} not decided"] if n[MapClass.NOT_DECIDED] else []
    head = f"{rows[0].cell.benchmark} with {rows[0].second}"
    return f"{head}, {counted(len(rows), 'cell')}: {', '.join(parts)}."


def _legend(
    rows: Sequence[ComparisonRow], comparison: Comparison, name: str
) -> tuple[LegendKey, ...]:
    within = f" within {percent(comparison.margin)}"
    keys = [
        legend_key(
            f"{one}{within if one is MapClass.NO_DIFFERENCE else ''} ({_SIGNS[one]})",
            *([_stripes(name)] if one is MapClass.HURTS else []),
            *_square(one, (1.0, 1.0, 20.0, 14.0), f"{name}-stripes"),
            title=one.value,
            width=22,
        )
        for one in MapClass
    ]
    if any(comparison.overturned.get((row.second, row.cell)) for row in rows):
        mark = element("text", text=DAGGER, x=8.0, y=12.0)
        words = "changes with another value of an assumed constant"
        keys.append(legend_key(words, mark, title=words, width=22))
    return tuple(keys)


def _panels(rows: Sequence[ComparisonRow], comparison: Comparison, name: str) -> Markup:
    """The drawings of a benchmark and arm, which flow as lines of text do."""
    planes: dict[tuple[str, int], list[ComparisonRow]] = defaultdict(list)
    for row in rows:
        planes[row.cell.condition, row.cell.tasks_per_node].append(row)
    return Markup(" ").join(
        _panel(plane, comparison, f"{name}-{number}")
        for number, plane in enumerate(planes.values())
    )


def _panel(rows: Sequence[ComparisonRow], comparison: Comparison, name: str) -> Markup:
    nodes = sorted({row.cell.n_nodes for row in rows})
    sizes = sorted({row.cell.size_bytes for row in rows})
    cell = rows[0].cell
    lines = [f"{counted(cell.tasks_per_node, 'rank')} a node"]
    lines += cell.condition.split(",") if cell.condition else []
    parts = [
        element("text", text=line, x=4.0, y=12.0 + number * LINE_HEIGHT, class_="odd")
        for number, line in enumerate(lines)
    ]
    top = TOP + (len(lines) - 1) * LINE_HEIGHT
    for column, n in enumerate(nodes):
        x = LEFT + (column + 0.5) * CELL_WIDTH
        parts.append(element("text", text=str(n), x=x, y=top - 6, text_anchor="middle"))
    parts.append(element("text", text="nodes", x=LEFT - 6, y=top - 6, text_anchor="end"))
    for line, size in enumerate(sizes):
        y = top + line * CELL_HEIGHT + 15
        label = format_size(size) if size else "-"
        parts.append(element("text", text=label, x=LEFT - 6, y=y, text_anchor="end"))
    for row in rows:
        x = LEFT + nodes.index(row.cell.n_nodes) * CELL_WIDTH
        y = top + sizes.index(row.cell.size_bytes) * CELL_HEIGHT
        parts.append(
            _cell(row, x, y, name, bool(comparison.overturned.get((row.second, row.cell))))
        )
    caption = ", ".join(lines)
    return picture(
        [_stripes(name), *parts],
        width=max(LEFT + len(nodes) * CELL_WIDTH + 4, 8 + LETTER * max(map(len, lines))),
        height=top + len(sizes) * CELL_HEIGHT + 6,
        title=f"{rows[0].cell.benchmark}, {caption}: {rows[0].second} against {rows[0].first}",
        class_="verdicts",
        id_=name,
    )


def _cell(row: ComparisonRow, x: float, y: float, name: str, is_overturned: bool) -> str:
    one = class_of(row)
    text = f"{1 / row.slowdown:.2f} {_SIGNS[one]}{DAGGER if is_overturned else ''}"
    tip = f"{row.cell.place}: {one}, speed-up {1 / row.slowdown:.3f} ({row.outcome})"
    return element(
        "g",
        element("title", text=tip),
        *_square(one, (x + 1, y + 1, CELL_WIDTH - 2, CELL_HEIGHT - 2), f"{name}-stripes"),
        element(
            "text",
            text=text,
            x=x + CELL_WIDTH / 2,
            y=y + 15,
            text_anchor="middle",
            style=f"fill:{_FILLS[one][1]}{_HALO if one is MapClass.HURTS else ''}",
        ),
    )


def _square(one: MapClass, box: tuple[float, float, float, float], stripes: str) -> list[str]:
    """A square (x, y, width, height) of a class: its colour, and its mark for grey paper."""
    fill = _FILLS[one][0]
    if one is MapClass.NOT_DECIDED:
        return [_rect(box, fill=fill, stroke="#595959", stroke_dasharray="2 2")]
    parts = [_rect(box, fill=fill)]
    return [*parts, _rect(box, fill=f"url(#{stripes})")] if one is MapClass.HURTS else parts


def _rect(box: tuple[float, float, float, float], **look: str) -> str:
    x, y, width, height = box
    return element("rect", x=x, y=y, width=width, height=height, **look)


def _stripes(name: str) -> str:
    line = element("path", d="M0 0v8", stroke="#c35500", stroke_width=1.6, stroke_opacity=0.55)
    pattern = element(
        "pattern",
        line,
        id=f"{name}-stripes",
        width=8,
        height=8,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
    return element("defs", pattern)
