"""How it was measured: plan, statistics, excluded samples."""

from collections import Counter
from collections.abc import Mapping, Sequence

from weft.bench.model import Launch
from weft.core.nodeset import fold
from weft.core.units import format_size
from weft.report.charts.cells import placement
from weft.report.model import ReportTable, Section, cut_table, figure_columns, text_columns
from weft.study.run.store import Failure, StudyRun

_PAIRS = "pairs"
_LONG = 60
"""Characters of a node set that fit in a column."""


def section(run: StudyRun) -> Section:
    """The plan, and how its results are summarised."""
    numbers = _numbered_sets(run.launches)
    sets = [(str(number), fold(nodes)) for nodes, number in numbers.items()]
    columns = text_columns("set", "nodes")
    tables = (_plan(run, numbers), *([cut_table("The node sets", columns, sets)] if sets else []))
    return Section("How it was measured", (_statistics(run.launches),), tables=tables)


def _numbered_sets(launches: Sequence[Launch]) -> dict[tuple[str, ...], int]:
    """Numbers for the sets of nodes, in the order of trials, where writing each set next to its
    trials would swamp the plan; else none."""
    trials = sorted((launch.trial for launch in launches), key=lambda trial: trial.id)
    sets = dict.fromkeys(trial.nodes for trial in trials)
    if not any(len(fold(nodes)) > _LONG for nodes in sets):
        return {}
    return {nodes: number for number, nodes in enumerate(sets, start=1)}


def left_out(run: StudyRun, excluded: Mapping[str, int]) -> Section | None:
    """Failures, excluded samples and unfinished launches; None where nothing was left out."""
    tables = [table for table in (_failures(run.failures), _excluded(excluded)) if table]
    paragraphs = tuple(f"{remark[:1].upper()}{remark[1:]}." for remark in run.remarks)
    if run.n_unfinished:
        paragraphs += (
            f"{run.n_unfinished} of {len(run.launches)} planned launches have not been run.",
        )
    if not tables and not paragraphs:
        return None
    return Section("Failed, excluded or missing", paragraphs, tables=tuple(tables))


def _statistics(launches: Sequence[Launch]) -> str:
    repeats = Counter(launch.trial.id for launch in launches)
    most = max(repeats.values(), default=0)
    text = (
        f"{_counted(len(launches), 'launch', 'launches')} of "
        f"{_counted(len(repeats), 'trial', 'trials')}, at most {most} a trial."
    )
    benchmarks = {launch.trial.benchmark for launch in launches}
    if benchmarks - {_PAIRS}:
        text += (
            " One value a launch is the unit of replication: figures are medians over launches of "
            "a metric over the iterations of each."
        )
    if _PAIRS in benchmarks:
        text += (
            " A pair is compared with the pairs as many links apart only, by a modified z-score "
            "with a limit that grows with their number; slow ones are measured again alone."
        )
    if any(launch.trial.arm for launch in launches):
        text += (
            " Arms are compared launch by launch in pairs: Hodges-Lehmann ratio, interval by "
            "inverting the signed-rank test."
        )
    return text


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _plan(run: StudyRun, numbers: Mapping[tuple[str, ...], int]) -> ReportTable:
    trials = {launch.trial.id: launch.trial for launch in run.launches}
    repeats = Counter(launch.trial.id for launch in run.launches)
    done = Counter(trial for trial, _ in run.done)
    rows = [
        (
            trial.id,
            trial.benchmark,
            ", ".join(f"{name}={value}" for name, value in trial.arm.items()) or "-",
            placement(trial),
            f"set {numbers[trial.nodes]}" if numbers else fold(trial.nodes),
            _sizes(trial.sizes_bytes),
            f"{done[trial.id]} of {repeats[trial.id]}",
        )
        for trial in trials.values()
    ]
    columns = (
        *text_columns("trial", "benchmark", "arm", "placement", "nodes", "sizes"),
        *figure_columns("launches done"),
    )
    return cut_table("The plan", columns, sorted(rows))


def _sizes(sizes_bytes: Sequence[int]) -> str:
    if set(sizes_bytes) == {0}:
        return "-"
    if len(sizes_bytes) < 4:
        return ", ".join(format_size(size) for size in sizes_bytes)
    ends = f"{format_size(min(sizes_bytes))} to {format_size(max(sizes_bytes))}"
    return f"{len(sizes_bytes)}, {ends}"


def _failures(failures: Sequence[Failure]) -> ReportTable | None:
    if not failures:
        return None
    columns = text_columns("launch", "what", "message")
    rows = [(f"{f.trial} repeat {f.repeat}", f.state.value, f.message) for f in failures]
    return cut_table("Failed launches: the result of their cells", columns, rows)


def _excluded(excluded: Mapping[str, int]) -> ReportTable | None:
    if not excluded:
        return None
    columns = (*text_columns("why"), *figure_columns("samples"))
    rows = [(reason, str(n_samples)) for reason, n_samples in excluded.items()]
    return cut_table("Samples left out of every figure above", columns, rows)
