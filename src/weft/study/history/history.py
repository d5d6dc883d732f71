"""The runs of one fabric in order: series of cells, stretches of settings, change points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from weft.stats.change_points import Changes, find_changes, least_runs
from weft.stats.change_scan import LEAST_STRETCH, Bools
from weft.stats.summary import Floats
from weft.study.history.history_run import HistoryCell, HistoryRun
from weft.study.history.settings import UNSET, is_variable

TWIN = "twin"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that has another value from run `at` on."""

    at: int
    key: str
    before: str
    after: str

    @property
    def text(self) -> str:
        """'adaptive routing off -> on'."""
        return f"{self.key} {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class History:
    """Runs of one fabric. `slowness` has a row a run and a column a cell of `cells`, NaN where a
    run lacks the cell. `few` are cells with fewer runs than a step needs, each with its number.
    `n_repeated`: runs of a twin that repeat a simulation, and count with it once."""

    fabric: str
    runs: tuple[HistoryRun, ...]
    cells: tuple[HistoryCell, ...]
    slowness: Floats
    settings: Mapping[str, tuple[str, ...]]
    changes: Changes
    few: Mapping[HistoryCell, int]
    n_repeated: int

    @property
    def events(self) -> tuple[SettingChange, ...]:
        """Every change of a recorded setting, in time."""
        found = [
            SettingChange(at, key, before, after)
            for key, values in self.settings.items()
            for at, (before, after) in enumerate(pairwise(values), start=1)
            if before != after
        ]
        return tuple(sorted(found, key=lambda one: (one.at, one.key)))

    @property
    def groups(self) -> list[int]:
        """By cell the number of its group: cells that differ in size only."""
        names = {name: i for i, name in enumerate(dict.fromkeys(c.group for c in self.cells))}
        return [names[cell.group] for cell in self.cells]


def histories_of(
    runs: Sequence[HistoryRun], *, one_fabric: bool = False, seed: int = 1
) -> tuple[History, ...]:
    """The histories of runs in order, one a fabric, the one with most runs first. With `one_fabric`
    the runs of one backend are of one fabric, whatever hosts and hardware they recorded."""
    by_fabric: dict[str, list[HistoryRun]] = {}
    for run in runs:
        by_fabric.setdefault(run.kind if one_fabric else run.fabric, []).append(run)
    found = [_history(fabric, some, seed) for fabric, some in by_fabric.items()]
    return tuple(sorted(found, key=lambda one: -len(one.runs)))


def _history(fabric: str, runs: list[HistoryRun], seed: int) -> History:
    n_all = len(runs)
    runs = _distinct(runs)
    counts: dict[HistoryCell, int] = {}
    for run in runs:
        for cell in run.values:
            counts[cell] = counts.get(cell, 0) + 1
    needed = least_runs()
    cells = tuple(sorted(cell for cell, n in counts.items() if n >= needed))
    few = {cell: n for cell, n in sorted(counts.items()) if n < needed}
    slowness = np.array(
        [[run.slowness.get(cell, np.nan) for cell in cells] for run in runs], dtype=np.float64
    ).reshape(len(runs), len(cells))
    settings = _settings(runs)
    history = History(
        fabric, tuple(runs), cells, slowness, settings, Changes((), False, 1.0), few,
        n_all - len(runs),
    )  # fmt: skip
    if not cells:
        return history
    given = contrasts_of(settings)
    changes = find_changes(slowness, history.groups, list(given.values()), seed=seed)
    return History(
        fabric, history.runs, cells, slowness, settings, changes, few, history.n_repeated
    )


def contrasts_of(settings: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, str], Bools]:
    """The runs that had a value of a setting, by (setting, value); each division of runs once."""
    found: dict[tuple[str, str], Bools] = {}
    seen: set[bytes] = set()
    for key, values in settings.items():
        for value in dict.fromkeys(values):
            inside = np.array([one == value for one in values])
            division = (inside ^ bool(inside[0])).tobytes()
            enough = LEAST_STRETCH <= int(inside.sum()) <= inside.size - LEAST_STRETCH
            if enough and division not in seen:
                seen.add(division)
                found[key, value] = inside
    return found


def _settings(runs: Sequence[HistoryRun]) -> dict[str, tuple[str, ...]]:
    """By setting its value in each run. A variable that a run lacks was unset; any other setting
    that it lacks is unknown, and taken as in the run before (or, at the start, after)."""
    found: dict[str, tuple[str, ...]] = {}
    for key in sorted({key for run in runs for key in run.settings}):
        known = [run.settings.get(key, UNSET if is_variable(key) else None) for run in runs]
        first = next(value for value in known if value is not None)
        filled: list[str] = []
        for value in known:
            filled.append(value if value is not None else (filled[-1] if filled else first))
        if len(set(filled)) > 1:
            found[key] = tuple(filled)
    return found


def _distinct(runs: Sequence[HistoryRun]) -> list[HistoryRun]:
    """A twin repeats itself: a run with values and settings of an earlier one is no evidence."""
    kept: list[HistoryRun] = []
    seen: set[object] = set()
    for run in runs:
        values = tuple((c, round(v, 12)) for c, v in sorted(run.slowness.items()))
        key = (values, tuple(sorted(run.settings.items())))
        if run.kind == TWIN and key in seen:
            continue
        seen.add(key)
        kept.append(run)
    return kept
