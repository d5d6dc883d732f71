"""Host costs from lines add up to the latency, and keep a processor no longer than windows do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.catalog.load import platform
from weft.catalog.machine.platform import HostRegime
from weft.expect.fit.host_costs import Pace, host_regimes
from weft.expect.fit.loggp import Regime
from weft.expect.fit.protocols import Protocols
from weft.expect.wire import path_through, zero_load_ns

PATH = path_through(platform("fat-tree"), 1)
BOTH_WAYS = Pace(gap=1, busy=1, busy_messages=1)
LATENCY_ONLY = Pace(gap=None, busy=None, busy_messages=1)
SIZES = (0, 1 << 20)


def regime(a_us: float, b: float, limit: int | None = None) -> Regime:
    return Regime(a_us, b, 0, 1 << 20, limit)


def one_way_ns(cost: HostRegime, size: int) -> float:
    host_ns = cost.send_overhead_ns + cost.recv_overhead_ns + cost.latency_ns
    a_byte = cost.send_ns_per_byte + cost.recv_ns_per_byte + cost.latency_ns_per_byte
    return host_ns + a_byte * size + zero_load_ns(PATH, size)


def busy_ns(cost: HostRegime, size: int) -> float:
    a_byte = cost.send_ns_per_byte + cost.recv_ns_per_byte
    return cost.send_overhead_ns + cost.recv_overhead_ns + a_byte * size


def test_without_windows_all_of_the_latency_keeps_the_processors() -> None:
    lines = Protocols(((regime(4, 1e-4),),))
    (cost,) = host_regimes(lines, LATENCY_ONLY, PATH, SIZES, "a test")
    assert (cost.latency_ns, cost.latency_ns_per_byte, cost.gap_ns) == (0, 0, 0)
    for size in SIZES:
        assert one_way_ns(cost, size) == pytest.approx(4000 + 0.1 * size, rel=1e-4)


def test_what_is_longer_than_a_pace_occupies_no_one() -> None:
    lines = Protocols(((regime(6, 1e-4),), (regime(1, 1e-4),)))
    (cost,) = host_regimes(lines, BOTH_WAYS, PATH, SIZES, "a test")
    assert busy_ns(cost, 0) == pytest.approx(1000)
    assert cost.latency_ns == pytest.approx(5000 - zero_load_ns(PATH, 0))
    assert cost.gap_ns == 1000
    assert cost.gap_ns_per_byte == pytest.approx(0.1)


times = st.floats(0.5, 50)
slopes = st.sampled_from([0.0, 1e-5, 1e-4, 4e-4, 2e-2])


@settings(max_examples=200, deadline=None)
@given(a=times, b=slopes, pace_a=times, pace_b=slopes)
def test_no_cost_is_negative_and_none_keeps_a_processor_longer_than_a_pace(
    a: float, b: float, pace_a: float, pace_b: float
) -> None:
    lines = Protocols(((regime(a, b),), (regime(pace_a, pace_b),)))
    (cost,) = host_regimes(lines, BOTH_WAYS, PATH, SIZES, "a test")
    for size in SIZES:
        pace_ns = (pace_a + pace_b * size) * 1e3
        assert busy_ns(cost, size) <= pace_ns * 1.001 + 0.01
    ends = [(a + b * size) * 1e3 - zero_load_ns(PATH, size) for size in SIZES]
    if 0 <= ends[0] <= ends[1]:
        # The line of the latency is kept where the fabric leaves something to a host.
        for size, rest in zip(SIZES, ends, strict=True):
            assert one_way_ns(cost, size) - zero_load_ns(PATH, size) == pytest.approx(
                rest, rel=1e-3, abs=0.1
            )


def test_a_link_a_little_too_slow_for_the_table_takes_nothing_off_short_messages() -> None:
    # Beside 1 MiB the excess of the wire is nothing; beside the 5 us of an empty message it is all.
    ns_per_byte = 8 / PATH.rate_gbps
    lines = Protocols(((regime(5, 0.95 * ns_per_byte / 1e3),),))
    (cost,) = host_regimes(lines, LATENCY_ONLY, PATH, SIZES, "a test")
    assert one_way_ns(cost, 0) == pytest.approx(5000, rel=0.05)
    assert one_way_ns(cost, 1 << 20) == pytest.approx(5000 + 0.95 * ns_per_byte * 2**20, rel=0.1)


def test_a_step_between_two_sizes_is_no_rate() -> None:
    lines = Protocols(((Regime(1, 9, 0, 1, 1), Regime(10, 0, 2, 8, None)),))
    first, _ = host_regimes(lines, LATENCY_ONLY, PATH, (0, 8), "a test")
    assert first.send_ns_per_byte <= 1000
    assert busy_ns(first, 0) == pytest.approx((1000 + 10000) / 2 - zero_load_ns(PATH, 0), rel=0.02)


def test_each_change_of_either_table_begins_a_regime() -> None:
    latency = (regime(2, 0, 100), regime(5, 0))
    window = (regime(1, 0, 2000), regime(3, 0))
    costs = host_regimes(Protocols((latency, window)), BOTH_WAYS, PATH, SIZES, "a test")
    assert [cost.max_bytes for cost in costs] == [100, 2000, None]
    assert [cost.gap_ns for cost in costs] == [1000, 1000, 3000]
    assert costs[0].conditions == "fitted on 0 B to 1 MiB"
