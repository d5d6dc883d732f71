"""Host costs called fitted follow from the tables of their own document, computed again here."""

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import platform
from weft.catalog.platform import HOST_COSTS
from weft.expect.fit import fit_platform
from weft.expect.host import host_costs
from weft.expect.loggp import fit
from weft.expect.wire import path_through
from weft.study.fit_tables import published_tables

MPICH = {"mpich-latency", "mpich-bandwidth"}


def test_the_host_of_gh200_is_fitted_to_its_mpich_tables() -> None:
    document = platform("alps-gh200")
    assert document.host is not None
    tables = tuple(table for table in document.published if table.name in MPICH)
    narrowed = document.model_copy(update={"published": tables})
    fitted = fit_platform(published_tables(narrowed).tables, name="again", base=narrowed).platform
    assert fitted.host is not None
    assert len(fitted.host.regimes) == len(document.host.regimes)
    for regime, again in zip(document.host.regimes, fitted.host.regimes, strict=True):
        assert regime.class_ is SourceClass.FITTED
        assert regime.max_bytes == again.max_bytes
        for cost in HOST_COSTS:
            assert getattr(regime, cost) == pytest.approx(getattr(again, cost), rel=1e-3), cost


def test_the_host_of_hbv2_is_fitted_to_its_latency_table() -> None:
    document = platform("azure-hbv2")
    table = document.table("hbv2-latency")
    assert table is not None
    assert document.host is not None
    sizes, times = zip(*table.rows, strict=True)
    costs = host_costs(fit(sizes, times), path_through(document, 1))
    fitted = [r for r in document.host.regimes if r.class_ is SourceClass.FITTED]
    for regime, cost in zip(fitted, costs, strict=True):
        assert regime.send_overhead_ns == pytest.approx(cost.overhead_ns, rel=1e-3)
        assert regime.send_ns_per_byte == pytest.approx(cost.ns_per_byte, rel=1e-2)


@pytest.mark.parametrize("name", ["alps-a100", "perlmutter", "generic-slingshot11"])
def test_borrowed_hosts_are_those_of_gh200_and_called_assumed(name: str) -> None:
    lender, borrower = platform("alps-gh200").host, platform(name).host
    assert lender is not None
    assert borrower is not None
    for own, borrowed in zip(lender.regimes, borrower.regimes, strict=True):
        assert borrowed.class_ is SourceClass.ASSUMED
        assert borrowed.max_bytes == own.max_bytes
        assert all(getattr(borrowed, cost) == getattr(own, cost) for cost in HOST_COSTS)
