"""GPUs on a simulated fabric: the path of their data between nodes, by the option `gpu_network`.

NCCL has two channels for each adapter of a node, and they are alike for every adapter. A twin
simulates those of one, as two jobs on the same GPUs, with their part of the buffer and a share of
what adapters share. By rails it simulates those of all adapters (`weft.bench.twin.gpu.rails`).

SOURCE: NVIDIA/nccl, src/graph/connect.cc (ncclTopoPostset doubles the channels; connectTrees gives
the second half the second tree), v2.18.3.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.bench.model import Trial
from weft.bench.twin.gpu.nccl_tree import tree_schedule
from weft.bench.twin.gpu.rails import (
    RankJob,
    inside_of_switched_node,
    nccl_choice,
    nccl_conditions,
    rail_jobs,
)
from weft.bench.twin.independent_rounds import ROW_COLUMNS
from weft.catalog.machine.platform import GpuNode, Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import InputError, did_you_mean
from weft.expect.model import Conditions
from weft.expect.nccl.topology import topology
from weft.topology.fabric_spec import Document, picoseconds

OPTION = "gpu_network"


@dataclass(frozen=True, slots=True)
class GpuNetwork:
    """A path between nodes: by TCP or by the platform's own library, adapters at GPU memory or at
    the host's. By rails: all adapters of a node at once, or one rail that stands for all."""

    sockets: bool
    gpudirect: bool
    by_rails: bool = False
    one_rail: bool = False


NETWORKS: Mapping[str, GpuNetwork] = {
    "sockets": GpuNetwork(sockets=True, gpudirect=False),
    "ofi": GpuNetwork(sockets=False, gpudirect=False),
    "ofi-gpudirect": GpuNetwork(sockets=False, gpudirect=True),
    "rails": GpuNetwork(sockets=False, gpudirect=True, by_rails=True),
    "one-rail": GpuNetwork(sockets=False, gpudirect=True, by_rails=True, one_rail=True),
}

CHANNELS = 2
"""Of an adapter."""


def gpu_network(trial: Trial) -> GpuNetwork | None:
    """The trial's option; None where ranks send from host memory. Raises InputError."""
    asked = trial.options.get(OPTION)
    if asked is None:
        return None
    if asked not in NETWORKS:
        raise InputError(
            f"option '{OPTION}' is {asked!r}",
            expected=", ".join(NETWORKS),
            hint=did_you_mean(str(asked), list(NETWORKS)),
        )
    return NETWORKS[str(asked)]


def is_one_rail(trial: Trial) -> bool:
    """Whether one rail stands for all: between nodes. Raises InputError."""
    network = gpu_network(trial)
    return network is not None and network.one_rail and len(trial.nodes) > 1


def gpus_of(platform: Platform) -> GpuNode:
    """The GPUs of a platform that a twin can simulate. Raises InputError."""
    gpus = platform.gpus
    known = gpus is not None and gpus.pcie is not None and gpus.host_memory is not None
    if gpus is None or not known or gpus.nvlink is None or gpus.architecture.startswith("cdna"):
        raise InputError(
            f"platform '{platform.name}' does not say how its GPUs reach the network",
            expected="gpus.nvlink, gpus.pcie and gpus.host_memory of GPUs that NCCL runs on",
        )
    return gpus


def inside_of_node(platform: Platform, trial: Trial, network: GpuNetwork) -> Document:
    """The part `node` of a scenario: GPUs, adapters and memory at one root complex, with the share
    of one adapter's channels in what they share."""
    if network.by_rails:
        return inside_of_switched_node(platform)
    gpus, n_gpus = gpus_of(platform), trial.tasks_per_node
    n_adapters = topology(platform, _conditions(trial, network)).n_nets
    names = [f"gpu{number}" for number in range(n_gpus)]
    assert gpus.nvlink is not None
    assert gpus.pcie is not None
    assert gpus.host_memory is not None
    # Cables of NVLink without a switch lead to each other GPU of the node, as many to each.
    reach = 1.0 if gpus.switched else (n_gpus - 1) / max(1, gpus.per_node.whole - 1)
    slot = platform.node["hca_pcie"].value * practice("pcie-efficiency").value
    # Reads and writes share the memory's channels.
    memory = gpus.host_memory.value / 2 / n_adapters
    links = [(name, "root", gpus.pcie.value) for name in names]
    links += [(f"hca{rail}", "root", slot) for rail in range(platform.hcas_per_node)]
    links.append(("memory", "root", memory))
    delay_ps = picoseconds(practice("gpu-link-delay").value)
    near = [(a, b) for a in names for b in names if a < b]
    links += [(a, b, gpus.nvlink.value * reach / n_adapters) for a, b in near]
    return {
        "vertices": [
            *({"name": name, "kind": "gpu"} for name in names),
            {"name": "root", "kind": "root_complex"},
            {"name": "memory", "kind": "memory"},
        ],
        "links": [
            {"a": a, "b": b, "bits_per_s": round(gb_s * 8e9), "delay_ps": delay_ps}
            for a, b, gb_s in links
        ],
        "ranks_on": names,
        "rail": "round_robin",
        "gpudirect": network.gpudirect,
    }


def by_sockets(regimes: list[Document], line_gbps: float) -> list[Document]:
    """Host costs with one TCP stream an adapter between nodes, which its channels share; inside a
    node they stay.

    SOURCE: NVIDIA/nccl, src/transport/net_socket.cc: unless a cloud's adapters are found or
    NCCL_SOCKET_NTHREADS asks for more, the proxy thread of a rank serves all of its sockets.
    """
    byte_ns = CHANNELS / practice("tcp-stream").value
    stream = {
        "protocol": "eager",
        "latency_ns": practice("tcp-latency").value,
        # The line's own time comes on top.
        "latency_ns_per_byte": max(0.0, byte_ns - 8 / line_gbps),
        "gap_ns": 0.0,
        "gap_ns_per_byte": byte_ns,
    }
    return [{**regime, **stream} for regime in regimes]


def nccl_jobs(platform: Platform, trial: Trial, network: GpuNetwork, size: int) -> list[RankJob]:
    """The jobs of an allreduce by the algorithm and protocol that NCCL takes: those of all
    adapters by rails, else of the two channels of one. Raises InputError."""
    if network.by_rails:
        return rail_jobs(platform, trial, size, one_rail=is_one_rail(trial))
    conditions = _conditions(trial, network, size)
    algorithm, start_ns, payload = nccl_choice(platform, conditions)
    n_channels = CHANNELS * topology(platform, conditions).n_nets
    part = max(1, round(size / n_channels / payload))
    if algorithm == "ring":
        ring = {"benchmark": "allreduce", "size_bytes": part, "algorithm": "ring"}
        return [RankJob({**ring, "compute_ns": start_ns})] * CHANNELS
    shape = (len(trial.nodes), trial.tasks_per_node, part)
    texts = (tree_schedule(*shape, second=second, start_ns=start_ns) for second in (False, True))
    return [RankJob({"benchmark": "schedule", "format": "goal", "text": text}) for text in texts]


def with_jobs(document: Document, work: list[list[RankJob]], trial: Trial) -> Document:
    """A scenario with a tenant for each job of a step; a step with fewer jobs leaves the others
    idle."""
    placed = [_by_place(jobs) for jobs in work]
    whole = {key: value for key, value in document.items() if key not in ("placement", "work")}
    tasks = 1 if is_one_rail(trial) else trial.tasks_per_node
    placement = {**document["placement"], "tasks_per_node": tasks}
    tenants = [
        {
            "name": f"channel {number}",
            "placement": {**placement, **({"first_task": place[0]} if place[0] else {})},
            "work": [jobs.get(place, IDLE) for jobs in placed],
        }
        for number, place in enumerate(sorted({place for jobs in placed for place in jobs}))
    ]
    return {**whole, "tenants": tenants}


IDLE = {"benchmark": "compute", "compute_ns": 0}
"""The step of a job that has no part in a collective."""


def _by_place(jobs: Sequence[RankJob]) -> dict[tuple[int, int], Document]:
    """Steps by (first task, number among the jobs that begin with it)."""
    counts, found = Counter[int](), {}
    for job in jobs:
        found[(job.first_task, counts[job.first_task])] = job.step
        counts[job.first_task] += 1
    return found


def by_step(document: Document) -> list[Document]:
    """A scenario of channels as one for each step: channels begin every step together, and inside
    one scenario nothing holds the earlier one back."""
    n_steps = len(document["tenants"][0]["work"])
    return [
        {**document, "tenants": [*_channels_at(document, step), *_aggressors(document)]}
        for step in range(n_steps)
    ]


def _channels_at(document: Document, step: int) -> list[Document]:
    """The tenants that take part in a step, of this step alone."""
    return [
        {**job, "work": [job["work"][step]]}
        for job in document["tenants"]
        if not job.get("repeat") and job["work"][step]["benchmark"] != IDLE["benchmark"]
    ]


def _aggressors(document: Document) -> list[Document]:
    return [job for job in document["tenants"] if job.get("repeat")]


def joined_steps(
    outcomes: Sequence[Mapping[str, Any]], parts: Sequence[Document]
) -> Mapping[str, Any]:
    """The outcomes of the parts of `by_step` as one, without the rows of aggressors."""
    rows = [
        slowest_channel(outcome, len(part["tenants"]) - len(_aggressors(part)))
        for outcome, part in zip(outcomes, parts, strict=True)
    ]
    columns = {key: np.concatenate([row[key] for row in rows]) for key in ROW_COLUMNS}
    columns["step"] = np.repeat(np.arange(len(rows)), [len(row["step"]) for row in rows])
    notes = dict.fromkeys(note for row in rows for note in row["notes"])
    return {**rows[0], **columns, **_reported_by_step(rows), "notes": list(notes)}


def _reported_by_step(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What the outcomes report of their one step each: what was extrapolated, and what switches
    did."""
    reported: dict[str, list[Any]] = {}
    for family in ("steady_", "offload_"):
        for key in (key for key in outcomes[0] if key.startswith(family)):
            reported[key] = [
                number if key == f"{family}step" else value
                for number, outcome in enumerate(outcomes)
                for value in outcome[key]
            ]
    return reported


def slowest_channel(outcome: Mapping[str, Any], n_channels: int) -> Mapping[str, Any]:
    """The rows of an outcome, of each step and iteration that of the latest of the channels, the
    first tenants."""
    tenant, step, iteration = (np.asarray(outcome[key]) for key in ("tenant", "step", "iteration"))
    duration = np.asarray(outcome["duration_ps"])
    slowest = np.zeros_like(duration[tenant == 0])
    for channel in range(n_channels):
        own = np.flatnonzero(tenant == channel)
        order = own[np.lexsort((iteration[own], step[own]))]
        slowest = np.maximum(slowest, duration[order])
    first = np.flatnonzero(tenant == 0)
    first = first[np.lexsort((iteration[first], step[first]))]
    rows = {key: np.asarray(outcome[key])[first] for key in ("step", "round", "pair")}
    return {**outcome, **rows, "duration_ps": slowest}


def _conditions(trial: Trial, network: GpuNetwork, size: int = 0) -> Conditions:
    is_alone = len(trial.nodes) == 1
    return replace(
        nccl_conditions(trial, size),
        transport="sockets" if network.sockets and not is_alone else "",
        gpudirect=network.gpudirect or is_alone,
    )
