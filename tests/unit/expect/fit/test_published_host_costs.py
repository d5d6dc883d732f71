"""Host costs in the catalogue are what the published tables give, recomputed here."""

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import platform
from weft.expect.fit.host_costs import Pace, host_regimes
from weft.expect.fit.loggp import fit
from weft.expect.fit.protocols import Protocols
from weft.expect.wire import path_through

ONLY_LATENCY = Pace(gap=None, busy=None, busy_messages=1)


def test_fitted_regimes_follow_from_the_published_table() -> None:
    document = platform("azure-hbv2")
    table = document.table("hbv2-latency")
    assert table is not None
    assert document.host is not None
    sizes, times = zip(*table.rows, strict=True)
    protocols = Protocols((fit(sizes, times).regimes,))
    path = path_through(document, 1)
    costs = host_regimes(protocols, ONLY_LATENCY, path, (sizes[0], sizes[-1]), "the table")
    fitted = [r for r in document.host.regimes if r.class_ is SourceClass.FITTED]
    assert len(fitted) == len(costs)
    for regime, cost in zip(fitted, costs, strict=True):
        assert regime.send_overhead_ns == pytest.approx(cost.send_overhead_ns, rel=1e-3)
        assert regime.recv_overhead_ns == pytest.approx(cost.recv_overhead_ns, rel=1e-3)
        assert regime.send_ns_per_byte == pytest.approx(cost.send_ns_per_byte, rel=1e-2)
        assert cost.max_bytes is None or regime.max_bytes in (cost.max_bytes, None)
    limits = [regime.max_bytes for regime in fitted[:-1]]
    assert limits == [cost.max_bytes for cost in costs[:-1]]


def test_costs_are_never_negative() -> None:
    # A table faster than the wire: nothing is left for the host.
    protocols = Protocols((fit([1, 4096], [0.001, 0.002]).regimes,))
    path = path_through(platform("fat-tree"), 1)
    for cost in host_regimes(protocols, ONLY_LATENCY, path, (1, 4096), "a table"):
        assert (cost.send_overhead_ns, cost.recv_overhead_ns, cost.latency_ns) == (0, 0, 0)
        assert (cost.send_ns_per_byte, cost.latency_ns_per_byte) == (0, 0)
