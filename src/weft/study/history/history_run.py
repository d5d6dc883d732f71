"""A run as one row of a history: its time, fabric, settings, and one value a cell."""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, log
from pathlib import Path
from statistics import median

from weft.bench.result_scale import has_own_benchmarks, is_imported
from weft.catalog.load import benchmark
from weft.core.units import format_size
from weft.study.comparison.cells import ONE_ARM, HeadlineOf, Value, cells_of, scale_text
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.replication import units_of_values
from weft.study.history.run_components import NO_CHECK, RunComponents
from weft.study.history.settings import host_names, settings_of
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun, read_run

FIRST_TIME_S = 946_684_800.0
"""The year 2000: a clock that says less was never set."""

DAY_S = 86_400.0

_catalogued = functools.cache(benchmark)
"""Thousands of runs ask for the same few benchmarks."""

_FOLLOW_UP = "follow-up"
"""The option `rounds` of a check's launches that measure its suspects, as plan.jsonl has it."""


@dataclass(frozen=True, slots=True, order=True)
class HistoryCell:
    """The unit of a history: figures of one cell only are compared over time."""

    benchmark: str
    n_nodes: int
    tasks_per_node: int
    arm: str
    metric: str
    size_bytes: int

    @property
    def group(self) -> tuple[str, int, int, str, str]:
        """All but the size: such cells are expected to move together."""
        return (self.benchmark, self.n_nodes, self.tasks_per_node, self.arm, self.metric)

    @property
    def text(self) -> str:
        """'alltoall 64 KiB, 512 nodes x 1 rank'."""
        return f"{self.benchmark}{self.size_text}, {self.where}"

    @property
    def size_text(self) -> str:
        """' 64 KiB', or nothing for a benchmark without sizes."""
        return f" {format_size(self.size_bytes)}" if self.size_bytes else ""

    @property
    def where(self) -> str:
        """'512 nodes x 1 rank', and the arm where there are several."""
        arm = "" if self.arm == ONE_ARM else f", {self.arm}"
        return scale_text(self.n_nodes, self.tasks_per_node) + arm


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """`slowness` is the logarithm of each cell's value, turned so that more is slower; `values`
    are the values. `no_time` says why the run has no place in time, or is empty. `identity` is
    equal for copies of one run; `files` are the digests of imported files; `components` those of a
    check."""

    directory: Path
    started_unix_s: float
    ended_unix_s: float
    no_time: str
    fabric: str
    kind: str
    identity: str
    files: frozenset[str]
    n_over: int
    settings: Mapping[str, str]
    values: Mapping[HistoryCell, float]
    slowness: Mapping[HistoryCell, float]
    left_out: Mapping[str, int]
    components: RunComponents = NO_CHECK

    @property
    def name(self) -> str:
        """The last part of its directory."""
        return self.directory.name or str(self.directory)


def read_history_run(directory: Path) -> HistoryRun:
    """The row of a run directory. Raises InputError for what is none, or is damaged."""
    return history_run(read_run(directory, with_fabric=False))


def history_run(run: StudyRun) -> HistoryRun:
    """The row of a run. Of a check only its survey counts: its follow-up measures suspects."""
    later = {x.key for x in run.launches if x.trial.options.get("rounds") == _FOLLOW_UP}
    run = dataclasses.replace(
        run, samples=tuple(s for s in run.samples if (s.trial, s.repeat) not in later)
    )
    headline: HeadlineOf = Headlines([run]) if has_own_benchmarks(run.meta) else _catalogued
    cells = cells_of(run, headline)
    left_out = dict(cells.excluded)
    by_cell: dict[HistoryCell, list[Value]] = {}
    for value in cells.values:
        reason = _unusable(value)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        cell = HistoryCell(
            value.cell.benchmark,
            value.cell.n_nodes,
            value.cell.tasks_per_node,
            _arm(value),
            value.metric,
            value.cell.size_bytes,
        )
        by_cell.setdefault(cell, []).append(value)
    backend = backend_of(run)
    values = {
        cell: median(one.value for one in units_of_values(some, simulated=backend.is_twin)[0])
        for cell, some in sorted(by_cell.items())
    }
    started, ended, no_time = _times(run)
    return HistoryRun(
        directory=run.directory,
        started_unix_s=started,
        ended_unix_s=ended,
        no_time=no_time,
        fabric=_fabric(run),
        kind=backend.name,
        identity=_identity(run),
        files=_files(run),
        n_over=run.n_over,
        settings=settings_of(run),
        values=values,
        slowness={
            cell: log(value) if _lower_is_better(cell, headline) else -log(value)
            for cell, value in values.items()
        },
        left_out=left_out,
    )


def _arm(value: Value) -> str:
    """The arm, with the condition under which it was measured: both are parts of a cell."""
    if not value.cell.condition:
        return value.arm
    return value.cell.condition if value.arm == ONE_ARM else f"{value.arm}, {value.cell.condition}"


def _unusable(value: Value) -> str:
    if not isfinite(value.value) or value.value <= 0:
        return f"{value.metric} of {value.cell.benchmark} is {value.value:g}"
    return f"{value.cell.benchmark}: {', '.join(value.no_verdict)}" if value.no_verdict else ""


def _lower_is_better(cell: HistoryCell, headline: HeadlineOf) -> bool:
    known = headline(cell.benchmark)
    if cell.metric == known.headline:
        return known.better == "lower"
    return cell.metric.startswith("latency")


def _times(run: StudyRun) -> tuple[float, float, str]:
    """Start and last launch by the run's own clock, and why it has no place in time."""
    if is_imported(run.meta):
        return 0.0, 0.0, "its files state no time"
    started = float(run.meta.get("started_unix_s", 0.0))
    if started < FIRST_TIME_S:
        return started, started, "its clock was not set" if started else "it states no time"
    times = [s.started_unix_s for s in run.samples if s.started_unix_s >= FIRST_TIME_S]
    if times and min(times) < started - DAY_S:
        return started, max(times), "its clock went backwards"
    return started, max([started, *times]), ""


def _fabric(run: StudyRun) -> str:
    """What two runs must share to be of one history."""
    backend, host = backend_of(run), run.meta.get("host", {})
    facts = backend.facts
    if backend.is_twin:
        return f"twin of {facts.get('platform', '?')}, {facts.get('fabric', '?')}"
    if is_imported(run.meta):
        devices = {one for file in facts.get("files", ()) for one in file.get("devices", ())}
        known = [str(facts["platform"])] if facts.get("platform") else sorted(map(str, devices))
        return f"imported, {', '.join([*known, host_names(run)])}"
    layers = sorted({str(one.get("link_layer", "")) for one in host.get("devices", ())} - {""})
    parts = [host_names(run), str(host.get("cpu_model", "")), *layers]
    return ", ".join(part for part in parts if part)


def _files(run: StudyRun) -> frozenset[str]:
    files = backend_of(run).facts.get("files", ()) if is_imported(run.meta) else ()
    return frozenset(str(file.get("sha256", "")) for file in files)


def _identity(run: StudyRun) -> str:
    """Of the record of the run without what a copy or a later reader may change; without a time
    two runs differ by their figures only."""
    kept = ("study_sha256", "seed", "nodes", "argv", "started_unix_s", "imported_unix_s")
    record = {key: run.meta.get(key) for key in kept} | {"host": run.meta.get("host", {})}
    if not run.meta.get("started_unix_s"):
        record["metrics"] = [dict(sample.metrics) for sample in run.samples]
    return hashlib.sha256(json.dumps(record, sort_keys=True, default=str).encode()).hexdigest()
