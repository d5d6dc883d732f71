"""Switches by their level, hosts by their leaf, and whether the subnet is layered at all."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from weft.core.natural import natural_key
from weft.topology.subnet.labels import Label, labels_of
from weft.topology.subnet.subnet import Subnet, SubnetCable
from weft.topology.subnet.up_links import UpLinks, up_links_of

SIDEWAYS_SHARE = 0.1
"""Above this share of cables that do not go one level up, levels explain nothing."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """`switches`: by level from 1, in the order of their names; `between`: cables from a level to
    the next, the lower end first; `sideways`: all other cables between switches; `hosts`: adapters
    by the switch they are on, with the switch's port; `up_links`: against those of siblings."""

    labels: Mapping[int, Label]
    switches: Mapping[int, tuple[int, ...]]
    level: Mapping[int, int]
    between: Mapping[int, tuple[SubnetCable, ...]]
    sideways: tuple[SubnetCable, ...]
    hosts: Mapping[int, tuple[tuple[int, int], ...]]
    up_links: UpLinks

    @property
    def n_between(self) -> int:
        """Cables that go one level up."""
        return sum(len(cables) for cables in self.between.values())

    @property
    def is_layered(self) -> bool:
        """Whether (nearly) all cables between switches go one level up."""
        return self.n_between > 0 and len(self.sideways) <= SIDEWAYS_SHARE * self.n_between

    @property
    def n_switches(self) -> int:
        """All switches."""
        return len(self.labels)


def tiers_of(subnet: Subnet) -> Tiers:
    """The subnet by levels."""
    labels = labels_of(subnet)
    level = {node.index: node.level or 0 for node in subnet.nodes if node.is_switch}
    by_level: dict[int, list[int]] = defaultdict(list)
    for node in sorted(level, key=lambda node: natural_key(labels[node].name)):
        by_level[level[node]].append(node)
    between: dict[int, list[SubnetCable]] = defaultdict(list)
    sideways: list[SubnetCable] = []
    hosts: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for cable in subnet.cables:
        _sort_in(cable, level, between, sideways, hosts)
    return Tiers(
        labels=labels,
        switches={number: tuple(nodes) for number, nodes in sorted(by_level.items())},
        level=level,
        between={number: tuple(cables) for number, cables in sorted(between.items())},
        sideways=tuple(sideways),
        hosts={switch: tuple(sorted(found)) for switch, found in hosts.items()},
        up_links=up_links_of(subnet, {node: at for node, at in level.items() if at}),
    )


def _sort_in(
    cable: SubnetCable,
    level: Mapping[int, int],
    between: dict[int, list[SubnetCable]],
    sideways: list[SubnetCable],
    hosts: dict[int, list[tuple[int, int]]],
) -> None:
    a, b = cable.ends
    if a.node not in level or b.node not in level:
        for here, there in (cable.ends, cable.ends[::-1]):
            if here.node in level:
                hosts[here.node].append((here.port, there.node))
        return
    if level[a.node] > level[b.node]:
        a, b = b, a
    if level[b.node] - level[a.node] == 1 and level[a.node] > 0:
        between[level[a.node]].append(SubnetCable(a, b))
    else:
        sideways.append(cable)
