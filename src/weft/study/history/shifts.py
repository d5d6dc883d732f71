"""The steps of a history, by benchmark: which cells moved, how far, and what changed there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.core.units import format_size
from weft.stats.change_points import LOCAL_ERROR, ChangePoint
from weft.stats.change_series import p_of_two
from weft.stats.summary import Floats
from weft.study.history.history import History, SettingChange
from weft.study.history.history_run import HistoryCell

TOLERANCE = 0.01
"""A smaller relative difference is no finding, at any certainty; as in a comparison."""


@dataclass(frozen=True, slots=True)
class CellShift:
    """A cell over one step: `slower` is the ratio of times (over 1: slower) between the stretches
    on both sides; `in_force` whether the last runs are still nearer to it than to before."""

    cell: HistoryCell
    slower: float
    in_force: bool


@dataclass(frozen=True, slots=True)
class Shift:
    """Cells of one group that moved the same way at one step. `changed` are the settings that
    changed on one of its dates; `n_cells` are the cells of the group."""

    point: ChangePoint
    cells: tuple[CellShift, ...]
    n_cells: int
    changed: tuple[SettingChange, ...]

    @property
    def is_slower(self) -> bool:
        """Whether the cells got slower."""
        return self.cells[0].slower > 1

    @property
    def in_force(self) -> bool:
        """Whether a cell still is as the step left it."""
        return any(one.in_force for one in self.cells)

    @property
    def most(self) -> CellShift:
        """The cell that moved most."""
        return max(self.cells, key=lambda one: abs(np.log(one.slower)))

    @property
    def subject(self) -> str:
        """'alltoall 4 KiB to 64 KiB, 512 nodes x 1 rank'."""
        first, last = self.cells[0].cell, self.cells[-1].cell
        size = first.size_text
        if first != last:
            size = f" {format_size(first.size_bytes)} to {format_size(last.size_bytes)}"
            if len(self.cells) < self.n_cells:
                size += f" ({len(self.cells)} of {self.n_cells} sizes)"
        return f"{first.benchmark}{size}, {first.where}"


def shifts_of(history: History) -> list[Shift]:
    """All shifts, in order of time; of each step the cells whose stretches differ (Welch's test at
    0.1 %, adjusted over cells), or the one that differs most where none does alone: none where that
    is less than a hundredth."""
    found = []
    edges = [0, *history.changes.boundaries, len(history.runs)]
    for i, point in enumerate(history.changes.points):
        low, at, high = edges[i], edges[i + 1], edges[i + 2]
        changed = tuple(one for one in history.events if point.first <= one.at <= point.last)
        moved = _moved(history, low, at, high)
        by_side: dict[tuple[object, bool], list[CellShift]] = {}
        for one in moved:
            by_side.setdefault((one.cell.group, one.slower > 1), []).append(one)
        for (group, _), some in by_side.items():
            n_cells = sum(cell.group == group for cell in history.cells)
            found.append(Shift(point, tuple(some), n_cells, changed))
    return found


def _moved(history: History, low: int, at: int, high: int) -> list[CellShift]:
    values = history.slowness
    n_cells = len(history.cells)
    p_values, shifts = [], []
    last = history.changes.boundaries[-1]
    for column, cell in enumerate(history.cells):
        before, after = values[low:at, column], values[at:high, column]
        if not (np.isfinite(before).any() and np.isfinite(after).any()):
            continue
        p_values.append(p_of_two(steady(before), steady(after)) * n_cells)
        slower = float(np.exp(np.nanmedian(after) - np.nanmedian(before)))
        end = values[last:, column]
        shifts.append(CellShift(cell, slower, still_holds(before, after, end)))
    sure = [
        one
        for one, p in zip(shifts, p_values, strict=True)
        if p < LOCAL_ERROR and abs(np.log(one.slower)) >= np.log1p(TOLERANCE)
    ]
    best = shifts[int(np.argmin(p_values))]
    if sure or abs(np.log(best.slower)) < np.log1p(TOLERANCE):
        return sure
    return [best]


def steady(values: Floats) -> Floats:
    """A column without values more than 3.5 robust standard deviations off."""
    middle = np.nanmedian(values)
    spread = 1.4826 * np.nanmedian(np.abs(values - middle))
    far = np.abs(values - middle) > 3.5 * spread if spread > 0 else np.zeros(len(values), bool)
    return np.asarray(np.where(far, np.nan, values)[:, None], dtype=np.float64)


def still_holds(before: Floats, after: Floats, end: Floats) -> bool:
    """Whether the end lies at least half of the step from before, on the same side."""
    if not np.isfinite(end).any():
        return True
    step = np.nanmedian(after) - np.nanmedian(before)
    return bool((np.nanmedian(end) - np.nanmedian(before)) * np.sign(step) >= abs(step) / 2)


def strange_last_runs(history: History) -> Sequence[int]:
    """The last runs, up to three, that are off in most cells: one more would tell whether they are
    outliers or a step."""
    edges = [0, *history.changes.boundaries]
    part = history.slowness[edges[-1] :]
    if len(part) < 7:
        return ()
    part = part[:, np.isfinite(part[:-3]).any(axis=0)]
    if not part.shape[1]:
        return ()
    body = part[:-3]
    middle = np.nanmedian(body, axis=0)
    spread = np.nanquantile(np.abs(body - middle), 0.85, axis=0) / 1.44
    with np.errstate(invalid="ignore"):
        far = np.nanmean(np.abs(part - middle) > 3.5 * np.maximum(spread, 1e-9), axis=1) > 0.5
    n = 0
    while n < 3 and far[len(part) - 1 - n]:
        n += 1
    return range(len(history.runs) - n, len(history.runs))
