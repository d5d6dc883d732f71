"""The stages that each reading crossed, and the components that may have slowed it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from weft.check.readings.candidates import (
    Candidates,
    Family,
    Member,
    cable_ports,
    joined,
    kinds_of_columns,
)
from weft.check.readings.components import PARTS, Component, Part
from weft.check.readings.network import Network
from weft.check.readings.readings import (
    METRICS,
    Bools,
    Ints,
    Metric,
    Readings,
    host_of,
    is_rank,
)
from weft.check.readings.stages import Stage, stages_of
from weft.check.readings.switch_pairs import switch_pair_family
from weft.check.thresholds import CheckThresholds, thresholds


class Crossings:
    """The stages of every reading of `readings` through `network`; no stages without one.

    With `adaptive` a stage holds all the ports that a message may have taken; else it is the one
    port of the tables. `limits` are the shipped ones unless given.
    """

    def __init__(
        self,
        readings: Readings,
        network: Network | None,
        *,
        adaptive: bool,
        limits: CheckThresholds | None = None,
    ) -> None:
        self.readings = readings
        self.network = network
        self.adaptive = adaptive
        self.limits = limits or thresholds()
        both = np.array([metric.both_directions for metric in METRICS])[readings.metric]
        self._both_directions: Bools = both
        a, b = readings.a, readings.b
        n = len(readings.endpoints)
        here = np.arange(len(readings))
        keys = np.concatenate([a * n + b, (b * n + a)[both]])
        self._flow_rows = np.concatenate([here, here[both]])
        self._flows, self._flow_of = np.unique(keys, return_inverse=True)
        self.stages: tuple[Stage, ...] = ()
        """Every stage that a reading crosses."""
        self._n_crossed = self._crossed = np.zeros(0, np.int64)
        if network is not None:
            # By flow how many stages it crosses, and these, one flow after the other.
            self.stages, self._n_crossed, self._crossed = self._cross(network)

    @property
    def fabric(self) -> Network:
        """The network, where one must be known."""
        assert self.network is not None
        return self.network

    @cached_property
    def by_stage(self) -> csr_matrix:
        """Readings x stages: how many directions of a reading cross a stage."""
        flows = np.repeat(np.arange(self._n_crossed.size), self._n_crossed)
        shape = (self._n_crossed.size, len(self.stages))
        of_flow = coo_matrix((np.ones(flows.size), (flows, self._crossed)), shape=shape).tocsr()
        ones = np.ones(self._flow_rows.size)
        rows = (len(self.readings), self._n_crossed.size)
        return csr_matrix(
            coo_matrix((ones, (self._flow_rows, self._flow_of)), shape=rows) @ of_flow
        )

    @cached_property
    def crossed(self) -> csr_matrix:
        """Readings x ports: the share of its messages that takes a port."""
        return csr_matrix(self.by_stage @ self.by_port)

    @cached_property
    def load(self) -> csr_matrix:
        """Readings x stages, as `by_stage`, of readings that fill cables. The load is the sum of
        the flows of the same moment, as a share of the rate of all ports of the stage. A flow has
        the lowest rate of its path. Latency loads nothing."""
        network, readings = self.fabric, self.readings
        crossed = self.by_stage.tocoo()
        sending = (readings.metric != Metric.LATENCY.code)[crossed.row]
        row, stage = crossed.row[sending], crossed.col[sending]
        rate = self.lowest_rate[row].astype(np.float64) * crossed.data[sending]
        place = readings.moment[row] * len(self.stages) + stage
        _, where = np.unique(place, return_inverse=True)
        where = where.reshape(-1)
        capacity = np.array([network.rate[list(of)].sum() for of in self.stages])
        loads = np.bincount(where, weights=rate)[where] / capacity[stage]
        return csr_matrix((loads, (row, stage)), shape=self.by_stage.shape)

    @cached_property
    def filled(self) -> csr_matrix:
        """`by_stage`, without readings in whose moment a stage carried less than `filled_share` of
        the most that it ever did: spare capacity hides a loss."""
        load = self.load.tocoo()
        fullest = np.zeros(len(self.stages))
        np.maximum.at(fullest, load.col, load.data)
        empty = load.data < self.limits.filled_share * np.minimum(1.0, fullest[load.col])
        shape = self.by_stage.shape
        room = csr_matrix((load.data[empty], (load.row[empty], load.col[empty])), shape=shape)
        left = csr_matrix(self.by_stage - self.by_stage.multiply(room > 0))
        left.eliminate_zeros()
        return left

    @cached_property
    def by_port(self) -> csr_matrix:
        """Stages x ports: the share of a message that takes a port."""
        sizes = np.array([len(stage) for stage in self.stages], np.int64)
        rows = np.repeat(np.arange(sizes.size), sizes)
        ports = np.array([port for stage in self.stages for port in stage], np.int64)
        shares = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
        shape = (sizes.size, len(self.fabric.ports))
        return coo_matrix((shares, (rows, ports)), shape=shape).tocsr()

    @cached_property
    def n_sending(self) -> csr_matrix:
        """Moments x stages: how many bandwidth readings of one direction cross a stage."""
        sending = np.flatnonzero(self.readings.metric == Metric.BANDWIDTH.code)
        crossed = self.by_stage[sending].tocoo()
        moment = self.readings.moment
        shape = (int(moment.max(initial=-1)) + 1, len(self.stages))
        ones = np.ones(crossed.row.size, np.int64)
        return coo_matrix((ones, (moment[sending[crossed.row]], crossed.col)), shape=shape).tocsr()

    @cached_property
    def n_links(self) -> tuple[Ints, Ints]:
        """By reading: cables on the shorter and on the longer one of the paths there and back, of a
        reading in one direction on its only one; -1 without a fabric."""
        there, back = self._of_flows(self._n_crossed)
        return np.minimum(there, back), np.maximum(there, back)

    @cached_property
    def lowest_rate(self) -> Ints:
        """By reading: the lowest rate (bit/s) of a cable on its paths; 0 where none is, -1 without
        a fabric."""
        network = self.network
        lowest = np.where(self._n_crossed > 0, np.iinfo(np.int64).max, 0)
        if network is not None:
            rate = np.array([network.rate[list(stage)].min() for stage in self.stages], np.int64)
            flows = np.repeat(np.arange(lowest.size), self._n_crossed)
            np.minimum.at(lowest, flows, rate[self._crossed])
        there, back = self._of_flows(lowest)
        return np.minimum(there, back)

    @cached_property
    def delay_ps(self) -> Ints:
        """By reading: the delay of the cables on its path, of paths there and back the mean; of a
        stage's cables the least. -1 without a fabric."""
        network = self.network
        delay = np.zeros(self._n_crossed.size, np.int64)
        if network is not None:
            least = [network.delay_ps[list(stage)].min() for stage in self.stages]
            flows = np.repeat(np.arange(delay.size), self._n_crossed)
            np.add.at(delay, flows, np.array(least, np.int64)[self._crossed])
        there, back = self._of_flows(delay)
        return np.asarray((there + back) // 2, np.int64)

    @cached_property
    def candidates(self) -> Candidates:
        """Every component that a reading crosses, those crossed by the same readings joined."""
        families = [*self._node_families(), *self._own_families()]
        if self.network is not None:
            families += [*self._rail_families(), *self._port_families()]
            families.append(switch_pair_family(self))
        return joined(families, self.limits.crossed_share)

    def ports_of(self, flows: Sequence[tuple[str, str]]) -> list[tuple[Stage, ...]]:
        """The stages of other flows between endpoints, measured or not."""
        network = self.fabric
        ends = [(network.known_hca_of(a), network.known_hca_of(b)) for a, b in flows]
        if self.adaptive:
            return stages_of(network).between(ends)
        return [tuple((port,) for port in path.tolist()) for path in network.routes(ends)]

    def is_path(self, candidate: int) -> bool:
        """Whether all components of a candidate lie between switches, or are switches."""
        network = self.network
        return network is not None and all(
            network.between_switches[list(ports)].all()
            if (ports := cable_ports(member))
            else PARTS[member[0]] in (Part.SWITCH, Part.SWITCH_PAIR)
            for member in self.candidates.members[candidate]
        )

    def is_switch_pair(self, candidate: int) -> bool:
        """Whether a candidate is nothing but the path between two switches."""
        parts = {PARTS[part] for part, _ in self.candidates.members[candidate]}
        return parts == {Part.SWITCH_PAIR}

    @cached_property
    def shared_paths(self) -> Bools:
        """By candidate: whether it is a path, and one of several that a message may take."""
        network = self.network
        several = [port for stage in self.stages if len(stage) > 1 for port in stage]
        if network is None or not several:
            return np.zeros(len(self.candidates), np.bool_)
        chosen = {(PARTS.index(Part.DIRECTION), port) for port in several}
        chosen |= {(PARTS.index(Part.CABLE), port >> 1) for port in several}
        switches = network.vertex[several].tolist()
        chosen |= {(PARTS.index(Part.SWITCH), switch) for switch in switches}
        found = [
            self.is_path(number) and not chosen.isdisjoint(members)
            for number, members in enumerate(self.candidates.members)
        ]
        return np.array(found, np.bool_)

    def component(self, member: Member) -> Component:
        """The component of a number."""
        part, index = PARTS[member[0]], member[1]
        match part:
            case Part.RAIL:
                ends: tuple[str, ...] = (str(index),)
            case Part.RANK:
                ends = (self.readings.endpoints[index],)
            case Part.HCA:
                ends = (self.fabric.hcas[index],)
            case Part.SWITCH:
                ends = (self.fabric.switches[index],)
            case Part.SWITCH_PAIR:
                names, n = self.fabric.switches, self.fabric.n_switches
                ends = (names[index // n], names[index % n])
            case Part.CABLE | Part.DIRECTION:
                first, ports = cable_ports(member)[0], self.fabric.ports
                ends = (ports[first], ports[first ^ 1])
            case _:
                ends = (self.hosts[index],)
        return Component(part, ends)

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """Every host with an endpoint, in order of first appearance."""
        return tuple(dict.fromkeys(host_of(name) for name in self.readings.endpoints))

    @cached_property
    def host_number(self) -> Ints:
        """By endpoint: its host."""
        number = {host: i for i, host in enumerate(self.hosts)}
        return np.array([number[host_of(name)] for name in self.readings.endpoints], np.int64)

    def _cross(self, network: Network) -> tuple[tuple[Stage, ...], Ints, Ints]:
        """Every stage once, by first crossing; by flow how many it crosses, and which."""
        n = len(self.readings.endpoints)
        a, b = self._flows // n, self._flows % n
        if not self.adaptive:
            lengths, ports = network.crossed(self.hca_number[a], self.hca_number[b])
            used, first, place = np.unique(ports, return_index=True, return_inverse=True)
            order = np.argsort(first)
            number = np.empty(order.size, np.int64)
            number[order] = np.arange(order.size)
            stages = tuple((port,) for port in used[order].tolist())
            return stages, lengths, number[place.reshape(-1)]
        names = [network.hcas[hca] for hca in self.hca_number.tolist()]
        flows = [(names[src], names[dst]) for src, dst in zip(a.tolist(), b.tolist(), strict=True)]
        paths = stages_of(network).between(flows)
        known: dict[Stage, int] = {}
        # By identity first: to hash some hundred ports for every flow takes longer than all else.
        numbers: dict[int, int] = {}
        for stage in chain.from_iterable(paths):
            if id(stage) not in numbers:
                numbers[id(stage)] = known.setdefault(stage, len(known))
        crossed = [numbers[id(stage)] for stage in chain.from_iterable(paths)]
        return (
            tuple(known),
            np.array([len(path) for path in paths], np.int64),
            np.array(crossed, np.int64),
        )

    def _of_flows(self, of_flow: Ints) -> tuple[Ints, Ints]:
        """By reading: the value of its flow there, and of the one back, where it crosses both."""
        n = len(self.readings)
        if self.network is None:
            unknown = np.full(n, -1, np.int64)
            return unknown, unknown
        there = of_flow[self._flow_of[:n]]
        back = there.copy()
        back[self._both_directions] = of_flow[self._flow_of[n:]]
        return there, back

    def _node_families(self) -> list[Family]:
        """Readings of a node: those it sends in, all, those it receives in."""
        rows, both = np.arange(len(self.readings)), self._both_directions
        a, b = self.host_number[self.readings.a], self.host_number[self.readings.b]
        sides = {
            Part.NODE_SENDING: [(rows, a), (rows[both], b[both])],
            Part.NODE: [(rows, a), (rows, b)],
            Part.NODE_RECEIVING: [(rows, b), (rows[both], a[both])],
        }
        return [self._family(part, of, len(self.hosts)) for part, of in sides.items()]

    def _own_families(self) -> list[Family]:
        """The part that only one rank of a host uses: its HCA; without a fabric, the rank."""
        readings, n = self.readings, len(self.readings.endpoints)
        if not any(is_rank(name) for name in readings.endpoints):
            return []
        part, number = Part.RANK, np.arange(n)
        if self.network is not None:
            part, number, n = Part.HCA, self.hca_number, len(self.network.hcas)
        rows = np.arange(len(readings))
        return [self._family(part, [(rows, number[readings.a]), (rows, number[readings.b])], n)]

    @cached_property
    def hca_number(self) -> Ints:
        """By endpoint: its HCA, where a network is known."""
        network = self.fabric
        hcas = [network.known_hca_of(name) for name in self.readings.endpoints]
        return np.array([network.vertex_id[hca] - network.n_switches for hca in hcas], np.int64)

    @cached_property
    def switch(self) -> Ints:
        """By endpoint: the switch (or HCA) that its HCA is cabled to, where a network is known; -1
        without a cable."""
        network = self.fabric
        own = network.port_of_hca[self.hca_number]
        return np.where(own >= 0, network.vertex[own ^ 1], -1)

    def _rail_families(self) -> list[Family]:
        """Readings between HCAs of one index; nothing where nodes have one HCA."""
        readings, network = self.readings, self.fabric
        place = [hcas.index(hca) for hcas in network.hcas_of.values() for hca in hcas]
        n_rails = max(place, default=0) + 1
        if n_rails == 1:
            return []
        rail = np.array(place, np.int64)[self.hca_number]
        same = np.flatnonzero(rail[readings.a] == rail[readings.b])
        return [self._family(Part.RAIL, [(same, rail[readings.a[same]])], n_rails)]

    def _family(self, part: Part, sides: Sequence[tuple[Ints, Ints]], n: int) -> Family:
        rows = np.concatenate([rows for rows, _ in sides])
        columns = np.concatenate([columns for _, columns in sides])
        crossed = coo_matrix((np.ones(rows.size), (rows, columns)), shape=(len(self.readings), n))
        number = PARTS.index(part)
        return (crossed.tocsc(), [[(number, index)] for index in range(n)])

    def _port_families(self) -> list[Family]:
        """Directions, cables and switches; those of equal ports once, all of them as members."""
        network = self.fabric
        shares = self.by_port.tocsc()
        kind = kinds_of_columns(shares)
        used = np.flatnonzero(kind >= 0)
        cables = np.unique(used >> 1)
        ends = np.sort(np.stack([kind[2 * cables], kind[2 * cables + 1]], axis=1), axis=1)
        directions = {int(port): (int(kind[port]),) for port in used}
        of_cables = {
            int(cable): (int(low), int(high))
            for cable, (low, high) in zip(cables, ends, strict=True)
        }
        of_switches: dict[int, list[int]] = {}
        for port in used:
            if network.vertex[port] < network.n_switches:
                of_switches.setdefault(int(network.vertex[port]), []).append(int(kind[port]))
        switches = {vertex: tuple(sorted(of)) for vertex, of in of_switches.items()}
        by_part = ((Part.DIRECTION, directions), (Part.CABLE, of_cables), (Part.SWITCH, switches))
        # A loss of one path among several, or of a cable faster than a host, shows where the stage
        # is filled; a fault of all of them shows in every reading.
        every = [self.by_stage]
        if self.filled.nnz != self.by_stage.nnz:
            every.append(self.filled)
        return [
            self._of_ports(part, kinds, kind, crossed)
            for crossed in every
            for part, kinds in by_part
        ]

    def _of_ports(
        self, part: Part, kinds: Mapping[int, tuple[int, ...]], kind: Ints, crossed: csr_matrix
    ) -> Family:
        members: dict[tuple[int, ...], list[Member]] = {}
        for index, of in kinds.items():
            members.setdefault(of, []).append((PARTS.index(part), index))
        used = np.flatnonzero(kind >= 0)
        first = {int(kind[port]): int(port) for port in used[::-1]}
        pairs = [(first[k], column) for column, of in enumerate(members) for k in of if k >= 0]
        ports, columns = np.array(pairs, np.int64).reshape(-1, 2).T
        shape = (self.by_port.shape[1], len(members))
        chosen = coo_matrix((np.ones(ports.size), (ports, columns)), shape=shape)
        columns_ = crossed @ (self.by_port @ chosen.tocsr())
        return (columns_.tocsc(), list(members.values()))
