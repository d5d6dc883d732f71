"""Collectives of MPI: laws, the published ones, and what is refused."""

import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.algorithms import ALGORITHMS
from weft.expect.collectives import algorithms_of
from weft.expect.model import Conditions, Expectation
from weft.expect.prediction import predict
from weft.results.result_file import read_results


def expect(name: str, benchmark: str, size: int, **more: Any) -> Expectation:
    return predict(platform(name), Conditions(benchmark, size, **more))


@pytest.mark.parametrize("benchmark", sorted(ALGORITHMS))
def test_the_fastest_algorithm_is_taken(benchmark: str) -> None:
    for size in (8, 1 << 20):
        free = expect("fat-tree", benchmark, size, n_nodes=16, tasks_per_node=4)
        each = {
            name: expect(
                "fat-tree", benchmark, size, n_nodes=16, tasks_per_node=4, algorithm=name
            ).value
            for name in algorithms_of(benchmark)
        }
        assert free.value == pytest.approx(min(each.values()))
        assert free.algorithm == min(each, key=lambda name: each[name])
        assert {name for name, _ in free.others} == set(each) - {free.algorithm}
        assert [value for _, value in free.others] == sorted(value for _, value in free.others)
        for name, value in free.others:
            assert value == pytest.approx(each[name])


def test_small_vectors_double_and_large_ones_are_cut() -> None:
    small = expect("fat-tree", "allreduce", 8, n_nodes=64)
    large = expect("fat-tree", "allreduce", 64 << 20, n_nodes=64)
    assert small.algorithm in ("recursive_doubling", "two_level")
    assert large.algorithm in ("ring", "rabenseifner")


def test_recursive_doubling_is_its_steps_times_a_latency() -> None:
    found = expect("fat-tree", "barrier", 0, n_nodes=16)
    one = expect("fat-tree", "latency", 0, n_nodes=16)
    assert found.value == pytest.approx(4 * one.value)


@pytest.mark.parametrize("benchmark", sorted(ALGORITHMS))
def test_a_longer_vector_never_takes_less_time(benchmark: str) -> None:
    times = [
        expect("azure-hbv3", benchmark, 1 << power, n_nodes=8, tasks_per_node=4).value
        for power in range(0, 24, 2)
    ]
    assert all(a <= b * 1.1 for a, b in pairwise(times))


@pytest.mark.parametrize("benchmark", sorted(set(ALGORITHMS) - {"reduce_scatter"}))
def test_more_nodes_never_take_less_time(benchmark: str) -> None:
    times = [expect("azure-hbv3", benchmark, 64, n_nodes=n).value for n in (2, 4, 8, 64)]
    assert times == sorted(times)


def test_ranks_of_a_node_share_its_adapter() -> None:
    found = expect(
        "azure-hbv3", "alltoall", 1 << 16, n_nodes=8, tasks_per_node=16, algorithm="pairwise"
    )
    bytes_out_of_a_node = 16 * (7 * 16) * (1 << 16)
    assert found.value * 1e3 > bytes_out_of_a_node / 25
    assert "shared by 16 ranks of a node" in found.bound


def test_a_tapered_fabric_binds_an_alltoall_over_many_leaves() -> None:
    narrow = expect("frontera", "alltoall", 1 << 20, n_nodes=2000, algorithm="linear")
    assert "taper" in narrow.bound


def test_the_hierarchical_alltoall_wins_where_slices_are_small() -> None:
    # SOURCE: the gain of the two-dimensional alltoall at small slices, Hwang et al., Tutel.
    both = {
        name: expect(
            "azure-ndv4", "alltoall", 1024, n_nodes=256, tasks_per_node=8, algorithm=name
        ).value
        for name in ("pairwise", "hierarchical")
    }
    assert both["hierarchical"] < both["pairwise"]


def test_no_allreduce_beats_the_bytes_through_one_adapter() -> None:
    found = expect("azure-hbv3", "allreduce", 1 << 24, n_nodes=2)
    assert found.limit is not None
    assert found.limit * 1e3 >= (1 << 24) / 25
    assert found.low >= found.limit


@pytest.mark.parametrize("benchmark", ["reduce", "gather", "scatter"])
def test_a_mean_over_ranks_that_leave_early_is_not_impossible(benchmark: str) -> None:
    # OSU prints the mean: the root may take its full time while all the others are done at once.
    found = expect("frontera", benchmark, 1024, n_nodes=64, tasks_per_node=56)
    n_bytes = 1024 if benchmark == "reduce" else 63 * 56 * 1024
    root_us = n_bytes / 12.5e3
    assert found.limit is not None
    assert found.limit == pytest.approx(root_us / (64 * 56), rel=0.02)


def test_a_broadcast_reaches_every_other_node() -> None:
    found = expect("frontera", "broadcast", 1 << 24, n_nodes=64)
    assert found.limit == pytest.approx((1 << 24) / 12.5e3 * 63 / 64, rel=0.02)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"algorithm": "rings"}, "no closed form of allreduce by 'rings'"),
        ({"n_nodes": 1}, "one rank alone has no collective"),
    ],
)
def test_what_has_no_form_is_an_input_error(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        expect("fat-tree", "allreduce", 8, **more)
    assert message in raised.value.what
    assert raised.value.expected


def test_a_published_alltoall_of_two_nodes_lies_where_it_is_expected() -> None:
    # SOURCE: eth-cscs/cscs-docs b10b99f, OSU 7.5.1, four tasks on each of two GH200 nodes.
    path = Path(__file__).parents[2] / "fixtures/results/osu/alps_7.5_alltoall_host.txt"
    (table,) = read_results(path).tables
    misses = []
    for row in table.rows:
        assert row.size_bytes is not None
        found = expect("alps-gh200", "alltoall", row.size_bytes, n_nodes=2, tasks_per_node=4)
        measured = row.metrics["latency_us"]
        assert found.low <= measured <= found.high
        misses.append(abs(found.value / measured - 1))
    assert len(misses) == 21
    assert statistics.median(misses) < 0.5


def test_a_published_allreduce_of_full_nodes_lies_where_it_is_expected() -> None:
    # SOURCE: converged-computing/usernetes-azure 18e2e7e: two HB120-96rs_v3, 96 tasks on each. The
    # rows of 8 and 128 KiB stand above their larger neighbours.
    table = platform("azure-hbv3").table("allreduce-96-tasks-a-node")
    assert table is not None
    outside = []
    for size, measured in table.rows:
        found = expect("azure-hbv3", "allreduce", size, n_nodes=2, tasks_per_node=96)
        if not found.low <= measured <= found.high:
            outside.append(size)
    assert outside == [8 << 10, 128 << 10]
