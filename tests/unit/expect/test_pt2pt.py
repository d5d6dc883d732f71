"""Pairs and rings against sums by hand, laws, and published tables."""

import math
from itertools import pairwise
from typing import Any

import pytest

from weft.catalog.load import platform, platform_names
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.expect import closed_forms
from weft.expect.model import Conditions, Expectation
from weft.expect.prediction import predict
from weft.expect.pt2pt import BENCHMARKS
from weft.expect.wire import header_efficiency

MIB = 1 << 20


def expect(name: str, benchmark: str, size: int, **more: Any) -> Expectation:
    return predict(platform(name), Conditions(benchmark, size, **more))


def with_slot(name: str, gb_s: float) -> Platform:
    document = platform(name)
    slot = document.node["hca_pcie"].model_copy(update={"value": gb_s})
    return document.model_copy(update={"node": {**document.node, "hca_pcie": slot}})


def test_the_sixteen_published_pairs_of_ndv4_are_expected() -> None:
    ndv4 = platform("azure-ndv4")
    for memory in ("host", "gpu"):
        found = expect("azure-ndv4", "bandwidth", 8 * MIB, library="verbs", memory=memory)
        for end in ("min", "max"):
            published_mb_s = ndv4.facts[f"pair-bandwidth-{memory}-{end}"].value / 8 * 1e3
            assert found.low <= published_mb_s <= found.high


@pytest.mark.parametrize("benchmark", ["fan_in", "fan_out"])
def test_ranks_of_the_roots_own_node_do_not_pass_its_adapter(benchmark: str) -> None:
    # 2 nodes of 8: 8 of the 15 messages cross, so that all 15 may come 15/8 times as fast.
    line_mb_s = 25e3 * 4096 / 4122
    alone = expect("generic-hdr", benchmark, MIB, n_nodes=2)
    full = expect("generic-hdr", benchmark, MIB, n_nodes=2, tasks_per_node=8)
    assert alone.limit == pytest.approx(line_mb_s)
    assert full.limit == pytest.approx(line_mb_s * 15 / 8)
    assert full.value > line_mb_s


def test_a_stated_rate_above_the_expected_one_is_the_limit() -> None:
    found = expect("azure-ndv6", "bandwidth", 8 * MIB, library="verbs")
    assert found.high <= 50e3
    assert found.limit == pytest.approx(100e3 * header_efficiency(1 << 40, 4096), rel=1e-6)
    assert "800 Gb/s" in found.limit_name


def test_the_limit_of_a_pair_is_line_rate_times_header_efficiency() -> None:
    found = expect("azure-ndv4", "bandwidth", 8 * MIB, library="verbs")
    assert found.limit == pytest.approx(200 / 8 * header_efficiency(1 << 40, 4096) * 1e3, rel=1e-6)
    assert found.bound == "link rate 200 Gb/s x header efficiency 0.9937"


@pytest.mark.parametrize("name", [n for n in platform_names() if n != "this-machine"])
@pytest.mark.parametrize("library", ["mpi", "verbs"])
def test_half_of_a_large_rate_is_clearly_low(name: str, library: str) -> None:
    found = expect(name, "bandwidth", 4 * MIB, library=library)
    assert found.value / 2 < found.low
    assert found.value * 8 > found.high


def test_a_slot_of_eight_lanes_of_the_third_generation_binds() -> None:
    narrow = with_slot("azure-ndv4", 7.88)
    found = predict(narrow, Conditions("bandwidth", 8 * MIB, library="verbs"))
    assert found.bound == "PCIe slot of 7.88 GB/s"
    assert found.limit == pytest.approx(7880)
    assert found.value < 7880


@pytest.mark.parametrize("name", ["fat-tree", "azure-hbv3", "frontera"])
@pytest.mark.parametrize("size", [0, 8, 4096, MIB])
def test_the_closed_form_of_the_twin_lies_in_the_expectation(name: str, size: int) -> None:
    ideal = closed_forms.latency(platform(name), size)
    real = expect(name, "latency", size)
    assert real.low <= ideal.value <= real.high


@pytest.mark.parametrize("size", [4 * MIB, 16 * MIB])
def test_no_real_stream_is_expected_beyond_the_twins(size: int) -> None:
    for benchmark, form in (
        ("bandwidth", closed_forms.bandwidth),
        ("bidirectional", closed_forms.bidirectional),
    ):
        ideal = form(platform("fat-tree"), size)
        real = expect("fat-tree", benchmark, size)
        assert real.value <= ideal.value * (1 + 1e-9)
        assert real.value == pytest.approx(ideal.value, rel=0.05)


def test_both_directions_at_once_carry_twice_as_much_where_the_link_binds() -> None:
    one = expect("azure-hbv3", "bandwidth", 4 * MIB)
    both = expect("azure-hbv3", "bidirectional", 4 * MIB)
    assert both.value == pytest.approx(2 * one.value, rel=0.01)
    assert both.limit == pytest.approx(2 * (one.limit or math.nan))


def test_both_directions_at_once_carry_no_more_where_the_processor_binds() -> None:
    one = expect("azure-hbv3", "bandwidth", 8)
    both = expect("azure-hbv3", "bidirectional", 8)
    assert both.value < 1.3 * one.value
    assert both.bound == "overheads of the host, both directions"


def test_pairs_add_up_until_the_adapter_is_full() -> None:
    def rate(tasks: int, size: int) -> Expectation:
        return expect("azure-hbv2", "message_rate", size, tasks_per_node=tasks)

    assert rate(4, 8).value == pytest.approx(4 * rate(1, 8).value, rel=0.01)
    assert rate(8, MIB).value == pytest.approx(rate(1, MIB).value, rel=0.05)
    full = rate(120, 8)
    assert full.bound == "message rate of the adapter"
    # SOURCE: Jose & Shainer, UCF 2022: up to 215 million messages a second with HDR.
    assert full.value <= 215 * 1.0001


def test_the_published_rate_of_many_pairs_is_expected() -> None:
    # SOURCE: Azure HBv2, techcommunity post 1012813: osu_mbw_mr 23477 MB/s.
    found = expect("azure-hbv2", "message_rate", MIB, tasks_per_node=8)
    assert found.low <= 23477 / MIB <= found.high


@pytest.mark.parametrize(
    ("name", "million", "word"),
    [
        # SOURCE: Jose & Shainer, UCF 2022: 215 million messages a second of an HDR adapter.
        ("azure-hbv3", 1e3 / 4.65, "message rate of the adapter, 215 million/s"),
        # Eight adapters; the rate of an NDR adapter is assumed, so that its packets limit:
        # 400 Gb/s / 8 / (8 B + 26 B of headers).
        ("azure-ndv5", 8 * 50e3 / 34, "8 x link rate 400 Gb/s of 34 B a message"),
    ],
)
def test_messages_are_limited_by_adapter_or_packets(name: str, million: float, word: str) -> None:
    found = expect(name, "message_rate", 8, tasks_per_node=16)
    assert found.limit == pytest.approx(million)
    assert found.limit_name.startswith(word)
    large = expect(name, "message_rate", 4 * MIB, tasks_per_node=16)
    assert large.limit is not None
    assert large.limit < found.limit / 1000
    assert "less headers" in large.limit_name


def test_one_message_a_window_is_bound_by_latency() -> None:
    assert expect("fat-tree", "bandwidth", 8, window=1).bound == "latency of one window"


def test_copies_through_host_memory_and_tcp_bind_where_they_are_forced() -> None:
    direct = expect("azure-ndv4", "bandwidth", 4 * MIB, memory="gpu")
    bounced = expect("azure-ndv4", "bandwidth", 4 * MIB, memory="gpu", gpudirect=False)
    assert bounced.bound == "copies through host memory"
    assert bounced.value < direct.low
    assert expect("alps-gh200", "bandwidth", 4 * MIB, transport="sockets").bound == "TCP stream"


@pytest.mark.parametrize("published_mb_s", [1279.54, 3121.42])
def test_tcp_on_alps_is_as_slow_as_documented(published_mb_s: float) -> None:
    # SOURCE: eth-cscs/cscs-docs 80abed1, osu_bw with the hook for the network off.
    found = expect("alps-gh200", "bandwidth", 4 * MIB, transport="sockets")
    assert found.low <= published_mb_s <= found.high


@pytest.mark.parametrize("name", ["alps-gh200", "azure-a9", "azure-hbv2"])
def test_published_latencies_of_the_machine_itself_are_expected(name: str) -> None:
    for table in platform(name).published:
        if table.benchmark != "latency":
            continue
        found = [expect(name, "latency", size) for size, _ in table.rows]
        inside = [
            one.low <= value <= one.high for one, (_, value) in zip(found, table.rows, strict=True)
        ]
        assert all(inside)


def test_a_ring_s_latency_is_half_of_an_exchange_with_both_neighbours() -> None:
    # HPCC and GPCNeT print half; between two nodes of one leaf the exchange is IMB's `exchange`.
    for size in (8, 4096, MIB):
        ring = expect("azure-hbv3", "random_ring_latency", size, n_nodes=2)
        exchange = expect("azure-hbv3", "exchange", size, n_nodes=2)
        assert ring.value == pytest.approx(exchange.value / 2)
        assert ring.limit is not None
        assert exchange.limit is not None
        assert ring.limit == pytest.approx(exchange.limit / 2)


@pytest.mark.parametrize("benchmark", ["fan_in", "random_ring_bandwidth"])
def test_longer_windows_hide_the_latency_of_fans_and_rings(benchmark: str) -> None:
    found = [expect("fat-tree", benchmark, 64, n_nodes=4, window=w).value for w in (1, 8, 64)]
    assert found[0] < found[1] < found[2]


def test_a_random_ring_over_a_tapered_fabric_is_bound_by_its_up_links() -> None:
    found = expect("frontera", "random_ring_bandwidth", 4 * MIB, n_nodes=4000)
    assert "taper" in found.bound
    assert found.value < expect("frontera", "natural_ring_bandwidth", 4 * MIB, n_nodes=4000).value


@pytest.mark.parametrize("benchmark", sorted(BENCHMARKS))
def test_a_longer_message_never_takes_less_time(benchmark: str) -> None:
    sizes = [1 << power for power in range(23)]
    found = [expect("azure-hbv3", benchmark, size) for size in sizes]
    if found[0].lower_is_better:
        times = [one.value for one in found]
    elif found[0].metric == "msg_rate_mps":
        times = [1 / one.value for one in found]
    else:
        times = [size / one.value for size, one in zip(sizes, found, strict=True)]
    assert all(a <= b * 1.1 for a, b in pairwise(times))


@pytest.mark.parametrize(
    "benchmark", ["bandwidth", "bidirectional", "fan_in", "random_ring_bandwidth"]
)
def test_the_rate_of_nothing_is_an_input_error(benchmark: str) -> None:
    with pytest.raises(InputError, match="no bandwidth of 64 messages of 0 B"):
        expect("fat-tree", benchmark, 0)


def test_parts_add_up_to_the_value() -> None:
    found = expect("azure-hbv3", "latency", 4096)
    assert sum(term.time_ns for term in found.terms) / 1e3 == pytest.approx(found.value)
    stream = expect("azure-hbv3", "bandwidth", 4096)
    time_ns = sum(term.time_ns for term in stream.terms)
    assert 64 * 4096 / time_ns * 1e3 == pytest.approx(stream.value)


@pytest.mark.parametrize("name", ["azure-hbv4", "generic-ndr", "azure-ndv5"])
def test_a_borrowed_host_does_not_bring_its_own_link_along(name: str) -> None:
    # Their hosts' costs were fitted on HDR; their adapters are NDR.
    found = expect(name, "bandwidth", 4 * MIB)
    assert found.bound.startswith("link rate 400 Gb/s")
    assert found.value > 1.8 * expect("azure-hbv3", "bandwidth", 4 * MIB).value
