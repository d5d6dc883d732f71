"""Rows against the own fleet: what other runs reached under the very same conditions."""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from weft.catalog.machine.platform import Platform
from weft.core.words import counted
from weft.expect.model import Conditions, Expectation
from weft.judge.expectation.band_width import width_judged
from weft.judge.expectation.conditions import Given, TableConditions, conditions_of, setting_of
from weft.judge.expectation.expected_value import OWN_FLEET, Predict
from weft.judge.model import METRIC_UNITS, JudgedRow, RowState
from weft.judge.rules import Rules
from weft.results.model import ResultFile, Row, Table

_LABELS = ("placement", "type", "redop", "op", "state")
"""Labels of rows that are not compared with each other."""

Key = tuple[str, str, Conditions, tuple[str, ...]]
"""(metric, test, conditions without the library's version, labels)."""


@dataclass(frozen=True, slots=True)
class FleetValue:
    """The middle of a table's rows of one condition; `version` is the library's, "" if unknown."""

    path: str
    version: str
    value: float


@dataclass(frozen=True, slots=True)
class OwnFleet:
    """Values of other runs, by condition: one a table."""

    values: Mapping[Key, tuple[FleetValue, ...]] = field(default_factory=dict)
    n_files: int = 0

    def of(self, metric: str, table: Table, row: Row, conditions: Conditions) -> tuple[float, ...]:
        """What other runs reached in a metric under the conditions of a row. Versions must be equal
        where both runs state one."""
        version = _version(conditions)
        found = self.values.get(_key(metric, table, row, conditions), ())
        return tuple(one.value for one in found if one.version in ("", version) or not version)

    def without(self, path: str) -> "OwnFleet":
        """The fleet without one file: no run proves itself."""
        real = os.path.realpath(path)
        kept = {
            key: tuple(one for one in found if one.path != real)
            for key, found in self.values.items()
        }
        there = any(one.path == real for found in self.values.values() for one in found)
        return OwnFleet(kept, self.n_files - there)


class FleetFiles:
    """Result files of the own fleet. Their conditions depend on the platform and on what the user
    says, so that their values are gathered once for each."""

    def __init__(self, files: Sequence[ResultFile]) -> None:
        self._files = tuple(files)
        self._gathered: dict[tuple[object, ...], OwnFleet] = {}

    def under(self, given: Given, platform: Platform | None, *, link_class: bool) -> OwnFleet:
        """The values of all files, as a judgement with these options reads them."""
        name = platform.name if platform else ""
        key = (given.n_nodes, given.tasks_per_node, given.memory, given.nccl_version, name)
        if key not in self._gathered:
            self._gathered[key] = _gathered(self._files, given, platform, link_class=link_class)
        return self._gathered[key]


def _gathered(
    files: Sequence[ResultFile], given: Given, platform: Platform | None, *, link_class: bool
) -> OwnFleet:
    values: dict[Key, list[FleetValue]] = defaultdict(list)
    for results in files:
        path = os.path.realpath(results.path)
        own = replace(given, variables=results.environment)
        for table in results.tables:
            setting = setting_of(table, own, platform, link_class=link_class)
            for key, found in _of_table(table, setting).items():
                version = _version(setting.conditions) if setting.conditions else ""
                values[key].append(FleetValue(path, version, median(found)))
    return OwnFleet({key: tuple(found) for key, found in values.items()}, len(files))


def compared(
    judged: Sequence[JudgedRow | None],
    setting: TableConditions,
    fleet: OwnFleet | None,
    rules: Rules,
    *,
    platform: Platform | None,
    ask: Predict | None,
) -> list[JudgedRow | None]:
    """The rows of a table against the own fleet; then those whose range is too wide to tell."""
    return [
        row
        if row is None
        else width_judged(_against_fleet(row, setting, fleet, rules), platform, ask, rules)
        for row in judged
    ]


def own_fleet_remark(rows: Sequence[JudgedRow], fleet: OwnFleet, rules: Rules) -> str:
    """How many rows the own fleet could be asked for."""
    n = sum(is_of_fleet(row.expectation) for row in rows)
    few = len(rows) - n
    least = rules.same_condition_least
    lacking = f"; not enough for {few}: fewer than {least} values under the same conditions"
    files = counted(fleet.n_files, "file")
    return f"{n} of {len(rows)} rows compared with the own fleet ({files})" + lacking * bool(few)


def is_of_fleet(found: Expectation | None) -> bool:
    """Whether an expectation is what the own fleet reached."""
    return found is not None and found.formula.startswith(OWN_FLEET)


def _against_fleet(
    row: JudgedRow, setting: TableConditions, fleet: OwnFleet | None, rules: Rules
) -> JudgedRow:
    if fleet is None or setting.conditions is None or row.state is RowState.IMPOSSIBLE:
        return row
    conditions = conditions_of(row.row, setting.conditions)
    values = fleet.of(row.metric, row.table, row.row, conditions)
    if len(values) < rules.same_condition_least:
        return row
    found = _expectation(row, values, rules)
    state = _state(row.value, found)
    return replace(row, state=state, conditions=conditions, expectation=found, note="")


def _expectation(row: JudgedRow, values: Sequence[float], rules: Rules) -> Expectation:
    """From the least to the greatest value, each with the scatter of another run."""
    model, factor = row.expectation, rules.same_condition
    return Expectation(
        metric=row.metric,
        value=median(values),
        unit=METRIC_UNITS.get(row.metric, ""),
        low=min(values) / factor,
        high=max(values) * factor,
        bound=model.bound if model else "what the own fleet reached",
        formula=f"{OWN_FLEET}: the least and the greatest of {len(values)} values under the same"
        f" conditions, divided or multiplied by {factor:g} at most",
        source="measured: the files of --against",
        limit=model.limit if model else None,
        limit_name=model.limit_name if model else "",
    )


def _state(value: float, found: Expectation) -> RowState:
    if found.low <= value <= found.high:
        return RowState.NORMAL
    return RowState.LOW if (value > found.high) == found.lower_is_better else RowState.HIGH


def _of_table(table: Table, setting: TableConditions) -> dict[Key, list[float]]:
    found: dict[Key, list[float]] = defaultdict(list)
    if setting.conditions is None:
        return found
    for row in table.rows:
        conditions = conditions_of(row, setting.conditions)
        for metric in METRIC_UNITS:
            if row.metrics.get(metric, 0.0) > 0:
                found[_key(metric, table, row, conditions)].append(row.metrics[metric])
    return found


def _key(metric: str, table: Table, row: Row, conditions: Conditions) -> Key:
    # MPI's and NCCL's benchmarks measure the same by any tool; verbs have a test an operation.
    test = table.test if conditions.library == "verbs" else ""
    labels = tuple(row.labels.get(name, "") for name in _LABELS)
    # A link without GPUs judges their memory as the host's: here the two stay apart.
    memory = table.memory or conditions.memory
    return metric, test, replace(conditions, library_version=""), (*labels, memory)


def _version(conditions: Conditions) -> str:
    """The library's version without its patch."""
    return ".".join(conditions.library_version.split(".")[:2])
