"""Calls of GPUs on a twin: on nodes of rails, alone or beside other jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.bench.aggressor import OPTION as AGGRESSORS
from weft.bench.model import Trial
from weft.bench.twin.backend import TAPER, simulate
from weft.bench.twin.gpu.network import OPTION as GPU_NETWORK
from weft.bench.twin.gpu.rails import switched_gpus
from weft.bench.twin.scenario import scenario
from weft.bench.twin.tenants import beside, rows_of_job
from weft.catalog.load import benchmark
from weft.catalog.machine.platform import Platform
from weft.core.errors import BenchmarkError
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import Document, fabric_spec, tapered, twin_parts

STREAM_RATE = 10**12
"""bit/s between streams of a GPU: a message of 1 B takes 8 ps."""
Fidelity = Literal["packet", "flow"]


@dataclass(frozen=True, slots=True)
class GpuTwin:
    """Nodes of a platform, cabled by rails. `taper` as '2:1'; with `neighbours`, aggressors
    (docs/reference/isolation.md), the job has a drawn half of twice the nodes; they have others."""

    platform: Platform
    n_nodes: int
    taper: str = ""
    static_routes: bool = False
    neighbours: tuple[str, ...] = ()
    ranks_per_gpu: int = 1
    n_others: int = 0
    seed: int = 1

    @property
    def gpus_per_node(self) -> int:
        """GPUs of a node. Raises InputError where the twin has none."""
        return switched_gpus(self.platform).per_node.whole

    def seconds(self, calls: str, fidelity: Fidelity) -> float:
        """How long the ranks take for their calls (docs/reference/scenario.md). Raises InputError,
        or BenchmarkError where the program deadlocks."""
        outcome = simulate(self.document(calls, fidelity))
        if outcome["status"] != "complete":
            raise BenchmarkError(
                f"the simulation ended in '{outcome['status']}': {outcome['message']}",
                expected="every message delivered",
            )
        rows = rows_of_job(outcome) if self.neighbours else outcome
        return float(np.max(rows["duration_ps"])) / 1e12

    def document(self, calls: str, fidelity: Fidelity) -> Document:
        """The scenario. Raises InputError."""
        others = self.n_others or (self.n_nodes if self.neighbours else 0)
        n_all = self.n_nodes + others
        spec = fabric_spec(self.platform, n_all, cabled=True)
        fabric = Fabric.from_document(spec).document
        nodes = [node["name"] for node in fabric["nodes"]]
        job = self._job_nodes(nodes)
        trial = self._trial(job)
        routed = tapered(spec, spec, self.taper) if self.taper else spec
        document = scenario(self.platform, routed, (), trial, 1, fidelity=fidelity)
        # Rings and sends need no switches that add up.
        document.pop("in_network", None)
        step = {"benchmark": "schedule", "format": "calls", "text": calls}
        document["work"] = [{**step, "iterations": 1, "warmup": 0}]
        if self.ranks_per_gpu > 1:
            document["placement"]["tasks_per_node"] *= self.ranks_per_gpu
            # Streams of a GPU are one processor's: what they say to each other takes no time.
            document["host"]["intra_node"] = {"latency_ns": 0, "bits_per_s": STREAM_RATE}
        if not self.neighbours:
            return document
        return beside(document, trial, nodes, benchmark("allreduce"))

    def _job_nodes(self, nodes: Sequence[str]) -> list[str]:
        """Of twice as many nodes a drawn half, in their order: tables that count destinations would
        give every second node cables of its own."""
        if not self.neighbours:
            return list(nodes[: self.n_nodes])
        drawn = np.random.default_rng(self.seed).permutation(len(nodes))[: self.n_nodes]
        return [nodes[number] for number in sorted(drawn)]

    @property
    def _routes_adaptively(self) -> bool:
        return twin_parts(self.platform)[0].adaptive is not None and not self.static_routes

    def _trial(self, nodes: Sequence[str]) -> Trial:
        options: Mapping[str, Any] = {
            GPU_NETWORK: "rails",
            "adaptive_routing": "on" if self._routes_adaptively else "off",
            **({TAPER: self.taper} if self.taper else {}),
            **({AGGRESSORS: list(self.neighbours)} if self.neighbours else {}),
        }
        gpus = self.gpus_per_node
        return Trial("step", "allreduce", (1,), tuple(nodes), gpus, {}, {}, dict(options))
