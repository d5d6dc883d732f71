"""The ports that adaptive routing may choose from, stage by stage of a shortest path."""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path

from weft.check.readings.network import Network
from weft.check.readings.readings import Ints
from weft.core.errors import InputError

Stage = tuple[int, ...]
"""Ports, of which one message takes one (or, packet by packet, all)."""

_NO_PATH = 1 << 30


class Stages:
    """Stages between HCAs: every shortest path, as the twin's switches choose among the ports that
    lead closer to the destination (docs/reference/scenario.md, `routing.adaptive`); of a dragonfly
    the shortest over the fewest cables between groups."""

    def __init__(self, network: Network) -> None:
        self._network = network
        inner: Ints = np.flatnonzero(network.between_switches)
        n = network.n_switches
        ends = (network.vertex[inner], network.vertex[inner ^ 1])
        # More than any number of hops inside the groups.
        self._apart = n + 1
        self._cost_of_port = np.where(network.between_groups, self._apart, 1)
        # One of parallel cables, which would be added up.
        _, first = np.unique(ends[0] * n + ends[1], return_index=True)
        cost = self._cost_of_port[inner[first]]
        graph = coo_matrix((cost, (ends[0][first], ends[1][first])), shape=(n, n)).tocsr()
        is_even = not network.between_groups.any()
        cost = shortest_path(graph, unweighted=is_even) if n else np.zeros((0, 0))
        self._cost_between = np.where(np.isfinite(cost), cost, _NO_PATH).astype(np.int32)
        order = np.argsort(ends[1], kind="stable")
        self._leading_to = np.split(inner[order], np.searchsorted(ends[1][order], np.arange(1, n)))
        # Many flows have the same ends, and most stages are those of many paths.
        self.end: Callable[[str], tuple[int, int]] = cache(self._end)
        self.inner: Callable[[int, int], tuple[Stage, ...]] = cache(self._inner)
        self._to_any = cache(self._to_any_of)
        self._into = cache(self._ports_into)
        self._stage = cache(self._stage_of)

    def between(self, flows: Sequence[tuple[str, str]]) -> list[tuple[Stage, ...]]:
        """The stages of each flow between two HCAs. Raises InputError where there is no path."""
        ends = ((self.end(a), self.end(b)) for a, b in flows)
        return [((first,), *self.inner(a, b), (last ^ 1,)) for (first, a), (last, b) in ends]

    def _end(self, hca: str) -> tuple[int, int]:
        """An HCA's own port, and the switch that it leads to. Raises InputError without one."""
        network = self._network
        port = int(network.port_of_hca[network.vertex_id[hca] - network.n_switches])
        if port < 0 or network.vertex[port ^ 1] >= network.n_switches:
            raise InputError(f"HCA '{hca}' has no cable to a switch", expected="a cabled HCA")
        return port, int(network.vertex[port ^ 1])

    def _inner(self, a: int, b: int) -> tuple[Stage, ...]:
        """The stages from one switch to another. Raises InputError where there is no path."""
        cost = int(self._cost_between[a, b])
        if cost == _NO_PATH:
            names = self._network.switches
            raise InputError(
                f"no path from {names[a]} to {names[b]}", expected="a connected fabric"
            )
        return self._to_any(a, (b,), sum(divmod(cost, self._apart)))

    def _to_any_of(self, a: int, ends: tuple[int, ...], length: int) -> tuple[Stage, ...]:
        """The stages from switch a to any of `ends`, all of them so many hops away. Leaves below
        the same spines share all stages but one."""
        if not length:
            return ()
        ports, leave, enter = self._into(ends)
        closer = ports[
            self._cost_between[a, leave] + self._cost_of_port[ports] == self._cost_between[a, enter]
        ]
        stage, before = self._stage(tuple(closer.tolist()))
        return (*self._to_any(a, before, length - 1), stage)

    def _ports_into(self, ends: tuple[int, ...]) -> tuple[Ints, Ints, Ints]:
        """Ports that lead to any of these switches, and the switches that they leave and enter."""
        ports = np.sort(np.concatenate([self._leading_to[end] for end in ends]))
        return ports, self._network.vertex[ports], self._network.vertex[ports ^ 1]

    def _stage_of(self, ports: Stage) -> tuple[Stage, tuple[int, ...]]:
        """Ports as the one stage that all paths share, and the switches that they leave."""
        return ports, tuple(np.unique(self._network.vertex[list(ports)]).tolist())


@lru_cache(maxsize=2)
def stages_of(network: Network) -> Stages:
    """The stages of a network, made once: a check asks for them at each step."""
    return Stages(network)
