"""Cells that a comparison should hold and does not: a slow one may hide among them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, cannot_tell
from weft.core.units import format_size
from weft.study.comparison.cells import StudyCell, arm_name, cell_of, n_repeats_of
from weft.study.comparison.rows import ComparisonRow, PlannedUnits
from weft.study.run.store import StudyRun

_SIZES_NAMED = 4
_BY_PAIR = "pairs"
"""A benchmark that measures two of its sizes at most: its samples alone tell which."""


@dataclass(frozen=True, slots=True)
class MissingFacts(FindingFacts):
    """Sizes of a benchmark that `second` has no counted launch of next to one of `first`."""

    benchmark: str
    first: str
    second: str
    sizes_bytes: tuple[int, ...]
    condition: str = ""


def expected_cells(run: StudyRun, arms: Collection[str] | None = None) -> PlannedUnits:
    """The cells that some arms (all, where none are named) were to measure, and their launches."""
    n_repeats = n_repeats_of(run)
    wanted = [
        launch
        for launch in run.launches
        if launch.repeat < n_repeats and (arms is None or arm_name(launch.trial.arm) in arms)
    ]
    of_pairs: dict[str, set[int]] = {}
    for sample in run.samples:
        of_pairs.setdefault(sample.trial, set()).add(sample.size_bytes)
    trials = {launch.trial.id: launch.trial for launch in wanted}
    units: dict[str, set[tuple[int, int]]] = {}
    for launch in wanted:
        trial_id, node_set = launch.trial.id, launch.trial.node_set
        units.setdefault(trial_id, set()).add((node_set, launch.repeat))
    planned: dict[StudyCell, set[tuple[int, int]]] = {}
    for trial in trials.values():
        by_pair = trial.benchmark == _BY_PAIR
        for size in of_pairs.get(trial.id, ()) if by_pair else trial.sizes_bytes:
            planned.setdefault(cell_of(trial, size), set()).update(units[trial.id])
    return planned


def missing_cells(
    rows: Iterable[ComparisonRow], expected: Collection[StudyCell], second: str
) -> list[StudyCell]:
    """Expected cells that no row of `second` compares, in order."""
    return sorted(set(expected) - {row.cell for row in rows if row.second == second})


def missing_findings(
    rows: Iterable[ComparisonRow], expected: Collection[StudyCell], first: str, second: str
) -> list[Finding]:
    """One finding a benchmark and scale with expected cells that no row of `second` compares."""
    groups: dict[tuple[str, str], list[StudyCell]] = {}
    for cell in missing_cells(rows, expected, second):
        groups.setdefault((cell.benchmark, cell.scale), []).append(cell)
    return [_finding(cells, first, second) for cells in groups.values()]


def _finding(cells: list[StudyCell], first: str, second: str) -> Finding:
    cell = cells[0]
    sizes = tuple(one.size_bytes for one in cells)
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell(
            f"{cell.benchmark} on {cell.scale} with {second} against {first}{_at(sizes)}: "
            "no launch counts on both sides",
            "launches of both that complete.",
        ),
        facts=MissingFacts(cell.benchmark, first, second, sizes, cell.condition),
    )


def _at(sizes: tuple[int, ...]) -> str:
    if sizes == (0,):
        return ""
    if len(sizes) > _SIZES_NAMED:
        return f" at {len(sizes)} sizes ({format_size(sizes[0])} to {format_size(sizes[-1])})"
    return f" at {', '.join(format_size(size) for size in sizes)}"
