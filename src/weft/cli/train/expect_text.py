"""The text of a step of a transformer: its time and what limits it, parts, memory, exchanges."""

from typing import Any

from weft.cli.output import table_text, terminal_width
from weft.cli.train.twin_text import twin_cells, twin_lines, twin_record, twin_row
from weft.core.units import format_significant, format_size_roughly
from weft.train.memory import PEAK_OVER_SUM, MemorySum
from weft.train.step_constants import N_CONSTANTS
from weft.train.step_time import PARTS, StepModel, StepTime
from weft.train.twin.prices import TwinPrices

HELD_OUT_ERROR = 0.15
"""Median error of the rows that no constant was fitted to (docs/reference/train_expect.md)."""
RING_WARNED, RING_FACTORS = 4, (1.4, 1.8)
"""From this CP on, published over modelled time of such rows (docs/concepts/fidelity.md)."""


def step_text(step: StepModel, found: StepTime, memory: MemorySum, model: StepTime) -> str:
    """The answer of `weft train expect`; `model` is the step by NCCL's model alone."""
    return "\n".join(
        [
            *_head(step, found, memory),
            "",
            f"layout   {step.layout.words}",
            f"batch    {step.layout.micro_batch} x {step.layout.ga} micro-batches x"
            f" DP {step.layout.dp} = {step.layout.global_batch} sequences of"
            f" {step.sequence} tokens",
            *memory_lines(memory),
            "",
            table_text(["part of the step", "s", "share"], part_rows(found)),
            "",
            *_exchange_lines(step, found),
            *([*twin_lines(step, found, model), ""] if _on_twin(step) else []),
            f"The compute model has {N_CONSTANTS} fitted figures; no published step of the second"
            " line was among those that they were fitted to.",
            *ring_warning(step.layout.cp),
        ]
    )


def memory_lines(memory: MemorySum) -> list[str]:
    """The sum by part, and how far it is to be trusted."""
    peak, capacity = memory.likely_peak / 1e9, memory.capacity / 1e9
    doubt = "; may not fit" if memory.fits and peak > capacity else ""
    return [
        f"memory   {memory.words}",
        f"         published peaks lie {PEAK_OVER_SUM - 1:.0%} above such sums (median):"
        f" {peak:.0f} GB{doubt}",
    ]


def ring_warning(cp: int) -> list[str]:
    """Of long rings the model is known to miss a part."""
    if cp < RING_WARNED:
        return []
    low, high = RING_FACTORS
    return [
        f"warning: published steps with CP {RING_WARNED} or more took {low} to {high} times as long"
        " as the model says."
    ]


def _head(step: StepModel, found: StepTime, memory: MemorySum) -> list[str]:
    n, seconds = step.layout.n_gpus, found.seconds
    low, high = seconds * (1 - HELD_OUT_ERROR), seconds * (1 + HELD_OUT_ERROR)
    rate = found.flops / seconds / n / 1e12
    peak = step.gpu.peak[step.method.precision].value
    tokens = step.layout.global_batch * step.sequence / seconds
    precision = step.method.precision.upper()
    lacks = "" if memory.fits else "; does not fit into memory"
    return [
        f"EXPECT   {seconds:.3g} s a step: {binding(found)}{lacks}",
        f"         half of published steps lie within {HELD_OUT_ERROR:.0%} of the model:"
        f" {low:.3g} to {high:.3g} s",
        f"         {step.model.name} in {precision} on {n} {step.gpu.model} of"
        f" {step.prices.platform.name}",
        f"         {tokens:,.0f} tokens/s, {rate:.0f} TFLOP/s a GPU, {rate / peak:.0%} MFU",
    ]


def binding(found: StepTime) -> str:
    """'57% goes into products of matrices': the largest part."""
    name = max(found.parts, key=lambda part: found.parts[part])
    return f"{found.parts[name] / found.seconds:.0%} goes into {PARTS[name]}"


def part_rows(found: StepTime) -> list[list[str]]:
    """Parts that take a thousandth of the step or more."""
    return [
        [PARTS[name], f"{value:.3g}", f"{value / found.seconds:.1%}"]
        for name, value in found.parts.items()
        if value >= 0.001 * found.seconds
    ]


def _exchange_lines(step: StepModel, found: StepTime) -> list[str]:
    if not found.exchanges:
        return []
    rows = [
        [
            one.dimension.upper(),
            one.collective,
            format_size_roughly(round(one.size_bytes)),
            f"{one.count:,.0f}",
            f"{one.group.n}",
            step.prices.link(one.group),
            *(
                twin_cells(step, one)
                if _on_twin(step)
                else [format_significant(1e3 * one.seconds, 3)]
            ),
            format_significant(one.exposed_s, 3),
        ]
        for one in found.exchanges
    ]
    times = ["ms", "twin"] if _on_twin(step) else ["ms"]
    heads = ["", "collective", "size", "times", "n", "over", *times, "exposed s"]
    return [table_text(heads, rows, left=2, width=terminal_width()), ""]


def _on_twin(step: StepModel) -> bool:
    return isinstance(step.prices, TwinPrices)


def rows_of(step: StepModel, found: StepTime) -> list[dict[str, Any]]:
    """Each exchange as a flat row."""
    return [
        {
            "dimension": one.dimension,
            "what": one.what,
            "collective": one.collective,
            "size_bytes": round(one.size_bytes),
            "count": one.count,
            "ranks": one.group.n,
            "ranks_per_node": one.group.per_node,
            "over": step.prices.link(one.group),
            "each_s": one.seconds,
            "total_s": one.total_s,
            "exposed_s": one.exposed_s,
            **twin_row(step, one),
        }
        for one in found.exchanges
    ]


def record_of(
    step: StepModel, found: StepTime, memory: MemorySum, model: StepTime
) -> dict[str, Any]:
    """Everything, in seconds, bytes and FLOPs."""
    layout = step.layout
    names = (
        "n_gpus",
        "tp",
        "pp",
        "cp",
        "ep",
        "etp",
        "dp",
        "vp",
        "micro_batch",
        "ga",
        "global_batch",
    )
    return {
        "model": step.model.name,
        "platform": step.prices.platform.name,
        "gpu": step.gpu.model,
        "precision": step.method.precision,
        "sequence": step.sequence,
        "layout": {name: getattr(layout, name) for name in names},
        "step_s": found.seconds,
        "bound": binding(found),
        "parts_s": dict(found.parts),
        "flops": found.flops,
        "tokens_per_s": layout.global_batch * step.sequence / found.seconds,
        "memory_bytes": dict(memory.parts),
        "memory_capacity_bytes": memory.capacity,
        "likely_peak_bytes": memory.likely_peak,
        "fits": memory.fits,
        "exchanges": rows_of(step, found),
        "fitted_constants": N_CONSTANTS,
        **twin_record(step, model),
    }
