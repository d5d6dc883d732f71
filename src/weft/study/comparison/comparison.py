"""Two arms, launch against launch: effect, certainty and sizes."""

import dataclasses
from dataclasses import dataclass

from weft.core.errors import InputError, unknown_name
from weft.core.finding import Finding, Severity
from weft.study.comparison.cells import (
    ONE_ARM,
    Cells,
    Value,
    arm_name,
    cells_of,
    n_repeats_of,
)
from weft.study.comparison.headlines import Headlines
from weft.study.comparison.rows import TOLERANCE, ComparisonRow, ComparisonRules, rows_of
from weft.study.comparison.verdicts import findings_of_arms, findings_of_runs
from weft.study.run.store import StudyRun


@dataclass(frozen=True, slots=True)
class Comparison:
    """`findings` are worst first; `arms` are (first, second) pairs in the order compared."""

    arms: tuple[tuple[str, str], ...]
    rows: tuple[ComparisonRow, ...]
    findings: tuple[Finding, ...]
    interleaved: bool

    @property
    def exit_code(self) -> int:
        """1 where a finding is bad (a regression, a cell that only the second arm fails)."""
        return int(any(finding.severity is Severity.BAD for finding in self.findings))


def compare_arms(
    run: StudyRun, *, baseline: str | None = None, tolerance: float = TOLERANCE
) -> Comparison:
    """Every arm of a run against the baseline (the first arm of the study unless named).

    Raises InputError where the run has one arm only, or no arm of that name.
    """
    rules = ComparisonRules(Headlines([run]), tolerance)
    in_study_order = sorted(run.launches, key=lambda launch: launch.trial.id)
    arms = list(dict.fromkeys(arm_name(launch.trial.arm) for launch in in_study_order))
    if len(arms) < 2:
        raise InputError(
            "this run has one arm only: a comparison needs two",
            where=str(run.directory),
            expected="a study with a factor, or a second run",
            hint=f"weft compare {run.directory} OTHER_RUN",
        )
    first = baseline or arms[0]
    if first not in arms:
        raise unknown_name(f"no arm '{first}' in this run", first, arms)
    cells = cells_of(run, rules.headline)
    others = [arm for arm in arms if arm != first]
    rules = dataclasses.replace(rules, n_comparisons=len(others))
    by_arm = {arm: [value for value in cells.values if value.arm == arm] for arm in arms}
    rows = [row for arm in others for row in rows_of(by_arm[first], by_arm[arm], rules)]
    return Comparison(
        arms=tuple((first, arm) for arm in others),
        rows=tuple(rows),
        findings=findings_of_arms(run, cells, rows, first),
        interleaved=_is_interleaved(run),
    )


def compare_runs(first: StudyRun, second: StudyRun, *, tolerance: float = TOLERANCE) -> Comparison:
    """The second run against the first: cells they share, launches paired by node set and repeat.

    Raises InputError where they share no cell.
    """
    headline = Headlines([first, second])
    names = (first.directory.name or "first", second.directory.name or "second")
    if names[0] == names[1]:
        names = (str(first.directory), str(second.directory))
    sides = [cells_of(run, headline) for run in (first, second)]
    arms = [arm for arm in _arms_of(sides[0]) if arm in _arms_of(sides[1])]
    if not arms and all(len(_arms_of(side)) == 1 for side in sides):
        arms = [""]
    rules = ComparisonRules(headline, tolerance, len(arms))
    rows: list[ComparisonRow] = []
    for arm in arms:
        a, b = (
            [_named(value, name, arm) for value in side.values if arm in ("", value.arm)]
            for side, name in zip(sides, names, strict=True)
        )
        rows.extend(rows_of(a, b, rules))
    failed = (first.failures, second.failures)
    if not rows and not any(failed):
        raise InputError(
            "the two runs share no arm, benchmark and size",
            where=f"{first.directory} and {second.directory}",
            expected="two runs of the same study, or with benchmarks in common",
        )
    return Comparison(
        arms=(names,),
        rows=tuple(rows),
        findings=findings_of_runs((first, second), sides, rows, names),
        interleaved=False,
    )


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
    label = run_name if arm in ("", ONE_ARM) else f"{run_name}:{arm}"
    return dataclasses.replace(value, arm=label)
