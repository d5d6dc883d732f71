"""Anomalies among the cables between levels: which, where, at which ports."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.core.finding import Severity
from weft.topology.subnet.cable_matrix import (
    CableState,
    Cell,
    Matrix,
    MatrixLine,
    all_matrices_of,
    is_down,
    is_slower,
)
from weft.topology.subnet.labels import shown
from weft.topology.subnet.subnet import Subnet, SubnetCable
from weft.topology.subnet.tiers import Tiers

MOST_PLACES = 2
"""How many places a title names before it only counts."""
FEW_PORTS = 4
"""A longer list of free ports does not show where a cable was."""


@dataclass(frozen=True, slots=True)
class CableAnomaly:
    """A cell, or a whole row, that is not as its siblings. `look_at`: ports, and what they say."""

    state: CableState
    row: str
    column: str
    n_cables: int
    n_expected: int | None
    look_at: str

    @property
    def what(self) -> str:
        """'1 of 2 cables', 'none of 2 cables', '1 more than the 2 of its siblings', 'slower'."""
        if self.state is CableState.MISSING:
            return f"none of {self.n_expected} cables" if self.n_expected else "no cable at all"
        if self.state is CableState.FEWER:
            return f"{self.n_cables} of {self.n_expected} cables"
        if self.state is CableState.MORE:
            return f"{self.n_cables} cables, its siblings have {self.n_expected}"
        return "a cable is down" if self.state is CableState.DOWN else "a cable is slower"

    def to_record(self) -> dict[str, Any]:
        """The anomaly as plain JSON values."""
        ends = {"from": self.row, "to": self.column}
        counts = {"n_cables": self.n_cables, "n_expected": self.n_expected}
        return {"state": self.state.value, **ends, **counts, "look_at": self.look_at}


def all_cable_anomalies(subnet: Subnet, tiers: Tiers) -> tuple[CableAnomaly, ...]:
    """Those of every matrix that says more than another."""
    matrices = all_matrices_of(tiers)
    return tuple(one for m in matrices if m.says_more for one in cable_anomalies(subnet, tiers, m))


def severity_of(matrices: Sequence[Matrix]) -> Severity:
    """The verdict on the cables: BAD if some are missing or down, UNKNOWN where siblings do not
    tell, WARNING if some are slower or more than those of their siblings, NOTE for a fabric without
    levels."""
    states = {cell.state for matrix in matrices for cell in matrix.cells}
    if any(matrix.rows_lacking for matrix in matrices):
        return Severity.BAD
    if states & {CableState.MISSING, CableState.DOWN, CableState.FEWER}:
        return Severity.BAD
    if any(matrix.rows_unknown for matrix in matrices if matrix.says_more):
        return Severity.UNKNOWN
    if states & {CableState.SLOWER, CableState.MORE}:
        return Severity.WARNING
    return Severity.GOOD if any(matrix.level for matrix in matrices) else Severity.NOTE


def kind_of(matrix: Matrix) -> str:
    """The name of its cables."""
    if matrix.level == 0:
        return "cables between switches"
    return "up-links" if matrix.level == 1 else f"cables from level {matrix.level} up"


def n_should_be(matrix: Matrix) -> int:
    """Cables where every cell and every row is as its siblings."""
    cells = matrix.cells_once
    return sum(n for _, n in matrix.rows_lacking) + sum(
        len(cell.cables) if cell.n_expected is None else cell.n_expected for cell in cells
    )


def title_of(matrix: Matrix) -> str:
    """The finding in a sentence: the anomalies and their places, or that there are none."""
    kind, n_all = kind_of(matrix), n_should_be(matrix)
    if not matrix.says_more:
        return f"Director boards at the upper ends of {n_all:,} {kind}"
    parts = []
    lacking = [cell for cell in matrix.cells_once if cell.n_missing]
    n_missing = sum(cell.n_missing for cell in lacking) + sum(n for _, n in matrix.rows_lacking)
    if n_missing:
        word = "is" if n_missing == 1 else "are"
        names = [matrix.rows[row].name for row, _ in matrix.rows_lacking]
        where = _named([*_cell_places(matrix, lacking), *names])
        parts.append(f"{n_missing:,} of {n_all:,} {kind} {word} missing: {where}")
    for state, words in ((CableState.DOWN, "down"), (CableState.SLOWER, "slower than the others")):
        if cells := [cell for cell in matrix.cells_once if _n_in(cell, state)]:
            n = sum(_n_in(cell, state) for cell in cells)
            of_all = "" if parts else f" of {n_all:,} {kind}"
            verb = "is" if n == 1 else "are"
            parts.append(f"{n:,}{of_all} {verb} {words}: {_places(matrix, cells)}")
    if cells := [cell for cell in matrix.cells_once if cell.state is CableState.MORE]:
        parts.append(f"more than at the siblings: {_places(matrix, cells)}")
    if unlinked := unlinked_rows(matrix):
        parts.append(f"no {kind} at all: {_named([line.name for line in unlinked])}")
    if matrix.level == 0 and not parts:
        return f"{len(matrix.rows):,} switches with {n_all:,} cables between them, without levels"
    if not parts and (not matrix.has_pattern or len(matrix.rows_unknown) == len(matrix.rows)):
        return f"{n_all:,} {kind}, without a pattern that shows missing ones"
    if matrix.rows_unknown:
        of_whom = _named([matrix.rows[row].name for row in matrix.rows_unknown])
        parts = [*(parts or [_match(matrix)]), f"whether some are missing is unknown of {of_whom}"]
    return "; ".join(parts) or f"All {n_all:,} {kind} match their siblings"


def _match(matrix: Matrix) -> str:
    """'16 of 18 up-links match their siblings': those of rows that siblings tell."""
    n = sum(len(cell.cables) for cell in matrix.cells if cell.row not in matrix.rows_unknown)
    return f"{n:,} of {n_should_be(matrix):,} {kind_of(matrix)} match their siblings"


def unlinked_rows(matrix: Matrix) -> tuple[MatrixLine, ...]:
    """Switches with no cable up."""
    met = {cell.row for cell in matrix.cells}
    return tuple(line for at, line in enumerate(matrix.rows) if at not in met)


def cable_anomalies(subnet: Subnet, tiers: Tiers, matrix: Matrix) -> tuple[CableAnomaly, ...]:
    """Rows without a cable up, then cells with anomalies and their ports, worst first."""
    ports = _SiblingPorts(subnet, tiers, matrix)
    unlinked = [
        CableAnomaly(
            CableState.MISSING,
            line.name,
            "the level above",
            0,
            sum(tiers.up_links.usual.get(switch, 0) for switch in line.switches) or None,
            "no up-link",
        )
        for line in unlinked_rows(matrix)
    ]
    lacking = [
        _of_row(matrix.rows[row].name, sum(len(c.cables) for c in matrix.cells if c.row == row), n)
        for row, n in matrix.rows_lacking
    ]
    return (
        *unlinked,
        *lacking,
        *(
            CableAnomaly(
                state=cell.state,
                row=matrix.rows[cell.row].name,
                column=matrix.columns[cell.column].name,
                n_cables=len(cell.cables),
                n_expected=cell.n_expected,
                look_at="; ".join(ports.look_at(cell)),
            )
            for cell in matrix.unexpected
        ),
    )


def _of_row(name: str, n_there: int, n_missing: int) -> CableAnomaly:
    look_at = f"{n_missing} fewer than its siblings, which differ in the places"
    return CableAnomaly(
        CableState.FEWER, name, "the level above", n_there, n_there + n_missing, look_at
    )


def cable_text(tiers: Tiers, cable: SubnetCable) -> str:
    """'leaf007[5] - spine02[7], 4xHDR, active'."""
    ends = " - ".join(f"{tiers.labels[end.node].name}[{end.port}]" for end in cable.ends)
    return f"{ends}, {cable.words}"


class _SiblingPorts:
    """The ports by which rows reach each column: most rows use the same."""

    def __init__(self, subnet: Subnet, tiers: Tiers, matrix: Matrix) -> None:
        self._subnet, self._tiers, self._matrix = subnet, tiers, matrix
        used: dict[int, Counter[int]] = defaultdict(Counter)
        n_rows: Counter[int] = Counter()
        for cell in matrix.cells:
            used[cell.column].update(cable.a.port for cable in cell.cables)
            n_rows[cell.column] += 1
        self._usual = {
            column: sorted(port for port, n in ports.items() if 2 * n > n_rows[column])
            for column, ports in used.items()
        }
        cabled: dict[int, set[int]] = defaultdict(set)
        for cable in subnet.cables:
            for end in cable.ends:
                cabled[end.node].add(end.port)
        self._cabled = cabled

    def look_at(self, cell: Cell) -> list[str]:
        """Texts about one cell, most telling first."""
        texts = [
            cable_text(self._tiers, cable)
            for cable in cell.cables
            if is_down(cable) or is_slower(cable, cell.gbps_expected)
        ]
        if cell.n_missing:
            texts += [*self._lacking(cell), *self._free(cell)]
        if cell.state is CableState.MORE:
            own = set(self._usual.get(cell.column, ()))
            extra = [cable for cable in cell.cables if cable.a.port not in own]
            texts += [cable_text(self._tiers, cable) for cable in extra]
        return texts

    def _lacking(self, cell: Cell) -> list[str]:
        """The ports by which the siblings of the row reach the column, and this row does not."""
        texts = []
        taken = {cable.a.port for cable in cell.cables}
        for switch in self._matrix.rows[cell.row].switches:
            name = self._tiers.labels[switch].name
            for port in [p for p in self._usual.get(cell.column, ()) if p not in taken]:
                texts.append(f"{name}[{port}] {self._instead(switch, port)}")
        return texts

    def _instead(self, switch: int, port: int) -> str:
        cable = self._subnet.cable_at.get((switch, port))
        if cable is not None:
            there = cable.beyond((switch, port))
            known = self._tiers.labels.get(there.node)
            name = known.name if known else shown(self._subnet.name(there.node))
            return f"goes to {name}[{there.port}] instead"
        parts = {u["port"]: u["physical"] for u in self._subnet.nodes[switch].uncabled}
        return f"has no cable that is up{' (' + parts[port] + ')' if port in parts else ''}"

    def _free(self, cell: Cell) -> list[str]:
        """Free ports at the other end: of the switch, of a director on the boards that the row's
        other cables go to."""
        texts = []
        switches = self._matrix.columns[cell.column].switches
        if len(switches) > 1:
            switches = tuple(dict.fromkeys(cable.b.node for cable in cell.cables))
        for switch in switches:
            ports = range(1, self._subnet.nodes[switch].n_ports + 1)
            free = [str(port) for port in ports if port not in self._cabled[switch]]
            if 0 < len(free) <= FEW_PORTS:
                name = self._tiers.labels[switch].name
                texts.append(f"free at the other end: {name}[{','.join(free)}]")
        return texts


def _n_in(cell: Cell, state: CableState) -> int:
    if state is CableState.DOWN:
        return sum(is_down(cable) for cable in cell.cables)
    gbps = cell.gbps_expected
    return sum(is_slower(cable, gbps) and not is_down(cable) for cable in cell.cables)


def _places(matrix: Matrix, cells: Sequence[Cell]) -> str:
    return _named(_cell_places(matrix, cells))


def _cell_places(matrix: Matrix, cells: Sequence[Cell]) -> list[str]:
    return [f"{matrix.rows[c.row].name} to {matrix.columns[c.column].name}" for c in cells]


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_PLACES
    return ", ".join(names[:MOST_PLACES]) + (f" and {more:,} more" if more > 0 else "")
