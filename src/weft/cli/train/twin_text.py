"""Exchanges of a step on a twin, beside what NCCL's model says of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.cli.output import talk
from weft.core.units import format_significant
from weft.trace.chakra.node import SCHEMA_VERSION
from weft.train.step_time import StepModel, StepTime
from weft.train.twin.prices import TwinPrice, TwinPrices
from weft.train.twin.step_trace import write_step_trace

FLOWS = {"packet": "packet by packet", "flow": "as flows"}
"""By fidelity, how messages are simulated."""


def twin_row(step: StepModel, one: Any) -> dict[str, Any]:
    """An exchange's twin_s, formula_s and fidelity; null where the twin has no part in it."""
    if not isinstance(step.prices, TwinPrices):
        return {}
    price = step.prices.price_of(one.collective, one.size_bytes, one.group)
    if price is None:
        return {"twin_s": None, "formula_s": one.seconds, "fidelity": None}
    return {"twin_s": price.seconds, "formula_s": price.formula_s, "fidelity": price.fidelity}


def twin_cells(step: StepModel, one: Any) -> list[str]:
    """ms by NCCL's model, and on the twin."""
    row = twin_row(step, one)
    twin = "-" if row["twin_s"] is None else format_significant(1e3 * row["twin_s"], 3)
    return [format_significant(1e3 * row["formula_s"], 3), twin]


def twin_lines(step: StepModel, found: StepTime, model: StepTime) -> Iterator[str]:
    """What was simulated, and the step by NCCL's model alone."""
    prices = step.prices
    assert isinstance(prices, TwinPrices)
    yield (
        f"twin     {prices.n_nodes} nodes cabled by rails: {found.seconds:.4g} s a step; by NCCL's"
        f" model alone {model.seconds:.4g} s"
    )
    if prices.neighbours:
        yield f"         the job has every second node; beside it {', '.join(prices.neighbours)}"
    if not prices.simulated:
        yield "         no exchange leaves a node: nothing was simulated"
        return
    kinds = ", ".join(_counted(prices.simulated))
    yield f"         exchanges between nodes simulated: {kinds}; others have the model's price"


def _counted(simulated: Mapping[Any, TwinPrice]) -> Iterator[str]:
    for fidelity, words in FLOWS.items():
        n = sum(one.fidelity == fidelity for one in simulated.values())
        if n:
            yield f"{n} {words}"


def twin_record(step: StepModel, model: StepTime) -> dict[str, Any]:
    """What the record of a step has more."""
    prices = step.prices
    if not isinstance(prices, TwinPrices):
        return {}
    return {
        "twin": {
            "n_nodes": prices.n_nodes,
            "aggressors": list(prices.neighbours),
            "formula_step_s": model.seconds,
        }
    }


def write_trace(step: StepModel, folder: Path) -> None:
    """Write the schedule of a step, and say what it holds. Raises InputError, StorageError."""
    made = write_step_trace(step, folder)
    short = f" ({made.ga} micro-batches of {made.of_ga})" if made.ga < made.of_ga else ""
    talk(
        f"trace: {made.n_nodes:,} nodes of {made.n_gpus} GPUs in {folder}, Chakra"
        f" {SCHEMA_VERSION}{short}"
    )
