"""What NCCL would find on the machines of the catalogue."""

from typing import Any

import pytest

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.model import Conditions
from weft.expect.nccl.topology import GpuTopology, topology


def of(name: str, n_nodes: int, per_node: int, **more: Any) -> GpuTopology:
    conditions = Conditions("allreduce", 8, n_nodes, per_node, "gpu", "nccl", **more)
    return topology(platform(name), conditions)


def test_ndv5_has_eight_adapters_at_the_rate_of_their_pcie() -> None:
    found = of("azure-ndv5", 4, 8)
    assert (found.n_nodes, found.n_nets, found.net) == (4, 8, 8 * 48)
    assert found.nvlink == pytest.approx(18 * 20.6)
    assert found.nvlink_raw == pytest.approx(450)


def test_half_of_the_gpus_reach_half_of_the_adapters() -> None:
    assert of("azure-ndv5", 4, 4).n_nets == 4
    assert of("azure-ndv2", 4, 2).n_nets == 1
    assert of("azure-ndv5", 4, 8, n_hcas=2).n_nets == 2


def test_a_rack_of_ndv6_is_one_node_until_nvlink_is_refused() -> None:
    assert of("azure-ndv6", 18, 4).n_nodes == 1
    assert of("azure-ndv6", 36, 4).n_nodes == 2
    assert of("azure-ndv6", 18, 4, transport="rdma").n_nodes == 18


def test_loopback_has_no_nvlink() -> None:
    found = of("azure-ndv5", 1, 8, transport="network")
    assert found.loopback
    assert found.nvlink == 0


def test_a_platform_without_a_network_runs_on_one_node_only() -> None:
    lone = platform("azure-ndv4").model_copy(update={"links": None, "fabric": None})
    assert topology(lone, Conditions("allreduce", 8, 1, 8, "gpu", "nccl")).net == 0
    with pytest.raises(InputError, match="has no network figures"):
        topology(lone, Conditions("allreduce", 8, 2, 8, "gpu", "nccl"))
