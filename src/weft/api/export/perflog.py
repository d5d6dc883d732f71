"""Runs as a performance log of ReFrame: a line a figure, below the header that ReFrame expects.

SOURCE: reframe-hpc/reframe, reframe/core/logging.py: the header names the placeholders of the
handler's `format` without `check_`; `null` for what is not known; a file with another header is
moved away. docs/config_reference.rst: `logging.perflog_multiline`, one line a variable.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from weft.api.export.metric_units import metric_name
from weft.study.comparison.cells import ONE_ARM
from weft.study.comparison.table import TableRow, table_of
from weft.study.history.history_run import FIRST_TIME_S
from weft.study.run.store import StudyRun

COLUMNS = (
    "job_completion_time",
    "result",
    "display_name",
    "perf_var",
    "perf_value",
    "perf_unit",
    "perf_ref",
    "perf_lower_thres",
    "perf_upper_thres",
)
"""In their order in the `format` of the handler: docs/reference/export.md."""
TEST = "WeftBench"
"""The test of weft.api.reframe_tests whose log a run continues."""
SEPARATOR = "|"
_NULL = "null"


def perflog_text(runs: Sequence[StudyRun]) -> str:
    """The header, then the lines of runs in the order of their end."""
    lines = [line for run in sorted(runs, key=_ended_unix_s) for line in _lines_of(run)]
    return "\n".join([SEPARATOR.join(COLUMNS), *lines, ""])


def _lines_of(run: StudyRun) -> Iterator[str]:
    """A figure's median over its launches passes; a launch that failed or hung has a line of its
    own, without a figure."""
    ended = _time_text(_ended_unix_s(run))
    trials = {launch.key: launch.trial for launch in run.launches}
    for row in table_of(run).rows:
        metric = metric_name(row.metric)
        value = (perf_name(row), repr(float(row.summary.median)), metric.written_unit)
        # ReFrame writes 0 as the reference of a variable that has none.
        yield _line(ended, "pass", _row_name(row), *value, "0", _NULL, _NULL)
    for failure in run.failures:
        trial = trials.get((failure.trial, failure.repeat))
        name = TEST if trial is None else _name(trial.benchmark, {**trial.arm, **trial.condition})
        yield _line(ended, "fail", name, *[_NULL] * (len(COLUMNS) - 3))


def perf_name(row: TableRow) -> str:
    """'latency_us_p50_at_65536_bytes', as weft.api.reframe_tests names it."""
    size = row.cell.size_bytes
    return f"{row.metric}_at_{size}_bytes" if size else row.metric


def _row_name(row: TableRow) -> str:
    cell = row.cell
    settings = {"nodes": str(cell.n_nodes), "tasks_per_node": str(cell.tasks_per_node)}
    if row.arm != ONE_ARM:
        settings["arm"] = row.arm
    if cell.condition:
        settings["condition"] = cell.condition
    return _name(cell.benchmark, settings)


def _name(benchmark: str, settings: dict[str, str]) -> str:
    """'WeftBench %benchmark=allreduce %nodes=2', as ReFrame shows a test and its parameters."""
    parameters = {"benchmark": benchmark, **settings}
    return " ".join([TEST, *(f"%{name}={value}" for name, value in parameters.items())])


def _line(*fields: str) -> str:
    return SEPARATOR.join(" ".join(one.split()).replace(SEPARATOR, "/") for one in fields)


def _ended_unix_s(run: StudyRun) -> float:
    """The end of the last launch by the run's own clock; 0 for a run without a time."""
    started = float(run.meta.get("started_unix_s", 0.0))
    ends = [
        one.started_unix_s + run.seconds.get((one.trial, one.repeat), 0.0)
        for one in run.samples
        if one.started_unix_s >= FIRST_TIME_S
    ]
    return max([started, *ends])


def _time_text(unix_s: float) -> str:
    """As ReFrame's `%FT%T%:z`, in UTC; null for a run without a time."""
    if unix_s <= 0:
        return _NULL
    return datetime.fromtimestamp(unix_s, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")
