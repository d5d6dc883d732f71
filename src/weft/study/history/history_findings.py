"""From a history to findings: steps with what changed there, settings without a step, coverage."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np

from weft.core.errors import ExitCode
from weft.core.finding import (
    Finding,
    FindingFacts,
    FindingKind,
    Severity,
    cannot_tell,
    verdict_of,
    worst_first,
)
from weft.core.words import counted
from weft.stats.change_points import (
    FAMILY_ERROR,
    POWER,
    detectable_contrast,
    detectable_step,
    least_runs,
)
from weft.stats.drift import trend
from weft.study.history.history import History, SettingChange, contrasts_of
from weft.study.history.shifts import TOLERANCE, Shift, shifts_of, strange_last_runs

MOST_NAMED = 3
"""Settings that a sentence names; the record has all."""
TIMES_FROM = 1.5
"""A change is reported as a factor from here on, below as a share."""

USEFUL = 1.0
"""A step that would have to double a time to show is no useful statement."""


@dataclass(frozen=True, slots=True)
class ShiftFacts(FindingFacts):
    """A step from the run `run` on (`dates`: the first and last run that it may begin with)."""

    fabric: str
    run: str
    date: str
    dates: tuple[str, str]
    benchmark: str
    sizes_bytes: tuple[int, ...]
    slower: tuple[float, ...]
    in_force: bool
    changed: tuple[str, ...]
    p: float


@dataclass(frozen=True, slots=True)
class JudgedHistory:
    """A history with its shifts and findings, worst first; `would_show` are the steps that its
    good findings rule out."""

    history: History
    shifts: tuple[Shift, ...]
    findings: tuple[Finding, ...]
    would_show: tuple[str, ...]


def judge_history(history: History, moved_there: Iterable[str] = ()) -> JudgedHistory:
    """All findings of a history. `moved_there`: settings that changed where a component moved: of
    these weft does not say that they changed without a step."""
    shifts = shifts_of(history)
    steps = _detectable(history)
    findings = [_shift_finding(history, one) for one in shifts]
    findings += _too_few(history)
    end = _end(history)
    findings += end
    if history.changes.drifts:
        findings.append(_no_dates())
    elif history.cells and not history.changes.points and history.changes.p < FAMILY_ERROR:
        findings.append(_undated(history))
    elif history.cells:
        drift = _drift(history, shifts)
        small = _small(history, shifts)
        findings += [*small, *(drift or _unmoved(history, shifts, moved_there))]
        if not (shifts or small or drift or end):
            findings.append(_quiet(history, steps))
    shown = tuple(f"a step of {percent(size)} or more in {name}" for name, size in steps.items())
    good = any(one.severity is Severity.GOOD for one in findings)
    if shown and good:
        shown = (*shown[:-1], f"{shown[-1]}; {_how_sure()}")
    return JudgedHistory(history, tuple(shifts), worst_first(findings), shown if good else ())


class HasFindings(Protocol):
    """A judged history."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Its findings."""
        ...


def exit_code_of_histories(judged: Sequence[HasFindings]) -> ExitCode:
    """Bad where a step to slower is still in force; no verdict where something is not decided, or
    no run has a place in a history."""
    if not judged:
        return ExitCode.NO_VERDICT
    worst = verdict_of(one for history in judged for one in history.findings)
    codes = {Severity.BAD: ExitCode.VERDICT_BAD, Severity.UNKNOWN: ExitCode.NO_VERDICT}
    return codes.get(worst, ExitCode.GOOD)


def run_date(history: History, at: int) -> str:
    """'2026-03-14', in UTC; 'run 7' for a run without a time."""
    started = history.runs[at].started_unix_s
    if history.runs[at].no_time:
        return f"run {at + 1}"
    return day_of(started)


def day_of(unix_s: float) -> str:
    """'2026-03-14', in UTC."""
    return time.strftime("%Y-%m-%d", time.gmtime(unix_s))


def percent(share: float) -> str:
    """'18 %', '3.2 %'."""
    return f"{100 * share:.2g} %" if share < 0.095 else f"{100 * share:.0f} %"


def change_text(slower: float) -> str:
    """'18 % slower', '12 % faster', '5.0x slower': by the time that a message takes. '99 % slower'
    would seem to mean of a rate that nothing is left of it."""
    if max(slower, 1 / slower) >= TIMES_FROM:
        return f"{max(slower, 1 / slower):.1f}x {'slower' if slower > 1 else 'faster'}"
    return f"{percent(abs(slower - 1))} {'slower' if slower > 1 else 'faster'}"


def _shift_finding(history: History, shift: Shift) -> Finding:
    point = shift.point
    run = history.runs[point.at]
    most = change_text(shift.most.slower)
    upto = "up to " if len(shift.cells) > 1 else ""
    ended = "" if shift.in_force else ", and back later"
    kind, severity = FindingKind.SPEED_UP, Severity.GOOD
    if shift.is_slower:
        kind = FindingKind.REGRESSION
        severity = Severity.BAD if shift.in_force else Severity.NOTE
    evidence = []
    if point.first != point.last:
        names = [history.runs[at].name for at in (point.first, point.last)]
        evidence.append(f"it begins with one of the runs {names[0]} to {names[1]} (99 %)")
    if len(shift.changed) > 1:
        evidence.append(f"what would tell which: {which_test(shift.changed)}")
    texts = tuple(one.text for one in shift.changed)
    return Finding(
        kind,
        severity,
        f"{run_date(history, point.at)}  {shift.subject}: {upto}{most} from {run.name} on"
        f"{ended}; {changed_there(texts)}",
        evidence=tuple(evidence),
        facts=ShiftFacts(
            fabric=history.fabric,
            run=str(run.directory),
            date=run_date(history, point.at),
            dates=(
                str(history.runs[point.first].directory),
                str(history.runs[point.last].directory),
            ),
            benchmark=shift.cells[0].cell.benchmark,
            sizes_bytes=tuple(one.cell.size_bytes for one in shift.cells),
            slower=tuple(one.slower for one in shift.cells),
            in_force=shift.in_force,
            changed=texts,
            p=point.p,
        ),
    )


def changed_there(texts: Sequence[str]) -> str:
    """'changed there: kernel 5 -> 6', or that nothing recorded did."""
    if not texts:
        return "no recorded setting changed there"
    more = f" and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return f"changed there: {', '.join(texts[:MOST_NAMED])}{more}"


def which_test(changed: Sequence[SettingChange]) -> str:
    """The measurement that separates settings that changed together."""
    first = changed[0]
    return (
        f"{least_runs() // 3} runs with {first.key} back at {first.before} and the others as they "
        "are, or one study with these settings as factors"
    )


def _too_few(history: History) -> list[Finding]:
    """Cells with fewer runs than a step needs to show."""
    if not history.few:
        return []
    n, needed = max(history.few.values()), least_runs()
    names = list(dict.fromkeys(f"{cell.benchmark}, {cell.where}" for cell in history.few))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    repeated = ""
    if history.n_repeated:
        repeated = f" ({counted(history.n_repeated, 'run')} repeat a simulation and count once)"
    sentence = cannot_tell(
        f"whether {'; '.join(names[:MOST_NAMED])}{more} changed: not enough runs, {n}{repeated}",
        f"{needed} runs or more",
    )
    return [Finding(FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN, sentence)]


def _end(history: History) -> list[Finding]:
    """The last runs, where they are strange: an outlier or the begin of a step."""
    strange = strange_last_runs(history) if history.cells else ()
    if not strange:
        return []
    names = ", ".join(history.runs[at].name for at in strange)
    sentence = cannot_tell(
        f"whether the last {counted(len(strange), 'run')} ({names}) "
        f"{'is an outlier' if len(strange) == 1 else 'are outliers'} or a step begins there",
        counted(4 - len(strange), "more run"),
    )
    return [Finding(FindingKind.ANOMALY, Severity.UNKNOWN, sentence)]


def _no_dates() -> Finding:
    return Finding(
        FindingKind.DRIFT,
        Severity.UNKNOWN,
        cannot_tell(
            "when the figures changed: a smooth drift explains them as well as steps do, or runs "
            "depend on each other",
            "more runs, or runs farther apart in time",
        ),
    )


def _small(history: History, shifts: Sequence[Shift]) -> list[Finding]:
    """Steps that no cell shows with a hundredth or more, as between two versions on a twin."""
    shown = {one.point.at for one in shifts}
    return [
        Finding(
            FindingKind.NO_DIFFERENCE,
            Severity.NOTE,
            f"{run_date(history, one.at)}  a step of less than {percent(TOLERANCE)} from "
            f"{history.runs[one.at].name} on, too small for a finding",
        )
        for one in history.changes.points
        if one.at not in shown
    ]


def _undated(history: History) -> Finding:
    return Finding(
        FindingKind.DRIFT,
        Severity.UNKNOWN,
        cannot_tell(
            f"when the figures changed: the runs are not alike (p {history.changes.p:.2g}), and no "
            "single date explains it",
            "more runs",
        ),
    )


def _drift(history: History, shifts: Sequence[Shift]) -> list[Finding]:
    """A slow trend of a group over a history without steps: no step, but worth a look."""
    if shifts:
        return []
    found = []
    groups = np.array(history.groups)
    for number in range(int(groups.max()) + 1):
        columns = np.flatnonzero(groups == number)
        part = history.slowness[:, columns]
        levels = np.nanmean(part - np.nanmedian(part, axis=0), axis=1)
        kept = np.flatnonzero(np.isfinite(levels))
        drift = trend(kept.astype(float), np.exp(levels[kept]))
        if drift is not None and drift.p < FAMILY_ERROR and drift.notable:
            cell = history.cells[columns[0]]
            found.append(
                Finding(
                    FindingKind.DRIFT,
                    Severity.WARNING,
                    f"{cell.benchmark}, {cell.where}, drifts: {change_text(1 + drift.change)} in "
                    f"the last third of the runs than in the first, without a step",
                    evidence=(f"{drift.method}, p {drift.p:.2g}",),
                )
            )
    return found


def _unmoved(
    history: History, shifts: Sequence[Shift], moved_there: Iterable[str]
) -> list[Finding]:
    """Settings that changed without a step where the data could have shown one."""
    given = contrasts_of(history.settings)
    explained = {one.key for shift in shifts for one in shift.changed}.union(moved_there)
    keys = {key for key, _ in given if key not in explained}
    found = []
    for key in sorted(keys):
        inside = next(one for (name, _), one in given.items() if name == key)
        sizes = detectable_contrast(history.slowness, inside, len(given))
        least = float(np.expm1(np.median(sizes[sizes > 0]))) if (sizes > 0).any() else np.inf
        if not isfinite(least) or least > USEFUL:
            continue
        values = list(dict.fromkeys(history.settings[key]))
        at = next(one.at for one in history.events if one.key == key)
        found.append(
            Finding(
                FindingKind.NO_DIFFERENCE,
                Severity.NOTE,
                f"{run_date(history, at)}  {key} changed ({' -> '.join(values[:MOST_NAMED])}) "
                f"without a step; one of {percent(least)} or more would have shown in half of "
                "the cells",
            )
        )
    return found


def _quiet(history: History, steps: dict[str, float]) -> Finding:
    if not steps:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.UNKNOWN,
            cannot_tell("whether a step hides in the scatter of the runs", "more runs"),
        )
    return Finding(
        FindingKind.NO_DIFFERENCE,
        Severity.GOOD,
        f"no step in {counted(len(history.runs), 'run')} and {counted(len(history.cells), 'cell')}",
    )


def _detectable(history: History) -> dict[str, float]:
    """By group the smallest step that would have shown, of its median cell; without groups where
    only a doubling would."""
    if not history.cells or history.changes.drifts or history.changes.points:
        return {}
    sizes = detectable_step(history.slowness, history.groups)
    found: dict[str, list[float]] = {}
    for cell, size in zip(history.cells, sizes, strict=True):
        found.setdefault(f"{cell.benchmark}, {cell.where}", []).append(float(np.expm1(size)))
    worst = {name: max(some) for name, some in found.items()}
    return {name: max(size, 0.001) for name, size in worst.items() if size <= USEFUL}


def _how_sure() -> str:
    return f"that lasts a third of the runs; missed in at most {percent(1 - POWER)} of histories"
