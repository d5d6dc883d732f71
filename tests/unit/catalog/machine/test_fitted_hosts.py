"""Host costs called fitted follow from the tables of their own document, computed again here."""

from statistics import median

import pytest

from weft.catalog.document import SourceClass
from weft.catalog.load import platform, platform_names
from weft.catalog.machine.platform import HOST_COSTS, PlatformHost
from weft.expect.closed_forms import bandwidth, latency
from weft.expect.fit.platform_fit import fit_platform
from weft.study.fit_tables import published_tables

# Platform, and the tables its host is fitted to.
FITTED = [
    ("alps-gh200", {"mpich-latency", "mpich-bandwidth"}),
    ("azure-hbv3", {"latency", "bandwidth"}),
]
LENDERS = ("alps-gh200", "azure-hbv2", "azure-hbv3")


def host_of(name: str) -> PlatformHost | None:
    return platform(name).host


def borrowers() -> list[tuple[str, str]]:
    """(borrower, lender) of every platform whose host is another's by its own word."""
    found = []
    for name in platform_names():
        host = host_of(name)
        source = host.regimes[0].source if host is not None else ""
        found += [(name, lender) for lender in LENDERS if f"the host of {lender}" in source]
    return found


@pytest.mark.parametrize(("name", "names"), FITTED)
def test_a_fitted_host_follows_from_its_latency_and_bandwidth_tables(
    name: str, names: set[str]
) -> None:
    document = platform(name)
    assert document.host is not None
    tables = tuple(table for table in document.published if table.name in names)
    narrowed = document.model_copy(update={"published": tables})
    fitted = fit_platform(published_tables(narrowed).tables, name="again", base=narrowed).platform
    assert fitted.host is not None
    assert len(fitted.host.regimes) == len(document.host.regimes)
    for regime, again in zip(document.host.regimes, fitted.host.regimes, strict=True):
        assert regime.class_ is SourceClass.FITTED
        assert regime.max_bytes == again.max_bytes
        for cost in HOST_COSTS:
            assert getattr(regime, cost) == pytest.approx(getattr(again, cost), rel=1e-3), cost
    assert document.fit is not None
    assert fitted.fit is not None
    assert (document.fit.n_parameters, document.fit.n_rows) == (
        fitted.fit.n_parameters,
        fitted.fit.n_rows,
    )
    for table, table_again in zip(document.fit.tables, fitted.fit.tables, strict=True):
        assert table.sizes_bytes == table_again.sizes_bytes
        for half, half_again in zip(table.held_out, table_again.held_out, strict=True):
            assert half.median_error == pytest.approx(half_again.median_error, rel=0.01, abs=1e-4)
            assert half.worst_bytes == half_again.worst_bytes


def test_no_cost_of_another_machines_host_is_called_fitted() -> None:
    for name in platform_names():
        host = host_of(name)
        for regime in host.regimes if host is not None else ():
            if "another machine" in regime.conditions or "another machine" in regime.source:
                assert regime.class_ is SourceClass.ASSUMED, name


def test_machines_without_a_table_borrow_a_host() -> None:
    assert {name for name, _ in borrowers()} == {
        *("azure-hb", "azure-hc", "azure-hbv4", "azure-mi300x"),
        *("azure-ndv2", "azure-ndv5", "azure-ndv6"),
        *("generic-qdr", "generic-edr", "generic-hdr", "generic-ndr", "generic-slingshot11"),
        *("alps-a100", "frontier", "perlmutter"),
        *("azure-ndv4", "frontera", "fat-tree"),
    }


@pytest.mark.parametrize(("name", "lender"), borrowers())
def test_a_borrowed_host_is_the_lenders_and_called_assumed(name: str, lender: str) -> None:
    own, borrowed = host_of(lender), host_of(name)
    assert own is not None
    assert borrowed is not None
    # A stream's least time a byte is the lender's link: it does not hold a faster one back.
    faster = link_gbps(name) > link_gbps(lender)
    kept = set(HOST_COSTS) - ({"gap_ns_per_byte"} if faster else set())
    for regime, copy in zip(own.regimes, borrowed.regimes, strict=True):
        assert copy.class_ is SourceClass.ASSUMED
        assert copy.max_bytes == regime.max_bytes
        assert all(getattr(copy, cost) == getattr(regime, cost) for cost in kept)
        assert copy.gap_ns_per_byte == (0 if faster else regime.gap_ns_per_byte)


def link_gbps(name: str) -> float:
    links = platform(name).links
    assert links is not None
    return links.host.rate.value


# The bounds asked of a fit on rows it has not seen: every latency within 20 %, half within 6 %.
@pytest.mark.parametrize(("name", "names"), FITTED)
def test_a_fitted_platform_gives_its_latencies_back(name: str, names: set[str]) -> None:
    document = platform(name)
    (table,) = (t for t in document.published if t.name in names and t.benchmark == "latency")
    errors = [abs(latency(document, size).value / time - 1) for size, time in table.rows]
    assert median(errors) < 0.06
    assert max(errors) < 0.20


@pytest.mark.parametrize(("name", "names"), FITTED)
def test_a_fitted_platform_gives_its_bandwidths_back(name: str, names: set[str]) -> None:
    document = platform(name)
    (table,) = (t for t in document.published if t.name in names and t.benchmark == "bandwidth")
    errors = {size: abs(bandwidth(document, size).value / rate - 1) for size, rate in table.rows}
    assert median(errors.values()) < 0.10
    assert max(error for size, error in errors.items() if size >= 1 << 20) < 0.05
