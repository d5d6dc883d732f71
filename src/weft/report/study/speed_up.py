"""Speed-up curves: a figure a number of nodes, a curve a number of ranks a node."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from weft.core.units import format_size
from weft.core.words import counted
from weft.report.charts import speed_up as charts
from weft.report.charts.vega import MAX_SERIES
from weft.report.model import ReportFigure, cut_table
from weft.stats.nodesets import SetsRatio
from weft.stats.ratio import Ratio
from weft.study.comparison.comparison import Comparison
from weft.study.comparison.rows import ComparisonRow


def figures(comparison: Comparison, prefix: str) -> tuple[ReportFigure, ...]:
    """By size, a figure a benchmark, arm and number of nodes; a benchmark of one size by number of
    nodes. None for cells of one scale."""
    if len({row.cell.scale for row in comparison.rows}) < 2:
        return ()
    groups: dict[tuple[str, str, str], list[ComparisonRow]] = defaultdict(list)
    for row in comparison.rows:
        groups[row.cell.benchmark, row.second, row.cell.condition].append(row)
    found: list[ReportFigure] = []
    for rows in groups.values():
        by_size = len({row.cell.size_bytes for row in rows if row.cell.size_bytes}) > 1
        facets: dict[int, list[ComparisonRow]] = defaultdict(list)
        for row in rows:
            facets[row.cell.n_nodes if by_size else 0].append(row)
        domain = charts.domain_of([_drawn(row) for row in rows])
        for n_nodes, facet in facets.items():
            name = f"{prefix}-speed-up{len(found)}-{n_nodes}"
            found.append(_figure(facet, name, domain, by_size=by_size))
    return tuple(found)


def _figure(
    rows: Sequence[ComparisonRow], name: str, domain: tuple[float, float], *, by_size: bool
) -> ReportFigure:
    cell = rows[0].cell
    title = _title(rows, by_size=by_size)
    axis = f"speed-up of {rows[0].second} over {rows[0].first}"
    ranks = sorted({row.cell.tasks_per_node for row in rows})
    kept = [_drawn(row) for row in rows if row.cell.tasks_per_node in _spread(ranks)]
    drawn = [one for one in kept if one["size_bytes"] > 0 or not by_size]
    notes = [f"Above 1, {rows[0].second} is faster. Thick bars: 95 % for these node sets"]
    if any(isinstance(row.sets, SetsRatio) for row in rows):
        notes[0] += "; thin bars: for node sets like these"
    if any(not isinstance(row.effect, Ratio) for row in rows):
        notes.append("Points without a bar have too few launches for an interval")
    if len(ranks) > MAX_SERIES:
        notes.append(f"{len(ranks) - MAX_SERIES} numbers of ranks are in the table only")
    description = f"{title} The table below holds the same figures."
    return ReportFigure(
        id=name,
        title=title,
        how_to_read=". ".join(notes) + ".",
        spec=charts.speed_up(drawn, domain, y_title=axis, description=description, by_size=by_size),
        table=_table(", ".join(filter(None, (f"{cell.benchmark}: {axis}", cell.condition))), rows),
    )


def _spread(ranks: Sequence[int]) -> set[int]:
    """At most MAX_SERIES of the numbers: the ends, and even steps between."""
    if len(ranks) <= MAX_SERIES:
        return set(ranks)
    step = (len(ranks) - 1) / (MAX_SERIES - 1)
    return {ranks[round(i * step)] for i in range(MAX_SERIES)}


def _drawn(row: ComparisonRow) -> dict[str, Any]:
    low, high = _ends(row, row.effect)
    wide_low, wide_high = _ends(row, row.sets)
    return {
        "size_bytes": row.cell.size_bytes,
        "size": format_size(row.cell.size_bytes),
        "nodes": row.cell.n_nodes,
        "scale": row.cell.scale,
        "series": f"{counted(row.cell.tasks_per_node, 'rank')} a node",
        "outcome": row.outcome.value,
        "value": 1 / row.slowdown,
        "low": low,
        "high": high,
        "wide_low": wide_low,
        "wide_high": wide_high,
    }


def _ends(row: ComparisonRow, interval: object) -> tuple[float, float]:
    """The ends of an interval of the speed-up; the estimate twice where there is none."""
    if not isinstance(interval, Ratio | SetsRatio):
        return 1 / row.slowdown, 1 / row.slowdown
    ends = (interval.low, interval.high)
    low, high = sorted(1 / end for end in ends) if row.lower_is_better else ends
    return low, high


def _title(rows: Sequence[ComparisonRow], *, by_size: bool) -> str:
    """'allreduce on 64 nodes: speed-up 0.26 to 2.44.'"""
    cell = rows[0].cell
    ends = sorted(rows, key=lambda row: row.slowdown)
    where = f" on {counted(cell.n_nodes, 'node')}" if by_size else ""
    where += f", {cell.condition}," if cell.condition else ""
    best, worst = (f"{1 / row.slowdown:.2f}x {_at(row, by_size)}" for row in (ends[0], ends[-1]))
    return f"{cell.benchmark}{where} with {rows[0].second}: at best {best}, at worst {worst}."


def _at(row: ComparisonRow, by_size: bool) -> str:
    ranks = f"{counted(row.cell.tasks_per_node, 'rank')} a node"
    return f"(at {format_size(row.cell.size_bytes)}, {ranks})" if by_size else f"({row.cell.scale})"


def _table(caption: str, rows: Sequence[ComparisonRow]) -> Any:
    columns = ("placement", "#size", "#speed-up", "#low", "#high", "#low, other sets",
               "#high, other sets", "outcome")  # fmt: skip
    return cut_table(caption, columns, [_cells(row) for row in rows])


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    these, others = (
        tuple(f"{end:.3f}" for end in _ends(row, interval))
        if isinstance(interval, Ratio | SetsRatio)
        else ("-", "-")
        for interval in (row.effect, row.sets)
    )
    size = format_size(row.cell.size_bytes) if row.cell.size_bytes else "-"
    return (row.cell.scale, size, f"{1 / row.slowdown:.3f}", *these, *others, row.outcome.value)
