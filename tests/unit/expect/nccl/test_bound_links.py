"""The bound of a large buffer ends in the link that binds, whatever algorithm NCCL takes."""

import itertools
import re

import pytest

from weft.catalog import load
from weft.catalog.libraries.nccl import ALGORITHMS, PROTOCOLS
from weft.core.errors import InputError
from weft.expect.model import Conditions, Expectation, Transport
from weft.expect.nccl.p2p import SENDS
from weft.expect.nccl.tuner import USES
from weft.expect.prediction import predict

LINK = re.compile(
    r"(NVLink|xGMI|PCIe|PCIe between GPUs|PCIe slot|adapter|TCP stream)( of|, | x |$)"
)
GPU_PLATFORMS = [name for name in load.platform_names() if load.platform(name).gpus is not None]


def bound(name: str, benchmark: str, n_nodes: int, transport: Transport, by: str) -> str:
    """The bound of 8 GiB, without its note; "" where there is no such expectation."""
    platform = load.platform(name)
    assert platform.gpus is not None
    algorithm, _, protocol = by.partition(" ")
    conditions = Conditions(
        benchmark,
        8 << 30,
        n_nodes=n_nodes,
        tasks_per_node=platform.gpus.per_node.whole,
        memory="gpu",
        library="nccl",
        algorithm=algorithm,
        protocol=protocol,
        transport=transport,
    )
    try:
        found: Expectation = predict(platform, conditions)
    except InputError:
        return ""
    return found.bound.partition(" - ")[0]


@pytest.mark.parametrize("name", GPU_PLATFORMS)
def test_every_bound_names_the_link(name: str) -> None:
    ways = ["", *(f"{one} {protocol}" for one in ALGORITHMS for protocol in PROTOCOLS)]
    n_named = 0
    for benchmark, n_nodes, by in itertools.product(USES, (1, 2, 4), ways):
        found = bound(name, benchmark, n_nodes, "", by)
        assert not found or LINK.search(found), (benchmark, n_nodes, by, found)
        n_named += bool(found)
    for benchmark, transport in itertools.product(SENDS, ("", "network", "rdma", "sockets")):
        found = bound(name, benchmark, 2, transport, "")
        assert not found or LINK.search(found), (benchmark, transport, found)
    assert n_named > 0


@pytest.mark.parametrize(
    ("name", "n_nodes", "by", "expected"),
    [
        (
            "azure-ndv5",
            4,
            "nvlstree simple",
            "8 NVLSTree channels of 45.5 GB/s over 8 x PCIe of 48",
        ),
        ("alps-gh200", 2, "tree simple", "4 channels of a tree over 2 x (4 x PCIe of 24 GB/s"),
        ("azure-ndv4", 4, "ring ll", "protocol LL over 8 x PCIe of 24 GB/s (adapter 25)"),
        ("azure-ndv5", 1, "ring ll", "protocol LL over NVLink of 370.8 GB/s"),
    ],
)
def test_a_limit_of_algorithm_or_protocol_names_the_link_under_it(
    name: str, n_nodes: int, by: str, expected: str
) -> None:
    assert bound(name, "allreduce", n_nodes, "", by).startswith(expected)


@pytest.mark.parametrize("name", ["azure-mi300x", "azure-ndv5"])
def test_one_node_has_no_sockets_between_its_gpus(name: str) -> None:
    platform = load.platform(name)
    alone = Conditions("allreduce", 8 << 30, 1, 8, "gpu", "nccl")
    over_sockets = Conditions("allreduce", 8 << 30, 1, 8, "gpu", "nccl", transport="sockets")

    found, usual = predict(platform, over_sockets), predict(platform, alone)

    assert "TCP" not in found.bound
    assert (found.low, found.value, found.high) == (usual.low, usual.value, usual.high)
