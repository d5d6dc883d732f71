"""The overview of a run: one row a cell and arm, over its launches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.stats.summary import Summary, summarise
from weft.study.comparison.cells import StudyCell, Value, arm_name, caveats_of, cells_of
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.replication import Unit, are_simulated, units_of_values
from weft.study.run.store import StudyRun


@dataclass(frozen=True, slots=True)
class TableRow:
    """The headline metric of a cell under an arm, summarised over units of replication."""

    arm: str
    cell: StudyCell
    metric: str
    summary: Summary
    n_launches: int
    unit: Unit
    remarks: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """The row as plain JSON values; `low` and `high` bound the median with 95 %."""
        return {
            "benchmark": self.cell.benchmark,
            "arm": self.arm,
            **({"condition": self.cell.condition} if self.cell.condition else {}),
            "n_nodes": self.cell.n_nodes,
            "tasks_per_node": self.cell.tasks_per_node,
            "size_bytes": self.cell.size_bytes,
            "metric": self.metric,
            "n_launches": self.n_launches,
            "n_units": self.summary.n,
            "unit": self.unit.value,
            "median": self.summary.median,
            "min": self.summary.minimum,
            "max": self.summary.maximum,
            "low": self.summary.low,
            "high": self.summary.high,
            "remarks": "; ".join(self.remarks),
        }


@dataclass(frozen=True, slots=True)
class RunTable:
    """Rows in the order benchmarks were planned, sizes rising, arms in the order of the study;
    `excluded` counts left-out samples by reason."""

    rows: tuple[TableRow, ...]
    excluded: Mapping[str, int]


def table_of(run: StudyRun) -> RunTable:
    """The table of a run, complete or not. Raises InputError on a damaged run."""
    cells = cells_of(run, Headlines([run]))
    planned = sorted(run.launches, key=lambda launch: launch.trial.id)
    place = _places(x.trial.benchmark for x in planned)
    arm_place = _places(arm_name(x.trial.arm) for x in planned)
    groups: dict[tuple[str, StudyCell, str], list[Value]] = {}
    for value in cells.values:
        groups.setdefault((value.arm, value.cell, value.metric), []).append(value)
    simulated = are_simulated([run])
    rows = [_row(*key, values, simulated=simulated) for key, values in groups.items()]
    rows.sort(key=lambda row: (place[row.cell.benchmark], row.cell, arm_place[row.arm]))
    return RunTable(tuple(rows), cells.excluded)


def _row(
    arm: str, cell: StudyCell, metric: str, values: list[Value], *, simulated: bool
) -> TableRow:
    units, unit = units_of_values(values, simulated=simulated)
    summary = summarise([value.value for value in units])
    return TableRow(arm, cell, metric, summary, len(values), unit, caveats_of(values))


def _places(names: Iterable[str]) -> dict[str, int]:
    """Each name's place in the order of first appearance."""
    return {name: i for i, name in enumerate(dict.fromkeys(names))}
