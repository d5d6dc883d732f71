"""A study thinned to fit a time: the matrix from the middle out, then its repeats."""

import math
from collections.abc import Callable
from typing import Any

from weft.core.errors import InputError
from weft.core.units import format_duration, format_size
from weft.core.words import counted
from weft.study.plan.model import Study
from weft.study.plan.plan import sizes_of

ENDS = 2
"""An axis keeps its smallest and its largest value."""
LEAST_UNITS = 6
"""Launches, or on a twin node sets, of a cell: fewer have no interval."""
MOST_CELLS = 10_000
"""A matrix is thinned to so many cells before its time is estimated."""

SecondsOf = Callable[[Study], float]
"""About how long a study takes."""


def thinned(study: Study, budget_s: float, seconds_of: SecondsOf) -> tuple[Study, tuple[str, ...]]:
    """The study without as many values of its axes (nodes, tasks a node, sizes) as it takes to fit
    `budget_s`, and what was left out, in words.

    A twin repeats itself: several node sets take one repeat first. Then the axis with the most
    values loses one, from the middle on and spread, until all have their ends alone; then node sets
    or, of one node set, repeats fall to 6. Raises InputError if that is not enough.
    """
    thin = study
    while _n_cells(thin) > MOST_CELLS:
        thin = _thinner(thin) or _refuse(study, thin, budget_s)
    while (seconds := seconds_of(thin)) > budget_s:
        thin = _thinner(thin) or _refuse(study, thin, budget_s, seconds)
    return thin, _left_out(study, thin)


def _n_cells(study: Study) -> int:
    n_arms = math.prod(len(factor.settings) for factor in study.factors)
    n_sizes = sum(len(sizes_of(use)) for use in study.benchmarks)
    return n_arms * n_sizes * len(study.nodes) * len(study.tasks_per_node)


def _thinner(study: Study) -> Study | None:
    """One value, or some units, fewer; None where nothing may go."""
    if study.node_sets >= LEAST_UNITS and study.repeats > 1:
        return study.model_copy(update={"repeats": 1})
    axes: list[tuple[int, str, int]] = [
        (len(set(study.nodes)), "nodes", 0),
        (len(set(study.tasks_per_node)), "tasks_per_node", 0),
        *((len(set(sizes_of(use))), "sizes", at) for at, use in enumerate(study.benchmarks)),
    ]
    n_values, axis, at = max(axes, key=lambda one: one[0])
    if n_values > ENDS:
        return _without_middle(study, axis, at)
    units = "node_sets" if study.node_sets > 1 else "repeats"
    n_units = getattr(study, units)
    if n_units <= LEAST_UNITS:
        return None
    return study.model_copy(update={units: max(LEAST_UNITS, n_units // 2)})


def _without_middle(study: Study, axis: str, at: int) -> Study:
    if axis != "sizes":
        return study.model_copy(update={axis: _drop_middle(getattr(study, axis))})
    sizes = ",".join(str(size) for size in _drop_middle(sizes_of(study.benchmarks[at])))
    uses = list(study.benchmarks)
    uses[at] = uses[at].model_copy(update={"sizes": sizes})
    return study.model_copy(update={"benchmarks": tuple(uses)})


def _drop_middle(values: tuple[int, ...]) -> tuple[int, ...]:
    """Without the value whose neighbours are nearest to each other as a ratio: what is left stays
    spread. Of several the one in the middle."""
    in_order = sorted(set(values))

    def gap(at: int) -> tuple[float, float]:
        ratio = (in_order[at + 1] + 1) / (in_order[at - 1] + 1)
        return (round(math.log2(ratio)), abs(at - (len(in_order) - 1) / 2))

    del in_order[min(range(1, len(in_order) - 1), key=gap)]
    return tuple(in_order)


def _left_out(study: Study, thin: Study) -> tuple[str, ...]:
    found = []
    for axis, name in (("nodes", "nodes"), ("tasks_per_node", "ranks a node")):
        found += _difference(name, getattr(study, axis), getattr(thin, axis), str)
    for at, use in enumerate(study.benchmarks):
        found += _difference(use.name, sizes_of(use), sizes_of(thin.benchmarks[at]), format_size)
    for units, name in (("repeats", "repeats"), ("node_sets", "node sets")):
        before, now = getattr(study, units), getattr(thin, units)
        if now != before:
            found.append(f"{now} of {before} {name}")
    return tuple(found)


def _difference(name: str, before: Any, now: Any, text: Callable[[int], str]) -> list[str]:
    gone = sorted(set(before) - set(now))
    shown = ", ".join(text(value) for value in gone)
    return [f"without {name} {shown}"] if gone else []


def _refuse(study: Study, thin: Study, budget_s: float, seconds: float | None = None) -> Study:
    takes = "" if seconds is None else f" takes about {format_duration(seconds)}"
    raise InputError(
        f"study '{study.name}' does not fit {format_duration(budget_s)}: its smallest form of "
        f"{counted(_n_cells(thin), 'cell')}{takes}",
        expected="a longer --budget"
        if seconds is not None
        else f"a study whose smallest form has at most {MOST_CELLS} cells",
        hint="fewer factors or benchmarks, or smaller jobs",
    )
