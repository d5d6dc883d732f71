"""The cables between two levels as a matrix: lower switches by upper ones, or by directors."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from weft.core.natural import natural_key
from weft.topology.subnet.siblings import COLUMN_SHARE, SIBLING_SHARE, SMALLEST_GROUP
from weft.topology.subnet.subnet import SubnetCable
from weft.topology.subnet.tiers import Tiers

Number = TypeVar("Number", int, float | None)

MAJORITY = COLUMN_SHARE
"""The share of siblings from which on what they have is what one expects."""


class CableState(StrEnum):
    """How the cables of a cell are, compared with their siblings; worst first."""

    MISSING = "missing"
    DOWN = "down"
    FEWER = "fewer"
    SLOWER = "slower"
    MORE = "more"
    AS_EXPECTED = "as expected"


@dataclass(frozen=True, slots=True)
class MatrixLine:
    """A row or a column: a switch, or the boards of a director."""

    name: str
    switches: tuple[int, ...]
    block: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a row and a column meet: their cables, the row's end first. `n_expected`: what the
    siblings have, None where they have nothing in common. `gbps_expected`: of one cable."""

    row: int
    column: int
    cables: tuple[SubnetCable, ...]
    n_expected: int | None
    gbps_expected: float | None
    state: CableState

    @property
    def n_missing(self) -> int:
        """Cables that the siblings have and this cell has not."""
        return max(0, (self.n_expected or 0) - len(self.cables))


@dataclass(frozen=True, slots=True)
class Matrix:
    """`level`: of the rows; columns are one level higher. Rows and columns stand block by block:
    what no cable joins is another block (the pods of a tree, the insides of directors).
    `by_board`: the columns are boards of directors, and the matrix by director says more.
    `rows_lacking`: rows with fewer cables than their siblings, to no column that these tell; and
    how many. `rows_unknown`: rows of which no siblings tell whether they lack some."""

    level: int
    by_director: bool
    by_board: bool
    rows: tuple[MatrixLine, ...]
    columns: tuple[MatrixLine, ...]
    cells: tuple[Cell, ...]
    rows_lacking: tuple[tuple[int, int], ...] = ()
    rows_unknown: tuple[int, ...] = ()

    @property
    def cells_once(self) -> tuple[Cell, ...]:
        """The cells, those of two that mirror each other once."""
        if self.level:
            return self.cells
        return tuple(cell for cell in self.cells if cell.row < cell.column)

    @property
    def n_cables(self) -> int:
        """Cables that are there."""
        return sum(len(cell.cables) for cell in self.cells_once)

    @property
    def has_pattern(self) -> bool:
        """Whether any cell has siblings that say what it should be."""
        return any(cell.n_expected is not None for cell in self.cells)

    @property
    def says_more(self) -> bool:
        """Whether its anomalies are absent from the matrix by director."""
        return self.has_pattern or not self.by_board

    @property
    def unexpected(self) -> tuple[Cell, ...]:
        """Cells that are not as expected, worst first."""
        order = list(CableState)
        found = [cell for cell in self.cells_once if cell.state is not CableState.AS_EXPECTED]
        return tuple(sorted(found, key=lambda c: (order.index(c.state), c.row, c.column)))


def matrices_of(tiers: Tiers) -> tuple[Matrix, ...]:
    """From the leaves up; where columns are boards of directors, the matrix by director first."""
    found = []
    for level, cables in tiers.between.items():
        directors = _directors(tiers, level)
        if directors:
            found.append(_matrix(tiers, level, cables, directors))
        found.append(_matrix(tiers, level, cables, {}, by_board=bool(directors)))
    return tuple(found)


def all_matrices_of(tiers: Tiers) -> tuple[Matrix, ...]:
    """Those of `matrices_of`; of a fabric without levels the square."""
    return matrices_of(tiers) if tiers.is_layered else (square_of(tiers),)


def square_of(tiers: Tiers) -> Matrix:
    """Every switch by every switch, for fabrics without levels. Missing cables are unknown."""
    names = {node: label.name for node, label in tiers.labels.items()}
    met: dict[tuple[str, str], list[SubnetCable]] = defaultdict(list)
    cables = [*tiers.sideways, *(cable for found in tiers.between.values() for cable in found)]
    for cable in cables:
        for one in (cable, SubnetCable(cable.b, cable.a)):
            met[names[one.a.node], names[one.b.node]].append(one)
    lines = _lines(names, {}, "row")
    cells = tuple(_cells(lines, lines, met))
    return Matrix(
        level=0, by_director=False, by_board=False, rows=lines, columns=lines, cells=cells
    )


def _directors(tiers: Tiers, level: int) -> Mapping[int, str]:
    """The director of each upper switch; nothing where they are switches by themselves, or where
    the rows are boards of the same directors."""
    upper = tiers.switches.get(level + 1, ())
    systems = {node: tiers.labels[node].system for node in upper}
    own = {tiers.labels[node].system for node in tiers.switches.get(level, ())}
    n_boards = Counter(systems.values())
    if not all(systems.values()) or own & set(systems.values()) or len(n_boards) < 2:
        return {}
    return systems if len(upper) >= 2 * len(n_boards) else {}


def _matrix(
    tiers: Tiers,
    level: int,
    cables: Sequence[SubnetCable],
    directors: Mapping[int, str],
    *,
    by_board: bool = False,
) -> Matrix:
    lower = {node: tiers.labels[node].name for node in tiers.switches[level]}
    upper = {node: tiers.labels[node].name for node in tiers.switches[level + 1]}
    upper.update(directors)
    met: dict[tuple[str, str], list[SubnetCable]] = defaultdict(list)
    for cable in sorted(cables, key=lambda cable: cable.a.key):
        met[lower[cable.a.node], upper[cable.b.node]].append(cable)
    # Boards stand by their director, whichever leaves they serve.
    blocks = {} if by_board else _blocks(met)
    rows, columns = _lines(lower, blocks, "row"), _lines(upper, blocks, "column")
    cells = tuple(_cells(rows, columns, met, tiers.up_links.usual))
    unknown = set(tiers.up_links.unknown)
    return Matrix(
        level=level,
        by_director=bool(directors),
        by_board=by_board,
        rows=rows,
        columns=columns,
        cells=cells,
        rows_lacking=tuple(_rows_lacking(rows, cells, tiers.up_links.n_lacking)),
        rows_unknown=tuple(at for at, row in enumerate(rows) if unknown & set(row.switches)),
    )


def _rows_lacking(
    rows: Sequence[MatrixLine], cells: Sequence[Cell], n_lacking: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    for at, row in enumerate(rows):
        own = [cell for cell in cells if cell.row == at]
        n_told = sum(cell.n_missing for cell in own)
        n = sum(n_lacking.get(switch, 0) for switch in row.switches) - n_told
        if own and n > 0:
            yield at, n


Key = tuple[str, str]


def _blocks(met: Mapping[tuple[str, str], object]) -> Mapping[Key, int]:
    """The block of every ('row' or 'column', name), numbered by the first row's name."""
    above: dict[Key, Key] = {}

    def top(key: Key) -> Key:
        while above.setdefault(key, key) != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    for row, column in met:
        above[top(("column", column))] = top(("row", row))
    tops = {key: top(key) for key in list(above)}
    in_order = sorted(tops, key=lambda key: (key[0] != "row", natural_key(key[1])))
    numbers: dict[Key, int] = {}
    for key in in_order:
        numbers.setdefault(tops[key], len(numbers))
    return {key: numbers[found] for key, found in tops.items()}


def _lines(
    names: Mapping[int, str], blocks: Mapping[Key, int], side: str
) -> tuple[MatrixLine, ...]:
    switches: dict[str, list[int]] = defaultdict(list)
    for node, name in names.items():
        switches[name].append(node)
    lines = [
        MatrixLine(name, tuple(nodes), blocks.get((side, name), len(blocks)))
        for name, nodes in switches.items()
    ]
    return tuple(sorted(lines, key=lambda line: (line.block, natural_key(line.name))))


def _cells(
    rows: Sequence[MatrixLine],
    columns: Sequence[MatrixLine],
    met: Mapping[tuple[str, str], list[SubnetCable]],
    usual_ups: Mapping[int, int] | None = None,
) -> list[Cell]:
    usual_gbps = _usual([cable.gbps for cables in met.values() for cable in cables])
    cells = []
    for block in sorted({line.block for line in rows}):
        part_rows = [(at, line) for at, line in enumerate(rows) if line.block == block]
        part_columns = [(at, line) for at, line in enumerate(columns) if line.block == block]
        counts = [
            [len(met.get((row.name, column.name), ())) for _, column in part_columns]
            for _, row in part_rows
        ]
        usual = [_usual_of(row, usual_ups) for _, row in part_rows]
        expected = _Expected(counts, usual if usual_ups is not None else None)
        for (i, (at_row, row)), n_of_row in zip(enumerate(part_rows), counts, strict=True):
            cables = [met.get((row.name, column.name), []) for _, column in part_columns]
            own = [cable.gbps for found in cables for cable in found]
            gbps = _majority(own) or usual_gbps
            for j, (at_column, _) in enumerate(part_columns):
                n_expected = expected.of(i, j)
                if n_of_row[j] or n_expected:
                    state = _state(cables[j], n_expected, gbps)
                    cells.append(Cell(at_row, at_column, tuple(cables[j]), n_expected, gbps, state))
    return cells


def _usual_of(row: MatrixLine, usual_ups: Mapping[int, int] | None) -> int | None:
    """The cables up that a row should have; None where its siblings do not tell."""
    numbers = [(usual_ups or {}).get(switch) for switch in row.switches]
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


class _Expected:
    """The number that the siblings of a cell in its block have: the whole row where it is alike in
    itself (switches of another kind), the whole column, the whole block.

    A row with as many cables as its siblings (`usual`) lacks none; of a row that has fewer, cells
    should have what the whole rows of the block mostly have. So the audit judges, too.
    """

    def __init__(
        self, counts: Sequence[Sequence[int]], usual: Sequence[int | None] | None = None
    ) -> None:
        self._counts = counts
        self._usual = usual
        totals = [sum(row) for row in counts]
        self._n_missing = [
            max(0, (number or 0) - total)
            for number, total in zip(usual or [None] * len(totals), totals, strict=True)
        ]
        self._whole = [
            row
            for row, number, total in zip(
                counts, usual or [None] * len(totals), totals, strict=True
            )
            if number == total
        ]
        self._rows = [_majority(row) for row in counts]
        self._columns = [_majority(column) for column in zip(*counts, strict=True)]
        self._block = _majority([n for row in counts for n in row])

    def of(self, row: int, column: int) -> int | None:
        """The cables that a cell should have; None where its siblings do not tell."""
        alike = self._rows[row] or self._columns[column] or self._block or None
        if self._usual is None:
            return alike
        if self._n_missing[row]:
            return self._near(row, column) or alike
        # With as many cables as its siblings, one that lacks here is at another switch.
        is_here = alike is None or alike <= self._counts[row][column]
        return alike if is_here or self._has_more(row) else None

    def _near(self, row: int, column: int) -> int | None:
        """The cables to a column that whole rows mostly have, of those with cables to the same."""
        own = {at for at, n in enumerate(self._counts[row]) if n}
        near = [
            other
            for other in self._whole
            if sum(other[at] > 0 for at in own) * 2 >= max(1, len(own))
        ]
        if len(near) < SMALLEST_GROUP - 1:
            return None
        return _at_least([other[column] for other in near], SIBLING_SHARE)

    def _has_more(self, row: int) -> bool:
        """Whether a cell of the row has more cables than its column."""
        pairs = zip(self._counts[row], self._columns, strict=True)
        return any(usual is not None and count > usual for count, usual in pairs)


def _at_least(values: Sequence[int], share: float) -> int | None:
    value, n = Counter(values).most_common(1)[0]
    return value if n >= share * len(values) else None


def _majority(values: Sequence[Number]) -> Number | None:
    """The value of most of at least three."""
    if len(values) < SMALLEST_GROUP:
        return None
    value, n = Counter(values).most_common(1)[0]
    return value if n >= MAJORITY * len(values) else None


def _usual(values: Sequence[float | None]) -> float | None:
    known = Counter(value for value in values if value)
    return known.most_common(1)[0][0] if known else None


def is_down(cable: SubnetCable) -> bool:
    """Whether an end says that no traffic passes."""
    return any(
        end.logical not in (None, "active") or end.physical not in (None, "link-up")
        for end in cable.ends
    )


def is_slower(cable: SubnetCable, gbps_expected: float | None) -> bool:
    """Whether it runs below its siblings, or below what both of its ends can do."""
    gbps = cable.gbps
    if not gbps:
        return False
    able = [end.supported_gbps for end in cable.ends if end.supported_gbps]
    limits = [*([gbps_expected] if gbps_expected else []), *([min(able)] if len(able) == 2 else [])]
    return any(gbps < 0.99 * limit for limit in limits)


def _state(cables: Sequence[SubnetCable], n_expected: int | None, gbps: float | None) -> CableState:
    if not cables:
        return CableState.MISSING
    if any(is_down(cable) for cable in cables):
        return CableState.DOWN
    if n_expected is not None and len(cables) < n_expected:
        return CableState.FEWER
    if any(is_slower(cable, gbps) for cable in cables):
        return CableState.SLOWER
    if n_expected is not None and len(cables) > n_expected:
        return CableState.MORE
    return CableState.AS_EXPECTED
