"""Steps of training: published times next to the model's, and the fit of its three figures.

training_steps.py          print the tables of docs/concepts/fidelity.md
training_steps.py --fit    fit the figures of src/weft/train/step_constants.toml again
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
from scipy.optimize import least_squares

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from weft.catalog.libraries.training_gpus import Precision
from weft.catalog.load import platform, trained_model
from weft.train.data_parallel import image_step
from weft.train.network_state import NetworkState
from weft.train.prices import CollectivePrices
from weft.train.published import (
    GROK_SIZES,
    GrokRow,
    ReferenceRow,
    grok_row_of,
    grok_rows,
    grok_step,
    nvidia_seconds,
    reference_rows,
)
from weft.train.step_constants import N_CONSTANTS, StepConstants, step_constants
from weft.train.step_time import step_time

PLATFORM = "azure-ndv5"
FIRST = (0.8, 0.4, 0.05)
LEAST, MOST = (0.3, 0.05, 0.0), (1.3, 2.0, 0.5)
"""Where the fit begins and ends, in the order of StepConstants."""
HOROVOD_NODES = (1, 2, 4, 8, 16, 32)
ARMS = {
    "sockets": NetworkState(transport="sockets", gpudirect=False),
    "ofi": NetworkState(gpudirect=False),
    "ofi-gpudirect": NetworkState(),
}
"""Arms of Madonna 2023, as its slides have them."""


@cache
def grok_prices() -> CollectivePrices:
    """Of the platform of the sixteen rows."""
    return CollectivePrices(platform(PLATFORM), NetworkState())


def modelled(row: GrokRow, constants: StepConstants) -> float:
    """Seconds of a row's step."""
    return step_time(grok_step(row, grok_prices(), constants)).seconds


def fitted(rows: Sequence[GrokRow]) -> StepConstants:
    """Least squares on the logarithms of the rows' times."""
    published = np.array([row.seconds for row in rows])

    def misses(values: np.ndarray) -> np.ndarray:
        constants = StepConstants(*(float(value) for value in values))
        return np.log([modelled(row, constants) for row in rows] / published)

    found = least_squares(misses, FIRST, bounds=(LEAST, MOST), x_scale=FIRST)
    return StepConstants(*(float(value) for value in found.x))


@cache
def left_out() -> dict[tuple[Precision, int], float]:
    """Seconds of each row by constants that were fitted without its size, in both precisions."""
    rows, found = grok_rows(), {}
    for n in GROK_SIZES:
        constants = fitted([row for row in rows if row.layout.n_gpus != n])
        for row in rows:
            if row.layout.n_gpus == n:
                found[row.precision, n] = modelled(row, constants)
    return found


@cache
def held_out() -> tuple[ReferenceRow, ...]:
    """The rows of Megatron-LM and torchtitan."""
    return tuple(reference_rows(step_constants()))


def efficiency(precision: Precision, seconds: dict[tuple[Precision, int], float]) -> float:
    """Of 1,024 GPUs over 512, at twice the batch."""
    return seconds[precision, 512] / seconds[precision, 1024]


def shipped() -> dict[tuple[Precision, int], float]:
    """Seconds of the sixteen rows by the shipped constants."""
    constants = step_constants()
    return {(row.precision, row.layout.n_gpus): modelled(row, constants) for row in grok_rows()}


def grok_lines() -> Iterator[str]:
    """The sixteen rows, each by constants fitted without its size, and NVIDIA's."""
    yield "Grok-1 on H100: seconds a step. `left out`: by constants fitted without this number of"
    yield f"GPUs in either precision. {N_CONSTANTS} constants are fitted, shared by all rows:"
    yield ""
    yield "| GPUs | precision | layers | Azure | left out | error | NVIDIA | weft | error |"
    yield "|---:|---|---:|---:|---:|---:|---:|---:|---:|"
    published = {(row.precision, row.layout.n_gpus): row for row in grok_rows()}
    for (precision, n), nvidia in nvidia_seconds().items():
        weft = modelled(grok_row_of(precision, n), step_constants())
        cells = ["-", "-", "-"]
        if (precision, n) in published:
            row, seconds = published[precision, n], left_out()[precision, n]
            cells = [f"{row.seconds:g}", f"{seconds:.2f}", f"{seconds / row.seconds - 1:+.1%}"]
        layers = grok_row_of(precision, n).layers
        head = f"| {n} | {precision.upper()} | {layers} | {' | '.join(cells)} |"
        yield f"{head} {nvidia:g} | {weft:.2f} | {weft / nvidia - 1:+.1%} |"
    yield ""
    yield "NVIDIA's times were not fitted. Where the third constant applies was chosen on the same"
    yield "sixteen rows: growth by doublings of nodes missed the row of 1,024 GPUs by 6 %."
    yield "Scaling efficiency from 512 to 1,024 GPUs:"
    yield ""
    yield "| precision | published | weft |"
    yield "|---|---:|---:|"
    for precision in ("bf16", "fp8"):
        azure = {key: row.seconds for key, row in published.items()}
        ours = efficiency(precision, shipped())
        yield f"| {precision.upper()} | {efficiency(precision, azure):.1%} | {ours:.1%} |"


def reference_lines() -> Iterator[str]:
    """The rows that nothing was fitted to."""
    rows = held_out()
    errors = [abs(row.error) for row in rows]
    yield f"{len(rows)} published rows that no constant was fitted to: median error"
    yield f"{median(errors):.1%}, {sum(error <= 0.15 for error in errors)} of them within 15 %."
    yield "Seconds a step:"
    yield ""
    yield "| table | GPUs | model | sequence | precision | published | weft | error |"
    yield "|---|---:|---|---:|---|---:|---:|---:|"
    for one in rows:
        row, table = one.row, one.table
        model = table.model or f"{row.layers} x {row.hidden}"
        sequence = row.sequence or table.sequence
        precision = (row.precision or table.method.precision).upper()
        head = f"| {table.name} | {row.gpus} | {model} | {sequence} | {precision}"
        yield f"{head} | {one.published_s:.2f} | {one.modelled_s:.2f} | {one.error:+.0%} |"
    yield ""
    yield "Megatron-LM's A100 are faster than the model, torchtitan's H100 slower: what Hopper"
    yield "reaches between products (and for 500 W, in products) is less of its data sheet than"
    yield "what Ampere reaches, and one share stands for both. Of rings of CP 4 and more half the"
    yield "time is missing: as if their causal work were not balanced."


def horovod_rates(gpus: int) -> dict[int, list[float]]:
    """Images a second by nodes, an arm each."""
    model, machine = trained_model("resnet-101"), platform("alps-a100")
    sizes = [nodes for nodes in HOROVOD_NODES if nodes * gpus > 1]
    return {
        nodes: [
            image_step(model, prices, nodes * gpus, per_node=gpus).images_per_s
            for prices in (CollectivePrices(machine, network) for network in ARMS.values())
        ]
        for nodes in sizes
    }


def horovod_lines() -> Iterator[str]:
    """Horovod's ResNet-101 on Slingshot by arm."""
    yield "Horovod with ResNet-101 on alps-a100 by the NCCL model: images a second:"
    yield ""
    yield f"| nodes x GPUs | {' | '.join(ARMS)} |"
    yield "|---:|---:|---:|---:|"
    for gpus in (1, 4):
        for nodes, rates in horovod_rates(gpus).items():
            yield f"| {nodes} x {gpus} | {' | '.join(f'{rate:,.1f}' for rate in rates)} |"


def lines() -> Iterator[str]:
    """All tables."""
    yield "### Steps of training"
    yield ""
    yield from grok_lines()
    yield ""
    yield from reference_lines()
    yield ""
    yield from horovod_lines()


if __name__ == "__main__":
    if sys.argv[1:] == ["--fit"]:
        print(*(f"{value:.4f}" for value in astuple(fitted(grok_rows()))))
    else:
        print("\n".join(lines()))
