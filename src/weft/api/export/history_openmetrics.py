"""A history of checks as OpenMetrics text: the state of each component, without a label a run.

A series lives as long as its component: a dashboard follows it over weeks, and each night only its
value changes.
"""

from collections import Counter
from collections.abc import Sequence

from weft.api.export.openmetrics import MetricFamilies
from weft.core.finding import Severity, verdict_of
from weft.study.history.component_findings import metric_word
from weft.study.history.component_states import ComponentState, component_lines
from weft.study.history.run_components import PAIR
from weft.study.history.whole_history import WholeHistory

NAMES = {
    "history_verdict": "1 for the verdict of a history of runs.",
    "history_runs": "Runs of a history.",
    "history_last_run_time_seconds": "Start of the last run of a history, Unix time.",
    "history_components": "Components of checks by kind and state.",
    "component_state": "1 for the state of a component; pairs only with a finding.",
    "component_slower_ratio": "Time of a component over that of others of its kind, last check.",
    "component_accusing_checks": "Checks of a history that accuse a component.",
    "component_slow_since_seconds": "First run of the step that slows a component, Unix time.",
}
"""Gauges by name behind 'weft_', with their help."""


def history_metrics(histories: Sequence[WholeHistory]) -> str:
    """The text of histories, one a fabric."""
    families = MetricFamilies()
    for one in histories:
        _add(families, one)
    return families.text()


def _add(families: MetricFamilies, judged: WholeHistory) -> None:
    history = judged.history
    fabric = {"fabric": history.fabric}

    def gauge(name: str, value: float, /, **labels: object) -> None:
        unit = next((unit for unit in ("seconds", "ratio") if name.endswith(f"_{unit}")), "")
        stem = name.removesuffix(f"_{unit}") if unit else name
        families.add(stem, NAMES[name], {**fabric, **labels}, value, unit)

    verdict = verdict_of(judged.findings)
    for severity in (Severity.BAD, Severity.UNKNOWN, Severity.WARNING, Severity.GOOD):
        gauge("history_verdict", float(severity is verdict), verdict=severity.value)
    gauge("history_runs", len(history.runs))
    started = max(run.started_unix_s for run in history.runs)
    if started > 0:
        gauge("history_last_run_time_seconds", started)
    lines = component_lines(judged.components.components)
    counts = Counter((one.component.kind, one.state) for one in lines)
    for kind in dict.fromkeys(kind for kind, _ in counts):
        for state in ComponentState:
            gauge("history_components", counts[kind, state], kind=kind, state=state.value)
    for one in lines:
        quiet = one.state in (ComponentState.GOOD, ComponentState.UNKNOWN) and not one.accused_by
        if one.component.kind == PAIR and quiet:
            continue
        of = {"kind": one.component.kind, "name": one.component.name}
        for state in ComponentState:
            gauge("component_state", float(state is one.state), **of, state=state.value)
        for metric, slower in one.slower.items():
            gauge("component_slower_ratio", slower, **of, metric=metric_word(metric))
        gauge("component_accusing_checks", len(one.accused_by), **of)
        if one.step is not None and history.runs[one.step.point.at].started_unix_s > 0:
            since = history.runs[one.step.point.at].started_unix_s
            gauge("component_slow_since_seconds", since, **of)
