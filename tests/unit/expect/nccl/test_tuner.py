"""The tuner's table against figures worked out by hand from NCCL's constants."""

import math

import pytest

from weft.catalog.libraries.nccl import nccl_constants
from weft.catalog.load import platform
from weft.expect.model import Conditions
from weft.expect.nccl.topology import GpuTopology, topology
from weft.expect.nccl.tuner import Candidate, candidates, channels, plateau, steps_of

NOW = nccl_constants()


def on(name: str, n_nodes: int, per_node: int) -> GpuTopology:
    return topology(platform(name), Conditions("allreduce", 8, n_nodes, per_node, "gpu", "nccl"))


def pick(found: GpuTopology, algorithm: str, protocol: str, coll: str = "allreduce") -> Candidate:
    every = candidates(found, NOW, coll, collnet=True)
    return next(c for c in every if (c.algorithm, c.protocol) == (algorithm, protocol))


def test_a_ring_of_sixteen_a100_on_two_nodes() -> None:
    found = on("azure-ndv4", 2, 8)
    ring = pick(found, "ring", "simple")
    # 8 adapters x 24 GB/s; algorithm bandwidth n / (2 (n - 1)) of it.
    assert ring.rate.gb_s == pytest.approx(192 * 16 / 30)
    # base 8.4; 28 hops inside at max(3.4, 3 x 2 us posting), 2 between at 14.
    assert ring.latency_us == pytest.approx(8.4 + 28 * 6 + 2 * 14)


def test_a_tree_of_eight_hopper_gpus_on_two_nodes() -> None:
    found = on("alps-gh200", 2, 4)
    tree = pick(found, "tree", "simple")
    # NVLink allows 2 x 96 x 0.92 = 176.6; four channels of 41.4 allow 165.6; half of it.
    assert tree.rate.gb_s == pytest.approx(4 * 41.4 / 2)
    assert tree.latency_us == pytest.approx(8.4 + 2 * (3 * 4.0 + 1 * 14))
    assert pick(found, "tree", "ll").latency_us == pytest.approx(6.8 + 2 * (3 * 0.6 + 5.0))


def test_nvls_trees_carry_their_cap_beyond_two_nodes() -> None:
    found = on("azure-ndv5", 4, 8)
    tree = pick(found, "nvlstree", "simple")
    assert tree.rate.gb_s == pytest.approx(8 * 45.5 * 32 / 62)
    assert tree.latency_us == pytest.approx(25 + 2 * 2 * 20.9)


def test_trees_are_slower_at_middle_sizes_by_the_table() -> None:
    tree = pick(on("alps-gh200", 2, 4), "tree", "simple")
    large = tree.transfer_us(1 << 34, NOW, "allreduce") / (1 << 34)
    middle = tree.transfer_us(512 << 10, NOW, "allreduce") / (512 << 10)
    assert middle / large == pytest.approx(1 / 0.5)


def test_only_rings_over_nodes_have_a_plateau() -> None:
    two, one = on("azure-ndv4", 2, 8), on("azure-ndv4", 1, 8)
    ring = pick(two, "ring", "simple")
    assert plateau(ring, two, NOW, "allreduce", 1 << 30) == 1.4
    assert plateau(ring, two, NOW, "allreduce", 64) == 1
    assert plateau(pick(one, "ring", "simple"), one, NOW, "allreduce", 1 << 30) == 1


@pytest.mark.parametrize("n", [2, 8, 1000])
def test_rings_take_twice_the_steps_for_an_allreduce(n: int) -> None:
    assert steps_of("allreduce", n) == 2 * steps_of("allgather", n) == 2 * (n - 1)


def test_one_gpu_a_node_has_pat_and_no_nvls() -> None:
    names = {c.algorithm for c in candidates(on("azure-ndv5", 4, 1), NOW, "allgather")}
    assert names == {"ring", "pat"}


def test_collnet_is_there_only_where_switches_reduce() -> None:
    found = on("azure-ndv5", 4, 8)
    without = {c.algorithm for c in candidates(found, NOW, "allreduce")}
    with_it = {c.algorithm for c in candidates(found, NOW, "allreduce", collnet=True)}
    assert with_it - without == {"collnetdirect", "collnetchain", "nvls"}


def test_every_candidate_is_finite() -> None:
    for name in ("azure-ndv2", "azure-ndv4", "azure-ndv5", "azure-ndv6", "alps-a100"):
        for n_nodes in (1, 2, 5, 40):
            found = on(name, n_nodes, 4)
            assert channels(found) >= 1
            for coll in ("allreduce", "allgather", "broadcast"):
                for one in candidates(found, NOW, coll, collnet=True):
                    assert 0 < one.rate.gb_s < math.inf
                    assert 0 < one.latency_us < math.inf
