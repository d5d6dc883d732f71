"""A fabric document as numbers: ports, cables, vertices, rates; and which HCA an endpoint uses."""

from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from weft.check.readings.components import vertex_of
from weft.check.readings.readings import Bools, Floats, Ints, host_of, is_rank, rank_in
from weft.core.errors import InputError, did_you_mean
from weft.topology.fabric import Fabric

Cable = tuple[str, str]

_MOST_HOPS = 64
_NUMBERS = 1 << 16


class Network:
    """Cable i has the ports 2i and 2i + 1; port p leads to port p ^ 1. Vertices are switches
    first, then HCAs, each in the document's order."""

    def __init__(self, wiring: Fabric) -> None:
        document = wiring.document
        self.wiring = wiring
        self.switches = tuple(str(switch["name"]) for switch in document["switches"])
        self.nodes = tuple(str(node["name"]) for node in document["nodes"])
        self.hcas_of = {
            str(node["name"]): tuple(str(hca) for hca in node["hcas"]) for node in document["nodes"]
        }
        self.hcas = tuple(hca for hcas in self.hcas_of.values() for hca in hcas)
        self.cables: tuple[Cable, ...] = tuple(
            (str(link["a"]), str(link["b"])) for link in document["links"]
        )
        self.ports = tuple(port for cable in self.cables for port in cable)
        rates = [float(link["bits_per_s"]) for link in document["links"]]
        self.rate: Floats = np.repeat(np.array(rates, np.float64), 2)
        self.port_id = {port: i for i, port in enumerate(self.ports)}
        self.vertex_id = {name: i for i, name in enumerate((*self.switches, *self.hcas))}
        vertices = [self.vertex_id[vertex_of(port)] for port in self.ports]
        self.vertex: Ints = np.array(vertices, np.int64)
        self.hca_of: Callable[[str], str | None] = cache(self._hca_of)

    @property
    def n_switches(self) -> int:
        """How many switches; vertices below it are switches."""
        return len(self.switches)

    @cached_property
    def delay_ps(self) -> Floats:
        """By port: the delay of its cable (ps), by the document."""
        delays = [float(link["delay_ps"]) for link in self.wiring.document["links"]]
        return np.repeat(np.array(delays, np.float64), 2)

    @cached_property
    def between_switches(self) -> Bools:
        """By port: whether its cable joins two switches."""
        inner = self.vertex < self.n_switches
        return inner & inner.reshape(-1, 2)[:, ::-1].reshape(-1)

    @cached_property
    def between_groups(self) -> Bools:
        """By port: whether its cable joins two groups of a dragonfly: of a document whose switches
        have groups."""
        named = [switch.get("group") for switch in self.wiring.document["switches"]]
        number = {name: i for i, name in enumerate(dict.fromkeys(named)) if name is not None}
        group = np.array([number.get(name, -1) for name in named], np.int64)
        group = np.append(group, np.full(len(self.hcas), -1))
        here = group[self.vertex]
        there = here.reshape(-1, 2)[:, ::-1].reshape(-1)
        return np.asarray((here >= 0) & (there >= 0) & (here != there), np.bool_)

    @cached_property
    def height(self) -> Ints:
        """By switch: how many cables it is away from the nearest one with an HCA."""
        inner = np.flatnonzero(self.between_switches)
        here, there = self.vertex[inner], self.vertex[inner ^ 1]
        height = np.full(self.n_switches, self.n_switches, np.int64)
        of_hcas = self.port_of_hca[self.port_of_hca >= 0]
        leaves = self.vertex[of_hcas ^ 1]
        height[leaves[leaves < self.n_switches]] = 0
        for _ in range(self.n_switches):
            lower = height.copy()
            np.minimum.at(lower, here, height[there] + 1)
            if (lower == height).all():
                break
            height = lower
        return height

    @cached_property
    def climbs(self) -> Ints:
        """By port between switches: whether it leads up (1), down (-1) or neither (0); else 0."""
        inner = np.flatnonzero(self.between_switches)
        climbs = np.zeros(len(self.ports), np.int64)
        climbs[inner] = np.sign(
            self.height[self.vertex[inner ^ 1]] - self.height[self.vertex[inner]]
        )
        return climbs

    @cached_property
    def node_of_hca(self) -> dict[str, str]:
        """The node that an HCA belongs to."""
        return {hca: node for node, hcas in self.hcas_of.items() for hca in hcas}

    @cached_property
    def port_of_hca(self) -> Ints:
        """By HCA (vertex number less the switches): its one port, -1 without a cable."""
        found = np.full(len(self.hcas), -1, np.int64)
        ports = np.flatnonzero(self.vertex >= self.n_switches)
        found[self.vertex[ports] - self.n_switches] = ports
        return found

    def _hca_of(self, endpoint: str) -> str | None:
        """The HCA that an endpoint uses; None where the fabric does not know its host.

        INVARIANT: ranks fill one node after the other and take its HCAs in turn, a whole number of
        times. The rank modulo the HCAs of a node is then the HCA's index.
        """
        hcas = self.hcas_of.get(host_of(endpoint))
        place = rank_in(endpoint) if is_rank(endpoint) else 0
        return hcas[place % len(hcas)] if hcas else None

    def known_hca_of(self, endpoint: str) -> str:
        """The HCA that an endpoint uses. Raises InputError where the fabric does not know its host,
        as when a host calls itself by another name than the one it was addressed by."""
        hca = self.hca_of(endpoint)
        if hca is not None:
            return hca
        host = host_of(endpoint)
        raise InputError(
            f"the fabric has no host '{host}'",
            where=f"a reading of '{endpoint}'",
            expected="hosts that call themselves (`hostname`) by the fabric's names, such as "
            + ", ".join(self.nodes[:3]),
            hint=did_you_mean(host, list(self.nodes)),
        )

    def rail_of(self, endpoint: str) -> int:
        """The HCA of its node that an endpoint uses; 0 where the fabric does not know its host."""
        hca = self.hca_of(endpoint)
        return 0 if hca is None else self.hcas_of[host_of(endpoint)].index(hca)

    @cached_property
    def _by_number(self) -> tuple[Ints, Ints]:
        """The ports of switches in the order of `_key`, and their keys."""
        ports = np.flatnonzero(self.vertex < self.n_switches)
        numbers = [int(self.ports[port].rpartition("[")[2][:-1]) for port in ports.tolist()]
        keys = self._key(self.vertex[ports], np.array(numbers, np.int64))
        order = np.argsort(keys)
        return ports[order], keys[order]

    @staticmethod
    def _key(switches: Ints, numbers: Ints) -> Ints:
        """Of a port's switch and number; a port number has 16 bits."""
        return switches * _NUMBERS + numbers

    def egress_of(self, switch: int) -> Ints:
        """The cabled ports of a switch, by their numbers."""
        ports, keys = self._by_number
        first, behind = np.searchsorted(keys, [switch * _NUMBERS, (switch + 1) * _NUMBERS])
        return ports[first:behind]

    @cached_property
    def out_of(self) -> Ints | None:
        """Switches x HCAs: the port towards it, -1 for none; None for a fabric without tables."""
        lfts: Any = self.wiring.document.get("lfts")
        if not lfts:
            return None
        width = len(self.hcas)
        named = [lfts.get(switch) or [0] * width for switch in self.switches]
        numbers = np.array(named, np.int64).reshape(self.n_switches, width)
        ports, keys = self._by_number
        asked = self._key(np.arange(self.n_switches)[:, None], numbers)
        place = np.minimum(np.searchsorted(keys, asked), max(keys.size - 1, 0))
        return np.where(keys[place] == asked, ports[place], -1) if keys.size else asked * 0 - 1

    def routes(self, flows: Sequence[tuple[str, str]]) -> list[Ints]:
        """Port numbers crossed from HCA to HCA by the tables, for each flow."""
        ends = np.array([[self.vertex_id[a], self.vertex_id[b]] for a, b in flows], np.int64)
        src, dst = ends.reshape(-1, 2).T - self.n_switches
        lengths, ports = self.crossed(src, dst)
        return np.split(ports, np.cumsum(lengths)[:-1]) if flows else []

    def crossed(self, src: Ints, dst: Ints) -> tuple[Ints, Ints]:
        """By the tables, from each HCA to another (by number): how many ports are crossed, and
        these ports, one flow after the other."""
        own = self.port_of_hca[src]
        cabled = (own >= 0) & (self.port_of_hca[dst] >= 0) & (src != dst)
        if self.out_of is not None and src.size and cabled.all():
            ports, arrives = self.walk(self.vertex[own ^ 1], dst)
            if arrives.all():
                ports = np.column_stack([own, ports])
                return (ports >= 0).sum(axis=1), ports[ports >= 0]
        # The engine names the missing entry, or routes where there are no tables.
        flows = [(self.hcas[a], self.hcas[b]) for a, b in zip(src, dst, strict=True)]
        paths = self.wiring.paths(flows)
        of_flows = [self.port_id[port] for path in paths for port in path]
        return np.array([len(path) for path in paths], np.int64), np.array(of_flows, np.int64)

    def walk(self, at: Ints, dst: Ints) -> tuple[Ints, Bools]:
        """Walks x ports: those that the tables take from each vertex to an HCA (by number), -1
        after the last; and by walk, whether it arrives. All walks go step by step together."""
        assert self.out_of is not None
        last = self.port_of_hca[dst] ^ 1
        arrives = np.zeros(at.size, np.bool_)
        going: Bools = at < self.n_switches
        steps: list[Ints] = []
        while going.any() and len(steps) < _MOST_HOPS:
            port = np.where(going, self.out_of[np.where(going, at, 0), dst], -1)
            steps.append(port)
            arrives |= going & (port == last)
            going &= (port >= 0) & (port != last)
            at = np.where(going, self.vertex[port ^ 1], at)
            going &= at < self.n_switches
        return np.stack(steps or [np.full(at.size, -1)], axis=1), arrives


@lru_cache(maxsize=2)
def network_of(wiring: Fabric) -> Network:
    """The network of a wiring, made once: a check asks for it at each step."""
    return Network(wiring)
