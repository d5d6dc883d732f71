"""Tables to fit a platform to, from result files and run directories."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from weft.bench.twin.scenario import window_of
from weft.catalog.load import benchmark as benchmark_named
from weft.catalog.machine.platform import Platform
from weft.core.documents.text_file import open_file, read_file_bytes
from weft.core.errors import InputError
from weft.core.jsonl import MOST_BYTES
from weft.expect.fit.tables import (
    BANDWIDTH,
    BENCHMARKS,
    BIDIRECTIONAL,
    METRICS,
    USUAL_WINDOW,
    MeasuredTable,
)
from weft.results.model import Table
from weft.results.result_file import EXPECTED_FILE, MOST_RESULT_BYTES, read_results
from weft.study.comparison.cells import Value, cells_of
from weft.study.comparison.headlines import Headlines
from weft.study.run.store import StudyRun, read_run

TWO_RANKS = 2
MESSAGE_RATE = "message_rate"
MOST_MESSAGES = 1 << 20
"""Of a window: the engine's limit."""


@dataclass(frozen=True, slots=True)
class TablesFound:
    """The tables to fit, and remarks on skipped ones."""

    tables: tuple[MeasuredTable, ...]
    remarks: tuple[str, ...]


def tables_of(
    paths: Sequence[Path], window: int | None = None, *, several_runs: bool = False
) -> TablesFound:
    """Latency and bandwidth tables of these files and runs; repeats of one table become medians, or
    stay tables of `several_runs`, whose hosts may differ.

    `window` says how many messages a window had where a file does not. Raises InputError for files
    that cannot be read, hold no such table, or are of GPU memory, several ranks, or other hosts.
    """
    found: list[MeasuredTable] = []
    remarks: list[str] = []
    hosts: dict[frozenset[str], str] = {}
    for path in paths:
        if path.is_dir():
            found += _of_run(path)
            continue
        tables = list(_of_file(path, hosts, remarks, several_runs=several_runs))
        if not tables:
            raise InputError(
                "no table of latency or bandwidth between two ranks",
                where=str(path),
                expected="osu_latency, osu_bw, osu_bibw, IMB PingPong, Uniband, Biband or alike",
            )
        found += tables
    if len(hosts) > 1 and not several_runs:
        (first, one), (second, other) = list(hosts.items())[:2]
        raise InputError(
            f"tables of different hosts: {', '.join(sorted(first))} and"
            f" {', '.join(sorted(second))}",
            where=f"{one} and {other}",
            expected="tables of the same two ranks",
            hint="fit them one by one, or name the others with --healthy",
        )
    if window is not None:
        found = [replace(table, window=window, window_is_known=True) for table in found]
    return TablesFound(tuple(found), tuple(dict.fromkeys(remarks)))


def published_tables(platform: Platform) -> TablesFound:
    """The tables a platform's sources published. Raises InputError where none can be fitted."""
    tables = tuple(
        MeasuredTable(
            benchmark=table.benchmark,
            rows=table.rows,
            source=table.source,
            tool="published table",
            conditions=table.conditions,
        )
        for table in platform.published
        if table.benchmark in BENCHMARKS and table.metric == METRICS[table.benchmark]
    )
    if not tables:
        raise InputError(
            f"platform '{platform.name}' has no published table of latency or bandwidth",
            expected="result files or run directories to fit to",
        )
    return TablesFound(tables, ())


def _of_file(
    path: Path, hosts: dict[frozenset[str], str], remarks: list[str], *, several_runs: bool
) -> Iterator[MeasuredTable]:
    results = read_results(path)
    with open_file(path, expected=EXPECTED_FILE, most_bytes=MOST_RESULT_BYTES) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    groups: dict[tuple[str, str, str, int], list[Table]] = defaultdict(list)
    for number, table in enumerate(results.tables):
        benchmark = _benchmark_of(table)
        if benchmark is None:
            remarks.append(f"{path}: {table.test} is no latency or bandwidth of two ranks")
            continue
        _require_two_ranks(table, path)
        if waiting := table.conditions.get("waiting"):
            remarks.append(f"{path}: {waiting} more ranks waited: these two may share a node")
        if table.hosts:
            hosts.setdefault(frozenset(table.hosts), str(path))
        groups[benchmark, table.tool, table.test, number * several_runs].append(table)
    for (benchmark, tool, test, _), same in groups.items():
        rows = _medians(same, METRICS[benchmark])
        if len(same) > 1:
            remarks.append(f"{path}: medians of {len(same)} tables of {test}")
        if rows:
            yield MeasuredTable(
                benchmark=benchmark,
                rows=rows,
                source=path.name,
                sha256=digest,
                tool=" ".join(word for word in (tool, same[0].version, test) if word),
                window=_window(same[0]) or USUAL_WINDOW,
                window_is_known=_window(same[0]) is not None,
                conditions="; ".join(f"{k} {v}" for k, v in sorted(same[0].conditions.items())),
            )


def _benchmark_of(table: Table) -> str | None:
    """The benchmark that a fit takes it for: the message rate of one pair is a bandwidth."""
    if table.benchmark == MESSAGE_RATE and table.n_ranks == TWO_RANKS:
        both_ways = table.conditions.get("directions") == "2"
        return BIDIRECTIONAL if both_ways else BANDWIDTH
    return table.benchmark if table.benchmark in BENCHMARKS else None


def _require_two_ranks(table: Table, path: Path) -> None:
    where = f"{path}:{table.first_line}"
    if table.memory == "gpu":
        raise InputError(
            f"{table.test} in GPU memory",
            where=where,
            expected="tables of host memory: a twin's ranks send from there",
        )
    if table.n_ranks is not None and table.n_ranks != TWO_RANKS:
        raise InputError(
            f"{table.test} of {table.n_ranks} ranks",
            where=where,
            expected="tables of two ranks: one message at a time says what a message costs",
        )


def _window(table: Table) -> int | None:
    text = table.conditions.get("window", "")
    return int(text) if text.isdecimal() and 0 < int(text) < MOST_MESSAGES else None


def _medians(tables: Sequence[Table], metric: str) -> tuple[tuple[int, float], ...]:
    """The rows of one table as they are; of several, the median of each size."""
    rows = tuple(
        (row.size_bytes, row.metrics[metric])
        for table in tables
        for row in table.rows
        if row.size_bytes is not None and metric in row.metrics
    )
    return rows if len(tables) == 1 else _medians_by_size(rows)


def _medians_by_size(rows: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    values: dict[int, list[float]] = defaultdict(list)
    for size, value in rows:
        values[size].append(value)
    return tuple((size, median(group)) for size, group in sorted(values.items()))


def _of_run(directory: Path) -> list[MeasuredTable]:
    run = read_run(directory)
    groups: dict[str, list[Value]] = defaultdict(list)
    for value in cells_of(run, Headlines([run])).values:
        if value.cell.benchmark in BENCHMARKS:
            groups[value.cell.benchmark].append(value)
    if not groups:
        raise InputError(
            "no latency and no bandwidth was measured in this run",
            where=str(directory),
            expected="a run of `latency`, and of `bandwidth` or `bidirectional`",
            hint="weft study run lightweight-pair measures what a fit takes",
        )
    return [_run_table(run, benchmark, values) for benchmark, values in groups.items()]


def _run_table(run: StudyRun, benchmark: str, values: Sequence[Value]) -> MeasuredTable:
    where = str(run.directory)
    aspects = {f"{value.arm}, {value.cell.scale}" for value in values}
    if len(aspects) > 1:
        raise InputError(
            f"{len(aspects)} arms or scales of {benchmark}: {'; '.join(sorted(aspects))}",
            where=where,
            expected="a run of one arm between two ranks",
        )
    trial = next(one.trial for one in run.launches if one.trial.benchmark == benchmark)
    if trial.n_ranks != TWO_RANKS:
        raise InputError(
            f"{benchmark} of {trial.n_ranks} ranks", where=where, expected="a run of two ranks"
        )
    n_launches = max(Counter(value.cell.size_bytes for value in values).values())
    caveats = sorted({flag for value in values for flag in value.no_verdict})
    notes = [f"{values[0].metric}, median of {n_launches} launches", *caveats]
    return MeasuredTable(
        benchmark=benchmark,
        rows=_medians_by_size([(value.cell.size_bytes, value.value) for value in values]),
        source=run.directory.name,
        sha256=_digest(run),
        tool=f"weft {run.meta.get('weft_version', '?')}, run",
        window=window_of(benchmark_named(benchmark), trial),
        window_is_known=True,
        conditions="; ".join(notes),
        is_fresh=True,
    )


def _digest(run: StudyRun) -> str:
    """The digest of the samples, file by file: it identifies a run under any directory name."""
    digest = hashlib.sha256()
    blocks = run.directory.glob("blocks/*/samples/*.jsonl")
    for path in (*sorted((run.directory / "samples").glob("*.jsonl")), *sorted(blocks)):
        digest.update(read_file_bytes(path, expected="samples", most_bytes=MOST_BYTES))
    return digest.hexdigest()
