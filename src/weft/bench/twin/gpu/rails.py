"""All GPUs, NvSwitches and adapters of a job's nodes, on a fabric cabled by rails.

Of the two alike channels that NCCL has an adapter, a ring stands for both. Rings of different
adapters begin with different GPUs: a ring leaves a node from the GPU next to its adapter, and
reaches the next node's first GPU from the adapter of the same number through the root complex.
A ring begins as late as NCCL's own latency of all its steps takes: the twin's blocks have none.
NVLSTree is one job of all GPUs; the part of each GPU goes up and down the trees of its rail. With
one rail, the first GPU of each node stands for all: rails are alike where cables and nodes are.

SOURCE: NVIDIA/nccl, src/graph/connect.cc (rings, ncclTopoPostset) and src/transport/nvls.cc
(NVLS_CHUNKSIZE 131072 and NCCL_BUFFSIZE 4 MiB of src/init.cc), v2.26.5.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.bench.model import Trial
from weft.bench.twin.gpu.nccl_tree import tree_schedule
from weft.catalog.libraries.nccl import (
    ALGORITHMS,
    PAYLOAD_SHARES,
    PROTOCOLS,
    nccl_constants,
)
from weft.catalog.machine.platform import GpuNode, Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import InputError, unknown_name
from weft.expect.model import Conditions
from weft.expect.nccl.collectives import nccl
from weft.topology.fabric_spec import Document, picoseconds

NV_SWITCHES = {"ampere": 6, "hopper": 4}
"""Of a board of eight GPUs. SOURCE: NVIDIA, DGX A100 and DGX H100 user guides."""
SEGMENT_BYTES = 131_072
"""Of a message between nodes by NVLSTree."""
NVLS_REDUCTION_NS = 300
"""Of an NvSwitch. Assumed."""
NVLS_BYTES_UNDER_WAY = 32 << 20
"""Of a GPU, of the 64 MiB that NCCL's buffers hold. Fitted: of 16, 32 and 64 MiB it comes nearest
to the published figures of azure-ndv5."""
JOINED_PACKETS = ((128, 2), (math.inf, 4))
"""With one rail weft simulates so many packets as one, on up to so many nodes. On 128 nodes of
azure-ndv5 two give 1.2 % more than each packet alone, four 0.2 % more and eight 6.9 % less
(docs/concepts/fidelity.md)."""


def joined_packets(n_nodes: int) -> int:
    """How many packets are simulated as one, with one rail."""
    return next(joined for most, joined in JOINED_PACKETS if n_nodes <= most)


@dataclass(frozen=True, slots=True)
class RankJob:
    """A part of a collective: its step, and the task that its first rank of a node is."""

    step: Document
    first_task: int = 0


def switched_gpus(platform: Platform) -> GpuNode:
    """The GPUs of a platform on NvSwitches. Raises InputError where it has none."""
    gpus = platform.gpus
    known = gpus is not None and gpus.nvlink is not None and gpus.pcie is not None
    if gpus is None or not known or not gpus.switched or gpus.architecture not in NV_SWITCHES:
        raise InputError(
            f"platform '{platform.name}' has no NvSwitches that the twin knows",
            where="option 'gpu_network'",
            expected="a node of eight A100 or H100, such as azure-ndv4 or azure-ndv5",
        )
    return gpus


def inside_of_switched_node(platform: Platform) -> Document:
    """The part `node` of a scenario: every GPU on all NvSwitches, adapters and GPUs at PCIe
    switches, as many GPUs at each, and those at one root complex."""
    gpus = switched_gpus(platform)
    assert gpus.nvlink is not None
    assert gpus.pcie is not None
    n_gpus, n_hcas, n_switches = (
        gpus.per_node.whole,
        platform.hcas_per_node,
        NV_SWITCHES[gpus.architecture],
    )
    switches = [f"nvs{number}" for number in range(n_switches)]
    pcie = [f"pcie{number}" for number in range(n_hcas)]
    names = [f"gpu{number}" for number in range(n_gpus)]
    links = [(one, "root", gpus.pcie.value) for one in pcie]
    links += [(f"hca{number}", one, gpus.pcie.value) for number, one in enumerate(pcie)]
    links += [
        (name, pcie[number * n_hcas // n_gpus], gpus.pcie.value)
        for number, name in enumerate(names)
    ]
    links += [(name, one, gpus.nvlink.value / n_switches) for name in names for one in switches]
    delay_ps = picoseconds(practice("gpu-link-delay").value)
    return {
        "vertices": [
            {"name": "root", "kind": "root_complex"},
            *({"name": one, "kind": "pcie_switch"} for one in pcie),
            *({"name": one, "kind": "nv_switch"} for one in switches),
            *({"name": name, "kind": "gpu"} for name in names),
        ],
        "links": [
            {"a": a, "b": b, "bits_per_s": round(gb_s * 8e9), "delay_ps": delay_ps}
            for a, b, gb_s in links
        ],
        "ranks_on": names,
    }


def reducing_switches(packet_bytes: int, share: float) -> Document:
    """The part `in_network` of a scenario: NvSwitches that add up pieces of a packet each, for a
    share of the slices of a node; for NVLS between nodes (CollNet), switches of the fabric
    that do so, too."""
    nvls = {
        "payload_bytes": packet_bytes,
        "reduction_ns": NVLS_REDUCTION_NS,
        "outstanding": max(1, round(NVLS_BYTES_UNDER_WAY * share) // packet_bytes),
    }
    sat = {"payload_bytes": packet_bytes}
    return {"reduction_ns": NVLS_REDUCTION_NS, "payload_bytes": 256, "nvls": nvls, "sat": sat}


def rail_jobs(platform: Platform, trial: Trial, size: int, *, one_rail: bool) -> list[RankJob]:
    """The jobs of an allreduce of `size` bytes, all at the same time, by the algorithm and protocol
    that NCCL takes. Raises InputError."""
    n_rails = _rails_in_use(platform, trial)
    asked = rail_conditions(trial, size)
    algorithm, start_ns, payload = nccl_choice(platform, asked)
    _refuse_algorithm(platform, trial, algorithm)
    step: dict[str, Any] = {"benchmark": "allreduce", "compute_ns": start_ns}
    if one_rail:
        if algorithm != "nvlstree":
            raise InputError(
                f"one rail of an allreduce by {algorithm}",
                where=f"trial {trial.id}",
                expected="NVLSTree: the part of each GPU stays on its rail",
                hint='gpu_network = "rails" simulates all of them',
            )
        tree = {"algorithm": "nvls_tree", "segment_bytes": SEGMENT_BYTES}
        return [RankJob({**step, **tree, "size_bytes": max(1, round(size / n_rails))})]
    if algorithm == "nvls":
        # NCCL counts on this share of the links for what its switches add up.
        share = nccl_constants().nvls_efficiency[switched_gpus(platform).architecture]
        name = "nvls" if len(trial.nodes) == 1 else "collnet"
        return [RankJob({**step, "algorithm": name, "size_bytes": round(size / share)})]
    if algorithm == "nvlstree":
        tree = {"algorithm": "nvls_tree", "segment_bytes": SEGMENT_BYTES}
        return [RankJob({**step, **tree, "size_bytes": size})]
    stride = trial.tasks_per_node // min(platform.hcas_per_node, trial.tasks_per_node)
    n_parts = n_rails if len(trial.nodes) > 1 else 1
    part = max(1, round(size / payload / n_parts))
    if algorithm == "ring":
        latency_ns = round(nccl(platform, asked).terms[0].time_ns)
        ring = {**step, "algorithm": "ring", "size_bytes": part, "compute_ns": latency_ns}
        # The last GPU of a node is the one next to the ring's adapter.
        firsts = [(rail + 1) * stride % trial.tasks_per_node for rail in range(n_parts)]
        return [RankJob(ring, first) for first in firsts]
    shape = (len(trial.nodes), trial.tasks_per_node, max(1, part // 2))
    texts = [tree_schedule(*shape, second=second, start_ns=start_ns) for second in (False, True)]
    return [
        RankJob({"benchmark": "schedule", "format": "goal", "text": text}, rail * stride)
        for rail in range(n_parts)
        for text in texts
    ]


def _rails_in_use(platform: Platform, trial: Trial) -> int:
    """All adapters of the GPUs in use, or as many as option `rails` says. Raises InputError."""
    most = min(platform.hcas_per_node, trial.tasks_per_node)
    asked = trial.options.get("rails", most)
    if not isinstance(asked, int) or isinstance(asked, bool) or not 1 <= asked <= most:
        raise InputError(
            f"option 'rails' is {asked!r}", where=f"trial {trial.id}", expected=f"from 1 to {most}"
        )
    return asked


def _refuse_algorithm(platform: Platform, trial: Trial, algorithm: str) -> None:
    """Raises InputError for an algorithm that is not simulated on these nodes."""
    is_alone = len(trial.nodes) == 1
    known = {"ring", "tree", "nvls", *(() if is_alone else ("nvlstree",))}
    if algorithm not in known:
        raise InputError(
            f"an allreduce by {algorithm} with option 'gpu_network'",
            where=f"trial {trial.id}",
            expected=", ".join(sorted(known)),
        )
    most = min(platform.hcas_per_node, trial.tasks_per_node)
    asked = _rails_in_use(platform, trial)
    if asked < most and (algorithm != "ring" or is_alone):
        raise InputError(
            f"{asked} of {most} rails of an allreduce by {algorithm}",
            where=f"trial {trial.id}",
            expected="a ring between nodes, whose channels go by one rail each",
            hint='algorithm = "ring"',
        )


ALLTOALLS = ("linear", "pairwise", "hierarchical")
"""Of NCCL's sends; hierarchical ones go inside nodes first, then by rails (2D)."""


def alltoall_job(size: int, options: Mapping[str, Any]) -> RankJob:
    """An alltoall by sends: every GPU to every other one, `size` bytes each. Raises InputError."""
    algorithm = str(options.get("algorithm", ALLTOALLS[0]))
    if algorithm not in ALLTOALLS:
        raise unknown_name(f"NCCL has no alltoall '{algorithm}'", algorithm, ALLTOALLS)
    return RankJob({"benchmark": "alltoall", "algorithm": algorithm, "size_bytes": size})


def sendrecv_job(n_ranks: int, size: int) -> RankJob:
    """Every GPU sends `size` bytes to the next one in rank order, and receives from the one before,
    as sendrecv_perf does."""
    lines = [f"num_ranks {n_ranks}"]
    for rank in range(n_ranks):
        there, back = (rank + 1) % n_ranks, (rank - 1) % n_ranks
        both = (f"a: send {size}b to {there} tag 0", f"b: recv {size}b from {back} tag 0")
        lines += [f"rank {rank} {{", *both, "}"]
    text = "\n".join(lines) + "\n"
    return RankJob({"benchmark": "schedule", "format": "goal", "text": text})


def message_costs() -> Document:
    """Costs of a message between GPUs, in the keys of the scenario's `host`: what a send costs when
    many are under way, and no processor's copies. NCCL's latencies of a hop are not in it: a ring
    begins as late as they take together, and pieces under way hide those of trees."""
    gap_ns = practice("nccl-message").value * 1e3
    return {"regimes": [{"protocol": "eager", "gap_ns": gap_ns}]}


def nccl_conditions(trial: Trial, size: int) -> Conditions:
    """What NCCL is asked of an allreduce of a trial."""
    return Conditions(
        benchmark="allreduce",
        size_bytes=size,
        n_nodes=len(trial.nodes),
        tasks_per_node=trial.tasks_per_node,
        library="nccl",
        memory="gpu",
        library_version=str(trial.options.get("nccl_version", "")),
    )


def rail_conditions(trial: Trial, size: int) -> Conditions:
    """The same by rails: with the algorithm and the number of adapters that the trial names."""
    asked = str(trial.options.get("algorithm", ""))
    found = nccl_conditions(trial, size)
    return replace(found, algorithm=asked, n_hcas=trial.options.get("rails"))


def nccl_choice(platform: Platform, conditions: Conditions) -> tuple[str, int, float]:
    """(algorithm, ns until it begins, share of payload in what its protocol sends). Raises
    InputError."""
    algorithm, protocol = nccl(platform, conditions).algorithm.split()
    known = next(one for one in ALGORITHMS if one == algorithm)
    spoken = next(one for one in PROTOCOLS if one == protocol)
    base_us = nccl_constants().base_latency_us[known][PROTOCOLS.index(spoken)]
    return algorithm, round(base_us * 1e3), PAYLOAD_SHARES[spoken]
