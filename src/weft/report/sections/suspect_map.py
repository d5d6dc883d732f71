"""The fabric of a check: cables by the share that messages over them reached, with suspects."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weft.check.verdict.pair_shares import cable_shares
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import fault_of, headline_of
from weft.core.finding import Finding, Severity
from weft.core.words import counted
from weft.report.fabric import suspect_map_svg
from weft.report.fabric.suspect_map_svg import CableKey, SuspectMark
from weft.report.model import ReportDrawing, Section
from weft.topology.subnet.cable_matrix import Matrix, all_matrices_of
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.tiers import tiers_of

MOST_CELLS = 40_000
"""A matrix with more cells than this is left out: the page would be large, and slow to open."""


def section(verdict: Verdict, document: Mapping[str, Any] | None, prefix: str) -> Section | None:
    """A matrix for each two levels of switches; None without a fabric or with one switch."""
    if document is None or verdict.survey.crossings.network is None:
        return None
    subnet = Subnet.of_fabric(document)
    tiers = tiers_of(subnet)
    matrices = [m for m in all_matrices_of(tiers) if m.cells and not m.by_director]
    if not matrices:
        return None
    shares = cable_shares(verdict.survey)
    suspects = tuple(_suspect_marks(verdict.findings))
    drawings, notes = [], []
    for at, matrix in enumerate(matrices):
        if len(matrix.cells) > MOST_CELLS:
            notes.append(f"A matrix of {len(matrix.cells):,} cells is not drawn.")
            continue
        drawings.append(_drawing(subnet, matrix, shares, suspects, f"{prefix}-lit-{at}"))
    for one in suspects:
        if one.cable is None and one.switch is None:
            notes.append(one.text)
    return Section("Fabric", tuple(notes), drawings=tuple(drawings))


def _suspect_marks(findings: Sequence[Finding]) -> Iterator[SuspectMark]:
    """The components of bad findings: cables and switches; of a node, its text only."""
    for finding in findings:
        headline, fault = headline_of(finding), fault_of(finding)
        if finding.severity is not Severity.BAD or headline is None or fault is None:
            continue
        text = f"{headline.what} {headline.name}: {headline.figure}; {headline.count}"
        of_node = fault.suspects[0].node is not None
        for component in fault.components:
            kind, ends = component.thing
            label = component.name if fault.tie else headline.name
            if kind == "cable" and not of_node:
                yield SuspectMark(frozenset(ends), None, label, text)
            elif kind == "switch":
                yield SuspectMark(None, ends[0], label, text)
        if of_node:
            yield SuspectMark(None, None, headline.name, f"At the edge: {text}.")


def _drawing(
    subnet: Subnet,
    matrix: Matrix,
    shares: Mapping[CableKey, float],
    suspects: Sequence[SuspectMark],
    id_: str,
) -> ReportDrawing:
    names = {
        (cell.row, cell.column): [
            frozenset(subnet.name(end.node, end.port) for end in cable.ends)
            for cable in cell.cables
        ]
        for cell in matrix.cells
    }
    here = {cable for of in names.values() for cable in of}
    switches = {line.name for line in (*matrix.rows, *matrix.columns)}
    shown = [one for one in suspects if one.cable in here or one.switch in switches]
    title = _title(matrix, shown, len(here))
    level = matrix.level
    rows = "leaf switch" if level == 1 else f"switch of level {level}"
    how = (
        f"A row is a {rows}, a column a switch above it; a cell is the cable between them (the "
        "slowest of several). Its colour is the median bandwidth of the messages over it, as a "
        "share of their pairs' normal bandwidth."
        if level
        else "Rows and columns are the same switches; a cell is the cable between them."
    )
    return ReportDrawing(
        title=title,
        how_to_read=how,
        svg=suspect_map_svg.draw(matrix, names, shares, shown, title=title, id_=id_),
        legend=suspect_map_svg.legend(),
    )


def _title(matrix: Matrix, shown: Sequence[SuspectMark], n_cables: int) -> str:
    switches = f"{len(matrix.rows)} x {len(matrix.columns)} switches"
    cables = f"{counted(n_cables, 'cable')} between {switches}"
    if not shown:
        return f"{cables}: none is a suspect"
    names = dict.fromkeys(one.label for one in shown)
    first = next(iter(names))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{cables}; suspect: {first}{more}"
