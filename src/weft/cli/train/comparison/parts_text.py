"""The parts of two priced steps, side by side, as text and as plain JSON values."""

from typing import Any

from weft.cli.output import table_text
from weft.cli.train.expect_text import HELD_OUT_ERROR, ring_warning
from weft.train.log.step_parts import PartChange, PricedStep, StepDifference
from weft.train.step_time import PARTS

_LEAST_SHARE = 0.001
"""A part is shown where it takes such a share of either step."""


def parts_lines(found: StepDifference) -> list[str]:
    """What was priced, and the seconds of each part."""
    shown = [
        one
        for one in found.parts
        if max(one.first, one.second) >= _LEAST_SHARE * max(found.model.first, found.model.second)
    ]
    rows = [_row(PARTS[one.name], one) for one in shown]
    rows.append(_row("the model in all", found.model))
    if found.measured is not None and found.unexplained is not None:
        rows.append(_row("not explained", found.unexplained))
        rows.append(_row("the logs", found.measured))
    return [
        *(
            f"{word:<8}{_job(one)}"
            for word, one in zip(("first", "second"), found.jobs, strict=True)
        ),
        "",
        table_text(["seconds of a step", "first", "second", "change"], rows),
        *_scale_line(found),
        f"Parts are those of the model, which half of published steps lie within"
        f" {HELD_OUT_ERROR:.0%} of.",
        *ring_warning(max(one.step.layout.cp for one in found.jobs)),
    ]


def _row(name: str, one: PartChange) -> list[str]:
    return [name, f"{one.first:.3g}", f"{one.second:.3g}", f"{one.change:+.3g}"]


def _job(one: PricedStep) -> str:
    step = one.step
    micro = step.layout.micro_batch
    return (
        f"{step.model.name} in {step.method.precision.upper()} on {step.layout.n_gpus}"
        f" {step.gpu.model} of {step.prices.platform.name}: {step.layout.words},"
        f" {step.layout.ga} micro-batches of {micro}"
    )


def _scale_line(found: StepDifference) -> list[str]:
    if abs(found.scale - 1) < 1e-9:
        return []
    return [
        f"The second has {1 / found.scale:.3g} x the tokens a GPU: its seconds are those of as many"
        " tokens as the first's."
    ]


def parts_record(found: StepDifference) -> dict[str, Any]:
    """The same as plain JSON values."""
    whole = {"model": found.model, "logs": found.measured, "unexplained": found.unexplained}
    return {
        "scale": found.scale,
        "jobs": [
            {
                "model": one.step.model.name,
                "platform": one.step.prices.platform.name,
                "precision": one.step.method.precision,
                "layout": one.step.layout.words,
                "step_s": one.time.seconds,
            }
            for one in found.jobs
        ],
        "parts": parts_rows(found),
        **{name: None if one is None else _seconds(one) for name, one in whole.items()},
    }


def parts_rows(found: StepDifference) -> list[dict[str, Any]]:
    """A row a part."""
    return [{"part": one.name, **_seconds(one)} for one in found.parts]


def _seconds(one: PartChange) -> dict[str, float]:
    return {"first_s": one.first, "second_s": one.second, "change_s": one.change}
