"""Messages that take more links where cables are out of use: their latency is higher, and nothing
on their path is slow."""

from collections.abc import Sequence

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
    (numbers) out of use. None where some have no path. Only those through a switch of the cables
    are asked for: an engine that fills the tables leads the others over a shortest path, and that
    is still there."""
    network = crossings.fabric
    ends = network.vertex[[2 * cable + end for cable in cables for end in (0, 1)]]
    ports = np.isin(network.vertex, ends) | np.isin(_far(network), ends)
    through = np.asarray(crossings.crossed[rows] @ ports.astype(np.float64)).reshape(-1) > 0
    found: Ints = np.zeros((2, rows.size), np.int64)
    more = _more_links(crossings, rows[through], cables, engine)
    if more is None:
        return None
    found[:, through] = more
    return found


def _far(network: Network) -> Ints:
    """By port: the vertex at its other end."""
    return network.vertex.reshape(-1, 2)[:, ::-1].reshape(-1)


def _more_links(
    crossings: Crossings, rows: Ints, cables: Sequence[int], engine: str
) -> Ints | None:
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
    before = network.wiring.rerouted(pairs, [], engine)
    after = network.wiring.rerouted(pairs, down, engine)
    if before is None or after is None:
        return None
    more = [len(now) - len(then) for then, now in zip(before, after, strict=True)]
    found: Ints = np.array(more, np.int64)[of.reshape(-1)].reshape(2, rows.size)
    return found


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
