"""The matrix of a study as text: a block a benchmark, arm and ranks a node; sizes by nodes."""

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.cli.output import table_text
from weft.core.units import format_size
from weft.core.words import counted

if TYPE_CHECKING:
    from weft.study.comparison.rows import ComparisonRow

MARKS = {"faster": "+", "slower": "-", "equal": "="}
UNDECIDED = "?"
_GAP = 2


def matrix_lines(rows: "Sequence[ComparisonRow]", width: int) -> list[str]:
    """The blocks under their legend, no line wider than `width`; none for cells of one scale."""
    if len({row.cell.scale for row in rows}) < 2:
        return []
    planes: dict[tuple[str, str, int, str], list[ComparisonRow]] = defaultdict(list)
    for row in rows:
        cell = row.cell
        planes[cell.benchmark, row.second, cell.tasks_per_node, cell.condition].append(row)
    lines = ["speed-up of the second arm:", "+ faster  - slower  = equal  ? not decided"]
    several = len({row.second for row in rows}) > 1
    for (benchmark, second, tasks, condition), plane in planes.items():
        title = f"{benchmark}, {counted(tasks, 'rank')} a node, by nodes"
        title += f", {condition}" if condition else ""
        title = f"{title}: {second}" if several else title
        lines += ["", *_wrapped(title, width), *_plane(plane, width)]
    return lines


def _wrapped(title: str, width: int) -> list[str]:
    """In lines; settings are broken at their commas."""
    return textwrap.wrap(
        title.replace(",", ", ").replace(",  ", ", "),
        width,
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def _plane(rows: "Sequence[ComparisonRow]", width: int) -> list[str]:
    """Sizes down, nodes across, in as many parts as the width asks for."""
    nodes = sorted({row.cell.n_nodes for row in rows})
    sizes = sorted({row.cell.size_bytes for row in rows})
    texts = {(row.cell.size_bytes, row.cell.n_nodes): _speed_up(row) for row in rows}
    head = max(len("size"), *(len(_size(size)) for size in sizes))
    column = _GAP + max(*(len(text) for text in texts.values()), *(len(str(n)) for n in nodes))
    fit = max(1, (width - head) // column)
    lines: list[str] = []
    for start in range(0, len(nodes), fit):
        part = nodes[start : start + fit]
        cells = [[_size(size), *(texts.get((size, n), "") for n in part)] for size in sizes]
        lines += table_text(["size", *map(str, part)], cells).splitlines()
    return lines


def _speed_up(row: "ComparisonRow") -> str:
    return f"{1 / row.slowdown:.2f}{MARKS.get(row.outcome.value, UNDECIDED)}"


def _size(size_bytes: int) -> str:
    return format_size(size_bytes) if size_bytes else "-"
