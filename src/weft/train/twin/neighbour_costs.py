"""What a neighbour on the same fabric costs a layout, as the twin simulates it."""

from collections.abc import Iterator
from dataclasses import replace

from weft.train.network_costs import NetworkCost
from weft.train.prices import CollectivePrices
from weft.train.step_time import StepModel, step_time
from weft.train.twin.prices import on_twin

NEIGHBOUR = "random_ring_bandwidth:64M@job"
"""Assumed: a job of as many nodes, each GPU of which sends to two drawn others without pause."""
TAPER = 2.0


def neighbour_costs(step: StepModel, patterns: tuple[str, ...] = ()) -> Iterator[NetworkCost]:
    """Of a neighbour on this network, and on one of taper 2:1, each over the twin's time alone on
    this network. Raises InputError."""
    patterns = patterns or (NEIGHBOUR,)
    named = f"a neighbour, {' and '.join(patterns)}"
    alone = step_time(on_twin(step)).seconds
    yield _cost(named, step, patterns, alone)
    network = step.prices.network
    if network.taper < TAPER:
        tapered = CollectivePrices(step.prices.platform, replace(network, taper=TAPER))
        step = replace(step, prices=tapered)
        yield _cost("a taper of 2:1, on the twin", step, (), alone)
        yield _cost("that taper and neighbour", step, patterns, alone)


def _cost(what: str, step: StepModel, patterns: tuple[str, ...], alone: float) -> NetworkCost:
    seconds = step_time(on_twin(step, patterns)).seconds
    return NetworkCost(what, seconds, seconds / alone)
