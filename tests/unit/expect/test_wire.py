"""The fabric's own time, against sums done by hand."""

import pytest

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.wire import Hop, Path, header_efficiency, path_through, wire_bytes, zero_load_ns

HDR = Hop(rate_gbps=200, delay_ns=10)
HDR100 = Hop(rate_gbps=100, delay_ns=10)


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


def test_a_faster_link_waits_for_the_tail() -> None:
    path = Path((HDR100, HDR), switch_delay_ns=100, mtu_bytes=4096)
    expected = 1042 * 8 / 100 + 10 + 100 + 1042 * 8 / 200 + 10
    assert zero_load_ns(path, 1000) == pytest.approx(expected)


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
