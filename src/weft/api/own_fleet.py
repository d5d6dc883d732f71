"""`--against`: result files, folders of them, and run directories of the own fleet."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from weft.core.errors import InputError

if TYPE_CHECKING:
    from weft.bench.model import Sample, Trial
    from weft.judge.expectation.same_condition import FleetFiles
    from weft.results.model import ResultFile, Row, Table

METRICS = {"latency_us": ("latency_us", "latency_us_p50")}
"""Under which names a run directory has a metric of the judge, where it is not the same."""


def fleet_files(names: Iterable[str]) -> "FleetFiles | None":
    """The files of some names; None without names. Raises InputError for a named file that cannot
    be read, and where no file holds a table."""
    from weft.judge.expectation.same_condition import FleetFiles

    listed = list(names)
    if not listed:
        return None
    files = [results for name in listed for results in _results_of(Path(name))]
    if not files:
        raise InputError(
            "no result file holds a table",
            where=", ".join(listed),
            expected="--against: result files, folders of them, or run directories",
        )
    return FleetFiles(files)


def _results_of(path: Path) -> "list[ResultFile]":
    """The result files of a name; of a run directory without any (`weft bench`), its samples."""
    found = list(_files_of(path))
    if not found and (path / "run.toml").is_file():
        found = list(_of_run(path))
    return found


def _files_of(path: Path) -> "Iterator[ResultFile]":
    from weft.judge.files import files_below
    from weft.results.result_file import read_results

    for file, was_named in files_below([str(path)]):
        try:
            yield read_results(file)
        except InputError:
            if was_named:
                raise


def _of_run(run_dir: Path) -> "Iterator[ResultFile]":
    """A run directory as results: a table for each launch."""
    from weft.bench.model import State
    from weft.results.model import ResultFile
    from weft.study.run.store import read_run

    run = read_run(run_dir)
    trials = {launch.trial.id: launch.trial for launch in run.launches}
    rows: dict[tuple[str, int], list[Row]] = {}
    for sample in run.samples:
        if sample.state is State.OK and sample.trial in trials:
            rows.setdefault((sample.trial, sample.repeat), []).append(_row(sample))
    tables = tuple(_table(trials[trial], tuple(of)) for (trial, _), of in rows.items())
    if tables:
        yield ResultFile(str(run_dir), tables)


def _row(sample: "Sample") -> "Row":
    from weft.results.model import Row

    return Row(0, sample.size_bytes, _metrics(sample.metrics))


def _metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    found = dict(metrics)
    for metric, names in METRICS.items():
        value = next((metrics[name] for name in names if metrics.get(name, 0.0) > 0), None)
        if value is not None:
            found[metric] = value
    return found


def _table(trial: "Trial", rows: "tuple[Row, ...]") -> "Table":
    from weft.results.model import Table

    return Table(
        "weft",
        trial.benchmark,
        trial.benchmark,
        rows,
        0,
        n_ranks=trial.n_ranks,
        n_nodes=len(trial.nodes),
        tasks_per_node=trial.tasks_per_node,
    )
