"""Run directories of a history: found, read, and each run kept once."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from weft.core.clock import Clock, system_clock
from weft.core.errors import InputError
from weft.core.work.progress import each
from weft.study.history.history_run import DAY_S, HistoryRun, read_history_run
from weft.study.run.run_folder import RUN_FILE

PROCESSES_FROM = 100
"""Fewer runs are read sooner than processes start."""

_AT_ONCE = 32

ReadRow = Callable[[Path], HistoryRun]
"""The row of a run directory. Raises InputError; a function of a module, for other processes."""

KeptRow = Callable[[Path], HistoryRun | None]
"""The row of a run directory that was read before, in about a millisecond; None where none is."""


@dataclass(frozen=True, slots=True)
class LeftOutRun:
    """A directory that is no part of the history, and why."""

    directory: Path
    reason: str


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """`runs` in order of time (or as given), each once."""

    runs: tuple[HistoryRun, ...]
    left_out: tuple[LeftOutRun, ...]


def find_runs(
    places: Sequence[Path],
    *,
    as_given: bool = False,
    clock: Clock = system_clock,
    read: ReadRow = read_history_run,
    kept_row: KeptRow = lambda _: None,
) -> FoundRuns:
    """The runs of these run directories, and of the directories in which they lie.

    A named run directory must be readable: raises InputError, also for a place without any run. Of
    a directory of runs, those that cannot be read are left out, as are copies, runs without a time
    and runs without a figure. `as_given` keeps the order of the places instead of the time. `read`
    reads each row that `kept_row` does not have; processes share that work.
    """
    directories, named = run_directories(places)
    rows = _read_all(directories, named, read, kept_row)
    runs = [one for one in rows if isinstance(one, HistoryRun)]
    left_out = [one for one in rows if isinstance(one, LeftOutRun)]
    kept: list[HistoryRun] = []
    for run in _once(runs, left_out):
        reason = _no_place(run, clock(), as_given=as_given)
        if reason:
            left_out.append(LeftOutRun(run.directory, reason))
        else:
            kept.append(run)
    if not as_given:
        kept.sort(key=lambda run: (run.started_unix_s, run.name))
    return FoundRuns(tuple(kept), tuple(left_out))


def run_directories(places: Sequence[Path]) -> tuple[list[Path], set[Path]]:
    """All run directories, by their real path once, and those of them that were named. Raises
    InputError for a place without any run."""
    found: dict[str, Path] = {}
    named: set[Path] = set()
    for place in places:
        if os.path.lexists(place / RUN_FILE):
            named.add(place)
            found.setdefault(os.path.realpath(place), place)
            continue
        inside = _runs_in(place)
        if not inside:
            raise InputError(
                "holds no run",
                where=str(place),
                expected="run directories, or a directory of them, as `weft bench`, `weft study "
                "run`, `weft check` and `weft import` write",
            )
        for one in inside:
            found.setdefault(os.path.realpath(one), one)
    return list(found.values()), named


def _runs_in(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})",
            where=str(place),
            expected="a run directory, or a directory of run directories",
        ) from error
    # A hidden directory is an import that was killed.
    paths = [place / name for name in names if not name.startswith(".")]
    return [path for path in paths if os.path.lexists(path / RUN_FILE)]


def _read_all(
    directories: Sequence[Path], named: set[Path], read: ReadRow, kept_row: KeptRow
) -> list[HistoryRun | LeftOutRun]:
    """In the order of the directories."""
    found: dict[Path, HistoryRun | InputError] = {}
    for path in each(directories, "reading kept rows", unit="run"):
        row = kept_row(path)
        if row is not None:
            found[path] = row
    unknown = [path for path in directories if path not in found]
    one_row = partial(_read, read)
    if len(unknown) < PROCESSES_FROM:
        found.update(_each_read(unknown, map(one_row, unknown)))
    else:
        with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
            rows = pool.map(one_row, unknown, chunksize=_AT_ONCE)
            found.update(_each_read(unknown, rows))
    return [_judged(path, found[path], named) for path in directories]


def _each_read(
    directories: Sequence[Path], rows: Iterable[HistoryRun | InputError]
) -> Iterator[tuple[Path, HistoryRun | InputError]]:
    results = iter(rows)
    for path in each(directories, "reading runs", unit="run"):
        yield path, next(results)


def _read(read: ReadRow, directory: Path) -> HistoryRun | InputError:
    try:
        return read(directory)
    except InputError as error:
        return error


def _judged(path: Path, read: HistoryRun | InputError, named: set[Path]) -> HistoryRun | LeftOutRun:
    if isinstance(read, InputError):
        if path in named:
            raise read
        return LeftOutRun(path, f"cannot be read: {read.what}")
    return read


def _once(runs: Sequence[HistoryRun], left_out: list[LeftOutRun]) -> list[HistoryRun]:
    """Of copies of a run the one with most launches; of imports that share a file the first."""
    best: dict[str, HistoryRun] = {}
    for run in runs:
        other = best.get(run.identity)
        if other is None or run.n_over > other.n_over:
            best[run.identity] = run
    kept: list[HistoryRun] = []
    files: dict[str, HistoryRun] = {}
    for run in runs:
        chosen = best[run.identity]
        owner = next((files[one] for one in sorted(run.files) if one in files), None)
        if chosen is not run:
            left_out.append(LeftOutRun(run.directory, f"a copy of {chosen.directory}"))
        elif owner is not None:
            left_out.append(LeftOutRun(run.directory, f"shares files with {owner.directory}"))
        else:
            files.update(dict.fromkeys(run.files, run))
            kept.append(run)
    return kept


def _no_place(run: HistoryRun, now_s: float, *, as_given: bool) -> str:
    if not run.values:
        return next(iter(run.left_out), "no launch is complete")
    if as_given:
        return ""
    if not run.no_time and run.started_unix_s > now_s + DAY_S:
        return "its clock is ahead of this machine's"
    return run.no_time
