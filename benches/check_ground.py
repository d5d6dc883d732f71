"""A twin and a routing to be checked: its fabric, its plan, and its healthy survey."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
from benches.check_case import Noise, Planted, figures

from weft.bench.model import Launch, Sample
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import vertex_of
from weft.catalog.load import benchmark, platform
from weft.catalog.machine.platform import Platform
from weft.check.launches import check_launches, is_follow_up
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.readings import readings_of
from weft.check.schedule.cost import Cost, effort_of
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.plan import CheckPlan, plan_check
from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.schedule import Field
from weft.check.schedule.scheme import parse_scheme
from weft.core.units import parse_size
from weft.topology.fabric import Fabric

ROUTINGS = ("static", "adaptive")
SMALL_BYTES = 8
NUDGE_PS = 1000
"""One cable that much longer: nothing to measure, but adaptive routing chooses anew."""
BUDGET_S = 60.0
TIMEOUT_S = 3600.0
LARGE_BYTES = 2**20
SEED = 1
"""Of the estimate of fabric time: the large message of `weft check`, and its own counts."""


class Ground:
    """One twin under one routing; what is asked of it first is kept."""

    def __init__(self, twin: str, routing: str, schedule: str | None = None) -> None:
        self.twin, self.routing = twin, routing
        self._figures = figures()["twins"][twin]
        self.schedule: str = schedule or self._figures["schedule"]
        self.platform = _with_packets(
            platform(self._figures["platform"]), self._figures["packet_bytes"]
        )
        self._healthy = TwinBackend(self.platform, self._figures["nodes"])
        self.wiring = Fabric.from_document(self._healthy.fabric_document)
        self.n_rails = min(len(node["hcas"]) for node in self.document["nodes"])

    @property
    def document(self) -> Mapping[str, Any]:
        """The fabric as it should be."""
        return self._healthy.fabric_document

    @property
    def adaptive(self) -> bool:
        """Whether the switches choose."""
        return self.routing == "adaptive"

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node."""
        return self._healthy.nodes

    @property
    def sizes_bytes(self) -> tuple[int, int]:
        """The small and the large message."""
        return (SMALL_BYTES, parse_size(self._figures["large"]))

    @property
    def options(self) -> dict[str, Any]:
        """The options of every trial. One iteration: the engine's are equal but for routing."""
        options: dict[str, Any] = {"window": 1, "iterations": 1, "warmup": 0}
        return {**options, "adaptive_routing": "on"} if self.adaptive else options

    def twin_with(self, planted: Sequence[Planted], *, nudged: int | None = None) -> TwinBackend:
        """The twin with faults; `nudged`: the number of a node with cables a little longer."""
        faults = [one.fault for one in planted if one.fault is not None]
        longer_ps = {one.node: 1000 * one.delay_ns for one in planted if one.delay_ns}
        if nudged is not None:
            node = self.nodes[nudged]
            longer_ps[node] = longer_ps.get(node, 0) + NUDGE_PS
        fabric = self._longer(longer_ps) if longer_ps else None
        return TwinBackend(self.platform, self._figures["nodes"], faults, fabric=fabric)

    @cached_property
    def plan(self) -> CheckPlan:
        """That of `weft check --budget 60s --schedule ...`; `auto` leaves the schedule to it."""
        network = Network(self.wiring)
        ranks = ranks_of_nodes(self.nodes, self.n_rails, network)
        paths = FlowPaths(network, ranks.hca, adaptive=self.adaptive)
        cost = Cost(ranks, paths, effort_of(benchmark("pairs").options, LARGE_BYTES))
        scheme = None if self.schedule == "auto" else parse_scheme(self.schedule)
        return plan_check(Field(ranks, paths, None, SEED), cost, scheme, BUDGET_S)

    @cached_property
    def launches(self) -> tuple[Launch, Launch, Launch]:
        """The launches of the plan, with the twin's sizes and counts; the first is the survey."""
        return check_launches(
            self.nodes,
            tasks_per_node=self.n_rails,
            sizes_bytes=self.sizes_bytes,
            rounds=self.plan.schedule.option,
            options=self.options,
            timeout_s=TIMEOUT_S,
        )

    def fabric_s(self, measured: Iterable[Launch]) -> float:
        """Seconds that launches take on the fabric by the product's own reckoning, follow-ups
        too."""
        rounds = [
            np.array(pairs, np.int64)
            for launch in measured
            if not is_follow_up(launch.trial)
            for pairs in launch.trial.options["rounds"]
        ]
        return self.plan.cost.seconds(rounds)

    @cached_property
    def healthy(self) -> "Recorded":
        """The twin without faults; it simulates the survey once."""
        return Recorded(self._healthy, self.launches[0])

    @cached_property
    def crossings(self) -> Crossings:
        """The components that the healthy survey crossed."""
        readings = readings_of(self.healthy.samples)
        return Crossings(readings, Network(self.wiring), adaptive=self.adaptive)

    def _longer(self, longer_ps: Mapping[str | None, int]) -> dict[str, Any]:
        """The fabric with longer cables of some nodes; the platform's engine routes it anew."""
        node_of = {hca: node["name"] for node in self.document["nodes"] for hca in node["hcas"]}
        links = []
        for link in self.document["links"]:
            node = node_of.get(vertex_of(link["a"])) or node_of.get(vertex_of(link["b"]))
            links.append({**link, "delay_ps": link["delay_ps"] + longer_ps.get(node, 0)})
        fabric = {key: value for key, value in self.document.items() if key != "lfts"}
        return {**fabric, "links": links}


class Recorded:
    """A backend that simulates one launch once, and every other as it comes."""

    name = "twin"

    def __init__(self, inner: TwinBackend, launch: Launch) -> None:
        self._inner = inner
        self._key = launch.key
        self.samples: tuple[Sample, ...] = tuple(inner.measure(launch))
        self.faults = inner.faults

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples kept, or new ones."""
        return iter(self.samples) if launch.key == self._key else self._inner.measure(launch)


class NoisyBackend:
    """A backend whose every measured value is disturbed; the series of times are left out.

    `process_s`: seconds of processor time that it took to measure `launches`.
    """

    def __init__(self, inner: Any, noise: Noise, seed: str) -> None:
        self._inner = inner
        self._noise = noise
        self._draws = np.random.default_rng(Random(seed).getrandbits(64))  # noqa: S311
        self.process_s = 0.0
        self.launches: list[Launch] = []
        self.name = inner.name
        self.faults = inner.faults

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The inner backend's samples, disturbed."""
        started = time.process_time()
        self.launches.append(launch)
        samples = disturbed(list(self._inner.measure(launch)), self._noise, self._draws)
        self.process_s += time.process_time() - started
        return iter(samples)


def disturbed(samples: Sequence[Sample], noise: Noise, draws: np.random.Generator) -> list[Sample]:
    """Samples whose every value is off by lognormal noise, and now and then several times slower.

    Each measured value is drawn by itself; `bandwidth_mb_s` is the smaller of both directions.
    """
    n = sum(len(sample.metrics) for sample in samples)
    factors = np.exp(noise.sigma * draws.standard_normal(n))
    factors[draws.random(n) < noise.outliers] *= noise.outlier_factor
    slower = iter(factors.tolist())
    found = []
    for sample in samples:
        metrics = {
            name: value * factor if name.endswith("_us") else value / factor
            for (name, value), factor in zip(sample.metrics.items(), slower, strict=False)
        }
        both = [metrics[name] for name in _DIRECTED if name in metrics]
        if both:
            metrics["bandwidth_mb_s"] = min(both)
        found.append(replace(sample, metrics=metrics, times_ns=None))
    return found


_DIRECTED = ("bandwidth_ab_mb_s", "bandwidth_ba_mb_s")


def _with_packets(of: Platform, packet_bytes: int) -> Platform:
    """The platform with packets of another size: fewer of them simulate faster."""
    assert of.packets is not None
    mtu = of.packets.mtu.model_copy(update={"value": packet_bytes})
    packets = of.packets.model_copy(update={"mtu": mtu})
    return of.model_copy(update={"packets": packets})
