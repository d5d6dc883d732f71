"""Exchanges on a twin: closed forms of rings and sends, and NCCL's model where nothing contends."""

from dataclasses import replace

import pytest

from weft.bench.twin.gpu.group_moves import group_rounds, ring_steps, rings_of
from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.train.layout import ModelLayout
from weft.train.network_state import NetworkState
from weft.train.prices import RankGroup
from weft.train.published import grok_row_of, grok_step
from weft.train.step_constants import step_constants
from weft.train.step_time import step_time
from weft.train.twin.prices import groups_of, twin_prices
from weft.train.twin.rank_groups import GroupNames
from weft.train.twin.schedule import pipeline_order, stage_schedule

NDV5 = platform("azure-ndv5")


@pytest.mark.parametrize(
    ("collective", "share"), [("allgather", 1), ("reduce_scatter", 1), ("allreduce", 2)]
)
@pytest.mark.parametrize("members", [list(range(16)), [0, 4, 8, 12], [0, 8, 16]])
def test_a_ring_sends_its_part_of_the_buffer_in_each_step(
    collective: str, share: int, members: list[int]
) -> None:
    """Each member sends share x (n - 1)/n of the buffer, whatever the number of rings."""
    n, size = len(members), 4_800_000
    for member in members:
        rounds = group_rounds(collective, size, members, member, 8)
        assert len(rounds) == ring_steps(collective, n) == share * (n - 1)
        sent = sum(part for _, sends in rounds for _, part in sends)
        assert sent == pytest.approx(share * (n - 1) / n * size, rel=0.01)


def test_rings_leave_a_node_from_different_gpus() -> None:
    rings = rings_of(range(16), 8)
    assert sorted(ring[7] for ring in rings) == list(range(8))
    assert all(sorted(ring) == list(range(16)) for ring in rings)
    assert len(rings_of(range(8), 8)) == 1


def test_groups_have_every_gpu_once() -> None:
    for group in (
        RankGroup(8, 1, 8),
        RankGroup(4, 2, 4, 8),
        RankGroup(16, 8, 1),
        RankGroup(8, 2, 4),
    ):
        gpus = [one for members in groups_of(group, 16, 8) for one in members]
        assert sorted(gpus) == list(range(128))


@pytest.mark.parametrize(
    ("collective", "group"),
    [
        ("alltoall", RankGroup(8, 1, 8)),
        ("reduce_scatter", RankGroup(16, 2, 4)),
        ("sendrecv", RankGroup(2, 1, 8, 4)),
    ],
)
def test_alone_the_twin_takes_what_the_model_says(collective: str, group: RankGroup) -> None:
    """Where no cable is shared, both are rates of the same adapter."""
    prices = twin_prices(NDV5, NetworkState(), 64)
    twin = prices.seconds(collective, 256 << 20, group)
    price = prices.price_of(collective, 256 << 20, group)
    assert price is not None
    assert twin == pytest.approx(price.formula_s, rel=0.05)


def test_a_taper_costs_those_who_cross_spines() -> None:
    """Stages on neighbouring units of 32 nodes: 4:1 leaves a quarter of the up-links' rate."""
    group, size = RankGroup(2, 1, 8, 32), 64 << 20
    whole = twin_prices(NDV5, NetworkState(), 512).seconds("sendrecv", size, group)
    thin = twin_prices(NDV5, NetworkState(taper=4.0), 512).seconds("sendrecv", size, group)
    assert 3.3 < thin / whole < 4.1


def test_what_no_twin_simulates_is_refused() -> None:
    for network in (NetworkState(lost_rails=1), NetworkState(transport="sockets")):
        with pytest.raises(InputError, match="--twin with"):
            twin_prices(NDV5, network, 64)
    with pytest.raises(InputError, match="no NvSwitches"):
        twin_prices(platform("frontera"), NetworkState(), 64)


def test_the_schedule_computes_as_long_as_the_step() -> None:
    """All of the last stage's computing: the step's, without what other stages are waited for."""
    prices = twin_prices(NDV5, NetworkState(), 64)
    step = grok_step(grok_row_of("bf16", 64), prices, step_constants())
    step = replace(step, layout=replace(step.layout, ga=8))
    found = step_time(step)
    nodes = stage_schedule(step, step.layout.pp - 1)
    computed = sum(one.duration_us for one in nodes) / 1e6
    assert computed == pytest.approx(found.compute.total + found.optimizer, rel=0.01)
    for one in found.exchanges:
        if one.dimension == "ep":
            own = sum(n.size_bytes for n in nodes if n.exchange and n.exchange.dimension == "ep")
            assert own == pytest.approx(one.count * one.size_bytes, rel=0.01)


@pytest.mark.parametrize("vp", [1, 2, 4])
def test_a_stage_does_every_pass_once_and_forward_first(vp: int) -> None:
    layout = ModelLayout(32, pp=4, vp=vp, ga=8)
    for stage in range(4):
        units = list(pipeline_order(layout, stage))
        for way in ("forward", "backward"):
            passes = [(chunk, batch) for w, chunk, batch in units if w == way]
            assert sorted(passes) == [(c, b) for c in range(vp) for b in range(8)]
        for chunk in range(vp):
            for batch in range(8):
                assert units.index(("forward", chunk, batch)) < units.index(
                    ("backward", chunk, batch)
                )


@pytest.mark.parametrize("etp", [0, 1, 2])
def test_groups_of_a_kind_part_all_gpus(etp: int) -> None:
    layout = ModelLayout(64, tp=4, pp=2, cp=2, ep=4, etp=etp)
    for kind in ("tp", "expert_tp", "ep", "cp", "replicas", "expert_replicas"):
        names = GroupNames(layout, {})
        for gpu in range(64):
            names.name(kind, gpu)
        members = [gpu for group in names.named for gpu in group]
        assert sorted(members) == list(range(64)), kind
