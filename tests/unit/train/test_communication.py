"""Volumes of a step's exchanges, counted by hand for the 1,024 GPUs of Affaticati et al."""

import numpy as np
import pytest

from weft.catalog.load import platform
from weft.train.communication import Exchange
from weft.train.network_state import NetworkState, collision_factor, share_beyond_unit
from weft.train.prices import CollectivePrices, RankGroup, group_of
from weft.train.published import grok_row_of, grok_step
from weft.train.step_constants import step_constants
from weft.train.step_time import step_time

NDV5 = CollectivePrices(platform("azure-ndv5"), NetworkState())


@pytest.fixture(scope="module")
def exchanges() -> dict[tuple[str, str, str], Exchange]:
    step = grok_step(grok_row_of("bf16", 1024), NDV5, step_constants())
    return {(one.dimension, one.collective, one.what): one for one in step_time(step).exchanges}


def test_sizes_and_counts(exchanges: dict[tuple[str, str, str], Exchange]) -> None:
    """4,096 tokens of a micro-batch on a GPU group, h 6144, BF16, TP 4, EP 8, 8 layers, GA 128."""
    tokens, h = 4096, 6144
    tensor = exchanges["tp", "allgather", "activations"]
    assert (tensor.size_bytes, tensor.count) == (tokens * h * 2, 2 * 8 * 128)
    experts = exchanges["ep", "alltoall", "tokens to experts and back"]
    assert (experts.size_bytes, experts.count) == (tokens / 4 * 2 * h * 2, 4 * 8 * 128)
    stages = exchanges["pp", "sendrecv", "activations to the next stage"]
    assert (stages.size_bytes, stages.count) == (tokens / 4 * h * 2, 2 * 8 * 128)
    gradients = exchanges["dp", "reduce_scatter", "gradients of experts"]
    experts_of_gpu = 8 * 8 * 3 * 6144 * 32768 / 8 / 4
    assert gradients.size_bytes == pytest.approx(2 * experts_of_gpu)


def test_links(exchanges: dict[tuple[str, str, str], Exchange]) -> None:
    """TP 4 x CP 2 fill a node, so that experts, stages and replicas are on others."""
    over = {dimension: NDV5.link(one.group) for (dimension, _, _), one in exchanges.items()}
    assert over == {"tp": "NVLink", "cp": "NVLink", "ep": "rails", "pp": "rails", "dp": "rails"}


@pytest.mark.parametrize(
    ("n", "stride", "group"),
    [
        (4, 1, RankGroup(4, 4, 2)),
        (2, 4, RankGroup(2, 2, 4)),
        (8, 8, RankGroup(8, 1, 8)),
        (2, 256, RankGroup(2, 1, 8, distance=32)),
        (8, 4, RankGroup(8, 2, 4)),
        (1, 1, RankGroup(1, 1, 8)),
    ],
)
def test_ranks_fill_nodes_of_eight(n: int, stride: int, group: RankGroup) -> None:
    assert group_of(n, stride, 8, 1024) == group


def test_an_alltoall_by_rails_takes_at_least_its_bytes_over_line_rate() -> None:
    size = 24 << 20
    seconds = NDV5.seconds("alltoall", size, RankGroup(8, 1, 8))
    least = size * 7 / 8 / 50e9
    assert least < seconds < 1.5 * least


def test_a_lost_rail_leaves_seven_adapters_to_what_eight_carried() -> None:
    size, group = 1 << 34, RankGroup(128, 1, 8)
    healthy = NDV5.seconds("reduce_scatter", size, group)
    lost = CollectivePrices(NDV5.platform, NetworkState(lost_rails=1))
    assert lost.seconds("reduce_scatter", size, group) / healthy == pytest.approx(8 / 7, rel=0.01)


@pytest.mark.parametrize(
    ("collective", "group", "factor"),
    [
        # Of 128 nodes 96 lie beyond the unit of 32: up-links of half the rate carry 96 of 127.
        ("alltoall", RankGroup(128, 1, 8), 2 * 96 / 127),
        # A ring in the order of nodes leaves a unit once; so do stages next to each other.
        ("reduce_scatter", RankGroup(128, 1, 8), 1.0),
        # Stages of 32 nodes: every message leaves its unit.
        ("sendrecv", RankGroup(2, 1, 8, distance=32), 2.0),
        ("sendrecv", RankGroup(2, 1, 8, distance=8), 1.0),
        ("alltoall", RankGroup(8, 1, 8), 1.0),
    ],
)
def test_a_taper_costs_what_leaves_a_unit(collective: str, group: RankGroup, factor: float) -> None:
    size = 1 << 34
    tapered = CollectivePrices(NDV5.platform, NetworkState(taper=2.0))
    ratio = tapered.seconds(collective, size, group) / NDV5.seconds(collective, size, group)
    assert ratio == pytest.approx(factor, rel=0.01)


def test_static_routes_cost_the_fullest_up_link() -> None:
    size, group = 1 << 34, RankGroup(2, 1, 8, distance=32)
    static = CollectivePrices(NDV5.platform, NetworkState(static_routes=True))
    ratio = static.seconds("sendrecv", size, group) / NDV5.seconds("sendrecv", size, group)
    assert ratio == pytest.approx(collision_factor(32), rel=0.01)


def test_a_network_between_nodes_changes_nothing_inside_one() -> None:
    inside = RankGroup(8, 8, 1)
    broken = CollectivePrices(NDV5.platform, NetworkState(lost_rails=4, transport="sockets"))
    assert broken.seconds("allreduce", 1 << 30, inside) == NDV5.seconds(
        "allreduce", 1 << 30, inside
    )


@pytest.mark.parametrize("mean", [1.0, 0.25])
def test_flows_on_the_fullest_of_many_links(mean: float) -> None:
    """Against counts that are drawn."""
    drawn = np.random.default_rng(1).poisson(mean, size=(20_000, 32)).max(axis=1).mean()
    assert collision_factor(32, mean) == pytest.approx(drawn, rel=0.01)
    assert collision_factor(1) == 1.0


def test_nodes_of_one_unit_send_over_no_spine() -> None:
    assert share_beyond_unit(NDV5.platform, 32) == 0.0
    assert share_beyond_unit(NDV5.platform, 64) == pytest.approx(32 / 63)


def test_a_domain_over_nodes_joins_what_lies_in_it() -> None:
    """GB300 NVL72: 18 nodes of four GPUs."""
    prices = CollectivePrices(platform("azure-ndv6"), NetworkState())
    near, far = RankGroup(64, 4), RankGroup(2, 1, 4, distance=16)
    assert (prices.link(near), prices.link(far)) == ("NVLink", "rails")
    # An adapter of 100 GB/s at most.
    assert prices.seconds("sendrecv", 1 << 30, far) > (1 << 30) / 100e9
