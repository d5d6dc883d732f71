"""All adapters of GPU nodes at once: what each piece carries, and what a formula cannot show."""

from collections import Counter
from dataclasses import replace

import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import parse_fault
from weft.bench.twin.gpu.rails import rail_conditions
from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.nccl.collectives import nccl

MIB = 1 << 20
NDV5, NDV4 = "azure-ndv5", "azure-ndv4"


def trial(twin: TwinBackend, size: int, *, gpus: int = 8, **options: object) -> Trial:
    chosen = {"gpu_network": "rails", "iterations": 1, "warmup": 0, **options}
    return Trial("t", "allreduce", (size,), twin.nodes, gpus, {}, {}, chosen)


def twin_of(name: str, n_nodes: int, *faults: str, extrapolate: float | None = None) -> TwinBackend:
    planted = [parse_fault(text) for text in faults]
    return TwinBackend(platform(name), n_nodes, planted, cabled=True, extrapolate=extrapolate)


def busbw(twin: TwinBackend, size: int, **options: object) -> float:
    (sample,) = samples(twin, trial(twin, size, **options))
    return sample.metrics["busbw_gb_s"]


def samples(twin: TwinBackend, asked: Trial) -> list[Sample]:
    return list(twin.measure(Launch(asked, 0, 0)))


@pytest.mark.parametrize(
    ("name", "n_nodes", "size", "options"),
    [
        (NDV5, 1, 256 * MIB, {}),
        (NDV5, 4, 256 * MIB, {"algorithm": "nvlstree"}),
        (NDV5, 4, 8 * MIB, {"algorithm": "tree"}),
        (NDV5, 1, 512 * MIB, {"algorithm": "ring"}),
    ],
)
def test_where_nothing_contends_it_takes_what_is_expected(
    name: str, n_nodes: int, size: int, options: dict[str, str]
) -> None:
    twin = twin_of(name, n_nodes)
    options = {"nccl_version": "2.26.5", **options}
    expected = nccl(platform(name), rail_conditions(trial(twin, size, **options), size))
    assert busbw(twin, size, **options) == pytest.approx(expected.value, rel=0.05)


@pytest.mark.parametrize(("name", "n_nodes"), [(NDV5, 1), (NDV5, 2), (NDV4, 2)])
def test_sends_to_the_next_rank_are_as_fast_as_the_slowest_hop(name: str, n_nodes: int) -> None:
    twin, size = twin_of(name, n_nodes), 64 * MIB
    asked = replace(trial(twin, size), benchmark="sendrecv")
    (sample,) = samples(twin, asked)
    conditions = replace(rail_conditions(asked, size), benchmark="sendrecv")
    expected = nccl(platform(name), conditions).value
    assert sample.metrics["bandwidth_mb_s"] / 1e3 == pytest.approx(expected, rel=0.05)


def test_sums_in_the_fabric_s_switches_are_bound_by_nvlink_as_in_one_node() -> None:
    """Eight adapters of 48 GB/s carry more than NvSwitches add up."""
    rates = {}
    for n_nodes in (1, 4):
        (sample,) = samples(
            twin := twin_of(NDV5, n_nodes), trial(twin, 256 * MIB, algorithm="nvls")
        )
        rates[n_nodes] = sample.metrics["algbw_gb_s"]
        assert sample.evidence["carried_out_by"] == ("nvls" if n_nodes == 1 else "collnet")
    assert 0.8 * rates[1] < rates[4] < rates[1]


def test_rings_of_all_adapters_carry_what_the_adapters_do() -> None:
    """Eight rings; each leaves a node by one adapter, and carries at most PCIe's 24 GB/s of 25."""
    assert 0.95 * 8 * 24 < ring_rate(twin_of(NDV4, 4), 256 * MIB) <= 8 * 24


def ring_rate(twin: TwinBackend, size: int, **options: object) -> float:
    """Bus bandwidth of what a buffer of twice the size has more: no latency of steps is in it."""
    less, more = (
        bytes_ / busbw(twin, bytes_, algorithm="ring", **options) for bytes_ in (size, 2 * size)
    )
    return size / (more - less)


def test_a_ring_begins_as_late_as_its_steps_latencies_take() -> None:
    twin, size = twin_of(NDV4, 4), 256 * MIB
    options = {"algorithm": "ring", "nccl_version": "2.26.5"}
    expected = nccl(platform(NDV4), rail_conditions(trial(twin, size, **options), size))
    assert expected.terms[0].time_ns > 0.1 * expected.terms[1].time_ns
    assert busbw(twin, size, **options) == pytest.approx(expected.value, rel=0.05)


def test_one_slow_adapter_slows_all_of_a_ring_collective() -> None:
    twin = twin_of(NDV4, 2, "rail3-leaf-01[1] rate=0.5")
    whole = ring_rate(twin_of(NDV4, 2), 32 * MIB)
    assert ring_rate(twin, 32 * MIB) == pytest.approx(whole / 2, rel=0.06)


def test_a_lost_rail_costs_its_share() -> None:
    twin = twin_of(NDV4, 2)
    eight, six = (ring_rate(twin, 32 * MIB, rails=n) for n in (8, 6))
    assert six == pytest.approx(eight * 6 / 8, rel=0.03)


def test_one_rail_stands_for_all_where_they_are_alike() -> None:
    twin = twin_of(NDV5, 4)
    options = {"algorithm": "nvlstree", "nccl_version": "2.26.5"}
    one = busbw(twin, 256 * MIB, **{**options, "gpu_network": "one-rail"})
    assert one == pytest.approx(busbw(twin, 256 * MIB, **options), rel=0.05)


def test_a_large_buffer_is_extrapolated_and_says_how_far_it_may_be_off() -> None:
    options = {"algorithm": "nvlstree", "nccl_version": "2.26.5", "gpu_network": "one-rail"}
    twin = twin_of(NDV5, 4, extrapolate=0.02)
    (sample,) = samples(twin, trial(twin, 1 << 30, **options))
    whole = busbw(twin_of(NDV5, 4), 1 << 30, **options)
    assert sample.metrics["busbw_gb_s"] == pytest.approx(whole, rel=0.03)
    assert "extrapolated" in sample.flags


def test_an_alltoall_goes_by_all_adapters() -> None:
    twin = twin_of(NDV4, 2)
    for algorithm in ("linear", "hierarchical"):
        asked = replace(trial(twin, MIB, algorithm=algorithm), benchmark="alltoall")
        (sample,) = samples(twin, asked)
        # 8 of 15 blocks leave the node over an adapter of 24 GB/s.
        assert 0.8 * 24 * 15 / 8 < sample.metrics["busbw_gb_s"] <= 24 * 15 / 8


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("alps-a100", {}, "has no NvSwitches"),
        (NDV4, {"rails": "7"}, "'rails' is '7'"),
        (NDV4, {"rails": True}, "'rails' is True"),
        (NDV5, {"algorithm": "collnetdirect"}, "an allreduce by collnetdirect"),
        (NDV4, {"rails": 7, "gpu_network": "sockets"}, "option 'rails'"),
        (NDV4, {"matchings": 1}, "option 'matchings'"),
        (NDV4, {"in_network": {"reduction_ns": 1}}, "option 'in_network'"),
        ("azure-mi300x", {}, "has no NvSwitches"),
        (NDV4, {"gpu_network": "one-rail"}, "one rail of an allreduce by"),
        (NDV4, {"rails": 9}, "'rails' is 9"),
        (NDV4, {"rails": 7, "algorithm": "tree"}, "7 of 8 rails"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    name: str, options: dict[str, object], message: str
) -> None:
    twin = twin_of(name, 2)
    with pytest.raises(InputError, match=message):
        busbw(twin, 64 * MIB, **options)


def test_one_rail_shows_no_fault_of_another_one() -> None:
    twin = twin_of(NDV5, 2, "rail3-leaf-01[1] rate=0.5")
    with pytest.raises(InputError, match="one rail for all, and a fault"):
        busbw(twin, 64 * MIB, gpu_network="one-rail", algorithm="nvlstree")


def test_one_node_has_no_rails() -> None:
    twin = twin_of(NDV5, 1)
    whole = busbw(twin, 64 * MIB, algorithm="nvls")
    assert busbw(twin, 64 * MIB, algorithm="nvls", gpu_network="one-rail") == whole


def test_more_ranks_than_gpus_and_flows_are_refused() -> None:
    twin = twin_of(NDV4, 2)
    asked = replace(trial(twin, MIB, gpus=16), benchmark="alltoall")
    with pytest.raises(InputError, match="16 ranks on a node of 8 GPUs"):
        samples(twin, asked)
    flows = TwinBackend(platform(NDV4), 2, cabled=True, fidelity="flow")
    with pytest.raises(InputError, match="--fidelity flow"):
        busbw(flows, 64 * MIB)


@pytest.mark.parametrize(("rails", "idle"), [(7, 7), (6, 6)])
def test_fewer_rails_leave_the_last_adapters_idle(rails: int, idle: int) -> None:
    """A slow cable of an adapter that is left out changes nothing; one of the others does."""
    whole = busbw(twin_of(NDV4, 2), 64 * MIB, algorithm="ring", rails=rails)
    left_out = twin_of(NDV4, 2, f"rail{idle}-leaf-01[1] rate=0.25")
    assert busbw(left_out, 64 * MIB, algorithm="ring", rails=rails) == whole
    used = twin_of(NDV4, 2, "rail0-leaf-01[1] rate=0.25")
    assert busbw(used, 64 * MIB, algorithm="ring", rails=rails) < 0.5 * whole


def test_pairs_of_nodes_are_drawn_once_each() -> None:
    twin = twin_of(NDV4, 5)
    options = {"matchings": 2, "phases": ["bandwidth"], "window": 1}
    found = samples(twin, replace(trial(twin, MIB, **options), benchmark="pairs"))
    for number in (0, 1):
        pairs = [one.pair for one in found if one.pair is not None and one.pair.round == number]
        ends = [end.partition(":")[0] for pair in pairs for end in (pair.a, pair.b)]
        assert len(pairs) == 2 * 8
        assert sorted(Counter(ends).values()) == [8] * 4
    alone = twin_of(NDV4, 1)
    asked = replace(trial(alone, MIB, **options), benchmark="pairs")
    with pytest.raises(InputError, match="'matchings' on one node"):
        samples(alone, asked)


def across(twin: TwinBackend, **options: object) -> float:
    """GB/s of rings of two nodes under different leaves, without the latency of steps."""
    ring, sizes = {"algorithm": "ring", **options}, (16 * MIB, 32 * MIB)
    asked = replace(trial(twin, 0, **ring), nodes=("n001", "n021"), sizes_bytes=sizes)
    less, more = (one.size_bytes / one.metrics["busbw_gb_s"] for one in samples(twin, asked))
    return 16 * MIB / (more - less)


def test_thin_cables_to_spines_and_a_neighbour_slow_a_job_over_several_leaves() -> None:
    """Cables of 20 Gb/s in place of 200. By d-mod-k messages to n021 and to n041 leave the first
    leaf by the same one: both are the first of theirs."""
    twin = twin_of(NDV4, 44)
    whole, thin = across(twin), across(twin, oversubscription="10:1")
    assert thin == pytest.approx(whole * 20 / 192, rel=0.15)
    slow = {"oversubscription": "10:1", "adaptive_routing": "off"}
    beside = across(twin, **slow, aggressors=["alltoall:1M@n[002,041]"])
    # Two senders share it; now and then one of them waits for something else.
    assert 0.45 * thin < beside < 0.7 * thin
    assert across(twin, **slow, aggressors=["alltoall:1M@n[002,042]"]) > 0.9 * thin


def test_a_neighbour_stays_out_of_one_rail_that_stands_for_all() -> None:
    twin = twin_of(NDV5, 4)
    options = {"gpu_network": "one-rail", "aggressors": ["alltoall:64K@2"]}
    asked = replace(trial(twin, MIB, **options), nodes=twin.nodes[:2])
    with pytest.raises(InputError, match="gpu_network = 'one-rail'"):
        samples(twin, asked)
