"""The fabric under a fit without --base: as fast as the tables, and no faster than a cable."""

import pytest

from weft.catalog.document import Figure
from weft.core.errors import InputError
from weft.expect.fit.base_fabric import fabric_of_tables
from weft.expect.fit.tables import MeasuredTable, checked
from weft.expect.model import Conditions
from weft.expect.pt2pt import pt2pt
from weft.expect.wire import header_efficiency, path_through

SIZES = [2**k for k in range(21)]


def latency(mb_s: float) -> MeasuredTable:
    return MeasuredTable("latency", tuple((s, 2 + s / mb_s) for s in SIZES), "latency.txt")


def bandwidth(benchmark: str, mb_s: float) -> MeasuredTable:
    rows = tuple((s, mb_s * s / (s + 1e4)) for s in SIZES)
    return MeasuredTable(benchmark, rows, f"{benchmark}.txt")


@pytest.mark.parametrize(("benchmark", "each_way"), [("bandwidth", 1.0), ("bidirectional", 0.5)])
def test_the_link_carries_the_fastest_row_and_little_more(benchmark: str, each_way: float) -> None:
    tables = checked([latency(1000), bandwidth(benchmark, 12000)])
    path = path_through(fabric_of_tables(tables), 1)
    fastest = max(value for _, value in tables[1].table.rows) * each_way
    payload = path.rate_gbps / 8 * 1e3 * header_efficiency(1 << 20, path.mtu_bytes)
    assert payload == pytest.approx(fastest, rel=1e-4)


def test_a_latency_alone_gives_the_rate_of_its_largest_message() -> None:
    tables = checked([latency(1000)])
    assert path_through(fabric_of_tables(tables), 1).rate_gbps == pytest.approx(8, rel=0.02)


def test_only_the_wire_takes_time() -> None:
    document = fabric_of_tables(checked([latency(1000)]))
    assert document.host is not None
    assert path_through(document, 1).delay_ns == 0
    assert document.host.adapter_latency.value == 0
    assert document.published == ()


def test_a_rate_no_cable_has_is_refused() -> None:
    with pytest.raises(InputError, match=r"a payload rate of [\d,]+ Gb/s"):
        fabric_of_tables(checked([latency(1000), bandwidth("bandwidth", 1e9)]))


def test_a_known_link_limits_and_the_fastest_row_does_not() -> None:
    tables = checked([latency(1000), bandwidth("bandwidth", 12000)])
    rate = Figure.model_validate(
        {"value": 100, "unit": "Gb/s", "class": "sourced", "source": "--link edr"}
    )
    pair = Conditions("bandwidth", 1 << 22)
    assert pt2pt(fabric_of_tables(tables), pair).limit is None
    assert pt2pt(fabric_of_tables(tables, rate), pair).limit == pytest.approx(12421, rel=1e-3)


def test_a_table_faster_than_its_link_is_refused() -> None:
    tables = checked([latency(1000), bandwidth("bandwidth", 12000)])
    rate = Figure.model_validate(
        {"value": 40, "unit": "Gb/s", "class": "sourced", "source": "--link fdr10"}
    )
    with pytest.raises(InputError, match=r"more than a link of 40 Gb/s carries"):
        fabric_of_tables(tables, rate)
