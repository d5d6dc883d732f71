"""The path of GPU data between nodes: what an arm changes, and what it leaves."""

from dataclasses import replace

import pytest

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.gpu.network import NETWORKS, gpu_network
from weft.catalog.load import platform
from weft.core.errors import InputError

MIB = 1 << 20
BY_LIBRARY = [name for name, network in NETWORKS.items() if not network.by_rails]


def trial(nodes: tuple[str, ...], gpus: int, **options: object) -> Trial:
    chosen = {"iterations": 1, "warmup": 0, **options}
    return Trial("t", "allreduce", (MIB,), nodes, gpus, {}, {}, chosen)


def run(name: str, n_nodes: int, gpus: int, *sizes: int, **options: object) -> list[Sample]:
    twin = TwinBackend(platform(name), n_nodes)
    asked = replace(trial(twin.nodes, gpus, **options), sizes_bytes=sizes or (MIB,))
    return list(twin.measure(Launch(asked, 0, 0)))


def busbw(name: str, n_nodes: int, gpus: int, size: int, network: str) -> float:
    (sample,) = run(name, n_nodes, gpus, size, gpu_network=network)
    return sample.metrics["busbw_gb_s"]


@pytest.mark.parametrize("gpus", [2, 4])
def test_inside_a_node_the_network_changes_nothing(gpus: int) -> None:
    times = {busbw("alps-a100", 1, gpus, MIB, network) for network in BY_LIBRARY}
    assert len(times) == 1


@pytest.mark.parametrize("name", ["alps-a100", "alps-gh200", "perlmutter"])
def test_between_nodes_the_plug_in_beats_sockets_and_gpudirect_adds_to_it(name: str) -> None:
    sockets, ofi, direct = (busbw(name, 2, 4, 16 * MIB, network) for network in BY_LIBRARY)
    assert sockets < ofi < direct


def test_a_stream_of_tcp_bounds_sockets_and_adapters_bound_gpudirect() -> None:
    """One GPU a node, two nodes: a byte crosses once in each direction by a tree, so the bus
    bandwidth is at most the stream's 1.9 GB/s, and the adapter's 24."""
    assert 1.5 < busbw("alps-a100", 2, 1, 64 * MIB, "sockets") <= 1.9
    assert 20 < busbw("alps-a100", 2, 1, 64 * MIB, "ofi-gpudirect") <= 24


def test_host_memory_bounds_copies_of_four_gpus() -> None:
    """Each byte is written to memory and read from it, on its way out and on its way in: of 204.8
    GB/s, 51.2 remain for each direction of the network."""
    found = busbw("alps-a100", 4, 4, 64 * MIB, "ofi")
    assert 0.85 * 51.2 < found <= 51.2


def test_sizes_measured_together_are_those_measured_alone() -> None:
    options = {"gpu_network": "ofi"}
    together = run("alps-a100", 2, 4, 8, MIB, 16 * MIB, **options)
    alone = [run("alps-a100", 2, 4, size, **options)[0] for size in (8, MIB, 16 * MIB)]
    assert [one.metrics for one in together] == [one.metrics for one in alone]


def test_samples_name_the_network_and_what_was_off() -> None:
    (sample,) = run("alps-a100", 2, 1, gpu_network="ofi")
    assert sample.evidence["gpu_network"] == "ofi"
    # The engine's law from the last switch knows no nodes with an inside.
    assert sample.evidence["congestion_control"] == "off"
    assert sample.evidence["adaptive_routing"] == "on"


def test_an_unknown_network_is_refused_with_the_known_ones() -> None:
    assert gpu_network(trial(("n1", "n2"), 1)) is None
    with pytest.raises(InputError, match=r"'offi'(.|\n)*sockets, ofi, ofi-gpudirect(.|\n)*'ofi'"):
        gpu_network(trial(("n1", "n2"), 1, gpu_network="offi"))


@pytest.mark.parametrize(
    ("name", "gpus", "message"),
    [
        ("fat-tree", 1, "does not say how its GPUs reach the network"),
        ("frontier", 1, "does not say how its GPUs reach the network"),
        ("alps-a100", 5, "5 ranks on a node"),
    ],
)
def test_a_node_that_cannot_be_is_refused(name: str, gpus: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(name, 2, gpus, gpu_network="ofi")


def test_only_an_allreduce_goes_between_gpus() -> None:
    twin = TwinBackend(platform("alps-a100"), 2)
    asked = replace(trial(twin.nodes, 1, gpu_network="ofi"), benchmark="alltoall")
    with pytest.raises(InputError, match="alltoall with option 'gpu_network'"):
        list(twin.measure(Launch(asked, 0, 0)))
