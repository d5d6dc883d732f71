"""The ports that adaptive routing may choose from, stage by stage of a shortest way."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path

from weft.core.errors import InputError
from weft.diagnose.check.measured.network import Network
from weft.diagnose.check.measured.readings import Ints

Stage = tuple[int, ...]
"""Ports, of which one message takes one (or, packet by packet, all)."""

_NO_WAY = 1 << 20


class Stages:
    """Stages between HCAs: every shortest way, as the twin's switches choose among the ports that
    lead closer to the destination (docs/reference/scenario.md, `routing.adaptive`)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._inner: Ints = np.flatnonzero(network.between_switches)
        self._from = network.vertex[self._inner]
        self._to = network.vertex[self._inner ^ 1]
        n = network.n_switches
        ones = np.ones(self._inner.size)
        graph = coo_matrix((ones, (self._from, self._to)), shape=(n, n)).tocsr()
        hops = shortest_path(graph, unweighted=True) if n else np.zeros((0, 0))
        self._hops = np.where(np.isfinite(hops), hops, _NO_WAY).astype(np.int32)
        self._known: dict[tuple[int, int], tuple[Stage, ...]] = {}
        self._away: dict[int, tuple[Ints, Ints, Ints]] = {}
        self._stages: dict[bytes, Stage] = {}

    def between(self, flows: Sequence[tuple[str, str]]) -> list[tuple[Stage, ...]]:
        """The stages of each flow between two HCAs. Raises InputError where there is no way."""
        return [self._of_flow(a, b) for a, b in flows]

    def _of_flow(self, a: str, b: str) -> tuple[Stage, ...]:
        first, last = self._own_port(a), self._own_port(b) ^ 1
        leaf_a, leaf_b = self._network.vertex[first ^ 1], self._network.vertex[last]
        return ((first,), *self._of_switches(int(leaf_a), int(leaf_b)), (last,))

    def _own_port(self, hca: str) -> int:
        network = self._network
        port = int(network.port_of_hca[network.vertex_id[hca] - network.n_switches])
        if port < 0 or network.vertex[port ^ 1] >= network.n_switches:
            raise InputError(f"HCA '{hca}' has no cable to a switch", expected="a cabled HCA")
        return port

    def _of_switches(self, a: int, b: int) -> tuple[Stage, ...]:
        known = self._known.get((a, b))
        if known is None:
            known = self._known[a, b] = self._find(a, b)
        return known

    def _find(self, a: int, b: int) -> tuple[Stage, ...]:
        length = int(self._hops[a, b])
        if length == _NO_WAY:
            names = self._network.switches
            raise InputError(f"no way from {names[a]} to {names[b]}", expected="a connected fabric")
        ports, to, depth = self._leading_away(a)
        on_way = depth + 1 + self._hops[to, b] == length
        ports, depth = ports[on_way], depth[on_way]
        return tuple(self._stage(ports[depth == stage]) for stage in range(length))

    def _leading_away(self, a: int) -> tuple[Ints, Ints, Ints]:
        """Ports that lead away from a switch: number, where to, and hops before it."""
        known = self._away.get(a)
        if known is None:
            before = self._hops[a, self._from]
            away = np.flatnonzero(self._hops[a, self._to] == before + 1)
            known = (self._inner[away], self._to[away], before[away].astype(np.int64))
            self._away[a] = known
        return known

    def _stage(self, ports: Ints) -> Stage:
        """Most stages are those of many ways: each is made once."""
        key = ports.tobytes()
        known = self._stages.get(key)
        if known is None:
            known = self._stages[key] = tuple(ports.tolist())
        return known


@lru_cache(maxsize=2)
def stages_of(network: Network) -> Stages:
    """The stages of a network, made once: a check asks for them at each step."""
    return Stages(network)
