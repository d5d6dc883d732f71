"""Host costs in the catalogue are what the published tables give, recomputed here."""

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import platform
from weft.expect.fit.latency_costs import host_costs
from weft.expect.fit.loggp import fit
from weft.expect.wire import path_through


def test_fitted_regimes_follow_from_the_published_table() -> None:
    document = platform("azure-hbv2")
    table = document.table("hbv2-latency")
    assert table is not None
    assert document.host is not None
    sizes, times = zip(*table.rows, strict=True)
    costs = host_costs(fit(sizes, times), path_through(document, 1))
    fitted = [r for r in document.host.regimes if r.class_ is SourceClass.FITTED]
    assert len(fitted) == len(costs)
    for regime, cost in zip(fitted, costs, strict=True):
        assert regime.send_overhead_ns == pytest.approx(cost.overhead_ns, rel=1e-3)
        assert regime.recv_overhead_ns == pytest.approx(cost.overhead_ns, rel=1e-3)
        assert regime.send_ns_per_byte == pytest.approx(cost.ns_per_byte, rel=1e-2)
        assert cost.max_bytes is None or regime.max_bytes in (cost.max_bytes, None)
    limits = [regime.max_bytes for regime in fitted[:-1]]
    assert limits == [cost.max_bytes for cost in costs[:-1]]


def test_costs_are_never_negative() -> None:
    # A table faster than the wire: nothing is left for the host.
    costs = host_costs(fit([1, 4096], [0.001, 0.002]), path_through(platform("fat-tree"), 1))
    assert all(cost.overhead_ns == 0 for cost in costs)
    assert all(cost.ns_per_byte == 0 for cost in costs)
