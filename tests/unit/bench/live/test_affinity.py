"""Ranks that share CPUs, and ranks far from their device, from what the kernel recorded."""

from typing import Any

import pytest

from weft.bench.live.affinity import affinity_evidence
from weft.bench.live.kernel_records import DeviceCounter, KernelRank

MB = 10**6


def rank(number: int, **changes: Any) -> KernelRank:
    fields: dict[str, Any] = {
        "rank": number, "host": f"n{number}", "local_rank": 0, "tasks_per_node": 1, "pid": 1,
        "cpus": "0-3", "n_cpus": 4, "n_sharing_cpus": 1, "n_machine_cpus": 8,
        "cpu_numa_nodes": "0",
    }  # fmt: skip
    return KernelRank(**(fields | changes))


def port(
    host: str, name: str = "mlx5_0", node: int | None = 0, n_bytes: int = 100 * MB
) -> DeviceCounter:
    return DeviceCounter(
        host=host, device=name, port=1, link_layer="InfiniBand", numa_node=node,
        counter="port_xmit_data", before=0, after=n_bytes // 4,
    )  # fmt: skip


def interface(host: str, node: int | None, n_bytes: int = 100 * MB) -> DeviceCounter:
    return DeviceCounter(
        host=host, device="eth0", link_layer="Ethernet", numa_node=node,
        counter="tx_bytes", before=0, after=n_bytes,
    )  # fmt: skip


def test_ranks_with_cpus_of_their_own_near_their_device_are_no_evidence():
    told = affinity_evidence([rank(1), rank(2)], [port("n1"), port("n2")])
    assert told == {"crowded_cpus": {}, "far_ranks": {}}


def test_ranks_that_outnumber_their_cpus_are_counted_by_host():
    crowded = {"cpus": "0", "n_cpus": 1, "n_sharing_cpus": 2}
    ranks = [rank(1, **crowded), rank(2, host="n1", **crowded), rank(3)]
    assert affinity_evidence(ranks, [])["crowded_cpus"] == {
        "n_ranks": 2, "n_hosts": 1, "host": "n1", "cpus": "0", "n_cpus": 1, "n_sharing_cpus": 2,
        "n_machine_cpus": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"n_sharing_cpus": 4}, id="as many ranks as CPUs"),
        pytest.param({"n_sharing_cpus": 9, "n_machine_cpus": 4}, id="the machine has no more"),
        pytest.param({"n_sharing_cpus": None}, id="an older kernel does not say"),
    ],
)
def test_ranks_are_not_crowded_where(changes: dict[str, Any]):
    assert affinity_evidence([rank(1, **changes)], [])["crowded_cpus"] == {}


def far(ranks: list[KernelRank], devices: list[DeviceCounter]) -> dict[str, Any]:
    told: dict[str, Any] = affinity_evidence(ranks, devices)["far_ranks"]
    return told


def test_a_rank_far_from_its_rail_is_reported():
    ranks = [rank(1, rail="mlx5_1:1"), rank(2, rail="mlx5_0:1")]
    devices = [port(host, f"mlx5_{i}", i) for host in ("n1", "n2") for i in (0, 1)]
    assert far(ranks, devices) == {
        "n_ranks": 1, "n_hosts": 1, "host": "n1", "rail": "mlx5_1:1", "cpus": "0-3",
        "cpu_numa_nodes": [0], "device_numa_nodes": [1],
    }  # fmt: skip


def test_without_a_rail_the_device_is_the_one_that_carried_the_bytes():
    assert far([rank(1)], [port("n1", node=1)])["device_numa_nodes"] == [1]
    assert far([rank(1)], [interface("n1", 1)])["device_numa_nodes"] == [1]


@pytest.mark.parametrize(
    ("why", "devices"),
    [
        ("one of two busy devices is near", [port("n1", node=1), port("n1", "mlx5_1", 0)]),
        ("the busy device is near", [port("n1", node=1, n_bytes=400), port("n1", "mlx5_1", 0)]),
        ("where the device is nobody knows", [port("n1", node=None)]),
        ("one of the busy devices is somewhere", [port("n1", node=1), port("n1", "m", None)]),
        ("beside a fast device an interface counts not", [port("n1"), interface("n1", 1)]),
        ("the device is another host's", [port("n2", node=1)]),
    ],
)
def test_a_rank_is_not_called_far_where(why: str, devices: list[DeviceCounter]):
    assert far([rank(1)], devices) == {}, why


def test_a_rank_whose_cpus_are_on_both_nodes_is_not_far():
    assert far([rank(1, cpu_numa_nodes="0,1")], [port("n1", node=1)]) == {}
    assert far([rank(1, cpu_numa_nodes=None)], [port("n1", node=1)]) == {}
