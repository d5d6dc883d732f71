"""The ports that adaptive routing may choose from, stage by stage of a shortest path."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path

from weft.check.readings.network import Network
from weft.check.readings.readings import Ints
from weft.core.errors import InputError

Stage = tuple[int, ...]
"""Ports, of which one message takes one (or, packet by packet, all)."""

_NO_PATH = 1 << 20


class Stages:
    """Stages between HCAs: every shortest path, as the twin's switches choose among the ports that
    lead closer to the destination (docs/reference/scenario.md, `routing.adaptive`)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        inner: Ints = np.flatnonzero(network.between_switches)
        n = network.n_switches
        ends = (network.vertex[inner], network.vertex[inner ^ 1])
        graph = coo_matrix((np.ones(inner.size), ends), shape=(n, n)).tocsr()
        hops = shortest_path(graph, unweighted=True) if n else np.zeros((0, 0))
        self._hops = np.where(np.isfinite(hops), hops, _NO_PATH).astype(np.int32)
        order = np.argsort(ends[1], kind="stable")
        self._leading_to = np.split(inner[order], np.searchsorted(ends[1][order], np.arange(1, n)))
        self._ports_into: dict[bytes, tuple[Ints, Ints]] = {}
        self._of_ports: dict[bytes, tuple[Stage, Ints]] = {}
        self._known: dict[tuple[int, bytes], tuple[Stage, ...]] = {}
        self._of_hca: dict[str, tuple[int, int]] = {}
        self._of_switches: dict[tuple[int, int], tuple[Stage, ...]] = {}

    def between(self, flows: Sequence[tuple[str, str]]) -> list[tuple[Stage, ...]]:
        """The stages of each flow between two HCAs. Raises InputError where there is no path."""
        ends = ((self.end(a), self.end(b)) for a, b in flows)
        return [((first,), *self.inner(a, b), (last ^ 1,)) for (first, a), (last, b) in ends]

    def inner(self, a: int, b: int) -> tuple[Stage, ...]:
        """The stages from one switch to another. Raises InputError where there is no path."""
        known = self._of_switches.get((a, b))
        if known is None:
            known = self._of_switches[a, b] = self._find(a, b)
        return known

    def end(self, hca: str) -> tuple[int, int]:
        """An HCA's own port, and the switch that it leads to. Raises InputError without one."""
        known = self._of_hca.get(hca)
        if known is None:
            port = self._own_port(hca)
            known = self._of_hca[hca] = (port, int(self._network.vertex[port ^ 1]))
        return known

    def _own_port(self, hca: str) -> int:
        network = self._network
        port = int(network.port_of_hca[network.vertex_id[hca] - network.n_switches])
        if port < 0 or network.vertex[port ^ 1] >= network.n_switches:
            raise InputError(f"HCA '{hca}' has no cable to a switch", expected="a cabled HCA")
        return port

    def _find(self, a: int, b: int) -> tuple[Stage, ...]:
        length = int(self._hops[a, b])
        if length == _NO_PATH:
            names = self._network.switches
            raise InputError(
                f"no path from {names[a]} to {names[b]}", expected="a connected fabric"
            )
        return self._to_any(a, np.array([b], np.int64), length)

    def _to_any(self, a: int, ends: Ints, length: int) -> tuple[Stage, ...]:
        """The stages from switch a to any of `ends`, all of them so many hops away. Leaves below
        the same spines share all stages but one."""
        if not length:
            return ()
        key = (a, ends.tobytes())
        known = self._known.get(key)
        if known is None:
            ports, leave = self._into(ends)
            stage, before = self._stage(ports[self._hops[a, leave] == length - 1])
            known = self._known[key] = (*self._to_any(a, before, length - 1), stage)
        return known

    def _into(self, ends: Ints) -> tuple[Ints, Ints]:
        """Ports that lead to any of these switches, and the switches that they leave."""
        key = ends.tobytes()
        known = self._ports_into.get(key)
        if known is None:
            ports = np.sort(np.concatenate([self._leading_to[end] for end in ends.tolist()]))
            known = self._ports_into[key] = (ports, self._network.vertex[ports])
        return known

    def _stage(self, ports: Ints) -> tuple[Stage, Ints]:
        """Ports as a stage, and the switches that they leave; most stages are those of many
        paths."""
        key = ports.tobytes()
        known = self._of_ports.get(key)
        if known is None:
            switches = np.unique(self._network.vertex[ports])
            known = self._of_ports[key] = (tuple(ports.tolist()), switches)
        return known


@lru_cache(maxsize=2)
def stages_of(network: Network) -> Stages:
    """The stages of a network, made once: a check asks for them at each step."""
    return Stages(network)
