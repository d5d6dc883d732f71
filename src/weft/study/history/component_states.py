"""One line a component: its state now, since when, and how often checks accused it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from weft.stats.summary import Floats
from weft.study.history.component_history import ComponentHistory, ComponentStep
from weft.study.history.run_components import KINDS, ComponentSeries, NamedComponent


class ComponentState(StrEnum):
    """The state of a component at the end of a history, worst first."""

    SLOW = "slow"
    ACCUSED = "accused"
    DRIFTING = "drifting"
    UNDATED = "undated"
    UNKNOWN = "unknown"
    GOOD = "good"


WORDS = {
    ComponentState.SLOW: "slower since a date",
    ComponentState.ACCUSED: "the last check accuses it",
    ComponentState.DRIFTING: "drifts slower without a step",
    ComponentState.UNDATED: "its checks are not alike, and no date explains it",
    ComponentState.UNKNOWN: "too few checks, or a step would not show",
    ComponentState.GOOD: "no step and no drift to slower, and a step would have shown",
}


@dataclass(frozen=True, slots=True)
class ComponentLine:
    """`slower`: by metric the last level against others of its kind (1.1: 10 % slower); `worst` is
    the metric whose `levels` (a value a check, NaN where it was not measured) tell most. `step`:
    the one that still holds."""

    component: NamedComponent
    state: ComponentState
    slower: dict[str, float]
    worst: str
    levels: Floats
    step: ComponentStep | None
    accused_by: tuple[int, ...]


def component_lines(found: ComponentHistory) -> tuple[ComponentLine, ...]:
    """A line a component, the worst state first, then by kind and name."""
    columns: dict[NamedComponent, list[int]] = defaultdict(list)
    for column, series in enumerate(found.series):
        columns[series.component].append(column)
    lines = [_line(found, component, columns[component]) for component in found.components]
    order = {kind: i for i, kind in enumerate(KINDS)}
    states = list(ComponentState)
    return tuple(
        sorted(
            lines,
            key=lambda one: (
                states.index(one.state),
                order.get(one.component.kind, len(order)),
                one.component.name,
            ),
        )
    )


def _line(
    found: ComponentHistory, component: NamedComponent, columns: Sequence[int]
) -> ComponentLine:
    slower, worst = {}, ""
    for column in columns:
        known = found.values[np.isfinite(found.values[:, column]), column]
        slower[found.series[column].metric] = float(np.exp(known[-1]))
    steps = [one for one in found.steps if one.component == component]
    in_force = [one for one in steps if one.in_force and one.most.slower > 1]
    if slower:
        worst = in_force[-1].most.metric if in_force else max(slower, key=slower.__getitem__)
    place = ComponentSeries(component, worst)
    levels = found.values[:, found.series.index(place)] if slower else np.empty(0)
    accused_by = tuple(at for at, _ in found.accused.get(component, ()))
    return ComponentLine(
        component=component,
        state=_state(found, component, columns, is_slow=bool(in_force)),
        slower=slower,
        worst=worst,
        levels=levels,
        step=in_force[-1] if in_force else None,
        accused_by=accused_by,
    )


def _state(
    found: ComponentHistory, component: NamedComponent, columns: Sequence[int], *, is_slow: bool
) -> ComponentState:
    last = max(
        (i for i, run in enumerate(found.history.runs) if run.components.verdict), default=-1
    )
    drifts = any(one.component == component and one.slower > 1 for one in found.drifts)
    scanned = bool(set(columns) & set(found.scanned)) and found.critical < float("inf")
    states = {
        ComponentState.SLOW: is_slow,
        ComponentState.ACCUSED: any(at == last for at, _ in found.accused.get(component, ())),
        ComponentState.DRIFTING: drifts,
        ComponentState.UNDATED: component in found.undated,
        ComponentState.UNKNOWN: not scanned,
    }
    return next((state for state, holds in states.items() if holds), ComponentState.GOOD)
