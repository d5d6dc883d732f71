"""The cables between two levels as a matrix: lower switches by upper ones, or by directors."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from weft.core.natural import natural_key
from weft.topology.subnet.subnet import SubnetCable
from weft.topology.subnet.tiers import Tiers

Number = TypeVar("Number", int, float | None)

MAJORITY = 0.75
"""The share of siblings from which on what they have is what one expects."""
FEWEST_SIBLINGS = 3


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
    `by_board`: the columns are boards of directors, and the matrix by director says more."""

    level: int
    by_director: bool
    by_board: bool
    rows: tuple[MatrixLine, ...]
    columns: tuple[MatrixLine, ...]
    cells: tuple[Cell, ...]

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
    return Matrix(
        level=level,
        by_director=bool(directors),
        by_board=by_board,
        rows=rows,
        columns=columns,
        cells=tuple(_cells(rows, columns, met)),
    )


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
        expected = _Expected(counts)
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


class _Expected:
    """The number that the siblings of a cell in its block have: the whole row where it is alike in
    itself (switches of another kind), the whole column, the whole block."""

    def __init__(self, counts: Sequence[Sequence[int]]) -> None:
        self._rows = [_majority(row) for row in counts]
        self._columns = [_majority(column) for column in zip(*counts, strict=True)]
        self._block = _majority([n for row in counts for n in row])

    def of(self, row: int, column: int) -> int | None:
        return self._rows[row] or self._columns[column] or self._block or None


def _majority(values: Sequence[Number]) -> Number | None:
    """The value of most of at least three."""
    if len(values) < FEWEST_SIBLINGS:
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
