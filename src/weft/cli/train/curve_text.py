"""The curve of a sweep: the best layout of each number of GPUs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.cli.output import table_text, terminal_width
from weft.cli.train.expect_text import HELD_OUT_ERROR, ring_warning
from weft.cli.train.step_options import AskedStep
from weft.core.errors import InputError
from weft.train.layout_search import LayoutSearch

Curve = Sequence[tuple[int, LayoutSearch | InputError]]
MOST_BAR, TABLE_WIDTH = 20, 45
"""Columns of the longest bar (efficiency 1, or the highest above it), and those of the table before
it at most: a bar takes what the terminal leaves."""


def curve_text(asked: AskedStep, curve: Curve) -> str:
    """A row a size: its step, tokens a second, and efficiency as a bar; then the layouts."""
    record = curve_record(asked, curve)
    fitting = [row for row in record["sizes"] if row["step_s"] is not None]
    precision = asked.method.precision.upper()
    title = f"SWEEP    {asked.model.name} in {precision} on {asked.prices.platform.name}"
    lacking = _lacking(record["sizes"])
    if not fitting:
        return "\n".join([f"{title}: no size has a layout that fits", *lacking])
    bar = max(1, min(MOST_BAR, (terminal_width() or 80) - TABLE_WIDTH))
    most = max(1.0, *(row["efficiency"] for row in fitting))
    rows = [
        [
            f"{row['n_gpus']}",
            f"{row['step_s']:.3g}",
            f"{row['tokens_per_s']:,.0f}",
            f"{row['efficiency']:.1%}",
            "#" * round(bar * row["efficiency"] / most),
        ]
        for row in fitting
    ]
    layouts = [[f"{row['n_gpus']}", row["layout"]] for row in fitting]
    base = f"efficiency: tokens a second and GPU over those on {fitting[0]['n_gpus']}"
    return "\n".join(
        [
            title,
            "",
            table_text(["GPUs", "s", "tokens/s", "efficiency", ""], rows, last=1),
            base,
            "",
            table_text(["GPUs", "best layout"], layouts, last=1),
            *ring_warning(_longest_ring(curve)),
            *([""] if lacking else []),
            *lacking,
        ]
    )


def _longest_ring(curve: Curve) -> int:
    """The highest CP of the best layouts."""
    found = (one.fitting for _, one in curve if not isinstance(one, InputError) and one.fitting)
    return max(fitting[0].layout.cp for fitting in found)


def write_curve(asked: AskedStep, curve: Curve, out: Path) -> Path:
    """The page of a sweep. Raises InputError where no size fits."""
    from weft.report.training_curve_page import CurvePoint, StepCurve, write_curve_page

    sizes = curve_record(asked, curve)["sizes"]
    points = tuple(
        CurvePoint(n_gpus, found.fitting[0], row["efficiency"])
        for (n_gpus, found), row in zip(curve, sizes, strict=True)
        if not isinstance(found, InputError) and found.fitting
    )
    if not points:
        raise InputError("no size fits: there is no curve to draw", expected="more GPUs")
    precision = asked.method.precision.upper()
    title = f"{asked.model.name} in {precision} on {asked.prices.platform.name}"
    subtitle = f"Priced by weft train plan: sequences of {asked.model.sequence:,} tokens."
    lacking = tuple(_lacking(sizes))
    return write_curve_page(StepCurve(title, subtitle, points, lacking, HELD_OUT_ERROR), out)


def _lacking(sizes: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{row['n_gpus']} GPUs: {row['reason']}" for row in sizes if row["step_s"] is None]


def curve_record(asked: AskedStep, curve: Curve) -> dict[str, Any]:
    """Sizes with the time and layout of the best; null where there is none, with the reason."""
    sizes: list[dict[str, Any]] = []
    base: float | None = None
    for n_gpus, found in curve:
        if isinstance(found, InputError) or not found.fitting:
            sizes.append(_without_layout(n_gpus, found))
            continue
        best = found.fitting[0]
        tokens = best.tokens_per_s * asked.model.sequence
        base = base or tokens / n_gpus
        sizes.append(
            {
                "n_gpus": n_gpus,
                "layout": best.words,
                "step_s": best.step.seconds,
                "tokens_per_s": tokens,
                "efficiency": tokens / n_gpus / base,
                "memory_gb": best.memory.total / 1e9,
                "reason": "",
            }
        )
    return {"model": asked.model.name, "platform": asked.prices.platform.name, "sizes": sizes}


def _without_layout(n_gpus: int, found: LayoutSearch | InputError) -> dict[str, Any]:
    row = dict.fromkeys(("layout", "step_s", "tokens_per_s", "efficiency", "memory_gb"))
    if isinstance(found, InputError):
        return {"n_gpus": n_gpus, **row, "reason": found.what}
    memory = found.least[2].total / 1e9
    reason = f"does not fit, {memory:.0f} GB a GPU at least"
    return {"n_gpus": n_gpus, **row, "memory_gb": memory, "reason": reason}
