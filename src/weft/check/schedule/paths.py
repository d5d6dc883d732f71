"""The path of each flow between HCAs, as numbers: ports by the tables, or stages of ports of which
adaptive routing takes any."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from weft.check.readings.network import Network
from weft.check.readings.readings import Bools, Floats, Ints
from weft.check.readings.stages import Stage, stages_of
from weft.core.errors import InputError


class FlowPaths:
    """The paths between some HCAs (numbers, vertex less the switches).

    Flows cross places: the ports of a fabric by number, or, where routing is `adaptive`, stages.
    `room` is the capacity of a place (bit/s); the last place, `nowhere`, fills up rows and has room
    for everything. INVARIANT: tables route by destination, so that a path depends on the leaf it
    starts from and on where it ends.
    """

    def __init__(self, network: Network, hcas: Ints, *, adaptive: bool = False) -> None:
        self.network = network
        self.adaptive = adaptive
        self.hcas: Ints = np.unique(hcas)
        self._own_port = network.port_of_hca
        wrong = self.hcas[~self._at_a_switch(self.hcas)]
        if wrong.size or not self.hcas.size:
            name = network.hcas[int(wrong[0])] if wrong.size else "of these nodes"
            raise InputError(f"HCA '{name}' has no cable to a switch", expected="a cabled HCA")
        own = self._own_port[self.hcas]
        self.leaves, first, leaf = np.unique(
            network.vertex[own ^ 1], return_index=True, return_inverse=True
        )
        self._first_names = [network.hcas[hca] for hca in self.hcas[first].tolist()]
        self._leaf = np.full(len(network.hcas), -1, np.int64)
        self._leaf[self.hcas] = leaf.reshape(-1)
        self._column = np.full(len(network.hcas), -1, np.int64)
        self._column[self.hcas] = np.arange(self.hcas.size)
        self.stages: list[Stage] = [(port,) for port in range(len(network.ports))]
        self.nowhere = len(self.stages)
        self.inner = self._stages_of_leaves() if adaptive else self._by_tables()
        # The first stages are single ports.
        several = [network.rate[list(stage)] for stage in self.stages[len(network.ports) :]]
        capacity = [float(rates.sum()) for rates in several]
        self.room: Floats = np.array([*network.rate, *capacity, np.inf])
        slowest = [float(rates.min()) for rates in several]
        self._slowest: Floats = np.array([*network.rate, *slowest, np.inf])

    def _at_a_switch(self, hcas: Ints) -> Bools:
        own = self._own_port[hcas]
        far = self.network.vertex[np.maximum(own, 0) ^ 1]
        return np.asarray((own >= 0) & (far < self.network.n_switches), np.bool_)

    def leaf_of(self, hcas: Ints) -> Ints:
        """The leaf (place in `leaves`) of HCAs."""
        return np.asarray(self._leaf[hcas], np.int64)

    def cross(self, a: Ints, b: Ints) -> Ints:
        """Flows x places: the places that flows from HCAs `a` to `b` cross, filled up with
        `nowhere`. Raises InputError where there is no path.
        """
        leaf_a, leaf_b = self._leaf[a], self._leaf[b]
        inner = self.inner[leaf_a, leaf_b if self.adaptive else self._column[b]]
        if inner.size and inner.min() < 0:
            lost = int(np.flatnonzero(inner.min(axis=1) < 0)[0])
            names = self.network.hcas
            raise InputError(
                f"no path from {names[int(a[lost])]} to {names[int(b[lost])]}",
                expected="cables, and forwarding tables, that lead from either to the other",
            )
        own = self._own_port
        last = own[b] ^ 1
        return np.asarray(np.column_stack([own[a], last, inner]), np.int64)

    def rate(self, crossed: Ints) -> Floats:
        """By flow: the lowest rate (bit/s) on its path."""
        return np.asarray(self._slowest[crossed].min(axis=1), np.float64)

    def load(self, crossed: Ints, rate: Floats) -> Floats:
        """By place: the sum of the rates (bit/s) of the flows that cross it."""
        weights = np.repeat(rate, crossed.shape[1])
        summed = np.bincount(crossed.reshape(-1), weights=weights, minlength=self.nowhere + 1)
        return np.asarray(summed, np.float64)

    def port_share(self, load: Floats) -> Floats:
        """By port: the load of all places it is part of, as a share of its own rate."""
        network = self.network
        n_ports = len(network.ports)
        carried = load[:n_ports].copy()
        for place in np.flatnonzero(load[n_ports:-1]) + n_ports:
            ports = list(self.stages[place])
            carried[ports] += load[place] / len(ports)
        return np.asarray(carried / network.rate, np.float64)

    def _by_tables(self) -> Ints:
        """Leaves x HCAs x hops: the ports between a leaf and an HCA's own leaf; first -1 where
        there is no path."""
        network = self.network
        if network.out_of is None:
            return self._asked()
        dst = np.tile(self.hcas, self.leaves.size)
        ports, arrives = network.walk(np.repeat(self.leaves, self.hcas.size), dst)
        is_last = ports == (self._own_port[dst] ^ 1)[:, None]
        inner = np.where((ports < 0) | is_last, self.nowhere, ports)
        inner[~arrives] = -1
        used = (inner[arrives] != self.nowhere).any(axis=0)
        used[0] = True
        return inner[:, used].reshape(self.leaves.size, self.hcas.size, -1)

    def _asked(self) -> Ints:
        """The same, asked from the engine, a flow from each leaf to each HCA elsewhere."""
        leaf_of = self._leaf[self.hcas]
        meets = self._meets()[:, leaf_of]
        elsewhere = meets & (leaf_of != np.arange(self.leaves.size)[:, None])
        places = np.argwhere(elsewhere).tolist()
        ends = [self.network.hcas[hca] for hca in self.hcas.tolist()]
        routes = self.network.routes([(self._first_names[a], ends[b]) for a, b in places])
        inner = {(a, b): path[1:-1] for (a, b), path in zip(places, routes, strict=True)}
        return self._table(meets, inner)

    def _table(self, meets: Bools, crossed: Mapping[tuple[int, int], Sequence[int] | Ints]) -> Ints:
        """Starts x ends x hops: what is crossed, filled up; -1 where the two never meet."""
        most = max((1, *map(len, crossed.values())))
        table = np.full((*meets.shape, most), self.nowhere, np.int64)
        table[~meets] = -1
        for (a, b), places in crossed.items():
            table[a, b, : len(places)] = places
        return table

    def _meets(self) -> Bools:
        """Leaves x leaves: whether cables join them at all; planes of rails may never meet."""
        network = self.network
        inner = np.flatnonzero(network.between_switches)
        ends = (network.vertex[inner], network.vertex[inner ^ 1])
        shape = (network.n_switches, network.n_switches)
        graph = coo_matrix((np.ones(inner.size), ends), shape=shape)
        part = connected_components(graph, directed=False)[1][self.leaves]
        return np.asarray(part[:, None] == part[None, :], np.bool_)

    def _stages_of_leaves(self) -> Ints:
        """Leaves x leaves x hops: the stages between them; -1 where there is no path.

        INVARIANT: cables carry both directions, so that the path back has the same stages, their
        ports' other ends, in the other order.
        """
        names, meets = self._first_names, self._meets()
        places = np.argwhere(np.triu(meets, 1)).tolist()
        number: dict[Stage, int] = {stage: i for i, stage in enumerate(self.stages)}
        back: dict[int, int] = {}
        found: dict[tuple[int, int], list[int]] = {}
        flows = stages_of(self.network).between([(names[a], names[b]) for a, b in places])
        for (a, b), of in zip(places, flows, strict=True):
            there = [number.setdefault(stage, len(number)) for stage in of[1:-1]]
            for stage, place in zip(of[1:-1], there, strict=True):
                if place not in back:
                    other = tuple(sorted(port ^ 1 for port in stage))
                    back[place] = number.setdefault(other, len(number))
            found[a, b] = there
            found[b, a] = [back[place] for place in reversed(there)]
        self.stages = list(number)
        self.nowhere = len(number)
        return self._table(meets, found)
