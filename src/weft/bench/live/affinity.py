"""Where ranks were allowed to run: those that share a CPU, and those far from their device."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from weft.bench.live.device_bytes import QUIET_BYTES, bytes_of, is_fast, other_devices
from weft.bench.live.kernel_records import DeviceCounter, KernelRank


def affinity_evidence(
    ranks: Sequence[KernelRank], devices: Sequence[DeviceCounter]
) -> dict[str, Any]:
    """`crowded_cpus` and `far_ranks`: how many ranks, on which hosts, and the first of them."""
    crowded = [rank for rank in ranks if is_crowded(rank)]
    of_host: dict[str, list[DeviceCounter]] = defaultdict(list)
    for device in devices:
        of_host[device.host].append(device)
    far = []
    for rank in ranks:
        near_device = device_numa_nodes(rank, of_host[rank.host])
        own = numa_nodes(rank)
        if near_device and own and not near_device & own:
            far.append((rank, near_device))
    return {
        "crowded_cpus": {
            **_who(crowded),
            "cpus": crowded[0].cpus,
            "n_cpus": crowded[0].n_cpus,
            "n_sharing_cpus": crowded[0].n_sharing_cpus,
            "n_machine_cpus": crowded[0].n_machine_cpus,
        }
        if crowded
        else {},
        "far_ranks": {
            **_who([rank for rank, _ in far]),
            "rail": far[0][0].rail,
            "cpus": far[0][0].cpus,
            "cpu_numa_nodes": sorted(numa_nodes(far[0][0])),
            "device_numa_nodes": sorted(far[0][1]),
        }
        if far
        else {},
    }


def is_crowded(rank: KernelRank) -> bool:
    """Whether more ranks than a rank has CPUs may use no others, though the machine has others."""
    if rank.n_cpus is None or rank.n_sharing_cpus is None or rank.n_machine_cpus is None:
        return False
    return rank.n_sharing_cpus > rank.n_cpus and rank.n_machine_cpus > rank.n_cpus


def numa_nodes(rank: KernelRank) -> frozenset[int]:
    """NUMA nodes of a rank's CPUs; empty where not known."""
    return frozenset(int(node) for node in (rank.cpu_numa_nodes or "").split(",") if node.isdigit())


def device_numa_nodes(rank: KernelRank, here: Sequence[DeviceCounter]) -> frozenset[int]:
    """NUMA nodes of the device a rank was given; without a rail, of all that carried the bytes of
    its host (fast ones first). Empty where one of them is not known.
    `here`: the devices of its host."""
    if rank.rail is not None:
        used = [d for d in here if rank.rail in (d.name, d.device)]
    else:
        carriers = {d.name for d in here if bytes_of(d) >= QUIET_BYTES}
        counted = [d for d in here if d.name in carriers]
        used = [d for d in counted if is_fast(d)] or other_devices(counted)
    nodes = {device.numa_node for device in used}
    return frozenset() if None in nodes else frozenset(node for node in nodes if node is not None)


def _who(ranks: Sequence[KernelRank]) -> dict[str, Any]:
    hosts = {rank.host for rank in ranks}
    return {"n_ranks": len(ranks), "n_hosts": len(hosts), "host": ranks[0].host}
