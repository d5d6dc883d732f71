"""Volumes of a step's exchanges, counted by hand for the 1,024 GPUs of Affaticati et al."""

import numpy as np
import pytest

from weft.catalog.libraries.training_gpus import training_gpus
from weft.catalog.load import platform, trained_model
from weft.train.communication import Exchange, stage_parameters
from weft.train.layout import ModelLayout, StepMethod
from weft.train.network_state import NetworkState, collision_factor, share_beyond_unit
from weft.train.prices import CollectivePrices, RankGroup, group_of, joined_groups, stage_pair
from weft.train.published import grok_row_of, grok_step, shape_of
from weft.train.step_constants import step_constants
from weft.train.step_time import StepModel, step_time

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


@pytest.mark.parametrize(
    ("n", "stride", "group"),
    [
        # Ranks 0-5 share a node; 6 and 7 send to 8-11 on the next one.
        (6, 1, RankGroup(6, 4, 2)),
        (3, 1, RankGroup(3, 2, 2)),
        (3, 2, RankGroup(3, 2, 4)),
    ],
)
def test_a_group_that_crosses_nodes_is_priced_by_rails(
    n: int, stride: int, group: RankGroup
) -> None:
    found = group_of(n, stride, 8, 48)
    assert found == group
    assert NDV5.link(found) == "rails"
    assert group_of(n, stride, 8, 8).n_nodes == 1


def test_the_slowest_pair_of_stages_counts() -> None:
    """Sixteen GPUs of two nodes in eight stages: those of ranks 6, 7 and 8, 9 lie apart."""
    assert stage_pair(8, 16, 8) == RankGroup(2, 1, 2)
    assert stage_pair(4, 8, 8).n_nodes == 1
    assert stage_pair(4, 1024, 8) == RankGroup(2, 1, 8, distance=32)


def test_a_group_of_a_billion_ranks_is_found_at_once() -> None:
    assert group_of(10**9, 1, 8, 10**9) == RankGroup(10**9, 8, 1)


def test_joined_groups_are_as_far_apart_as_their_members() -> None:
    experts = joined_groups(RankGroup(2, 2, 4), RankGroup(4, 1, 8, distance=8), 8)
    assert (experts.n, experts.per_node, experts.distance) == (8, 2, 8)


def test_links_have_the_name_of_their_vendor() -> None:
    mi300x = CollectivePrices(platform("azure-mi300x"), NetworkState())
    assert mi300x.link(RankGroup(8, 8)) == "Infinity Fabric"


def asked_of(name: str, layout: ModelLayout, method: StepMethod | None = None) -> StepModel:
    model, method = trained_model(name), method or StepMethod()
    gpu = training_gpus()["H100-SXM5"]
    return StepModel(model, shape_of(model), layout, method, NDV5, gpu, step_constants())


def test_products_hide_no_more_of_tp_than_they_last() -> None:
    """TP over four nodes: the exchanges last longer than the products beside them."""
    found = step_time(asked_of("gpt-3-175b", ModelLayout(64, tp=32)))
    tensor = [one for one in found.exchanges if one.dimension == "tp"]
    hidden = sum(one.total_s - one.exposed_s for one in tensor)
    assert hidden <= found.compute.products
    assert all(one.hidden < 1 - 1 / 32 for one in tensor)


@pytest.mark.parametrize(("recompute", "rounds"), [("none", 3), ("attention", 4), ("full", 4)])
def test_scores_that_are_computed_again_take_the_ring_again(recompute: str, rounds: int) -> None:
    method = StepMethod(recompute=recompute)  # type: ignore[arg-type]
    found = step_time(asked_of("llama-3-8b", ModelLayout(8, cp=4), method))
    ring = next(one for one in found.exchanges if one.dimension == "cp")
    assert ring.count == 32 * rounds * 3


def test_a_ring_of_compressed_attention_sends_whole_keys() -> None:
    """DeepSeek-V3: keys of 128 + 64 and values of 128 in 128 heads, 2 B each, 1,024 tokens."""
    found = step_time(asked_of("deepseek-v3", ModelLayout(8, cp=4)))
    ring = next(one for one in found.exchanges if one.dimension == "cp")
    assert ring.size_bytes == 1024 * 128 * (128 + 64 + 128) * 2


def test_the_fullest_stage_of_a_mixture_has_no_dense_layers() -> None:
    """DeepSeek-V3's three dense layers are on the first of 16 stages of four."""
    shape = shape_of(trained_model("deepseek-v3"))
    own = stage_parameters(shape, ModelLayout(16, pp=16))
    assert own.experts == 4 * 256 * 3 * 7168 * 2048


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
