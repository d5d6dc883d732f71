"""The text of a plan: layouts with their memory and time, and what changes cost the best."""

from typing import Any

from weft.cli.output import table_text, terminal_width
from weft.cli.train.expect_text import binding, ring_warning
from weft.cli.train.step_options import AskedStep
from weft.train.layout_search import LayoutSearch, PlannedLayout, PlanRequest, exposed_total
from weft.train.memory import PEAK_OVER_SUM
from weft.train.network_costs import NetworkCost, network_costs
from weft.train.step_constants import step_constants
from weft.train.step_time import StepModel
from weft.train.twin.neighbour_costs import neighbour_costs


def plan_text(
    asked: AskedStep,
    request: PlanRequest,
    found: LayoutSearch,
    top: int,
    costs: list[NetworkCost],
) -> str:
    """The best layout first, then the others, then what changes cost."""
    best = found.fitting[0]
    shown = found.fitting[:top]
    again = any(one.method.recompute != "none" for one in shown)
    rows = [_row(one, again=again) for one in shown]
    heads = ["TP", "PP", "CP", "EP", "DP", "VP", "MBS", "GA", "GB", "s", "exposed"]
    heads += ["recompute"] if again else []
    doubtful = best.memory.capacity / PEAK_OVER_SUM / 1e9
    if request.shape.experts is None:
        place = heads.index("EP")
        heads, rows = _without(heads, place), [_without(row, place) for row in rows]
    return "\n".join(
        [
            f"PLAN     {best.words}: {best.step.seconds:.3g} s a step; {binding(best.step)}",
            f"         {request.model.name} in {best.method.precision.upper()} on"
            f" {request.n_gpus} GPUs of {asked.prices.platform.name}, {request.batch} sequences of"
            f" {request.model.sequence} tokens",
            f"memory   {best.memory.words}",
            f"         {found.n_tried} layouts tried, {found.n_fit} fit, the {len(found.fitting)}"
            " most promising priced",
            *_recompute_lines(found),
            "",
            table_text(heads, rows, left=0, width=terminal_width()),
            f"Layouts above {doubtful:.0f} GB may not fit: half of published peaks lie"
            f" {PEAK_OVER_SUM - 1:.0%} or more above such sums.",
            *ring_warning(max(one.layout.cp for one in shown)),
            "",
            table_text(["the best layout with", "s", "x"], _cost_rows(costs)),
        ]
    )


def _recompute_lines(found: LayoutSearch) -> list[str]:
    """Where layouts fit by recomputation alone, and what keeping all activations takes."""
    least = found.least_whole
    if least is None or not found.needs_recompute:
        return []
    return [f"         fits only with recomputation: without it {least.words}"]


def _without(cells: list[str], place: int) -> list[str]:
    return [*cells[:place], *cells[place + 1 :]]


def _row(one: PlannedLayout, *, again: bool) -> list[str]:
    layout = one.layout
    names = ("tp", "pp", "cp", "ep", "dp", "vp", "micro_batch", "ga")
    return [
        *(str(getattr(layout, name)) for name in names),
        f"{one.memory.total / 1e9:.0f}",
        f"{one.step.seconds:.3g}",
        f"{exposed_total(one.step) / one.step.seconds:.0%}",
        *([one.method.recompute] if again else []),
    ]


def step_of(asked: AskedStep, request: PlanRequest, planned: PlannedLayout) -> StepModel:
    """The step of a layout that was found."""
    assert asked.gpu is not None
    return StepModel(
        request.model,
        request.shape,
        planned.layout,
        planned.method,
        asked.prices,
        asked.gpu,
        step_constants(),
    )


def costs_of(
    asked: AskedStep,
    request: PlanRequest,
    best: PlannedLayout,
    neighbours: tuple[str, ...] | None,
) -> list[NetworkCost]:
    """What changes cost the best layout; those of a neighbour on the twin where patterns are given,
    none for weft's own. Raises InputError."""
    step = step_of(asked, request, best)
    found = list(network_costs(step))
    if neighbours is None:
        return found
    return [*found, *neighbour_costs(step, neighbours)]


def _cost_rows(costs: list[NetworkCost]) -> list[list[str]]:
    return [[cost.what, f"{cost.seconds:.3g}", f"{cost.factor:.2f}"] for cost in costs]


def plan_record(
    asked: AskedStep,
    request: PlanRequest,
    found: LayoutSearch,
    top: int,
    costs: list[NetworkCost],
) -> dict[str, Any]:
    """The same, with numbers in seconds and bytes."""
    return {
        "model": request.model.name,
        "platform": asked.prices.platform.name,
        "n_gpus": request.n_gpus,
        "global_batch": request.batch,
        "layouts_tried": found.n_tried,
        "needs_recompute": found.needs_recompute,
        "layouts": [layout_record(one) for one in found.fitting[:top]],
        "changes": [
            {"change": cost.what, "step_s": cost.seconds, "factor": cost.factor} for cost in costs
        ],
    }


def layout_record(one: PlannedLayout) -> dict[str, Any]:
    """A layout as a flat row."""
    layout = one.layout
    names = ("tp", "pp", "cp", "ep", "dp", "vp", "micro_batch", "ga")
    return {
        **{name: getattr(layout, name) for name in names},
        "recompute": one.method.recompute,
        "memory_gb": one.memory.total / 1e9,
        "step_s": one.step.seconds,
        "exposed_s": exposed_total(one.step),
        "bubble_s": one.step.bubble,
    }
