"""The fabric's own time, against sums done by hand."""

import pytest

from weft.bench.twin.backend import simulate
from weft.catalog.document import Figure
from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.wire import (
    Path,
    WireHop,
    header_efficiency,
    is_physical,
    line_ceiling,
    line_efficiency,
    path_through,
    wire_bytes,
    zero_load_ns,
)

HDR = WireHop(rate_gbps=200, delay_ns=10)
HDR100 = WireHop(rate_gbps=100, delay_ns=10)
MESSAGE = {"src": 0, "dst": 1}


def test_an_empty_message_is_one_packet_of_headers() -> None:
    # LRH 8 + BTH 12 + ICRC 4 + VCRC 2, and RETH 16 on the first packet.
    assert wire_bytes(0, 4096) == 26 + 16


def test_each_packet_carries_its_headers() -> None:
    assert wire_bytes(4096, 4096) == 4096 + 26 + 16
    assert wire_bytes(4097, 4096) == 4097 + 52 + 16


def test_hdr_payload_ceiling_is_99_37_percent_at_full_packets() -> None:
    # 4096 / (4096 + 8 + 12 + 4 + 2): LRH, BTH, ICRC, VCRC.
    assert header_efficiency(8 << 20, 4096) == pytest.approx(0.9937, abs=5e-5)


def test_cut_through_pays_the_serialisation_once() -> None:
    path = Path((HDR, HDR, HDR), switch_delay_ns=100, mtu_bytes=4096)
    assert zero_load_ns(path, 1000) == pytest.approx(3 * 10 + 2 * 100 + 1042 * 8 / 200)


def test_a_packet_for_a_faster_link_is_stored_first() -> None:
    path = Path((HDR100, HDR), switch_delay_ns=100, mtu_bytes=4096)
    expected = 1042 * 8 / 100 + 10 + 100 + 1042 * 8 / 200 + 10
    assert zero_load_ns(path, 1000) == pytest.approx(expected)


def test_store_and_forward_pays_the_serialisation_on_every_link() -> None:
    path = Path((HDR100, HDR), switch_delay_ns=100, mtu_bytes=4096, cut_through=False)
    expected = 1042 * 8 / 100 + 10 + 100 + 1042 * 8 / 200 + 10
    assert zero_load_ns(path, 1000) == pytest.approx(expected)


@pytest.mark.parametrize("forwarding", ["cut_through", "store_and_forward"])
@pytest.mark.parametrize("gbps", [(100, 100), (100, 200, 200, 100), (200, 100, 400), (25, 100, 50)])
@pytest.mark.parametrize("size", [0, 1000, 4097, 100_000])
def test_an_empty_path_takes_what_the_engine_takes(
    gbps: tuple[int, ...], forwarding: str, size: int
) -> None:
    last = len(gbps) - 1
    switches = [{"name": f"s{i}", "ports": 2} for i in range(last)]
    links = [
        {
            "a": f"s{i - 1}[2]" if i > 0 else "h0[1]",
            "b": f"s{i}[1]" if i < last else "h1[1]",
            "bits_per_s": rate * 10**9,
            "delay_ps": 10_000,
        }
        for i, rate in enumerate(gbps)
    ]
    nodes = [{"name": f"n{i}", "hcas": [f"h{i}"]} for i in range(2)]
    fabric = {"schema": "weft.fabric/1", "nodes": nodes, "switches": switches, "links": links}
    outcome = simulate(
        {
            "schema": "weft.scenario/1",
            "fabric": fabric,
            "switch": {"forwarding": forwarding, "delay_ps": 100_000},
            "host": {"regimes": [{}]},
            "work": [{"benchmark": "messages", "messages": [{**MESSAGE, "size_bytes": size}]}],
            "faults": [],
        }
    )
    hops = tuple(WireHop(float(rate), 10.0) for rate in gbps)
    path = Path(hops, 100.0, 4096, cut_through=forwarding == "cut_through")
    # The engine counts whole picoseconds, rounded up once a burst and link.
    assert outcome["duration_ps"][0] / 1e3 == pytest.approx(zero_load_ns(path, size), abs=0.02)


def test_many_packets_go_at_the_rate_of_the_slowest_link() -> None:
    path = Path((HDR, HDR100, HDR), switch_delay_ns=100, mtu_bytes=4096)
    one, many = zero_load_ns(path, 4096), zero_load_ns(path, 4096 * 101)
    assert (many - one) / 100 == pytest.approx(4122 * 8 / 100, rel=1e-3)


def test_one_switch_joins_two_host_links() -> None:
    fat_tree = platform("fat-tree")
    assert len(path_through(fat_tree, 1).hops) == 2
    assert len(path_through(fat_tree, 3).hops) == 4


def test_a_platform_without_a_fabric_has_no_path() -> None:
    with pytest.raises(InputError, match="platform 'this-machine' has no fabric"):
        path_through(platform("this-machine"), 1)


@pytest.mark.parametrize("cut_through", [True, False])
@pytest.mark.parametrize("rates", [(200, 200), (100, 200, 100), (200, 100, 100, 200)])
@pytest.mark.parametrize("size", [150 * 4096, 150 * 4096 + 1, 151 * 4096 - 1])
def test_long_messages_take_what_packet_by_packet_says(
    cut_through: bool, rates: tuple[int, ...], size: int
) -> None:
    hops = tuple(WireHop(rate, 415.0) for rate in rates)
    path = Path(hops, 130.0, 4096, cut_through=cut_through)
    free = [0.0] * len(hops)
    arrived = 0.0
    packets = [4096 + 26] * (size // 4096) + ([size % 4096 + 26] if size % 4096 else [])
    packets[0] += 16
    for n_bytes in packets:
        ready = 0.0
        for i, hop in enumerate(hops):
            start = max(ready, free[i])
            free[i] = end = start + n_bytes * 8 / hop.rate_gbps
            arrived = end + hop.delay_ns
            slower_next = hops[min(i + 1, len(hops) - 1)].rate_gbps <= hop.rate_gbps
            ready = (start if cut_through and slower_next else end) + hop.delay_ns + 130.0
    assert zero_load_ns(path, size) == pytest.approx(arrived)


def test_ethernet_carries_more_headers_than_infiniband() -> None:
    assert header_efficiency(1 << 20, 4096, "ethernet") < header_efficiency(1 << 20, 4096)
    assert wire_bytes(8, 4096, "ethernet") == 8 + 82 + 16


def test_unpublished_headers_do_not_lower_the_limit() -> None:
    slingshot, hdr = platform("generic-slingshot11"), platform("generic-hdr")
    assert line_ceiling(slingshot) == 1
    assert line_efficiency(slingshot) < 1
    assert line_ceiling(hdr) == line_efficiency(hdr) == pytest.approx(4096 / 4122)


def test_only_what_somebody_states_limits() -> None:
    edr = platform("generic-edr")
    assert edr.packets is not None
    assert line_ceiling(edr) == pytest.approx(4096 / 4122)
    for class_, mtu in (("assumed", 4096), ("sourced", 1024)):
        fields = {"value": 1024, "unit": "B", "class": class_, "source": "a test"}
        figure = Figure.model_validate(fields)
        packets = edr.packets.model_copy(update={"mtu": figure})
        small = edr.model_copy(update={"packets": packets})
        assert line_ceiling(small) == pytest.approx(mtu / (mtu + 26)), class_
        assert is_physical(figure) is (class_ == "sourced")
