"""From rows to findings, worst first."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median
from typing import NamedTuple

import numpy as np

from weft.bench.model import Trial
from weft.bench.twin.fidelity import fidelity_clauses
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, severity_rank
from weft.core.units import ROUNDING
from weft.stats.drift import return_to_baseline, trend
from weft.stats.ratio import Ratio
from weft.study.comparison.cells import (
    Cells,
    Value,
    arm_name,
    cell_of,
    n_repeats_of,
    study_of,
)
from weft.study.comparison.effects import EffectFacts
from weft.study.comparison.missing_cells import MissingFacts
from weft.study.comparison.rows import ComparisonRow
from weft.study.comparison.treatment import unproved_factors
from weft.study.run.backend_record import backend_of
from weft.study.run.store import Failure, StudyRun


@dataclass(frozen=True, slots=True)
class FailureFacts(FindingFacts):
    """Failed launches of a benchmark under an arm."""

    benchmark: str
    arm: str
    n_failed: int
    condition: str = ""


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
    run: StudyRun, cells: Cells, effects: Sequence[Finding], baseline: str
) -> tuple[Finding, ...]:
    """Findings of a run's arms against `baseline`: the effects, and all that weakens them."""
    failures = [(arm, place._replace(arm=""), failure) for arm, place, failure in _placed(run)]
    found = [
        *effects,
        *_failures(failures, _launch_counts(run), baseline),
        *([] if backend_of(run).is_twin else _drift(cells, baseline)),
        *_left_out(cells),
        *_caveats(run),
        *_about_twin(run),
    ]
    return _worst_first(found)


def findings_of_runs(
    runs: tuple[StudyRun, StudyRun],
    sides: Sequence[Cells],
    effects: Sequence[Finding],
    names: tuple[str, str],
) -> tuple[Finding, ...]:
    """Findings of the second run against the first: the effects, and all that weakens them."""
    failures = []
    counts: Counter[_Group] = Counter()
    for run, name in zip(runs, names, strict=True):
        failures += [(name, place, failure) for _, place, failure in _placed(run)]
        for (_, benchmark, condition), n in _launch_counts(run).items():
            counts[name, benchmark, condition] += n
    note = _note(
        "The two runs were not interleaved: any other change between them counts as an effect."
    )
    found = [*effects, *_failures(failures, counts, names[0]), note]
    for run, name in zip(runs, names, strict=True):
        found += _about_twin(run, name)
    for side in sides:
        found.extend(_left_out(side))
    return _worst_first(found)


def noise_free_findings(rows: Sequence[ComparisonRow]) -> list[Finding]:
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


def _worst_first(found: list[Finding]) -> tuple[Finding, ...]:
    """By severity; of the same severity the largest effect first, and no effect after those. A bad
    failure stands for the cells that it left without a value."""
    failed = {
        (one.facts.arm, one.facts.benchmark, one.facts.condition)
        for one in found
        if isinstance(one.facts, FailureFacts) and one.severity is Severity.BAD
    }
    found = [
        one
        for one in found
        if not isinstance(one.facts, MissingFacts)
        or (one.facts.second, one.facts.benchmark, one.facts.condition) not in failed
    ]
    return tuple(sorted(found, key=lambda f: (severity_rank(f), -_size_of_effect(f))))


def _size_of_effect(finding: Finding) -> float:
    facts, moved = finding.facts, (FindingKind.REGRESSION, FindingKind.SPEED_UP)
    if finding.kind not in moved or not isinstance(facts, EffectFacts):
        return 0.0
    return max(abs(float(np.log(ratio))) for ratio in facts.ratios)


_Group = tuple[str, str, str]
"""Arm, benchmark, condition: the failures that share a finding."""


class _Place(NamedTuple):
    """Where launches of two sides stand against each other. `arm`: of a run against another."""

    benchmark: str
    condition: str
    n_nodes: int
    tasks_per_node: int
    arm: str


def _condition(trial: Trial) -> str:
    return cell_of(trial, 0).condition


def _placed(run: StudyRun) -> list[tuple[str, _Place, Failure]]:
    """Each failure with its arm and place; '?' for a launch that the plan does not have."""
    trials = {launch.trial.id: launch.trial for launch in run.launches}
    found = []
    for failure in run.failures:
        trial = trials.get(failure.trial)
        if trial is None:
            arm, place = "?", _Place(failure.trial.split("-", 1)[-1], "", 0, 0, "?")
        else:
            arm, scale = arm_name(trial.arm), (len(trial.nodes), trial.tasks_per_node)
            place = _Place(trial.benchmark, _condition(trial), *scale, arm)
        found.append((arm, place, failure))
    return found


def _launch_counts(run: StudyRun) -> Counter[_Group]:
    """Launches planned."""
    n_repeats = n_repeats_of(run)
    trials = (launch.trial for launch in run.launches if launch.repeat < n_repeats)
    return Counter((arm_name(one.arm), one.benchmark, _condition(one)) for one in trials)


def _failures(
    failures: Sequence[tuple[str, _Place, Failure]], counts: Mapping[_Group, int], baseline: str
) -> list[Finding]:
    """A failure is a result: bad where only the arm under test fails, a warning elsewhere."""
    failed = {place for arm, place, _ in failures if arm == baseline}
    groups: dict[_Group, list[tuple[_Place, Failure]]] = {}
    for arm, place, failure in failures:
        groups.setdefault((arm, place.benchmark, place.condition), []).append((place, failure))
    found = []
    for (arm, benchmark, condition), group in groups.items():
        only_here = arm != baseline and any(place not in failed for place, _ in group)
        states = " or ".join(sorted({failure.state.value for _, failure in group}))
        n_planned = counts.get((arm, benchmark, condition), len(group))
        under = f", {condition}" if condition else ""
        found.append(
            Finding(
                FindingKind.FAILURE,
                Severity.BAD if only_here else Severity.WARNING,
                f"{benchmark} {states} in {len(group)} of {n_planned} launches with {arm}{under}.",
                evidence=tuple(dict.fromkeys(f.message.splitlines()[0] for _, f in group))[:3],
                facts=FailureFacts(benchmark, arm, len(group), condition),
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
    medians = {place: median(figures) for place, figures in by_cell.items()}
    logs: dict[tuple[object, ...], list[float]] = {}
    starts: dict[tuple[object, ...], float] = {}
    for value in values:
        usual = medians.get((value.cell, value.node_set))
        if usual is None:
            continue
        key = (value.cell.scale, *value.pairs_with)
        logs.setdefault(key, []).append(log(value.value / usual))
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
    blocked = study.blocked_factors if study else ()
    if blocked:
        notes.append(
            f"The arms of {', '.join(blocked)} were not interleaved (switched by hand): "
            "any change over time counts as an effect."
        )
    unproved = unproved_factors(study, simulated=backend_of(run).is_twin)
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


def _note(sentence: str) -> Finding:
    return Finding(FindingKind.ANOMALY, Severity.NOTE, sentence)
