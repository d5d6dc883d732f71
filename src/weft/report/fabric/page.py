"""`weft fabric show --report PAGE`: a subnet as one HTML page that fetches nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.core.files import write_whole
from weft.report.charts import load_histogram
from weft.report.fabric import link_svg, matrix_svg
from weft.report.fabric.matrix_layout import MatrixLayout, layout_of
from weft.report.fabric.matrix_svg import load_legend, state_legend
from weft.report.fabric.values import Values, page_values
from weft.report.html import render_fabric
from weft.report.model import ReportDrawing, ReportTable, cut_table
from weft.topology.subnet.anomalies import (
    CableAnomaly,
    cable_anomalies,
    kind_of,
    severity_of,
    title_of,
)
from weft.topology.subnet.cable_matrix import Matrix, all_matrices_of
from weft.topology.subnet.link_load import Load
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.tiers import Tiers, tiers_of

MOST_CELLS = 150_000
"""A larger matrix is left out: the page would open slowly."""
MOST_DRAWN = 60
"""A fabric with more switches is drawn as a matrix only."""


@dataclass(frozen=True, slots=True)
class FabricPage:
    """The page before any HTML."""

    title: str
    severity: str
    sentences: tuple[str, ...]
    subtitle: str
    drawings: tuple[ReportDrawing, ...]
    tables: tuple[ReportTable, ...]
    problems: tuple[str, ...]
    caveats: tuple[str, ...]
    values: Values


def write_fabric_page(page: FabricPage, out: Path) -> None:
    """Write the page. Raises MissingError."""
    write_whole(out, render_fabric(page), what="report")


def fabric_page(
    subnet: Subnet,
    *,
    name: str,
    headline: str,
    problems: Sequence[str] = (),
    load: Load | None = None,
) -> FabricPage:
    """The page of a subnet, with the load of a traffic drawn on it where one is given. `headline`:
    one sentence about the whole."""
    tiers = tiers_of(subnet)
    all_matrices = all_matrices_of(tiers)
    matrices = [m for m in all_matrices if m.cells and len(m.cells) <= MOST_CELLS]
    drawn = {f"matrix{at}": (matrix, layout_of(matrix)) for at, matrix in enumerate(matrices)}
    drawings = [
        _matrix_drawing(id_, *drawn[id_], cable_anomalies(subnet, tiers, drawn[id_][0]), load)
        for id_ in drawn
    ]
    if tiers.n_switches <= MOST_DRAWN:
        drawings.append(_link_drawing(subnet, tiers, matrices, load))
    if load is not None and load.tiers:
        drawings.append(_load_drawing(tiers, load))
    left_out = [
        f"a matrix of {len(m.rows):,} x {len(m.columns):,} switches is not drawn: its "
        f"{len(m.cells):,} cells would be more than {MOST_CELLS:,}"
        for m in all_matrices
        if len(m.cells) > MOST_CELLS
    ]
    return FabricPage(
        title=name,
        severity=severity_of(matrices).value,
        sentences=_sentences(tiers, matrices, load),
        subtitle=headline,
        drawings=tuple(drawings),
        tables=(_level_table(tiers),),
        problems=(*problems, *left_out),
        caveats=(
            *(f"assumed: {guess}" for guess in subnet.description.get("assumed", ())),
            *subnet.description.get("renamed", ()),
        ),
        values=page_values(subnet, tiers, drawn, load),
    )


def _sentences(tiers: Tiers, matrices: Sequence[Matrix], load: Load | None) -> tuple[str, ...]:
    """Anomalies first; of a matrix by director and one by board, the one with a pattern."""
    telling = [matrix for matrix in matrices if matrix.says_more]
    sentences = [f"{title_of(m)}." for m in sorted(telling, key=lambda m: not m.unexpected)]
    if not sentences:
        sentences.append(f"{tiers.n_switches} switches, {tiers.n_between} cables between them.")
    if load is not None:
        sentences.append(f"{load_title(tiers, load)}.")
    return tuple(sentences)


def load_title(tiers: Tiers, load: Load) -> str:
    """Where the fullest cable is, and how full."""
    fullest = load.fullest
    if fullest is None:
        return f"{load.title}: no path crosses a cable between switches"
    node, port = fullest.fullest
    return (
        f"{load.title}: the fullest cable, out of {tiers.labels[node].name}[{port}], "
        f"carries {load.shown(fullest.fullest)}, {fullest.most:.2f} times its fair share"
    )


def _matrix_drawing(
    id_: str,
    matrix: Matrix,
    layout: MatrixLayout,
    anomalies: Sequence[CableAnomaly],
    load: Load | None,
) -> ReportDrawing:
    title = title_of(matrix)
    columns = ("from", "to", "anomaly", "where to look")
    rows = [(one.row, one.column, one.what, one.look_at) for one in anomalies]
    table = cut_table(f"Anomalies among the {kind_of(matrix)}", columns, rows)
    return ReportDrawing(
        id=id_,
        title=title,
        how_to_read=_how_to_read(matrix, load),
        svg=matrix_svg.draw(matrix, layout, load, title=title, id_=f"{id_}-svg"),
        legend=(*(load_legend() if load else ()), *state_legend(matrix, loaded=load is not None)),
        legend_title="" if load is None else "load as a multiple of the fair share:",
        table=table if anomalies and matrix.says_more else None,
        zooms=True,
    )


def _how_to_read(matrix: Matrix, load: Load | None) -> str:
    if matrix.level == 0:
        lines = "Rows and columns are the same switches."
    else:
        row = "leaf switch" if matrix.level == 1 else f"switch of level {matrix.level}"
        column = f"switch of level {matrix.level + 1}"
        if matrix.by_director or matrix.by_board:
            column = "director" if matrix.by_director else "board of a director"
        lines = f"A row is a {row}, a column a {column}."
    cells = "Each cell holds the cables between them, a figure their number"
    if load is None:
        return f"{lines} {cells}; empty: none."
    return (
        f"{lines} {cells}. Its colour is the fuller direction of its fullest cable under "
        f"{load.title}. 1 is an even share of this level and direction, and at least what one "
        "pair sends."
    )


def _link_drawing(
    subnet: Subnet, tiers: Tiers, matrices: Sequence[Matrix], load: Load | None
) -> ReportDrawing:
    anomalies = [m for m in matrices if m.unexpected and m.says_more]
    title = (
        title_of(anomalies[0])
        if anomalies
        else f"{tiers.n_switches} switches and the cables between them"
    )
    return ReportDrawing(
        id="links",
        title=title,
        how_to_read=link_svg.HOW_TO_READ if load is None else link_svg.HOW_TO_READ_LOAD,
        svg=link_svg.draw(subnet, tiers, matrices, load, title=title),
        legend=load_legend() if load else link_svg.legend(matrices),
        legend_title="" if load is None else "load as a multiple of the fair share:",
    )


def _load_drawing(tiers: Tiers, load: Load) -> ReportDrawing:
    title = load_title(tiers, load)
    ports = {
        tier.fullest: f"{tiers.labels[tier.fullest[0]].name}[{tier.fullest[1]}]"
        for tier in load.tiers
    }
    shares = ("#least (x fair share)", "#most (x fair share)", f"#most ({load.unit})")
    columns = ("direction", "#ports", *shares, "the fullest port")
    rows = [
        (
            tier.words,
            f"{len(tier.shares):,}",
            f"{min(tier.shares):.2f}",
            f"{tier.most:.2f}",
            f"{load.amount[tier.fullest]:,}",
            ports[tier.fullest],
        )
        for tier in load.tiers
    ]
    return ReportDrawing(
        id="load",
        title=title,
        how_to_read=(
            "Number of cable directions by their load. 1 is the fair share: all cables of one "
            "level and direction share its traffic evenly, by their rates (at least one pair "
            "each). A cable above 1 fills first, but it need not be full."
        ),
        svg=load_histogram.draw(load, ports, title=title),
        table=cut_table(f"Load of {load.title} by direction", columns, rows),
    )


def _level_table(tiers: Tiers) -> ReportTable:
    columns = ("#level", "#switches", "#hosts and other adapters", "#cables one level up")
    rows = [
        (
            str(level) if level else "reached by no host",
            f"{len(nodes):,}",
            f"{sum(len(tiers.hosts.get(node, ())) for node in nodes):,}",
            f"{len(tiers.between.get(level, ())):,}",
        )
        for level, nodes in tiers.switches.items()
    ]
    return cut_table("Switches by level: 1 is where hosts are", columns, rows)
