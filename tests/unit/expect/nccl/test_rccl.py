"""Collectives of RCCL: large buffers on nodes whose GPUs have a link to each other one."""

import pytest

from weft.catalog.load import platform
from weft.core.errors import InputError
from weft.expect.model import Conditions, Expectation
from weft.expect.nccl.collectives import nccl

GIB = 1 << 30
LINK_GB_S = 48.0
"""SOURCE: ROCm/rccl, src/graph/topo.h (GFX94X_XGMI_WIDTH)."""


def expected(n_nodes: int, gpus: int, size: int = 16 * GIB, **more: str) -> Expectation:
    benchmark = more.pop("benchmark", "allreduce")
    conditions = Conditions(benchmark, size, n_nodes, gpus, "gpu", "nccl", **more)
    return nccl(platform("azure-mi300x"), conditions)


@pytest.mark.parametrize("n_gpus", [2, 4, 8])
def test_in_a_node_a_ring_has_the_links_among_its_gpus(n_gpus: int) -> None:
    found = expected(1, n_gpus)
    assert found.value == pytest.approx((n_gpus - 1) * LINK_GB_S, rel=0.01)
    assert found.algorithm == "ring simple"
    assert "xGMI" in found.bound


def test_between_nodes_the_adapters_bind_where_the_links_carry_more() -> None:
    whole = expected(2, 8)
    assert whole.value == pytest.approx(8 * LINK_GB_S, rel=0.01)  # PCIe as counted, 8 x 48
    assert "PCIe" in whole.bound


def test_one_gpu_a_node_has_its_adapter() -> None:
    assert expected(2, 1).value == pytest.approx(48.0, rel=0.01)


@pytest.mark.parametrize(("n_nodes", "gpus"), [(1, 8), (2, 1), (2, 8)])
def test_over_the_network_alone_every_hop_has_one_adapter(n_nodes: int, gpus: int) -> None:
    """48 GB/s of PCIe as counted, 49.68 at most."""
    found = expected(n_nodes, gpus, transport="network")
    assert found.value == pytest.approx(48.0, rel=0.01)
    assert found.low < found.value < found.high
    assert "adapter" in found.bound


def test_published_measurements_of_one_node_lie_inside() -> None:
    """310 to 330 GB/s: AMD, Understanding RCCL Bandwidth and xGMI Performance on MI300X, 2025."""
    found = expected(1, 8)
    assert found.low < 310 < 330 < found.high


def test_more_gpus_add_latency() -> None:
    small, large = expected(4, 8, GIB), expected(64, 8, GIB)
    assert large.value < small.value


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"size": 1 << 20}, "for small buffers its tables say which protocol"),
        ({"n_nodes": 1024, "size": 1 << 30}, "a ring would mostly wait"),
        ({"algorithm": "tree"}, "RCCL's allreduce tree on 'azure-mi300x': no figure is known"),
        ({"protocol": "ll"}, "RCCL's allreduce ll"),
    ],
)
def test_what_is_not_known_is_refused(more: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        expected(more.pop("n_nodes", 1), 8, **more)  # type: ignore[arg-type]


def test_links_that_differ_are_refused_inside_a_node_only() -> None:
    """MI250X: four links to the other half of a package, one or two to others."""
    generic = platform("generic-mi250x")
    inside = Conditions("allreduce", GIB, 1, 8, "gpu", "nccl")
    with pytest.raises(InputError, match="no figure of its links is known"):
        nccl(generic, inside)


@pytest.mark.parametrize("benchmark", ["allgather", "reduce_scatter"])
def test_other_collectives_have_the_same_bus(benchmark: str) -> None:
    assert expected(1, 8, benchmark=benchmark).value == pytest.approx(7 * LINK_GB_S, rel=0.01)


def test_sends_pass_the_same_links() -> None:
    found = expected(1, 8, benchmark="alltoall")
    assert found.value == pytest.approx(7 * LINK_GB_S, rel=0.01)
    assert "xGMI" in found.bound
