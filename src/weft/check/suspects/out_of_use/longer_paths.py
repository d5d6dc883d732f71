"""Messages that take more links where cables are out of use: their latency is higher, and nothing
on their path is slow."""

from collections.abc import Sequence

import numpy as np

from weft.check.readings.crossing import Crossings
from weft.check.readings.readings import Bools, Ints


def take_longer(crossings: Crossings, rows: Ints, cables: Sequence[int]) -> Bools:
    """By row of `rows` whether a routing engine of the fabric leads its messages, there or back,
    over more links with `cables` (numbers) out of use. False where no engine is known."""
    readings, network = crossings.readings, crossings.fabric
    hcas = [str(network.hca_of(name)) for name in readings.endpoints]
    there = [(hcas[a], hcas[b]) for a, b in zip(readings.a[rows], readings.b[rows], strict=True)]
    ways = (there, [(b, a) for a, b in there])
    down = [network.ports[2 * cable] for cable in cables]
    longer = np.zeros(rows.size, np.bool_)
    for engine in network.wiring.engines:
        for way in ways:
            before = network.wiring.rerouted(way, [], engine)
            after = network.wiring.rerouted(way, down, engine)
            if before is not None and after is not None:
                pairs = zip(before, after, strict=True)
                longer |= np.array([len(now) < len(then) for now, then in pairs], np.bool_)
    return longer
