"""What a worse network, or another precision, costs one layout."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weft.catalog.libraries.training_gpus import PRECISIONS
from weft.train.prices import CollectivePrices
from weft.train.step_time import StepModel, step_time


@dataclass(frozen=True, slots=True)
class NetworkCost:
    """A change, the step's time with it, and that over the time without."""

    what: str
    seconds: float
    factor: float


def network_costs(step: StepModel) -> Iterator[NetworkCost]:
    """Of each change alone."""
    base = step_time(step).seconds
    network = step.prices.network
    n_hcas = max(1, step.prices.platform.hcas_per_node)
    changes = [("a taper of 2:1", replace(network, taper=2.0))]
    if n_hcas > 1:
        lost = replace(network, lost_rails=network.lost_rails + 1)
        changes.append((f"one lost rail of {n_hcas}", lost))
    changes.append(("static routes", replace(network, static_routes=True)))
    changes.append(("NCCL over sockets", replace(network, transport="sockets")))
    for what, changed in changes:
        prices = CollectivePrices(step.prices.platform, changed)
        seconds = step_time(replace(step, prices=prices)).seconds
        yield NetworkCost(what, seconds, seconds / base)
    for precision in PRECISIONS:
        if precision == step.method.precision or precision not in step.gpu.matmul:
            continue
        method = replace(step.method, precision=precision)
        seconds = step_time(replace(step, method=method)).seconds
        yield NetworkCost(precision.upper(), seconds, seconds / base)
