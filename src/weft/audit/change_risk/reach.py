"""What stays in reach after a change: parts of a fabric that no cable joins, and who is cut off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from weft.audit.change_risk.change import FabricChange, after_changes
from weft.topology.subnet.place_names import host_of
from weft.topology.subnet.subnet import PortKey, Subnet


@dataclass(frozen=True, slots=True)
class Changed:
    """A subnet after changes without what they leave apart, and the end ports (GUID of the node,
    port) that lost their path to the others. Those taken out on purpose are not among them.
    `has_new`: whether a change put something in."""

    subnet: Subnet
    has_new: bool
    cut_off: tuple[PortKey, ...]
    left_apart: tuple[str, ...]


_PARTS: WeakKeyDictionary[Subnet, dict[PortKey, int]] = WeakKeyDictionary()
"""A subnet does not change, and is asked for its parts many times."""


def changed(subnet: Subnet, changes: Sequence[FabricChange]) -> Changed:
    """The subnet after changes made at once, with the tables of before. Of each part of before,
    the largest remainder stays, by its adapters' ports. Raises InputError."""
    whole = after_changes(subnet, changes)
    part_of = port_parts(whole)
    kept = _kept(port_parts(subnet), part_of)
    stays = {key for key, part in part_of.items() if part in kept}
    nodes_that_stay = {guid for guid, _ in stays}
    apart = [node for node in whole.nodes if node.guid not in nodes_that_stay]
    # An adapter with two ports may lose one of them.
    unplugged = [
        end.key
        for cable in whole.cables
        for end in cable.ends
        if (node := whole.nodes[end.node]).guid in nodes_that_stay
        and not node.is_switch
        and (node.guid, end.port) not in stays
    ]
    after = whole
    if apart or unplugged:
        after = whole.altered(gone=[node.index for node in apart], unplugged=unplugged)
    left = set(endport_keys(after))
    gone = {guid for change in changes for guid in change.gone}
    cut_off = tuple(key for key in endport_keys(subnet) if key not in left and key[0] not in gone)
    has_new = any(change.adds for change in changes)
    return Changed(after, has_new, cut_off, tuple(it.description for it in apart if it.is_switch))


def endport_keys(subnet: Subnet) -> list[PortKey]:
    """The GUID of the node and the port of each end port, in the engine's order."""
    return [(subnet.nodes[it.node].guid, it.port) for it in subnet.endports]


def hosts_of_ports(subnet: Subnet, ports: Sequence[PortKey]) -> tuple[dict[str, int], set[str]]:
    """By host how many of these end ports it has, and the hosts that have no others."""
    name = {node.guid: host_of(node.description) for node in subnet.nodes}
    lost: dict[str, int] = {}
    for guid, _ in ports:
        lost[name[guid]] = lost.get(name[guid], 0) + 1
    had: dict[str, int] = {}
    for guid, _ in endport_keys(subnet):
        had[name[guid]] = had.get(name[guid], 0) + 1
    return lost, {host for host, n in lost.items() if n == had[host]}


def port_parts(subnet: Subnet) -> Mapping[PortKey, int]:
    """The part of each switch (GUID, port 0) and of each cabled port of an adapter (GUID, port), as
    a number. Adapters forward nothing: two ports of one may be in two parts."""
    if subnet not in _PARTS:
        _PARTS[subnet] = _port_parts(subnet)
    return _PARTS[subnet]


def _port_parts(subnet: Subnet) -> dict[PortKey, int]:
    beside: list[list[int]] = [[] for _ in subnet.nodes]
    for cable in subnet.cables:
        if all(subnet.nodes[end.node].is_switch for end in cable.ends):
            beside[cable.a.node].append(cable.b.node)
            beside[cable.b.node].append(cable.a.node)
    part = [-1] * len(beside)
    for first in range(len(beside)):
        stack = [first] if part[first] < 0 else []
        while stack:
            node = stack.pop()
            if part[node] < 0:
                part[node] = first
                stack += beside[node]
    found = {(node.guid, 0): part[node.index] for node in subnet.nodes if node.is_switch}
    for cable in subnet.cables:
        for end, far in (cable.ends, cable.ends[::-1]):
            if not subnet.nodes[end.node].is_switch:
                is_leaf = subnet.nodes[far.node].is_switch
                # Of two adapters on one cable, the part is that of the first.
                at = far.node if is_leaf else min(end.node, far.node)
                found[subnet.nodes[end.node].guid, end.port] = part[at]
    return found


def _kept(before: Mapping[PortKey, int], after: Mapping[PortKey, int]) -> set[int]:
    """The largest remainder of each part of before, by adapters' ports, then by switches."""
    sizes: dict[int, dict[int, tuple[int, int]]] = {}
    for key, now in after.items():
        then = before.get(key)
        if then is not None:
            of_part = sizes.setdefault(then, {})
            n_ends, n_all = of_part.get(now, (0, 0))
            of_part[now] = (n_ends + (key[1] > 0), n_all + 1)
    return {_largest(of_part) for of_part in sizes.values()}


def _largest(of_part: Mapping[int, tuple[int, int]]) -> int:
    return max(of_part, key=lambda part: (*of_part[part], -part))
