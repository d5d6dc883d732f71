"""From rows to findings, worst first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.bench.twin.fidelity import fidelity_clauses
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, severity_rank
from weft.core.units import ROUNDING, format_size
from weft.core.words import counted
from weft.stats.drift import return_to_baseline, trend
from weft.stats.ratio import PAIRS_FROM, Ratio
from weft.study.comparison.cells import Cells, Value, arm_name, n_repeats_of, study_of
from weft.study.comparison.rows import ComparisonRow, RowOutcome
from weft.study.comparison.treatment import without_evidence
from weft.study.run.store import Failure, StudyRun

_SIZES_NAMED = 4
_UNDER = 0.01
EQUIVALENT = 0.05
"""If no interval reaches further from 1 than this, "no difference" is GOOD, else a NOTE."""


@dataclass(frozen=True, slots=True)
class EffectFacts(FindingFacts):
    """Arms `first` and `second` at one scale; `ratios` of the sizes that have one."""

    benchmark: str
    n_nodes: int
    tasks_per_node: int
    first: str
    second: str
    sizes_bytes: tuple[int, ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FailureFacts(FindingFacts):
    """Failed launches of a benchmark under an arm."""

    benchmark: str
    arm: str
    n_failed: int


@dataclass(frozen=True, slots=True)
class DriftFacts(FindingFacts):
    """Relative change of the baseline while the study ran, and its p-value."""

    benchmark: str
    change: float
    p: float


@dataclass(frozen=True, slots=True)
class ExclusionFacts(FindingFacts):
    """Samples left out for one reason."""

    n_samples: int
    reason: str


def findings_of_arms(
    run: StudyRun, cells: Cells, rows: Sequence[ComparisonRow], baseline: str
) -> tuple[Finding, ...]:
    """Findings of a run's arms against `baseline`."""
    arm_of = {launch.trial.id: arm_name(launch.trial.arm) for launch in run.launches}
    failures = [(arm_of.get(failure.trial, "?"), failure) for failure in run.failures]
    found = [
        *_effects(rows),
        *_failures(failures, _launch_counts(run), baseline),
        *_drift(cells, baseline),
        *_left_out(cells),
        *_caveats(run),
        *_about_twin(run),
        *_noise_free(rows),
    ]
    return _worst_first(found)


def findings_of_runs(
    runs: tuple[StudyRun, StudyRun],
    sides: Sequence[Cells],
    rows: Sequence[ComparisonRow],
    names: tuple[str, str],
) -> tuple[Finding, ...]:
    """Findings of the second run against the first."""
    failures = [
        (name, failure) for run, name in zip(runs, names, strict=True) for failure in run.failures
    ]
    counts = {
        (name, benchmark): n
        for run, name in zip(runs, names, strict=True)
        for (_, benchmark), n in _launch_counts(run).items()
    }
    note = _note(
        "The two runs were not interleaved: any other change between them counts as an effect."
    )
    found = [*_effects(rows), *_failures(failures, counts, names[0]), note]
    for run, name in zip(runs, names, strict=True):
        found += _about_twin(run, name)
    found.extend(_noise_free(rows))
    for side in sides:
        found.extend(_left_out(side))
    return _worst_first(found)


def _worst_first(found: list[Finding]) -> tuple[Finding, ...]:
    """By severity; of the same severity the largest effect first, and no effect after those."""
    return tuple(sorted(found, key=lambda f: (severity_rank(f), -_size_of_effect(f))))


def _size_of_effect(finding: Finding) -> float:
    facts, moved = finding.facts, (FindingKind.REGRESSION, FindingKind.SPEED_UP)
    if finding.kind not in moved or not isinstance(facts, EffectFacts):
        return 0.0
    return max(abs(float(np.log(ratio))) for ratio in facts.ratios)


_KINDS = {
    RowOutcome.SLOWER: (FindingKind.REGRESSION, Severity.BAD),
    RowOutcome.FASTER: (FindingKind.SPEED_UP, Severity.GOOD),
    RowOutcome.SAME: (FindingKind.NO_DIFFERENCE, Severity.GOOD),
    RowOutcome.TOO_FEW: (FindingKind.NOT_ENOUGH_DATA, Severity.WARNING),
    RowOutcome.NO_VERDICT: (FindingKind.NOT_ENOUGH_DATA, Severity.WARNING),
}


def _effects(rows: Sequence[ComparisonRow]) -> list[Finding]:
    """One finding an arm, benchmark, scale and outcome."""
    if not rows:
        return [
            Finding(
                FindingKind.NOT_ENOUGH_DATA,
                Severity.WARNING,
                "Nothing to compare: no cell has a completed launch on both sides.",
            )
        ]
    groups: dict[tuple[str, str, int, int, RowOutcome], list[ComparisonRow]] = {}
    totals: Counter[tuple[str, str, int, int]] = Counter()
    for row in rows:
        cell = row.cell
        scale = (row.second, cell.benchmark, cell.n_nodes, cell.tasks_per_node)
        groups.setdefault((*scale, row.outcome), []).append(row)
        totals[scale] += 1
    scales = {row.cell.scale for row in rows}
    return [
        _effect(group, totals[key[:4]], say_scale=len(scales) > 1) for key, group in groups.items()
    ]


def _effect(rows: list[ComparisonRow], n_sizes: int, *, say_scale: bool) -> Finding:
    row = rows[0]
    kind, severity = _KINDS[row.outcome]
    if row.outcome is RowOutcome.SAME and _excluded_beyond(rows) > EQUIVALENT:
        severity = Severity.NOTE
    scale = f" on {row.cell.n_nodes} nodes x {row.cell.tasks_per_node}" if say_scale else ""
    head = f"{row.cell.benchmark}{scale}"
    return Finding(
        kind=kind,
        severity=severity,
        sentence=_sentence(head, rows, n_sizes),
        evidence=tuple(_evidence(row) for row in _most_telling(rows)),
        facts=EffectFacts(
            benchmark=row.cell.benchmark,
            n_nodes=row.cell.n_nodes,
            tasks_per_node=row.cell.tasks_per_node,
            first=row.first,
            second=row.second,
            sizes_bytes=tuple(row.cell.size_bytes for row in rows),
            ratios=tuple(row.effect.ratio for row in rows if isinstance(row.effect, Ratio)),
        ),
    )


def _sentence(head: str, rows: list[ComparisonRow], n_sizes: int) -> str:
    row, where = rows[0], _where(rows, n_sizes)
    if row.outcome in (RowOutcome.FASTER, RowOutcome.SLOWER):
        return f"{head} is {_how_much(rows)} with {row.second} than with {row.first}{where}."
    if row.outcome is RowOutcome.SAME:
        share = _excluded_beyond(rows)
        beyond = f"{share:.0%}" if share >= _UNDER else f"under {_UNDER:.0%}"
        return (
            f"{head} shows no difference between {row.first} and {row.second}{where}; "
            f"{beyond} in either direction remains possible."
        )
    if row.outcome is RowOutcome.TOO_FEW:
        pairs = min(row.n_pairs for row in rows)
        return (
            f"{head}: not enough data to compare {row.first} and {row.second}{where}: "
            f"{counted(pairs, 'paired launch', 'paired launches')}, {PAIRS_FROM} needed."
        )
    why = ", ".join(dict.fromkeys(remark for row in rows for remark in row.remarks))
    return f"{head} supports no verdict{where}: {why}."


def _excluded_beyond(rows: list[ComparisonRow]) -> float:
    """The largest relative difference that an interval of these rows still holds."""
    ends = [(row.effect.low, row.effect.high) for row in rows if isinstance(row.effect, Ratio)]
    return max((max(high, 1 / low) - 1 for low, high in ends), default=0.0)


def _how_much(rows: list[ComparisonRow]) -> str:
    """'1.25x slower', or 'up to 1.25x slower (at 64 KiB)' over several sizes."""
    most = _most_telling(rows)[0]
    ratio = most.effect.ratio if isinstance(most.effect, Ratio) else 1.0
    # Above one for either direction of the metric.
    times = f"{max(ratio, 1 / ratio):.2f}x {most.outcome.value}"
    if len(rows) == 1:
        return times
    return f"up to {times} (at {format_size(most.cell.size_bytes)})"


def _where(rows: list[ComparisonRow], n_sizes: int) -> str:
    """' at 3 of 20 sizes (8 B, 16 B, 1 MiB)'; nothing for a benchmark without sizes."""
    sizes = [row.cell.size_bytes for row in rows]
    if n_sizes == 1:
        return f" at {format_size(sizes[0])}" if sizes[0] else ""
    if len(sizes) == n_sizes:
        return " at both sizes" if n_sizes == 2 else f" at all {n_sizes} sizes"
    if len(sizes) > _SIZES_NAMED:
        return (
            f" at {len(sizes)} of {n_sizes} sizes "
            f"({format_size(sizes[0])} to {format_size(sizes[-1])})"
        )
    return f" at {', '.join(format_size(size) for size in sizes)}"


def _most_telling(rows: list[ComparisonRow]) -> list[ComparisonRow]:
    """At most four rows that have a ratio, the largest effects first."""
    known = [(row, row.effect) for row in rows if isinstance(row.effect, Ratio)]
    known.sort(key=lambda pair: -abs(np.log(pair[1].ratio)))
    return [row for row, _ in known[:_SIZES_NAMED]]


def _evidence(row: ComparisonRow) -> str:
    effect = row.effect
    if not isinstance(effect, Ratio):
        return f"{row.cell.text}: {effect.text}"
    return (
        f"{row.cell.text}: {row.metric} {row.median_first:.4g} -> {row.median_second:.4g}, ratio "
        f"{effect.ratio:.3f} [{effect.low:.3f}, {effect.high:.3f}] over {effect.n} pairs, "
        f"adjusted p {row.p_adjusted:.2g}"
    )


def _launch_counts(run: StudyRun) -> dict[tuple[str, str], int]:
    """(arm, benchmark) -> launches planned."""
    n_repeats = n_repeats_of(run)
    trials = (launch.trial for launch in run.launches if launch.repeat < n_repeats)
    return Counter((arm_name(trial.arm), trial.benchmark) for trial in trials)


def _failures(
    failures: Sequence[tuple[str, Failure]], counts: dict[tuple[str, str], int], baseline: str
) -> list[Finding]:
    """A failure is a result: bad where only the arm under test fails, a warning elsewhere."""
    groups: dict[tuple[str, str], list[Failure]] = {}
    for arm, failure in failures:
        benchmark = failure.trial.split("-", 1)[-1]
        groups.setdefault((arm, benchmark), []).append(failure)
    found = []
    for (arm, benchmark), group in groups.items():
        only_here = arm != baseline and (baseline, benchmark) not in groups
        states = " or ".join(sorted({failure.state.value for failure in group}))
        found.append(
            Finding(
                FindingKind.FAILURE,
                Severity.BAD if only_here else Severity.WARNING,
                f"{benchmark} {states} in {len(group)} of "
                f"{counts.get((arm, benchmark), len(group))} launches with {arm}.",
                evidence=tuple(dict.fromkeys(f.message.splitlines()[0] for f in group))[:3],
                facts=FailureFacts(benchmark, arm, len(group)),
            )
        )
    return found


def _drift(cells: Cells, baseline: str) -> list[Finding]:
    """The baseline against time, and against itself repeated at the end, a benchmark at a time."""
    found = []
    for benchmark in dict.fromkeys(value.cell.benchmark for value in cells.values):
        during = [v for v in cells.values if v.arm == baseline and v.cell.benchmark == benchmark]
        at_end = [v for v in cells.at_end if v.arm == baseline and v.cell.benchmark == benchmark]
        levels, end_levels = _launch_levels(during, during), _launch_levels(at_end, during)
        checks = [return_to_baseline([v for _, v in levels], [v for _, v in end_levels])]
        if levels:
            checks.append(trend([when for when, _ in levels], [value for _, value in levels]))
        drift = next((check for check in checks if check is not None and check.notable), None)
        if drift is not None:
            found.append(
                Finding(
                    FindingKind.DRIFT,
                    Severity.WARNING,
                    f"{benchmark} drifted by {drift.change:+.1%} with {baseline} while the study "
                    "ran: the machine changed, so do not trust small differences.",
                    evidence=(f"{drift.method}, p {drift.p:.2g}",),
                    facts=DriftFacts(benchmark, drift.change, drift.p),
                )
            )
    return found


def _launch_levels(
    values: Sequence[Value], reference: Sequence[Value]
) -> list[tuple[float, float]]:
    """(start, level) a launch: the geometric mean over its cells of value / median of the cell in
    `reference`, so that a launch of any sizes is one number."""
    by_cell: dict[tuple[object, int], list[float]] = {}
    for value in reference:
        by_cell.setdefault((value.cell, value.node_set), []).append(value.value)
    logs: dict[tuple[object, ...], list[float]] = {}
    starts: dict[tuple[object, ...], float] = {}
    for value in values:
        usual = by_cell.get((value.cell, value.node_set))
        if usual is None:
            continue
        key = (value.cell.n_nodes, value.cell.tasks_per_node, *value.pairs_with)
        logs.setdefault(key, []).append(float(np.log(value.value / np.median(usual))))
        starts[key] = min(starts.get(key, value.started_unix_s), value.started_unix_s)
    return [(starts[key], float(np.exp(np.mean(logs[key])))) for key in logs]


def _left_out(cells: Cells) -> list[Finding]:
    return [
        Finding(
            FindingKind.MIS_SETTING if reason.startswith("untreated") else FindingKind.ANOMALY,
            Severity.WARNING,
            f"{n} sample{'' if n == 1 else 's'} left out: {reason}.",
            facts=ExclusionFacts(n, reason),
        )
        for reason, n in cells.excluded.items()
    ]


def _caveats(run: StudyRun) -> list[Finding]:
    study = study_of(run)
    notes = []
    manual = [factor.name for factor in study.factors if factor.manual] if study else []
    if manual:
        notes.append(
            f"The arms of {', '.join(manual)} were not interleaved (switched by hand): "
            "any change over time counts as an effect."
        )
    unproved = without_evidence(study)
    if unproved:
        notes.append(f"The study names no evidence that {', '.join(unproved)} was in force.")
    if not run.complete:
        notes.append("The run is not complete; go on with --resume.")
    return [_note(note) for note in notes]


def _about_twin(run: StudyRun, name: str = "") -> list[Finding]:
    """The fidelity of a twin run."""
    return [
        _note(f"{name}: {one}." if name else f"{one[:1].upper()}{one[1:]}.")
        for one in fidelity_clauses(run.samples)
    ]


def _noise_free(rows: Sequence[ComparisonRow]) -> list[Finding]:
    """A simulation without noise repeats itself exactly: its intervals have zero width."""
    effects = [row.effect for row in rows if isinstance(row.effect, Ratio)]
    if not effects or any(effect.high / effect.low - 1 > ROUNDING for effect in effects):
        return []
    return [
        _note(
            "All launches gave exactly the same values, as in a simulation without noise: "
            "the intervals do not show the scatter of a machine."
        )
    ]


def _note(sentence: str) -> Finding:
    return Finding(FindingKind.ANOMALY, Severity.NOTE, sentence)
