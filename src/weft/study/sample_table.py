"""Runs as one tidy table: a row a sample, a column a variable, for data frames and exports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.bench.model import Launch, Sample
from weft.core.errors import InputError
from weft.core.nodeset import fold
from weft.core.words import counted
from weft.study.comparison.cells import arm_name, n_repeats_of, study_of, unusable_because
from weft.study.comparison.treatment import settings_of
from weft.study.history.run_folders import run_directories
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun, read_run

OF_LAUNCH_TEXTS = ("run", "backend", "benchmark", "arm", "condition", "trial", "nodes")
OF_LAUNCH_COUNTS = ("n_nodes", "tasks_per_node", "node_set", "block", "repeat", "launch_order")
OF_SAMPLE_TEXTS = ("pair_a", "pair_b", "state", "left_out", "flags", "note")
IS_DRIFT_REPEAT = "is_drift_repeat"
FACTOR = "factor_"
"""The start of the name of a column that holds the setting of one factor."""

METRIC, VALUE = "metric", "value"

Column = NDArray[Any]
_NO_METRICS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SampleTable:
    """Columns of one length by name: texts as objects, counts as int64, figures as float64 with NaN
    for a figure that a row lacks. `metrics` names the columns with figures, units last; `remarks`
    say what the runs lack."""

    columns: Mapping[str, Column]
    metrics: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.columns["run"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as plain Python values; None for a missing figure."""
        lists = [_plain(column) for column in self.columns.values()]
        for values in zip(*lists, strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def one_value_a_row(self) -> "SampleTable":
        """The same with one row a figure: its name in `metric`, the figure in `value`. A launch
        without a figure keeps a row, with an empty `metric`."""
        figures = np.stack([self.columns[name] for name in self.metrics] or [np.empty(self.n_rows)])
        at, of = np.nonzero(~np.isnan(figures))
        without = np.flatnonzero(np.isnan(figures).all(axis=0))
        row = np.concatenate([of, without])
        names = np.array([*self.metrics, ""], dtype=object)
        metric = np.concatenate([names[at], np.full(len(without), "", dtype=object)])
        value = np.concatenate([figures[at, of], np.full(len(without), np.nan)])
        order = np.argsort(row, kind="stable")
        kept = {k: v[row[order]] for k, v in self.columns.items() if k not in self.metrics}
        long = {**kept, METRIC: metric[order], VALUE: value[order]}
        return SampleTable(long, (VALUE,), self.remarks)


def read_sample_table(places: Sequence[Path]) -> SampleTable:
    """The table of these run directories, and of those in folders of them. Raises InputError as
    `read_runs`, and where no launch of any run is over."""
    return sample_table(*read_runs(places))


def read_runs(
    places: Sequence[Path], *, with_fabric: bool = False
) -> tuple[list[StudyRun], list[str]]:
    """The runs of run directories and of folders of them, and a remark for each that a folder holds
    and that cannot be read. Raises InputError for a named run that cannot be read."""
    directories, named = run_directories(places)
    runs: list[StudyRun] = []
    remarks: list[str] = []
    for directory in directories:
        try:
            runs.append(read_run(directory, with_fabric=with_fabric))
        except InputError as error:
            if directory in named:
                raise
            remarks.append(f"{error.where or directory}: left out: {error.what}")
    return runs, remarks


def sample_table(runs: Sequence[StudyRun], remarks: Sequence[str] = ()) -> SampleTable:
    """The table of runs, in their order and each in the order of its plan. A launch that failed or
    hung has a row a planned size, without figures. Raises InputError where no launch is over."""
    rows = [row for run in runs for row in _rows_of(run)]
    said = [*remarks, *(remark for run in runs for remark in remarks_of(run))]
    if not rows:
        raise InputError(
            "; ".join(said) or "no run",
            expected="a run with a launch that is over",
            hint="an interrupted run goes on with --dir RUN --resume",
        )
    places = [row.place for row in rows]
    columns: dict[str, Column] = {}
    for name in OF_LAUNCH_TEXTS:
        columns[name] = _texts([place[name] for place in places])
    for name in _names(place["settings"] for place in places):
        columns[FACTOR + name] = _texts([place["settings"].get(name, "") for place in places])
    columns["size_bytes"] = np.array([row.size_bytes for row in rows], dtype=np.int64)
    for name in OF_LAUNCH_COUNTS:
        columns[name] = np.array([place[name] for place in places], dtype=np.int64)
    columns[IS_DRIFT_REPEAT] = np.array([place[IS_DRIFT_REPEAT] for place in places], np.bool_)
    for name in OF_SAMPLE_TEXTS:
        columns[name] = _texts([getattr(row, name) for row in rows])
    for name in ("run_started_unix_s", "launch_s"):
        columns[name] = np.array([place[name] for place in places], dtype=np.float64)
    columns["started_unix_s"] = np.array([row.started_unix_s for row in rows], dtype=np.float64)
    metrics = _names(row.metrics for row in rows)
    for name in metrics:
        figures = [row.metrics.get(name, np.nan) for row in rows]
        columns[name] = np.array(figures, dtype=np.float64)
    return SampleTable(columns, metrics, tuple(said))


class _Row(NamedTuple):
    """A sample, or a size of a launch without one. Rows of a launch share its `place`: a check has
    half a million of them, so they are tuples."""

    place: Mapping[str, Any]
    size_bytes: int
    state: str
    left_out: str
    pair_a: str = ""
    pair_b: str = ""
    flags: str = ""
    note: str = ""
    started_unix_s: float = np.nan
    metrics: Mapping[str, float] = _NO_METRICS


def _rows_of(run: StudyRun) -> Iterator[_Row]:
    study, n_repeats = study_of(run), n_repeats_of(run)
    places = {launch.key: _place(run, launch, n_repeats) for launch in run.launches}
    settings = {
        one.trial.id: settings_of(study, {**one.trial.arm, **one.trial.condition})
        for one in run.launches
    }
    for sample in run.samples:
        key = (sample.trial, sample.repeat)
        if key not in places:
            raise InputError(
                f"samples of {sample.trial} repeat {sample.repeat}, which is not in the plan",
                where=str(run.directory),
                expected="plan.jsonl and samples/ of the same run",
            )
        reason = unusable_because(sample, settings[sample.trial]) or ""
        yield _measured(places[key], sample, reason)
    failures = {(one.trial, one.repeat): one for one in run.failures}
    for launch in run.launches:
        failure = failures.get(launch.key)
        for size in launch.trial.sizes_bytes if failure else ():
            assert failure is not None
            state = failure.state.value
            yield _Row(places[launch.key], size, state, state, note=failure.message)


def _place(run: StudyRun, launch: Launch, n_repeats: int) -> dict[str, Any]:
    trial = launch.trial
    return {
        "run": str(run.directory),
        "backend": backend_of(run).name,
        "run_started_unix_s": run.meta.get("started_unix_s", np.nan),
        "benchmark": trial.benchmark,
        "arm": arm_name(trial.arm),
        "condition": arm_name(trial.condition) if trial.condition else "",
        "settings": {**trial.arm, **trial.condition},
        "trial": trial.id,
        "nodes": fold(trial.nodes),
        "n_nodes": len(trial.nodes),
        "tasks_per_node": trial.tasks_per_node,
        "node_set": trial.node_set,
        "block": launch.block,
        "repeat": launch.repeat,
        "launch_order": launch.order,
        IS_DRIFT_REPEAT: launch.repeat >= n_repeats,
        "launch_s": run.seconds.get(launch.key, np.nan),
    }


def _measured(place: Mapping[str, Any], sample: Sample, reason: str) -> _Row:
    pair = sample.pair
    return _Row(
        place,
        sample.size_bytes,
        sample.state.value,
        reason,
        pair_a=pair.a if pair else "",
        pair_b=pair.b if pair else "",
        flags=" ".join(sample.flags),
        note=sample.note or "",
        started_unix_s=sample.started_unix_s,
        metrics=sample.metrics,
    )


def remarks_of(run: StudyRun) -> Iterator[str]:
    """What a reader of the table has to know about a run."""
    yield from (f"{run.directory}: {remark}" for remark in run.remarks)
    if not run.launches:
        yield f"{run.directory}: no plan yet, so no launch"
    elif run.n_unfinished:
        launches = counted(len(run.launches), "launch", "launches")
        yield f"{run.directory}: {run.n_unfinished} of {launches} not finished, left out"
    if run.failures:
        launches = counted(len(run.failures), "launch", "launches")
        yield f"{run.directory}: {launches} failed or hung; their rows have no figures"


def _names(of_rows: Iterator[Mapping[str, Any]]) -> tuple[str, ...]:
    """All keys, in order of first appearance."""
    return tuple(dict.fromkeys(name for row in of_rows for name in row))


def _texts(values: Sequence[str]) -> Column:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _plain(column: Column) -> list[Any]:
    values = column.tolist()
    if column.dtype.kind == "f":
        return [None if value != value else value for value in values]  # noqa: PLR0124
    return list(values)
