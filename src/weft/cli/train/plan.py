"""`weft train plan`: layouts of a model that fit, fastest first; the curve over GPUs."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import FILE, refuse_together
from weft.cli.output import emit, format_option, talk
from weft.cli.train.step_options import (
    WAYS,
    AskedStep,
    aggressors_of_options,
    asked_step,
    step_options,
)
from weft.core.errors import InputError
from weft.core.work.progress import each

if TYPE_CHECKING:
    from weft.cli.train.curve_text import Curve
    from weft.cli.train.memory_refusal import Fits
    from weft.train.layout_search import LayoutSearch, PlanRequest

OF_ONE_SIZE = {"--gpus": "n_gpus", "--twin": "twin", "--trace": "trace"}
FIXED = ("tp", "pp", "cp", "ep", "etp", "vp", "micro_batch")
SEQUENCES_PER_GPU = 2
"""Of a step, where --global-batch is not given: the source of Grok-1 has 2048 on 1024 GPUs."""


@click.command("plan")
@click.argument("platform", metavar="PLATFORM")
@step_options
@click.option("--tp", type=WAYS, help="Only layouts of this tensor parallelism.")
@click.option("--pp", type=WAYS, help="Of this pipeline parallelism.")
@click.option("--cp", type=WAYS, help="Of this context parallelism.")
@click.option("--ep", type=WAYS, help="Of this expert parallelism.")
@click.option("--etp", type=WAYS, help="Of this expert tensor parallelism, folded apart.")
@click.option("--vp", type=WAYS, help="Of so many virtual stages.")
@click.option("--micro-batch", type=WAYS, help="Of so many sequences at once.")
@click.option("--global-batch", type=WAYS, help="Sequences of a step; 2 a GPU, if not given.")
@click.option("--top", type=click.IntRange(1, 100), default=8, show_default=True, help="Rows.")
@click.option("--sweep", metavar="A:B", help="The best layout on A, 2 A, 4 A ... GPUs, up to B.")
@click.option("--report", type=FILE, help="Write the curve of --sweep as one HTML page too.")
@format_option
def command(
    platform: str, top: int, sweep: str | None, report: Path | None, format_: str, **given: Any
) -> None:
    """Which layouts of a model fit on so many GPUs, and how fast is each?

    weft tries TP, PP, CP, EP, virtual stages, micro-batches and recomputation, leaves out what does
    not fit into memory, and prices the rest. Of the fastest it says what a worse network costs;
    with --twin also a neighbour (--aggressor names another pattern).
    """
    from weft.cli.train.memory_refusal import nothing_fits
    from weft.cli.train.plan_text import costs_of, plan_record, plan_text, step_of
    from weft.cli.train.twin_text import write_trace

    asked = asked_step(platform, given)
    neighbours = aggressors_of_options(given)
    if asked.model.transformer is None:
        raise InputError(
            f"{asked.model.name} has one layout: data parallelism",
            expected="a model with [transformer]",
            hint="weft train expect prices it",
        )
    if sweep is not None:
        refuse_together("--sweep", {name: given[key] or None for name, key in OF_ONE_SIZE.items()})
        sizes = each(_sizes(sweep), "searching layouts", unit="size")
        rows = [(n, _searched_or_why(asked, given, n)) for n in sizes]
        _print_curve(asked, rows, report, format_)
        return
    if report is not None:
        raise click.UsageError("--report draws the curve of --sweep A:B")
    if given["n_gpus"] is None:
        raise click.UsageError("--gpus N or --sweep A:B")
    request = _request(asked, given, given["n_gpus"])
    found = _searched(asked, request)
    if not found.fitting:
        raise nothing_fits(request, found, _fits_of(asked, given, request))
    if given["trace"] is not None:
        write_trace(step_of(asked, request, found.fitting[0]), given["trace"])
    costs = costs_of(asked, request, found.fitting[0], neighbours if given["twin"] else None)
    record = plan_record(asked, request, found, top, costs)
    emit(
        format_,
        text=lambda: plan_text(asked, request, found, top, costs),
        record=record,
        rows=record["layouts"],
    )


def _print_curve(asked: AskedStep, rows: "Curve", report: Path | None, format_: str) -> None:
    from weft.cli.train.curve_text import curve_record, curve_text, write_curve

    record = curve_record(asked, rows)
    emit(format_, text=lambda: curve_text(asked, rows), record=record, rows=record["sizes"])
    if report is not None:
        talk(f"report: {write_curve(asked, rows, report)}")


def _request(asked: AskedStep, given: dict[str, Any], n_gpus: int) -> "PlanRequest":
    from weft.train.layout_search import PlanRequest
    from weft.train.published import shape_of

    fixed = {name: given[name] for name in FIXED if given[name] is not None}
    batch = given["global_batch"] or SEQUENCES_PER_GPU * n_gpus
    shape = shape_of(asked.model)
    return PlanRequest(asked.model, shape, n_gpus, batch, asked.method, fixed, given["recompute"])


def _searched(asked: AskedStep, request: "PlanRequest") -> "LayoutSearch":
    from weft.train.layout_search import search_layouts
    from weft.train.step_constants import step_constants

    assert asked.gpu is not None
    return search_layouts(request, asked.prices, asked.gpu, step_constants())


def _searched_or_why(
    asked: AskedStep, given: dict[str, Any], n_gpus: int
) -> "LayoutSearch | InputError":
    """The layouts of one size of a sweep, or why it has none: the other sizes go on."""
    try:
        return _searched(asked, _request(asked, given, n_gpus))
    except InputError as error:
        return error


def _fits_of(asked: AskedStep, given: dict[str, Any], request: "PlanRequest") -> "Fits":
    from weft.train.published import resized, shape_of

    def fits(n_gpus: int, n_layers: int) -> bool:
        wanted = {**given, "global_batch": given["global_batch"] and request.batch}
        tried = _request(asked, wanted, n_gpus)
        model = resized(tried.model, layers=n_layers)
        try:
            made = _searched(asked, replace(tried, model=model, shape=shape_of(model)))
        except InputError:
            return False
        return bool(made.fitting)

    return fits


def _sizes(sweep: str) -> list[int]:
    """The numbers of GPUs of '8:16384', doubling. Raises InputError."""
    parts = re.fullmatch(r"(\d{1,9}):(\d{1,9})", sweep)
    if parts is None or not 1 <= int(parts[1]) <= int(parts[2]):
        raise InputError(
            f"--sweep {sweep}",
            expected="two numbers of GPUs from 1 on, the smaller first, as 8:16384",
        )
    low, high = int(parts[1]), int(parts[2])
    sizes = [low]
    while sizes[-1] * 2 <= high:
        sizes.append(sizes[-1] * 2)
    return sizes
