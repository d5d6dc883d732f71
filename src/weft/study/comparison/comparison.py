"""Two arms, launch against launch: effect, certainty and sizes."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.bench.result_scale import is_imported
from weft.core.errors import ExitCode, InputError, unknown_name
from weft.core.finding import Finding, FindingKind, Severity, cannot_tell, worst_first
from weft.core.shell_line import quoted
from weft.study.comparison.cells import (
    ONE_ARM,
    Cells,
    StudyCell,
    Value,
    arm_name,
    cells_of,
    n_repeats_of,
    require_positive,
    study_of,
)
from weft.study.comparison.conclusion.anomalies import anomaly_findings
from weft.study.comparison.conclusion.answer import answer_findings, valid_for
from weft.study.comparison.conclusion.onset import Onset, onsets_of
from weft.study.comparison.conclusion.threats import threats_of
from weft.study.comparison.effects import effect_findings, percent, would_show
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.missing_cells import (
    expected_cells,
    missing_cells,
    missing_findings,
)
from weft.study.comparison.replication import are_simulated
from weft.study.comparison.rows import (
    MARGIN,
    TOLERANCE,
    ComparisonRow,
    ComparisonRules,
    RowOutcome,
    rows_of,
)
from weft.study.comparison.sensitivity import Overturned, VerdictRules, overturned_of
from weft.study.comparison.treatment import unproved_factors
from weft.study.comparison.verdicts import (
    findings_of_arms,
    findings_of_runs,
    noise_free_findings,
)
from weft.study.run.store import StudyRun


@dataclass(frozen=True, slots=True)
class Comparison:
    """`findings` are worst first; `arms` are (first, second) pairs in the order compared;
    `would_show` are the slowdowns that its good findings rule out; `valid_for` is the range of the
    verdicts, `onsets` where effects begin and end in it, `threats` weaken all of it. `overturned`
    is empty unless other values of assumed constants were tried."""

    arms: tuple[tuple[str, str], ...]
    rows: tuple[ComparisonRow, ...]
    findings: tuple[Finding, ...]
    would_show: tuple[str, ...]
    margin: float
    interleaved: bool
    valid_for: str = ""
    onsets: tuple[Onset, ...] = ()
    threats: tuple[str, ...] = ()
    overturned: Overturned = field(default_factory=dict)

    @property
    def exit_code(self) -> ExitCode:
        """Bad where a finding is (a regression, a cell that only the second arm fails); no verdict
        where a cell is not decided: a slowdown may hide there."""
        severities = {finding.severity for finding in self.findings}
        if Severity.BAD in severities:
            return ExitCode.VERDICT_BAD
        return ExitCode.NO_VERDICT if Severity.UNKNOWN in severities else ExitCode.GOOD


def compare_arms(
    run: StudyRun,
    *,
    baseline: str | None = None,
    tolerance: float = TOLERANCE,
    margin: float = MARGIN,
    cells: Cells | None = None,
    overturned: Overturned | None = None,
) -> Comparison:
    """Every arm of a run against the baseline (the first arm of the study unless named). Arms are
    equal if they differ by less than `margin`. `cells` are those of the run, where they are known;
    `overturned` marks verdicts that other values of assumed constants change: unless given, those
    that the run directory holds.

    Raises InputError where the run has one arm only, or no arm of that name.
    """
    _refuse_margin(margin, tolerance)
    rules = ComparisonRules(Headlines([run]), tolerance, margin, simulated=are_simulated([run]))
    in_study_order = sorted(run.launches, key=lambda launch: launch.trial.id)
    arms = list(dict.fromkeys(arm_name(launch.trial.arm) for launch in in_study_order))
    if len(arms) < 2:
        raise InputError(
            "this run has one arm only: a comparison needs two",
            where=str(run.directory),
            expected="a study with a factor, or a second run",
            hint=f"weft compare {quoted(run.directory)} OTHER_RUN",
        )
    first = baseline or arms[0]
    if first not in arms:
        raise unknown_name(f"no arm '{first}' in this run", first, arms)
    cells = cells or cells_of(run, rules.headline)
    require_positive(cells, str(run.directory))
    others = [arm for arm in arms if arm != first]
    rules = dataclasses.replace(rules, n_comparisons=len(others))
    judging = _Judging(run, first, others, rules)
    rows = judging.rows(cells.values)
    effects = effect_findings(rows, margin)
    expected = {arm: expected_cells(run, (first, arm)) for arm in others}
    n_missing = {arm: len(missing_cells(rows, cells, arm)) for arm, cells in expected.items()}
    answers = answer_findings(rows, effects, margin, n_missing)
    for arm in others:
        effects += missing_findings(rows, expected[arm], first, arm)
    effects += noise_free_findings(rows)
    effects += anomaly_findings(
        cells.values, rows, judging.rows, simulated=rules.simulated, margin=margin
    )
    findings = findings_of_arms(run, cells, effects or [_nothing()], first)
    interleaved = _is_interleaved(run)
    if overturned is None:
        overturned = overturned_of(run, rows, VerdictRules(first, margin, tolerance))
    return Comparison(
        arms=tuple((first, arm) for arm in others),
        rows=tuple(rows),
        findings=worst_first([*answers, *findings]),
        would_show=would_show(rows, margin),
        margin=margin,
        interleaved=interleaved,
        valid_for=valid_for((run,), rows),
        onsets=onsets_of(rows, tolerance),
        threats=threats_of(
            run, cells, rows, findings, interleaved=interleaved, overturned=overturned
        ),
        overturned=overturned,
    )


@dataclass(frozen=True, slots=True)
class _Judging:
    """The arms of a run against the first, by the same rules however many values are left."""

    run: StudyRun
    first: str
    others: Sequence[str]
    rules: ComparisonRules

    def rows(
        self, values: Sequence[Value], only: frozenset[StudyCell] | None = None
    ) -> list[ComparisonRow]:
        """A row a cell and arm; `only` of these cells. There, what was left out is not lost."""
        by_arm: dict[str, list[Value]] = {}
        for value in values:
            by_arm.setdefault(value.arm, []).append(value)
        unproved = _unproved_by_arm(self.run, self.first)
        rows: list[ComparisonRow] = []
        for arm in self.others:
            planned = {} if only else expected_cells(self.run, (arm,))
            rules = dataclasses.replace(self.rules, unproved=unproved[arm], planned=planned)
            rows += rows_of(by_arm.get(self.first, ()), by_arm.get(arm, ()), rules, only)
        return rows


def compare_runs(
    first: StudyRun, second: StudyRun, *, tolerance: float = TOLERANCE, margin: float = MARGIN
) -> Comparison:
    """The second run against the first: cells they share, launches paired by node set and repeat.
    Cells that only the first has are findings. A run and itself, or its copy, have no verdict.

    Raises InputError where they share no cell.
    """
    _refuse_margin(margin, tolerance)
    headline = Headlines([first, second])
    names = (first.directory.name or "first", second.directory.name or "second")
    if names[0] == names[1]:
        names = (str(first.directory), str(second.directory))
    sides = [cells_of(run, headline) for run in (first, second)]
    for run, side in zip((first, second), sides, strict=True):
        require_positive(side, str(run.directory))
    arms = [arm for arm in _arms_of(sides[0]) if arm in _arms_of(sides[1])]
    if not arms and all(len(_arms_of(side)) == 1 for side in sides):
        arms = [""]
    simulated = are_simulated([first, second])
    rules = ComparisonRules(headline, tolerance, margin, len(arms), simulated=simulated)
    rows: list[ComparisonRow] = []
    for arm in arms:
        a, b = (
            [_named(value, name, arm) for value in side.values if arm in ("", value.arm)]
            for side, name in zip(sides, names, strict=True)
        )
        planned = expected_cells(second, None if arm == "" else (arm,))
        rows.extend(rows_of(a, b, dataclasses.replace(rules, planned=planned)))
    effects = effect_findings(rows, margin)
    for arm in [""] if arms == [""] else _arms_of(sides[0]):
        labels = [_label(name, arm) for name in names]
        wanted = expected_cells(first, None if arm == "" else (arm,))
        effects += missing_findings(rows, wanted, *labels)
    effects += noise_free_findings(rows)
    failed = (first.failures, second.failures)
    if not rows and not any(failed):
        raise InputError(
            "the two runs share no arm, benchmark and size",
            where=f"{first.directory} and {second.directory}",
            expected="two runs of the same study, or with benchmarks in common",
        )
    if _is_one_run(first, second):
        rows = [dataclasses.replace(row, outcome=RowOutcome.NO_VERDICT) for row in rows]
        effects = [_one_run(names)]
    return Comparison(
        arms=(names,),
        rows=tuple(rows),
        findings=findings_of_runs((first, second), sides, effects or [_nothing()], names),
        would_show=would_show(rows, margin),
        margin=margin,
        interleaved=False,
        valid_for=valid_for((first, second), rows),
    )


def _is_one_run(first: StudyRun, second: StudyRun) -> bool:
    """Whether both are one run directory, or one is a copy of the other."""
    is_copy = first.meta == second.meta and first.samples == second.samples
    return is_copy or first.directory.resolve() == second.directory.resolve()


def _one_run(names: tuple[str, str]) -> Finding:
    both = " and ".join(dict.fromkeys(names))
    asked = f"whether anything changed: {both} hold the same launches"
    if names[0] == names[1]:
        asked = f"whether anything changed: {both} is compared with itself"
    return Finding(FindingKind.NOT_JUDGED, Severity.UNKNOWN, cannot_tell(asked, "a second run."))


def _unproved_by_arm(run: StudyRun, first: str) -> dict[str, tuple[str, ...]]:
    """By arm, the factors that nothing proves: those in which it differs from the first, and all
    conditions. Files were named by their arm: there is no setting to prove."""
    settings = {arm_name(launch.trial.arm): launch.trial.arm for launch in run.launches}
    study = None if is_imported(run.meta) else study_of(run)
    names = unproved_factors(study, simulated=are_simulated([run]))
    conditions = {factor.name for factor in study.factors if factor.condition} if study else set()
    return {
        arm: tuple(
            name
            for name in names
            if name in conditions or values.get(name) != settings[first].get(name)
        )
        for arm, values in settings.items()
    }


def _is_interleaved(run: StudyRun) -> bool:
    """Whether no arm ran in a block of its own (a manual factor makes it so)."""
    n_repeats = n_repeats_of(run)
    by_block: dict[int, set[str]] = {}
    for launch in run.launches:
        if launch.repeat < n_repeats:
            by_block.setdefault(launch.block, set()).add(arm_name(launch.trial.arm))
    return all(len(arms) > 1 for arms in by_block.values())


def _arms_of(cells: Cells) -> list[str]:
    return list(dict.fromkeys(value.arm for value in cells.values))


def _named(value: Value, run_name: str, arm: str) -> Value:
    return dataclasses.replace(value, arm=_label(run_name, arm))


def _label(run_name: str, arm: str) -> str:
    return run_name if arm in ("", ONE_ARM) else f"{run_name}:{arm}"


def _refuse_margin(margin: float, tolerance: float) -> None:
    if margin < tolerance:
        raise InputError(
            f"a margin of {percent(margin)} is below the tolerance of {percent(tolerance)}",
            expected="a margin as large as the tolerance, or larger",
            hint=f"--margin {percent(tolerance).replace(' ', '')}, or a smaller --tolerance",
        )


def _nothing() -> Finding:
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell("no launch counts on both sides", "launches that complete."),
    )
