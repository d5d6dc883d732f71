"""The cables of a subnet by switch: which go up, down or sideways, and whose siblings they are."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from weft.audit.cabling.device_label import Labels
from weft.audit.thresholds import AuditThresholds
from weft.topology.subnet.labels import labels_of
from weft.topology.subnet.siblings import sibling_groups
from weft.topology.subnet.subnet import CableEnd, Subnet, SubnetCable

Value = TypeVar("Value", bound=Hashable)

NO_LEVEL = 255


class CableSide(NamedTuple):
    """A cable as one of its ends sees it."""

    here: CableEnd
    there: CableEnd
    cable: SubnetCable


class Wiring:
    """Cables by switch. Levels are the engine's: 1 for a leaf, one more for each hop away."""

    def __init__(self, subnet: Subnet, labels: Labels, thresholds: AuditThresholds) -> None:
        self._subnet = subnet
        self._labels = labels
        self._thresholds = thresholds

    @cached_property
    def switches(self) -> tuple[int, ...]:
        """Indices of the switches."""
        return tuple(node.index for node in self._subnet.nodes if node.is_switch)

    @cached_property
    def hosts(self) -> dict[int, list[CableSide]]:
        """By switch its cables to adapters of hosts, in the order of ports."""
        pattern = re.compile(self._thresholds.names.service)
        found: dict[int, list[CableSide]] = defaultdict(list)
        for side in self._all_sides:
            there = self._subnet.nodes[side.there.node]
            if not there.is_switch and not pattern.search(there.description):
                found[side.here.node].append(side)
        return found

    @cached_property
    def between(self) -> dict[int, list[CableSide]]:
        """By switch its cables to other switches, in the order of ports."""
        found: dict[int, list[CableSide]] = defaultdict(list)
        for side in self._all_sides:
            if self._subnet.nodes[side.there.node].is_switch and side.here.node != side.there.node:
                found[side.here.node].append(side)
        return found

    @cached_property
    def _all_sides(self) -> list[CableSide]:
        nodes = self._subnet.nodes
        sides = [
            CableSide(here, there, cable)
            for cable in self._subnet.cables
            for here, there in (cable.ends, cable.ends[::-1])
            if nodes[here.node].is_switch
        ]
        return sorted(sides, key=lambda side: side.here.key)

    @cached_property
    def levels(self) -> dict[int, int]:
        """By switch its level."""
        nodes = self._subnet.nodes
        return {s: NO_LEVEL if (it := nodes[s].level) is None else it for s in self.switches}

    def level(self, node: int) -> int:
        """0 for an adapter, from 1 for switches."""
        return self.levels.get(node, 0)

    @cached_property
    def ups(self) -> dict[int, list[CableSide]]:
        """By switch its cables to switches of a higher level."""
        return self._toward(1)

    @cached_property
    def sides(self) -> dict[int, list[CableSide]]:
        """By switch its cables to switches of its own level."""
        return self._toward(0)

    @cached_property
    def downs(self) -> dict[int, list[CableSide]]:
        """By switch its cables to switches of a lower level, and to hosts."""
        down = self._toward(-1)
        return {switch: [*down[switch], *self.hosts.get(switch, ())] for switch in self.switches}

    def _toward(self, sign: int) -> dict[int, list[CableSide]]:
        def is_it(side: CableSide) -> bool:
            step = self.levels[side.there.node] - self.levels[side.here.node]
            return (step > 0) - (step < 0) == sign

        return {s: [side for side in self.between.get(s, ()) if is_it(side)] for s in self.switches}

    @cached_property
    def siblings(self) -> list[list[int]]:
        """Switches of one part of the fabric (a plane), one level and one make, groups of one left
        out."""
        levels = {switch: level for switch, level in self.levels.items() if level != NO_LEVEL}
        return sibling_groups(self._subnet, levels)

    @cached_property
    def units(self) -> dict[int, str]:
        """By switch the name of what it is part of: a director, or itself."""
        systems = {node: label.system for node, label in labels_of(self._subnet).items()}
        often = Counter(systems.values())
        return {
            switch: system if system and often[system] > 1 else self._labels.name(switch)
            for switch, system in systems.items()
        }

    def unit(self, here: int, there: int) -> str:
        """The unit of `there`, seen from outside; inside one director, its board."""
        inside = self.units[here] == self.units[there]
        return self._labels.name(there) if inside else self.units[there]

    @cached_property
    def free_ports(self) -> dict[int, list[int]]:
        """By switch the ports without a cable.

        Some tools name only ports with cables: a switch has as many as the largest of its make.
        """
        used: dict[int, set[int]] = defaultdict(set)
        for side in self._all_sides:
            used[side.here.node].add(side.here.port)
        most = {switch: self._subnet.nodes[switch].n_ports for switch in self.switches}
        for group in self.siblings:
            most |= dict.fromkeys(group, max(most[switch] for switch in group))
        return {
            switch: [port for port in range(1, n + 1) if port not in used[switch]]
            for switch, n in most.items()
        }


def most_common(values: Iterable[Value]) -> tuple[Value, float] | None:
    """The value that appears most often, and its share; of equals the greatest by text."""
    counts = Counter(values)
    if not counts:
        return None
    value = max(counts, key=lambda it: (counts[it], repr(it)))
    return value, counts[value] / counts.total()


def gbps(sides: Sequence[CableSide]) -> float:
    """Data rate of cables together."""
    return sum(side.here.gbps or side.there.gbps or 0.0 for side in sides)
