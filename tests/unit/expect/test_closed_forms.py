"""Expectations against sums by hand, and against what was published."""

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.expect import closed_forms as forms
from weft.expect.wire import header_efficiency, path_through


def link_ceiling_gbps(document: Platform, size_bytes: int) -> float:
    """Payload rate of the slowest link when nothing else limits: rate x header efficiency."""
    path = path_through(document, 1)
    return path.rate_gbps * header_efficiency(size_bytes, path.mtu_bytes)


def test_latency_is_the_sum_of_its_parts_and_names_the_largest() -> None:
    expected = forms.latency(platform("azure-a9"), 0)
    assert expected.metric == "latency_us"
    assert expected.bound == "host overheads"
    assert expected.low < expected.value < expected.high


def test_more_switches_take_longer_by_their_delay_and_cables() -> None:
    fat_tree = platform("fat-tree")
    near, far = forms.latency(fat_tree, 8, 1).value, forms.latency(fat_tree, 8, 3).value
    assert fat_tree.switch is not None
    assert fat_tree.links is not None
    extra_ns = 2 * (fat_tree.switch.delay.value + fat_tree.links.switch.delay.value)
    assert (far - near) * 1e3 == pytest.approx(extra_ns)


def test_large_messages_are_bound_by_link_rate_times_header_efficiency() -> None:
    expected = forms.bandwidth(platform("azure-ndv4"), 8 << 20)
    assert expected.bound == "link rate 200 Gb/s x header efficiency 0.9937"
    assert expected.value * 8 / 1e3 <= link_ceiling_gbps(platform("azure-ndv4"), 8 << 20)


def test_measured_pairs_of_ndv4_lie_within_two_percent_of_the_link_ceiling() -> None:
    ndv4 = platform("azure-ndv4")
    ceiling = link_ceiling_gbps(ndv4, 8 << 20)
    for memory in ("host", "gpu"):
        best = ndv4.facts[f"pair-bandwidth-{memory}-max"].value
        assert best <= ceiling
        assert best == pytest.approx(ceiling, rel=0.02)


def test_small_messages_are_bound_by_the_host() -> None:
    assert "overhead of the host" in forms.bandwidth(platform("fat-tree"), 8).bound


@pytest.mark.parametrize("name", ["azure-a9", "fat-tree", "azure-ndv4"])
def test_a_twin_agrees_about_windows_in_both_directions(name: str) -> None:
    document = platform(name)
    twin = TwinBackend(document, 2)
    sizes = (1, 64, 4096, 65536, 1 << 20)
    options = {"iterations": 1, "warmup": 0}
    trial = Trial("t", "bidirectional", sizes, twin.nodes, 1, {}, {}, options)
    for sample in twin.measure(Launch(trial, 0, 0)):
        expected = forms.bidirectional(document, sample.size_bytes)
        assert sample.metrics["bandwidth_mb_s"] == pytest.approx(expected.value, rel=0.02)


def test_no_window_is_empty_in_both_directions_either() -> None:
    with pytest.raises(InputError, match="no bandwidth of 64 messages of 0 B"):
        forms.bidirectional(platform("fat-tree"), 0)


def test_one_message_a_window_is_bound_by_latency() -> None:
    assert forms.bandwidth(platform("fat-tree"), 8, window=1).bound == "latency of one window"


@pytest.mark.parametrize(("size", "window"), [(0, 64), (8, 0)])
def test_bandwidth_of_nothing_is_an_input_error(size: int, window: int) -> None:
    with pytest.raises(InputError, match=f"no bandwidth of {window} messages of {size} B"):
        forms.bandwidth(platform("fat-tree"), size, window)


def test_the_weakest_class_is_named_first() -> None:
    assert forms.bandwidth(platform("azure-a9"), 1 << 22).source.startswith(
        "platform azure-a9: assumed"
    )
