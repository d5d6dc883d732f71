"""Expectations against sums by hand, and against what was published."""

import math

import pytest

from weft.bench.model import Launch, Trial
from weft.bench.twin.backend import TwinBackend
from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect import closed_forms as forms


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
    assert expected.value * 8 / 1e3 <= forms.link_ceiling_gbps(platform("azure-ndv4"), 8 << 20)


def test_measured_pairs_of_ndv4_lie_within_two_percent_of_the_link_ceiling() -> None:
    ndv4 = platform("azure-ndv4")
    ceiling = forms.link_ceiling_gbps(ndv4, 8 << 20)
    for memory in ("host", "gpu"):
        best = ndv4.facts[f"pair-bandwidth-{memory}-max"].value
        assert best <= ceiling
        assert best == pytest.approx(ceiling, rel=0.02)


def test_small_messages_are_bound_by_the_host() -> None:
    assert "overhead of the host" in forms.bandwidth(platform("fat-tree"), 8).bound


@pytest.mark.parametrize("name", ["azure-a9", "fat-tree", "azure-ndv4"])
def test_a_twin_agrees_about_windows_both_ways(name: str) -> None:
    document = platform(name)
    twin = TwinBackend(document, 2)
    sizes = (1, 64, 4096, 65536, 1 << 20)
    options = {"iterations": 1, "warmup": 0}
    trial = Trial("t", "bidirectional", sizes, twin.nodes, 1, {}, {}, options)
    for sample in twin.measure(Launch(trial, 0, 0)):
        expected = forms.bidirectional(document, sample.size_bytes)
        assert sample.metrics["bandwidth_mb_s"] == pytest.approx(expected.value, rel=0.02)


def test_no_window_is_empty_both_ways_either() -> None:
    with pytest.raises(InputError, match="no bandwidth of 64 messages of 0 B"):
        forms.bidirectional(platform("fat-tree"), 0)


def test_one_message_a_window_is_bound_by_latency() -> None:
    assert forms.bandwidth(platform("fat-tree"), 8, window=1).bound == "latency of one window"


@pytest.mark.parametrize("n", [2, 4, 16, 128])
def test_recursive_doubling_takes_log2_steps(n: int) -> None:
    assert forms.recursive_doubling(n, 8).count == math.log2(n)


def test_left_over_ranks_cost_recursive_doubling_two_steps_more() -> None:
    assert forms.recursive_doubling(6, 8).count == 2 + 2


def test_a_ring_moves_twice_the_vector_but_one_share() -> None:
    steps = forms.ring(4, 4096)
    assert steps.count * steps.size_bytes == 2 * (4 - 1) / 4 * 4096


def test_a_barrier_of_five_needs_three_steps_of_nothing() -> None:
    assert forms.dissemination(5, 0) == forms.Steps(3, 0)


def test_pairwise_meets_every_other_rank() -> None:
    assert forms.pairwise(7, 64) == forms.Steps(6, 64)


def test_a_collective_is_its_steps_times_one_latency() -> None:
    fat_tree = platform("fat-tree")
    expected = forms.collective(fat_tree, "allreduce", 8, 16, n_switches=3)
    assert expected.value == pytest.approx(4 * forms.latency(fat_tree, 8, 3).value)
    assert expected.formula.startswith("recursive_doubling: 4 x")


def test_a_platform_without_algorithms_says_so() -> None:
    with pytest.raises(InputError, match="names no algorithm for 'allreduce'"):
        forms.collective(platform("this-machine"), "allreduce", 8, 4)


@pytest.mark.parametrize(("size", "window"), [(0, 64), (8, 0)])
def test_bandwidth_of_nothing_is_an_input_error(size: int, window: int) -> None:
    with pytest.raises(InputError, match=f"no bandwidth of {window} messages of {size} B"):
        forms.bandwidth(platform("fat-tree"), size, window)


def test_the_weakest_class_is_named_first() -> None:
    assert forms.bandwidth(platform("azure-a9"), 1 << 22).source.startswith(
        "platform azure-a9: assumed"
    )
