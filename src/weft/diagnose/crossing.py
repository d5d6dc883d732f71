"""What a measurement between two nodes goes through: nodes, cables, directions, switches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

Path = tuple[str, ...]
Cable = tuple[str, str]


class Wiring(Protocol):
    """What the diagnosis asks of a fabric; `weft.topology.fabric.Fabric` answers."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes, in the fabric's order."""
        ...

    @property
    def document(self) -> Mapping[str, Any]:
        """The fabric document (schema weft.fabric/1)."""
        ...

    def paths(self, pairs: list[tuple[str, str]]) -> list[Path]:
        """Egress ports crossed from node a to node b, for each pair."""
        ...


class Part(StrEnum):
    """What kind of thing a component is."""

    NODE = "node"
    NODE_SENDING = "node sending"
    NODE_RECEIVING = "node receiving"
    HCA = "hca"
    RANK = "rank"
    CABLE = "cable"
    DIRECTION = "direction"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """Something that can be replaced or looked at. `ends` are the two ports of a cable, from where
    to where in a direction, and one name otherwise."""

    part: Part
    ends: tuple[str, ...]

    @property
    def name(self) -> str:
        """As a person would write it on a ticket."""
        first = self.ends[0]
        match self.part:
            case Part.CABLE:
                text = f"cable {first} - {self.ends[1]}"
            case Part.DIRECTION:
                text = f"cable {first} - {self.ends[1]} (direction {_towards(self.ends)})"
            case Part.NODE_SENDING:
                text = f"node {first} when sending"
            case Part.NODE_RECEIVING:
                text = f"node {first} when receiving"
            case Part.HCA:
                text = f"HCA {first}"
            case Part.RANK:
                text = f"rank {rank_in(first)} on {host_of(first)}"
            case _:
                text = f"{self.part.value} {first}"
        return text

    @property
    def thing(self) -> tuple[str, tuple[str, ...]]:
        """The physical thing: a direction is its cable, a sending node is the node."""
        if self.part in (Part.CABLE, Part.DIRECTION):
            return ("cable", tuple(sorted(self.ends)))
        if self.part in (Part.SWITCH, Part.HCA, Part.RANK):
            return (self.part.value, self.ends)
        return ("node", self.ends)


@dataclass(frozen=True, slots=True)
class Flow:
    """One measured direction (or both): from a to b, and whether the answer counts as well."""

    a: str
    b: str
    both_ways: bool


class Crossings:
    """The components each flow crosses, under the fabric's routing; only nodes without a fabric."""

    def __init__(self, flows: Iterable[Flow], fabric: Wiring | None) -> None:
        self._hcas: dict[str, list[str]] = {}
        self._paths: dict[tuple[str, str], Path] = {}
        self._of_port: dict[str, tuple[Component, ...]] = {}
        if fabric is not None:
            self._switches = {str(s["name"]) for s in fabric.document["switches"]}
            self._cables = cables_of_document(fabric.document)
            self._hcas = {str(n["name"]): list(n["hcas"]) for n in fabric.document["nodes"]}
            self._ask_paths(fabric, flows)

    def path(self, a: str, b: str) -> Path:
        """Egress ports from a to b; empty without a fabric."""
        return self._paths.get((a, b), ())

    def components(self, flow: Flow) -> frozenset[Component]:
        """Every component the flow crosses."""
        crossed = [*_directed_ends(flow.a, flow.b), *self._own(flow.a), *self._own(flow.b)]
        ports = list(self.path(flow.a, flow.b))
        if flow.both_ways:
            crossed += _directed_ends(flow.b, flow.a)
            ports += self.path(flow.b, flow.a)
        found = set(crossed)
        for port in ports:
            found.update(self._components_of(port))
        return frozenset(found)

    def cables_on(self, pairs: Iterable[tuple[str, str]]) -> set[Cable]:
        """Cables on the paths from a to b of these pairs."""
        return {self._cables[port] for a, b in pairs for port in self.path(a, b)}

    def cables(self) -> set[Cable]:
        """Every cable that at least one flow crosses, in either direction, ends as cabled."""
        return self.cables_on(self._paths)

    def _ask_paths(self, fabric: Wiring, flows: Iterable[Flow]) -> None:
        asked: dict[tuple[str, str], None] = {}
        for flow in flows:
            asked[flow.a, flow.b] = None
            asked[flow.b, flow.a] = None
        pairs = list(asked)
        ends = [(self._place(a), self._place(b)) for a, b in pairs]
        self._paths = dict(zip(pairs, fabric.paths(ends), strict=True))

    def _place(self, endpoint: str) -> str:
        """The node of an endpoint, or the HCA where each rank of a node has its own.

        INVARIANT: ranks fill one node after the other and take its HCAs in turn, a whole number of
        times, so that the rank modulo the HCAs of a node is the HCA's index.
        """
        hcas = self._hcas.get(host_of(endpoint), [])
        if not is_rank(endpoint) or not hcas:
            return host_of(endpoint)
        return hcas[rank_in(endpoint) % len(hcas)]

    def _own(self, endpoint: str) -> list[Component]:
        """What only this rank of its host uses: its HCA where a fabric tells, else the rank."""
        if not is_rank(endpoint):
            return []
        if self._hcas:
            return [Component(Part.HCA, (self._place(endpoint),))]
        return [Component(Part.RANK, (endpoint,))]

    def _components_of(self, port: str) -> tuple[Component, ...]:
        known = self._of_port.get(port)
        if known is None:
            known = self._of_port[port] = self._find_components(port)
        return known

    def _find_components(self, port: str) -> tuple[Component, ...]:
        cable = self._cables[port]
        far = cable[1] if cable[0] == port else cable[0]
        of_cable = (
            Component(Part.CABLE, cable),
            Component(Part.DIRECTION, (port, far)),
        )
        vertex = vertex_of(port)
        if vertex in self._switches:
            return (*of_cable, Component(Part.SWITCH, (vertex,)))
        return of_cable


def vertex_of(port: str) -> str:
    """'leaf-01' of 'leaf-01[17]'."""
    return port.rpartition("[")[0]


def cables_of_document(document: Mapping[str, Any]) -> dict[str, Cable]:
    """The cable of each port that has one, its ends in the document's order."""
    cables: dict[str, Cable] = {}
    for link in document["links"]:
        cable = (str(link["a"]), str(link["b"]))
        cables[cable[0]] = cables[cable[1]] = cable
    return cables


def host_of(endpoint: str) -> str:
    """'n001' of 'n001' and of 'n001:3' (rank 3, on that host)."""
    return endpoint.partition(":")[0]


def is_rank(endpoint: str) -> bool:
    """Whether an endpoint is one of several ranks of its host."""
    return ":" in endpoint


def rank_in(endpoint: str) -> int:
    """3 of 'n001:3'."""
    return int(endpoint.partition(":")[2])


def _directed_ends(a: str, b: str) -> list[Component]:
    a, b = host_of(a), host_of(b)
    return [
        Component(Part.NODE, (a,)),
        Component(Part.NODE, (b,)),
        Component(Part.NODE_SENDING, (a,)),
        Component(Part.NODE_RECEIVING, (b,)),
    ]


def _towards(ends: tuple[str, ...]) -> str:
    return f"{vertex_of(ends[0])} to {vertex_of(ends[1])}"
