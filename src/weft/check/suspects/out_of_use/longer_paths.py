"""Messages that take more links where cables are out of use: their latency is higher, and nothing
on their path is slow."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Bools, Floats, Ints, Metric

_LEAST_KINDS = 2
"""Of path lengths, to know what a link costs."""


def take_longer(crossings: Crossings, rows: Ints, cables: Sequence[int]) -> Bools:
    """By row of `rows` whether a routing engine of the fabric leads its messages, there or back,
    over more links with `cables` (numbers) out of use. False where no engine is known."""
    longer = np.zeros(rows.size, np.bool_)
    for engine in crossings.fabric.wiring.engines:
        more = more_links(crossings, rows, cables, engine)
        if more is not None:
            longer |= (more > 0).any(axis=0)
    return longer


def more_links(crossings: Crossings, rows: Ints, cables: Sequence[int], engine: str) -> Ints | None:
    """There and back x rows: how many links more the engine leads their messages over with `cables`
    (numbers) out of use. None where some have no path."""
    readings, network = crossings.readings, crossings.fabric
    down = [network.ports[2 * cable] for cable in cables]
    n = len(readings.endpoints)
    there, back = (
        readings.a[rows] * n + readings.b[rows],
        readings.b[rows] * n + readings.a[rows],
    )
    flows, of = np.unique(np.concatenate([there, back]), return_inverse=True)
    hcas = [str(network.hca_of(name)) for name in readings.endpoints]
    pairs = [(hcas[flow // n], hcas[flow % n]) for flow in flows.tolist()]
    before = _lengths(network, engine, tuple(pairs))
    after = network.wiring.rerouted(pairs, down, engine)
    if before is None or after is None:
        return None
    more = [len(now) - then for then, now in zip(before, after, strict=True)]
    found: Ints = np.array(more, np.int64)[of.reshape(-1)].reshape(2, rows.size)
    return found


@lru_cache(maxsize=4)
def _lengths(
    network: Network, engine: str, pairs: tuple[tuple[str, str], ...]
) -> tuple[int, ...] | None:
    """How many links the paths of pairs of HCAs have with every cable in use."""
    paths = network.wiring.rerouted(list(pairs), [], engine)
    return None if paths is None else tuple(map(len, paths))


def slower_by(against: Normed, rows: Ints, more: Floats) -> Floats:
    """How much slower latency readings `rows` are over so many links more, as natural logarithms:
    a link costs what the norms of paths of several lengths say. 0 where all are of one length."""
    norms = [one for one in against.norms if one.hop_class.metric is Metric.LATENCY]
    norms = [one for one in norms if not one.hop_class.longer_ns]
    links = np.array([(one.hop_class.n_links + one.hop_class.most_links) / 2 for one in norms])
    if np.unique(links).size < _LEAST_KINDS:
        return np.zeros(rows.size)
    weight = np.sqrt([one.n_fast for one in norms])
    a_link = max(0.0, float(np.polyfit(links, [one.expected for one in norms], 1, w=weight)[0]))
    expected = np.array([one.expected for one in against.norms])[against.norm[rows]]
    least = expected / 2  # A link less than the shortest path is no prediction.
    slower: Floats = np.log(np.maximum(expected + a_link * more, least) / expected)
    return slower
