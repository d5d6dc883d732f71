"""Jobs on generated fabrics: each host's adapters in use, hosts in a random order."""

import random
from typing import Any

from tests.unit.audit.channels.job_logs import DrawnJob

from weft.audit.channels.job import NcclHop, NcclJob
from weft.topology.subnet.subnet import Subnet

GBPS = 100
TREE = {
    "generate": "fat_tree",
    "levels": 2,
    "host_bits_per_s": GBPS * 10**9,
    "switch_bits_per_s": GBPS * 10**9,
    "host_delay_ps": 5000,
    "switch_delay_ps": 5000,
}


def drawn_job(hosts: list[str], n_hcas: int, seed: int, pattern: str = "ring") -> NcclJob:
    """Hosts in a random order; one channel an adapter, of a ring or of a tree that is a chain."""
    random.Random(seed).shuffle(hosts)
    nets = [(channel % n_hcas, channel % n_hcas) for channel in range(n_hcas)]
    job = DrawnJob(hosts, 4, nets, [f"hca{hca}" for hca in range(n_hcas)])
    place = {host: at for at, host in enumerate(hosts)}
    drawn = job.ring_hops if pattern == "ring" else job.tree_hops
    hops = tuple(
        NcclHop(channel, place[src], out, place[dst], into)
        for channel, src, out, dst, into in drawn
    )
    devices = ({hca: f"hca{hca}" for hca in range(n_hcas)},) * len(hosts)
    return NcclJob("drawn", pattern, job.n_ranks, len(nets), tuple(hosts), devices, hops)


def job_on_fabric(
    case: dict[str, Any], engine: str, seed: int, pattern: str = "ring"
) -> tuple[NcclJob, Subnet]:
    """A job on all hosts of a generated fabric."""
    subnet = Subnet.of_fabric({**TREE, **case}).route(engine)
    hosts = sorted({node.description.split()[0] for node in subnet.nodes if not node.is_switch})
    return drawn_job(hosts, case["hcas_per_node"], seed, pattern), subnet
