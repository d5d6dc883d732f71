"""A twin and a routing to be checked: its fabric, its schedule, what a healthy survey gives."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from benches.check_case import Noise, Planted, figures

from weft.bench.model import Launch, Sample, Trial
from weft.bench.twin.backend import TwinBackend
from weft.bench.twin.fault import vertex_of
from weft.catalog.load import platform
from weft.catalog.machine.platform import Platform
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import Network
from weft.check.readings.readings import readings_of
from weft.core.units import parse_size
from weft.topology.fabric import Fabric

ROUTINGS = ("static", "adaptive")
SMALL_BYTES = 8
NUDGE_PS = 1000
"""One cable that much longer: nothing to measure, but adaptive routing chooses anew."""


class Ground:
    """One twin under one routing; what is asked of it first is kept."""

    def __init__(
        self,
        twin: str,
        routing: str,
        schedule: str | None = None,
        *,
        fabric: Mapping[str, Any] | None = None,
    ) -> None:
        """`fabric`: a generator's document in place of the platform's."""
        self.twin, self.routing = twin, routing
        self._fabric = fabric
        self._figures = figures()["twins"][twin]
        self.schedule: str = schedule or self._figures["schedule"]
        self.platform = _with_packets(
            platform(self._figures["platform"]), self._figures["packet_bytes"]
        )
        self._healthy = TwinBackend(self.platform, self._figures["nodes"], fabric=fabric)
        self.wiring = Fabric.from_document(self._healthy.fabric_document)
        self._kept: dict[str, Any] = {}
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
        fabric = self._longer(longer_ps) if longer_ps else self._fabric
        return TwinBackend(self.platform, self._figures["nodes"], faults, fabric=fabric)

    def healthy(self, launch: Launch) -> "Recorded":
        """The twin without faults; it simulates the survey `launch` once."""
        return self.kept("healthy", lambda: Recorded(self._healthy, launch))

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` made the first time."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def crossings(self, samples: Sequence[Sample]) -> Crossings:
        """What the healthy survey crossed."""
        return self.kept(
            "crossings",
            lambda: Crossings(readings_of(samples), Network(self.wiring), adaptive=self.adaptive),
        )

    def _longer(self, longer_ps: Mapping[str | None, int]) -> dict[str, Any]:
        """The fabric with longer cables of some nodes; the platform's engine routes it anew."""
        node_of = {hca: node["name"] for node in self.document["nodes"] for hca in node["hcas"]}
        links = []
        for link in self.document["links"]:
            node = node_of.get(vertex_of(link["a"])) or node_of.get(vertex_of(link["b"]))
            links.append({**link, "delay_ps": link["delay_ps"] + longer_ps.get(node, 0)})
        fabric = {key: value for key, value in self.document.items() if key != "lfts"}
        own = {} if self._fabric is None else {"routing": self._fabric["routing"]}
        return {**fabric, "links": links, **own}


class Recorded:
    """A backend that simulates one launch once, and every other as it comes."""

    name = "twin"

    def __init__(self, inner: TwinBackend, launch: Launch) -> None:
        self._inner = inner
        self._key = launch.key
        self.samples: tuple[Sample, ...] = tuple(inner.measure(launch))
        self.fabric_document = inner.fabric_document
        self.faults, self.lost_hosts = inner.faults, inner.lost_hosts

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Nothing to get ready."""

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples kept, or new ones."""
        return iter(self.samples) if launch.key == self._key else self._inner.measure(launch)

    def recipe(self, launch: Launch) -> str:
        """The twin's."""
        return self._inner.recipe(launch)

    def facts(self) -> Mapping[str, Any]:
        """The twin's."""
        return self._inner.facts()

    def close(self) -> None:
        """Nothing is held."""


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
        self.fabric_document = inner.fabric_document
        self.faults, self.lost_hosts = inner.faults, inner.lost_hosts

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """The inner backend's."""
        self._inner.prepare(trials, run_dir)

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The inner backend's samples, disturbed."""
        started = time.process_time()
        self.launches.append(launch)
        samples = disturbed(list(self._inner.measure(launch)), self._noise, self._draws)
        self.process_s += time.process_time() - started
        return iter(samples)

    def recipe(self, launch: Launch) -> str:
        """The inner backend's."""
        return str(self._inner.recipe(launch))

    def facts(self) -> Mapping[str, Any]:
        """The inner backend's."""
        facts: Mapping[str, Any] = self._inner.facts()
        return facts

    def close(self) -> None:
        """Close the inner backend."""
        self._inner.close()


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
