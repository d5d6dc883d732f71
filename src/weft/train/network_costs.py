"""What a worse network, or another precision, costs one layout."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weft.catalog.libraries.training_gpus import PRECISIONS
from weft.train.memory import memory_sum
from weft.train.prices import CollectivePrices
from weft.train.step_time import StepModel, step_time


@dataclass(frozen=True, slots=True)
class NetworkCost:
    """A change, the step's time with it, and that over the time without."""

    what: str
    seconds: float
    factor: float


def network_costs(step: StepModel) -> Iterator[NetworkCost]:
    """Of each change alone; none of those that the step has already."""
    base = step_time(step).seconds
    network = step.prices.network
    n_hcas = max(1, step.prices.platform.hcas_per_node)
    lost = network.lost_rails + 1
    name = f"one lost rail of {n_hcas}" if lost == 1 else f"{lost} lost rails of {n_hcas}"
    changes = [
        ("a taper of 2:1", replace(network, taper=2.0), network.taper < 2),
        (name, replace(network, lost_rails=lost), lost < n_hcas),
        ("static routes", replace(network, static_routes=True), not network.static_routes),
        ("NCCL over sockets", replace(network, transport="sockets"), network.transport == ""),
    ]
    for what, changed, is_new in changes:
        if not is_new:
            continue
        prices = CollectivePrices(step.prices.platform, changed)
        seconds = step_time(replace(step, prices=prices)).seconds
        yield NetworkCost(what, seconds, seconds / base)
    for precision in PRECISIONS:
        if precision == step.method.precision or precision not in step.gpu.matmul:
            continue
        method = replace(step.method, precision=precision)
        seconds = step_time(replace(step, method=method)).seconds
        memory = memory_sum(step.shape, step.layout, method, step.gpu, step.sequence)
        lacks = "" if memory.fits else " (does not fit)"
        yield NetworkCost(f"{precision.upper()}{lacks}", seconds, seconds / base)
