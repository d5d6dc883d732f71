"""How it was measured: plan, statistics, excluded samples."""

from collections import Counter
from collections.abc import Mapping, Sequence

from weft.bench.model import Launch
from weft.core.nodeset import fold
from weft.core.units import format_size
from weft.report.model import ReportTable, Section, cut_table
from weft.study.comparison.cells import scale_text
from weft.study.run.store import StudyRun

_PAIRS = "pairs"
_LONG = 60
"""Characters of a node set that fit in a column."""


def section(run: StudyRun) -> Section:
    """The plan, and how its results are summarised."""
    numbers = _numbered_sets(run.launches)
    sets = [(str(number), fold(nodes)) for nodes, number in numbers.items()]
    plan = _plan(run, numbers)
    tables = [] if plan.is_long else [plan]
    if sets:
        tables.append(cut_table("The node sets", ("set", "nodes"), sets))
    return Section(
        "How it was measured",
        (_statistics(run.launches),),
        tables=tuple(tables),
        folded=(plan,) if plan.is_long else (),
    )


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
    tables = []
    if run.failures:
        rows = [(f"{f.trial} repeat {f.repeat}", f.state.value, f.message) for f in run.failures]
        caption = "Failed launches: the result of their cells"
        tables.append(cut_table(caption, ("launch", "what", "message"), rows))
    if excluded:
        reasons = [(reason, str(n_samples)) for reason, n_samples in excluded.items()]
        caption = "Samples left out of every figure above"
        tables.append(cut_table(caption, ("why", "#samples"), reasons))
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
        f"{len(launches)} launch{'' if len(launches) == 1 else 'es'} of "
        f"{len(repeats)} trial{'' if len(repeats) == 1 else 's'}, at most {most} a trial."
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
            "inverting the signed-rank test. On a twin the node sets are compared in pairs."
        )
    return text


def _plan(run: StudyRun, numbers: Mapping[tuple[str, ...], int]) -> ReportTable:
    trials = {launch.trial.id: launch.trial for launch in run.launches}
    repeats = Counter(launch.trial.id for launch in run.launches)
    done = Counter(trial for trial, _ in run.done)
    rows = [
        (
            trial.id,
            trial.benchmark,
            ", ".join(f"{name}={value}" for name, value in {**trial.arm, **trial.condition}.items())
            or "-",
            scale_text(len(trial.nodes), trial.tasks_per_node),
            f"set {numbers[trial.nodes]}" if numbers else fold(trial.nodes),
            _sizes(trial.sizes_bytes),
            f"{done[trial.id]} of {repeats[trial.id]}",
        )
        for trial in trials.values()
    ]
    columns = ("trial", "benchmark", "arm", "placement", "nodes", "sizes", "#launches done")
    return cut_table("The plan", columns, sorted(rows))


def _sizes(sizes_bytes: Sequence[int]) -> str:
    if set(sizes_bytes) == {0}:
        return "-"
    if len(sizes_bytes) < 4:
        return ", ".join(format_size(size) for size in sizes_bytes)
    ends = f"{format_size(min(sizes_bytes))} to {format_size(max(sizes_bytes))}"
    return f"{len(sizes_bytes)}, {ends}"
