"""A twin and a routing to be checked: its fabric, its plan, and its healthy survey."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from benches.check_figures import figures
from benches.check_kinds import Planted, When
from benches.check_planes import PlanesTwin, plane_of
from benches.check_shape import shape_spec, with_tables
from benches.check_twin import MixedTwin, WrongEntryTwin

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
from weft.check.schedule.cost import figures as cost_figures
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.plan import CheckPlan, plan_check
from weft.check.schedule.ranks import ranks_of_nodes
from weft.check.schedule.schedule import Field
from weft.check.schedule.scheme import parse_scheme
from weft.core.units import parse_size
from weft.topology.fabric import Fabric

ROUTINGS = ("static", "adaptive")
AUTO = "auto"
SMALL_BYTES = 8
NUDGE_PS = 1000
"""One cable that much longer: nothing to measure, but adaptive routing chooses anew."""
BUDGET_S = 60.0
TIMEOUT_S = 3600.0
LARGE_BYTES = 2**20
SEED = 1
"""Of the estimate of fabric time: the large message of `weft check`, and its own counts."""


Twin = TwinBackend | MixedTwin | PlanesTwin


class Ground:
    """One twin under one routing; what is asked of it first is kept."""

    def __init__(self, twin: str, routing: str, schedule: str | None = None) -> None:
        self.twin, self.routing = twin, routing
        self._figures = figures()["twins"][twin]
        self.schedule: str = schedule or self._figures.get("schedule", AUTO)
        self.platform = _with_packets(
            platform(self._figures["platform"]), self._figures.get("packet_bytes")
        )
        self._tables: str | None = self._figures.get("tables")
        self._spec = shape_spec(self._figures, self.platform)
        self.document: Mapping[str, Any] = with_tables(self._spec, self._tables, self.platform)
        self.cabling = Fabric.from_document(self.document)
        self._healthy = self._twin((), None)
        self.n_rails = min(len(node["hcas"]) for node in self.document["nodes"])

    @property
    def wiring(self) -> Fabric | None:
        """The fabric as `weft check` knows it; None where it has no file of it."""
        return self.cabling if self._figures.get("is_known", True) else None

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

    def twin_with(
        self, planted: Sequence[Planted], seed: str, *, nudged: int | None = None
    ) -> Twin:
        """The twin with faults, whose moments `seed` draws; `nudged`: the number of a node with
        cables a little longer."""
        if all(one.when is When.ALWAYS for one in planted):
            return self._twin(planted, nudged)
        return MixedTwin(
            lambda some: self._twin(some, nudged),
            tuple(planted),
            ports=self._ports_of,
            opposite=lambda port: self.network.ports[self.network.port_id[port] ^ 1],
            seed=seed,
        )

    def _twin(self, planted: Sequence[Planted], nudged: int | None) -> Twin:
        """The twin of faults that all show."""
        faults = [fault for one in planted for fault in one.faults]
        if self._tables is not None:
            faults = [fault for fault in faults if fault.kind != "down"]
        fabric = self._faulty(planted, nudged)
        n_planes = len(self._spec["nodes"][0]["hcas"]) if self._has_planes else 0
        if not n_planes:
            twin = WrongEntryTwin(self.platform, 1, faults, fabric=fabric)
            twin.entries = [one.entry for one in planted if one.entry is not None]
            return twin

        def twin_of(plane: int) -> TwinBackend:
            part = plane_of({**fabric, "routing": {"engine": "minhop"}}, plane)
            places = {link[end] for link in part["links"] for end in ("a", "b")}
            here = [one for one in faults if not one.is_link or one.place in places]
            return TwinBackend(self.platform, 1, here, fabric=part)

        nodes = tuple(node["name"] for node in self.document["nodes"])
        return PlanesTwin(twin_of, nodes, n_planes)

    @property
    def _has_planes(self) -> bool:
        """Whether adapters of a node never meet."""
        return "planes" in self._figures.get("shape", {})

    @cached_property
    def network(self) -> Network:
        """The cabling as numbers."""
        return Network(self.cabling)

    @cached_property
    def _known_ports(self) -> dict[tuple[str, str], frozenset[str]]:
        return {}

    def _ports_of(self, flow: tuple[str, str]) -> frozenset[str]:
        if flow not in self._known_ports:
            (stages,) = self.crossings.ports_of([flow])
            ports = (self.network.ports[port] for stage in stages for port in stage)
            self._known_ports[flow] = frozenset(ports)
        return self._known_ports[flow]

    @cached_property
    def plan(self) -> CheckPlan:
        """That of `weft check --budget 60s --schedule ...`; `auto` leaves the schedule to it."""
        network = None if self.wiring is None else self.network
        ranks = ranks_of_nodes(self.nodes, self.n_rails, network)
        options, paths = dict(benchmark("pairs").options), None
        if network is None:
            options["max_seconds_per_size"] = cost_figures().max_seconds_per_size
        else:
            paths = FlowPaths(network, ranks.hca, adaptive=self.adaptive)
        cost = Cost(ranks, paths, effort_of(options, LARGE_BYTES))
        scheme = None if self.schedule == AUTO else parse_scheme(self.schedule)
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
        return Crossings(readings, self.network, adaptive=self.adaptive)

    def found(self, planted: Sequence[Planted]) -> Mapping[str, Any]:
        """The fabric as its tools print it with faults: without dead cables, with its tables."""
        if self._tables is not None:
            document = self._faulty(planted, None)
            dead = {fault.place for one in planted if one.is_dead for fault in one.faults}
            links = [one for one in document["links"] if not dead & {one["a"], one["b"]}]
            return {**document, "links": links}
        cabled = self._cabled(planted, None, without_dead=True)
        return with_tables({**self._spec_tables, **cabled}, None, self.platform)

    def _faulty(self, planted: Sequence[Planted], nudged: int | None) -> Mapping[str, Any]:
        """The fabric with longer cables of some nodes, and exchanged ends; then routed anew. Where
        OpenSM fills the tables, it goes on around dead cables: entries that lead elsewhere stay."""
        if self._tables is None:
            changed = nudged is not None or any(one.delay_ns or one.swapped for one in planted)
            cabled = self._cabled(planted, nudged, without_dead=False)
            return {**self._spec_tables, **cabled} if changed else self._spec
        cabled = self._cabled(planted, nudged, without_dead=False)
        dead = [fault.place for one in planted if one.is_dead for fault in one.faults]
        return with_tables(cabled, self._tables, self.platform, dead)

    @property
    def _spec_tables(self) -> dict[str, Any]:
        """The engine that fills the tables, where the fabric has one."""
        return {key: self._spec[key] for key in ("routing",) if key in self._spec}

    def _cabled(
        self, planted: Sequence[Planted], nudged: int | None, *, without_dead: bool
    ) -> dict[str, Any]:
        """The fabric without tables."""
        longer_ps = {one.node: 1000 * one.delay_ns for one in planted if one.delay_ns}
        if nudged is not None:
            node = self.nodes[nudged]
            longer_ps[node] = longer_ps.get(node, 0) + NUDGE_PS
        place: dict[str, str] = {}
        for one in planted:
            if one.swapped is not None:
                place |= dict(zip(one.swapped, one.swapped[::-1], strict=True))
        dead = {fault.place for one in planted if one.is_dead for fault in one.faults}
        node_of = {hca: node["name"] for node in self.document["nodes"] for hca in node["hcas"]}
        links = []
        for link in self.document["links"]:
            node = node_of.get(vertex_of(link["a"])) or node_of.get(vertex_of(link["b"]))
            delay_ps = link["delay_ps"] + longer_ps.get(node, 0)
            ends = {end: place.get(link[end], link[end]) for end in ("a", "b")}
            if not (without_dead and dead & {link["a"], link["b"]}):
                links.append({**link, **ends, "delay_ps": delay_ps})
        bare = {key: of for key, of in self.document.items() if key not in ("lfts", "routing")}
        return {**bare, "links": links}


class Recorded:
    """A backend that simulates one launch once, and every other as it comes."""

    name = "twin"

    def __init__(self, inner: Twin, launch: Launch) -> None:
        self._inner = inner
        self._key = launch.key
        self.samples: tuple[Sample, ...] = tuple(inner.measure(launch))
        self.faults = inner.faults

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples kept, or new ones."""
        return iter(self.samples) if launch.key == self._key else self._inner.measure(launch)


def _with_packets(of: Platform, packet_bytes: int | None) -> Platform:
    """The platform with packets of another size: fewer of them simulate faster."""
    if packet_bytes is None:
        return of
    assert of.packets is not None
    mtu = of.packets.mtu.model_copy(update={"value": packet_bytes})
    packets = of.packets.model_copy(update={"mtu": mtu})
    return of.model_copy(update={"packets": packets})
