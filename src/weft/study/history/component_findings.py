"""From the components of checks over time to findings: steps, drifts, accusations, coverage."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.core.finding import (
    Finding,
    FindingFacts,
    FindingKind,
    Severity,
    cannot_tell,
    worst_first,
)
from weft.core.words import counted
from weft.stats.change_points import POWER, least_runs, step_of_statistic
from weft.study.history.component_history import (
    ComponentDrift,
    ComponentHistory,
    ComponentStep,
    component_history,
)
from weft.study.history.history import History
from weft.study.history.history_findings import (
    USEFUL,
    change_text,
    changed_there,
    percent,
    run_date,
    which_test,
)
from weft.study.history.run_components import KINDS, NamedComponent

MOST_NAMED = 5
"""Accused components, and runs that accused one, that the text names; the record has all."""

_PLURALS = {"node": "nodes", "HCA": "HCAs", "cable": "cables", "pair": "pairs"}


@dataclass(frozen=True, slots=True)
class ComponentFacts(FindingFacts):
    """A component that moved: by `slower` (a ratio of times), or accused by `runs`. `dates`: the
    first and last run that a step may begin with. What does not apply is empty."""

    fabric: str
    component: str
    name: str
    metric: str = ""
    run: str = ""
    date: str = ""
    dates: tuple[str, ...] = ()
    slower: float = 1.0
    in_force: bool = False
    changed: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    p: float = 1.0


@dataclass(frozen=True, slots=True)
class JudgedComponents:
    """The components of a history with their findings, worst first, and what would have shown."""

    components: ComponentHistory
    findings: tuple[Finding, ...]
    would_show: tuple[str, ...]


def judge_components(history: History) -> JudgedComponents:
    """All findings about the components of a history's checks; none without a check."""
    found = component_history(history)
    findings = [_step_finding(found, one) for one in found.steps]
    findings += [_drift_finding(found, one) for one in found.drifts]
    findings += [_undated(found, one) for one in found.undated]
    moved = bool(findings)
    findings += _accusations(found)
    would_show: tuple[str, ...] = ()
    if found.enough and not moved:
        would_show = tuple(_would_show(found))
        findings.append(_quiet(found, would_show))
    elif found.rows and not moved:
        findings.append(_too_few(found))
    return JudgedComponents(found, worst_first(findings), would_show)


def weekday_date(history: History, at: int) -> str:
    """'Tuesday 2026-11-24', in UTC; 'run 7' for a run without a time."""
    if history.runs[at].no_time:
        return run_date(history, at)
    return time.strftime("%A %Y-%m-%d", time.gmtime(history.runs[at].started_unix_s))


def metric_word(metric: str) -> str:
    """'bandwidth' of 'bandwidth_mb_s'."""
    return metric.partition("_")[0]


def _step_finding(found: ComponentHistory, step: ComponentStep) -> Finding:
    history, most, point = found.history, step.most, step.point
    run, component = history.runs[point.at], step.component
    severity, kind = Severity.GOOD, FindingKind.SPEED_UP
    if most.slower > 1:
        severity = Severity.BAD if step.in_force else Severity.NOTE
        kind = FindingKind.REGRESSION
    others = f"other {_PLURALS[component.kind]}"
    since = "since" if step.in_force else "from"
    texts = tuple(one.text for one in step.changed)
    evidence = [
        f"{metric_word(one.metric)}: {change_text(one.slower)} than before, against {others}"
        for one in sorted(step.shifts, key=lambda one: one.metric)
    ]
    if point.first != point.last:
        names = [history.runs[at].name for at in (point.first, point.last)]
        evidence.append(f"it begins with one of the runs {names[0]} to {names[1]} (99 %)")
    if len(step.changed) > 1:
        evidence.append(f"what would tell which: {which_test(step.changed)}")
    accused = found.accused.get(component, ())
    after = [at for at, _ in accused if at >= point.first]
    evidence.append(
        f"checks that accuse it: {len(after)} from then on, {len(accused) - len(after)} before"
    )
    return Finding(
        kind,
        severity,
        f"{component.text}: {change_text(most.slower)} in {metric_word(most.metric)} {since} "
        f"{weekday_date(history, point.at)} ({run.name})"
        f"{'' if step.in_force else ', and back later'}; {changed_there(texts)}",
        evidence=tuple(evidence),
        facts=ComponentFacts(
            fabric=history.fabric,
            component=component.kind,
            name=component.name,
            metric=most.metric,
            run=str(run.directory),
            date=run_date(history, point.at),
            dates=tuple(str(history.runs[at].directory) for at in (point.first, point.last)),
            slower=most.slower,
            in_force=step.in_force,
            changed=texts,
            runs=tuple(str(history.runs[at].directory) for at, _ in accused),
            p=point.p,
        ),
    )


def _drift_finding(found: ComponentHistory, drift: ComponentDrift) -> Finding:
    component = drift.component
    return Finding(
        FindingKind.DRIFT,
        Severity.WARNING,
        f"{component.text} drifts: {change_text(drift.slower)} in {metric_word(drift.metric)} in "
        f"the last third of {counted(len(found.rows), 'check')} than in the first, without a step",
        evidence=(f"Spearman against time, p {drift.p:.2g}",),
        facts=ComponentFacts(
            fabric=found.history.fabric,
            component=component.kind,
            name=component.name,
            metric=drift.metric,
            slower=drift.slower,
            in_force=True,
            p=drift.p,
        ),
    )


def _undated(found: ComponentHistory, component: NamedComponent) -> Finding:
    return Finding(
        FindingKind.DRIFT,
        Severity.UNKNOWN,
        cannot_tell(
            f"when {component.text} changed: its checks are not alike, and no single date explains "
            "it",
            "more checks",
        ),
        facts=ComponentFacts(found.history.fabric, component.kind, component.name),
    )


def _accusations(found: ComponentHistory) -> Iterator[Finding]:
    """Who was accused how often, those of most checks first."""
    history = found.history
    n_checks = sum(bool(run.components.verdict) for run in history.runs)
    most = sorted(found.accused.items(), key=lambda item: -len(item[1]))
    for component, some in most[:MOST_NAMED]:
        n_bad = sum(one.severity == Severity.BAD.value for _, one in some)
        names = [history.runs[at].name for at, _ in some]
        shown = names[:MOST_NAMED] + (["..."] if len(names) > MOST_NAMED else [])
        span = weekday_date(history, some[0][0])
        if len(some) > 1:
            span += f" to {weekday_date(history, some[-1][0])}"
        yield Finding(
            FindingKind.ANOMALY,
            Severity.NOTE,
            f"{component.text}: accused by {len(some)} of {counted(n_checks, 'check')} "
            f"({n_bad} as bad), {span}",
            evidence=(f"by {', '.join(shown)}",),
            facts=ComponentFacts(
                history.fabric,
                component.kind,
                component.name,
                runs=tuple(str(history.runs[at].directory) for at, _ in some),
            ),
        )
    if len(most) > MOST_NAMED:
        n_more = counted(len(most) - MOST_NAMED, "more component")
        yield Finding(
            FindingKind.ANOMALY, Severity.NOTE, f"{n_more} accused by a check: --format json"
        )


def _quiet(found: ComponentHistory, would_show: tuple[str, ...]) -> Finding:
    if not would_show:
        return Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.UNKNOWN,
            cannot_tell("whether a component's step hides in the scatter of checks", "more checks"),
        )
    scanned = {found.series[i].component for i in found.scanned}
    kinds = Counter(one.kind for one in scanned)
    text = ", ".join(f"{kinds[kind]:,} {_PLURALS[kind]}" for kind in KINDS if kinds[kind])
    return Finding(
        FindingKind.HEALTHY,
        Severity.GOOD,
        f"no component steps or drifts in {counted(len(found.rows), 'check')}: {text}",
    )


def _too_few(found: ComponentHistory) -> Finding:
    n = counted(len(found.rows), "check")
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell(
            f"whether a node, cable or pair changed: no component is in enough of {n}",
            f"{least_runs()} checks that measure it, or more",
        ),
    )


def _would_show(found: ComponentHistory) -> Iterator[str]:
    """By kind and metric the smallest step that would have shown, of its worst series."""
    sizes = np.expm1(step_of_statistic(found.values[:, found.scanned], found.critical))
    worst: dict[tuple[str, str], float] = {}
    for column, size in zip(found.scanned, sizes.tolist(), strict=True):
        series = found.series[column]
        key = (series.component.kind, series.metric)
        worst[key] = max(worst.get(key, 0.001), size)
    for (kind, metric), size in worst.items():
        if size <= USEFUL:
            yield (
                f"a step of {percent(size)} or more in the {metric_word(metric)} of any {kind} "
                f"that lasts a third of the checks; missed in at most {percent(1 - POWER)} of "
                "histories"
            )
