"""Sends of NCCL by the bytes that must pass."""

import pytest

from weft.catalog.load import platform
from weft.expect.model import Conditions, Expectation
from weft.expect.prediction import predict

GIB = 1 << 30


def expect(name: str, benchmark: str, n_nodes: int, per_node: int) -> Expectation:
    return predict(platform(name), Conditions(benchmark, GIB, n_nodes, per_node, "gpu", "nccl"))


def test_neighbours_on_two_nodes_share_one_adapter() -> None:
    found = expect("alps-gh200", "sendrecv", 2, 4)
    assert found.value == pytest.approx(24, rel=0.02)
    assert expect("alps-gh200", "sendrecv", 1, 4).value > 300


@pytest.mark.parametrize("n_nodes", [2, 4, 16])
def test_an_alltoall_carries_what_leaves_a_node(n_nodes: int) -> None:
    found = expect("azure-ndv5", "alltoall", n_nodes, 8)
    n = 8 * n_nodes
    leaving = 8 * GIB * (n - 8) / n
    least_s = leaving / (8 * 50e9)
    assert found.value < GIB * (n - 1) / n / least_s / 1e9
    assert found.value == pytest.approx(GIB * (n - 1) / n / least_s / 1e9, rel=0.1)


def test_a_root_gathers_at_the_rate_of_its_node() -> None:
    assert expect("azure-ndv5", "gather", 4, 8).value <= 8 * 50
    assert expect("azure-ndv5", "scatter", 4, 1).value == pytest.approx(48, rel=0.05)
